package budget

import (
	"net/netip"
	"strings"
)

// uses are the counts that a use is in: the client's, its network's, and everybody's.
type uses struct{ client, network, process int }

func (u uses) add() uses { return uses{u.client + 1, u.network + 1, u.process + 1} }

// fair reports whether a limit grants one more use: neither the client nor its network may have
// more than twice what they leave to all others together. Who asks alone gets two thirds, the next
// one two thirds of the rest; the first use of somebody new is granted while there is one. Somebody
// with addresses in n networks leaves a 3^n-th part: that costs the hire of n networks, and no
// count of addresses can prevent it.
func fair(limit int, used uses) bool {
	left := limit - used.process
	return left > 0 && allows(left, used.client) && allows(left, used.network)
}

func allows(left, used int) bool { return used == 0 || used+1 <= 2*(left-1) }

// share is the count of what a client has had and may have yet, if nobody else asks.
func share(name string, limit int, used uses) Count {
	had, remaining := used.client, 0
	for fair(limit, used) {
		remaining++
		used = used.add()
	}
	return Count{name + "-share", had + remaining, remaining}
}

// networkOf is the network of a client as route.Client names it: the /24 of an IPv4 address, the
// /48 of an IPv6 prefix. One subscriber may hold as much. It is marked, so that no client is called
// the same.
func networkOf(client string) string {
	text, _, _ := strings.Cut(client, "/")
	a, err := netip.ParseAddr(text)
	if err != nil {
		return "network " + client
	}
	bits := 48
	if a.Is4() {
		bits = 24
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return "network " + client
	}
	return "network " + p.String()
}
