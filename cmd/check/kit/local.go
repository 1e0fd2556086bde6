package kit

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/fetch"
)

// hostsFile is the machine's own list of names (hosts(5)).
const hostsFile = "/etc/hosts"

// loopback are the addresses of the machine itself.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// hosts finds names in a hosts file alone, so that -local never leaves for an address that the
// machine's owner did not write down.
type hosts struct{ file string }

// LookupNetIP implements fetch.Resolver. localhost and what is under it are loopback (RFC 6761).
func (h hosts) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()}, nil
	}
	f, err := os.Open(h.file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var found []netip.Addr
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(line)
		if len(fields) < 2 || !slices.ContainsFunc(fields[1:],
			func(n string) bool { return strings.EqualFold(n, host) }) {
			continue
		}
		if a, err := netip.ParseAddr(fields[0]); err == nil && a.Zone() == "" {
			found = append(found, a)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, &net.DNSError{Err: "not in " + h.file + ", and -local asks nothing else", Name: host,
			IsNotFound: true}
	}
	return found, nil
}

// openLocal opens what -local may read: loopback, and what the hosts file says of the hosts of the
// URLs, at their ports.
func (s *settings) openLocal(cfg *fetch.Config, urls []string) error {
	names := hosts{s.hostsFile}
	cfg.Resolver = names
	cfg.Allow.Networks = append(cfg.Allow.Networks, loopback...)
	for _, raw := range urls {
		u, err := url.Parse(raw)
		if err != nil || u.Hostname() == "" {
			continue // the reading says what is wrong with it
		}
		if port := u.Port(); port != "" {
			n, err := strconv.ParseUint(port, 10, 16)
			if err != nil {
				return fmt.Errorf("%s: its port is no number", raw)
			}
			cfg.Allow.Ports = append(cfg.Allow.Ports, uint16(n))
		}
		if _, err := netip.ParseAddr(u.Hostname()); err == nil {
			continue // the guard knows which addresses are open
		}
		found, err := names.LookupNetIP(context.Background(), "ip", strings.ToLower(u.Hostname()))
		if err != nil {
			return fmt.Errorf("%s: -local reads this machine and the names of %s; leave it out for a public door: %w",
				raw, s.hostsFile, err)
		}
		for _, a := range found {
			cfg.Allow.Networks = append(cfg.Allow.Networks, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	return nil
}
