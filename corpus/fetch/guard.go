package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
)

// The codes of a Refusal, as answers to a caller name them.
const (
	CodeMissing     = "url_missing"
	CodeUnparseable = "url_unparseable"
	CodeTarget      = "target_refused"
	CodeOwnHost     = "own_host_refused"
)

// A Refusal says why a request was not made. It says nothing about the host.
type Refusal struct {
	Code   string // Code…
	Reason string // a phrase without addresses of ours
}

func (r *Refusal) Error() string { return r.Code + ": " + r.Reason }

func refuse(format string, args ...any) *Refusal {
	return &Refusal{CodeTarget, fmt.Sprintf(format, args...)}
}

// guard knows what is never contacted.
type guard struct {
	ownHosts     map[string]bool // canonical
	ownAddresses map[netip.Addr]bool
	refused      []netip.Prefix
	allow        *Allow
}

func newGuard(cfg Config) (guard, error) {
	g := guard{ownHosts: map[string]bool{}, ownAddresses: map[netip.Addr]bool{}, refused: cfg.Refuse, allow: cfg.Allow}
	for _, h := range cfg.OwnHosts {
		name := looseHost(h)
		if name == "" {
			return guard{}, fmt.Errorf("own host %q is no host", h)
		}
		g.ownHosts[name] = true
	}
	for _, a := range cfg.OwnAddresses {
		g.ownAddresses[a.Unmap().WithZone("")] = true
	}
	return g, nil
}

// A network is one that is never contacted, with the word for it.
type network struct {
	prefix netip.Prefix
	is     string
}

// never4 is the IANA IPv4 special-purpose registry (RFC 6890), multicast, and addresses at which
// clouds keep secrets.
var never4 = []network{
	{netip.MustParsePrefix("0.0.0.0/8"), "this network"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private"},
	{netip.MustParsePrefix("100.64.0.0/10"), "shared address space of carriers"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud's metadata"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private"},
	{netip.MustParsePrefix("192.0.0.0/24"), "IETF protocol assignment"},
	{netip.MustParsePrefix("192.0.2.0/24"), "documentation"},
	{netip.MustParsePrefix("192.31.196.0/24"), "AS112"},
	{netip.MustParsePrefix("192.52.193.0/24"), "AMT"},
	{netip.MustParsePrefix("192.88.99.0/24"), "6to4 relay"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private"},
	{netip.MustParsePrefix("192.175.48.0/24"), "AS112"},
	{netip.MustParsePrefix("198.18.0.0/15"), "benchmarking"},
	{netip.MustParsePrefix("198.51.100.0/24"), "documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},
}

// global6 is all of IPv6 that is global unicast (RFC 4291, section 2.4). Loopback, mapped,
// compatible, NAT64, unique local, link-local, site-local and multicast addresses lie outside.
var global6 = netip.MustParsePrefix("2000::/3")

// never6 is what inside global6 is special (RFC 6890 and its registry).
var never6 = []network{
	{netip.MustParsePrefix("2001::/32"), "Teredo"},
	{netip.MustParsePrefix("2001:2::/48"), "benchmarking"},
	{netip.MustParsePrefix("2001::/23"), "IETF protocol assignment"},
	{netip.MustParsePrefix("2001:db8::/32"), "documentation"},
	{netip.MustParsePrefix("2002::/16"), "6to4"},
	{netip.MustParsePrefix("2620:4f:8000::/48"), "AS112"},
	{netip.MustParsePrefix("3ffe::/16"), "returned by the 6bone"},
	{netip.MustParsePrefix("3fff::/20"), "documentation"},
}

// outside6 names what lies outside global6.
var outside6 = []network{
	{netip.MustParsePrefix("::1/128"), "loopback"},
	{netip.MustParsePrefix("::ffff:0:0/96"), "an IPv4-mapped form"},
	{netip.MustParsePrefix("::/96"), "an IPv4-compatible form"},
	{netip.MustParsePrefix("64:ff9b::/96"), "a NAT64 form"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "a NAT64 form"},
	{netip.MustParsePrefix("100::/64"), "discard-only"},
	{netip.MustParsePrefix("fc00::/7"), "private"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("fec0::/10"), "site-local"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
}

// address refuses an address that is not to be contacted. Its error is a *Refusal.
func (g *guard) address(a netip.Addr) error {
	if !a.IsValid() {
		return refuse("not an address")
	}
	if a.Zone() != "" {
		return refuse("an address with a zone is link-local")
	}
	if g.ownAddresses[a.Unmap()] {
		return &Refusal{CodeOwnHost, "the address is this service's own"}
	}
	if g.allow != nil && slices.ContainsFunc(g.allow.Networks, func(p netip.Prefix) bool { return p.Contains(a) }) {
		return nil
	}
	if is := special(a); is != "" {
		return refuse("%s is not a public address (%s)", a, is)
	}
	if slices.ContainsFunc(g.refused, func(p netip.Prefix) bool { return p.Contains(a) }) {
		return refuse("%s lies in a network that this service does not contact", a)
	}
	return nil
}

// special names what keeps an address from being an ordinary public one, "" for nothing.
func special(a netip.Addr) string {
	find := func(rows []network) string {
		for _, n := range rows {
			if n.prefix.Contains(a) {
				return n.is
			}
		}
		return ""
	}
	if a.Is4() {
		return find(never4)
	}
	if !global6.Contains(a) {
		if is := find(outside6); is != "" {
			return is
		}
		return "reserved"
	}
	b := a.As16()
	if b[8]&^0x02 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe {
		return "ISATAP" // RFC 5214, section 6.1: an IPv4 address behind it
	}
	return find(never6)
}

// addresses returns where a target may be dialled. Every address of a name is checked, and one bad
// one refuses the name: an owner who points it inwards has other aims than to be read.
func (c *Client) addresses(ctx context.Context, t target) ([]netip.Addr, error) {
	found := []netip.Addr{t.literal}
	if !t.literal.IsValid() {
		var err error
		if found, err = c.cfg.Resolver.LookupNetIP(ctx, "ip", t.host); err != nil {
			return nil, fmt.Errorf("looking up %s: %w", t.host, err)
		}
	}
	var out []netip.Addr
	for _, a := range found {
		if !t.literal.IsValid() {
			a = a.Unmap() // resolvers give IPv4 in the mapped form, and that is how it would be dialled
		}
		if err := c.guard.address(a); err != nil {
			return nil, err
		}
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("looking up %s: %w", t.host, errNoAddress)
	}
	return out, nil
}

var errNoAddress = errors.New("the name has no address")

// control is asked by the default dialer between the making of a socket and its connection.
func (c *Client) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	return c.checkDial(address)
}

// checkDial judges an address and port that are about to be dialled.
func (c *Client) checkDial(address string) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return refuse("dialling something that is no address")
	}
	return c.guard.address(ap.Addr())
}

// rooted asks for the name itself, so that no search list of the machine is tried (RFC 1535).
type rooted struct{ *net.Resolver }

func (r rooted) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	return r.Resolver.LookupNetIP(ctx, network, strings.TrimSuffix(host, ".")+".")
}
