package derive

import (
	"crypto/sha256"
	"slices"

	"store.example/agentstore/corpus/record"
)

// SharedWalletCaveat stands beside every fact about addresses.
const SharedWalletCaveat = "An address at several doors is a fact about the address. It may be a payment processor, " +
	"a platform or one operator; it is no verdict about anybody."

// Wallets is what one round shows of advertised receiving addresses: counts, no names and no
// addresses. An address is a pair of network and digest.
type Wallets struct {
	Cited
	HostsProbed    int64  `json:"hosts_probed"`
	WithOffer      int64  `json:"hosts_with_offer"`
	WithPayTo      int64  `json:"hosts_with_pay_to"`
	Addresses      int64  `json:"distinct_addresses"`
	Shared         int64  `json:"addresses_at_multiple_doors"`
	LargestCluster int64  `json:"largest_cluster_doors"`
	Caveat         string `json:"shared_wallet_caveat"`
}

// Sharing tells at how many hosts one round saw an address.
type Sharing struct {
	addresses *addresses
	hosts     []uint32 // by the number of the address
}

// Others is at how many hosts besides one the round saw the address, given that it saw it at that
// one.
func (s Sharing) Others(address record.PayTo) int64 {
	if n, ok := s.addresses.numbers[keyOf(address)]; ok && int(n) < len(s.hosts) && s.hosts[n] > 1 {
		return int64(s.hosts[n]) - 1
	}
	return 0
}

// addresses numbers the addresses of a record as they are first seen.
type addresses struct {
	numbers map[addressKey]uint32
	last    record.PayTo // that was asked for, as the rows of one host mostly name one
	number  uint32       // of the last
}

func newAddresses() *addresses { return &addresses{numbers: make(map[addressKey]uint32)} }

// of is the number of an address.
func (a *addresses) of(p record.PayTo) uint32 {
	if len(a.numbers) > 0 && p == a.last {
		return a.number
	}
	key := keyOf(p)
	n, ok := a.numbers[key]
	if !ok {
		n = uint32(len(a.numbers))
		a.numbers[key] = n
	}
	a.last, a.number = p, n
	return n
}

// addressKey is the first half of the SHA-256 of an address's network and digest: enough to tell
// addresses apart, as nobody finds two of one key with less than 2^64 tries, and half the memory.
type addressKey [16]byte

func keyOf(p record.PayTo) addressKey {
	sum := sha256.Sum256([]byte(p.Network + "|" + p.Digest))
	return addressKey(sum[:len(addressKey{})])
}

// wallets counts the hosts at each address in one round: 4 bytes for each address.
type wallets struct {
	facts     Wallets
	addresses *addresses
	hosts     []uint32
}

func newWallets(r record.Round, a *addresses) *wallets {
	return &wallets{facts: Wallets{Cited: cite(r), Caveat: SharedWalletCaveat}, addresses: a}
}

func (w *wallets) add(row *record.Row) {
	probed := row.Verdict != record.VerdictNotProbed // an erratum may say that it was not
	if probed {
		w.facts.HostsProbed++
	}
	if row.Offer == nil {
		return
	}
	if probed {
		w.facts.WithOffer++
	}
	if probed && len(row.Offer.PayTo) > 0 {
		w.facts.WithPayTo++
	}
	for i, p := range row.Offer.PayTo {
		if slices.Contains(row.Offer.PayTo[:i], p) {
			continue
		}
		n := int(w.addresses.of(p))
		if missing := n + 1 - len(w.hosts); missing > 0 {
			w.hosts = append(w.hosts, make([]uint32, missing)...)
		}
		w.hosts[n]++
	}
}

// done also tells how often the five addresses named most were named, and all others together.
func (w *wallets) done() (Wallets, Sharing, []int64) {
	facts := w.facts
	var named []int64
	for _, n := range w.hosts {
		if n == 0 {
			continue
		}
		facts.Addresses++
		named = largest(named, int64(n))
		facts.LargestCluster = max(facts.LargestCluster, int64(n))
		if n > 1 {
			facts.Shared++
		}
	}
	return facts, Sharing{w.addresses, w.hosts}, named
}
