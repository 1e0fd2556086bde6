package kit

import (
	"bufio"
	"context"
	"errors"
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
// URLs, at their ports. What is said of none of them is told where it is read.
func (s *settings) openLocal(cfg *fetch.Config, urls []string) {
	cfg.Resolver = hosts{s.hostsFile}
	cfg.Allow.Networks = append(cfg.Allow.Networks, loopback...)
	for _, raw := range urls {
		found, port, err := s.localAddresses(raw)
		if err != nil {
			continue
		}
		if port != 0 {
			cfg.Allow.Ports = append(cfg.Allow.Ports, port)
		}
		for _, a := range found {
			cfg.Allow.Networks = append(cfg.Allow.Networks, netip.PrefixFrom(a, a.BitLen()))
		}
	}
}

// localAddresses returns what this machine itself says of the host of a URL, and the URL's port, 0
// for none. A URL without a host, and an address, are left to the guard, which says what is wrong.
func (s *settings) localAddresses(raw string) (found []netip.Addr, port uint16, err error) {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" {
		return nil, 0, nil
	}
	if text := u.Port(); text != "" {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return nil, 0, errors.New("its port is no number up to 65535")
		}
		port = uint16(n)
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil {
		return nil, port, nil
	}
	found, err = hosts{s.hostsFile}.LookupNetIP(context.Background(), "ip", strings.ToLower(u.Hostname()))
	if err != nil {
		err = fmt.Errorf("-local reads this machine and the names of %s; leave it out for a public door: %w",
			s.hostsFile, err)
	}
	return found, port, err
}
