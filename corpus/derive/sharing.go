package derive

import (
	"bytes"
	"crypto/sha256"
	"iter"
	"slices"

	"agentstore/corpus"
)

// SharedWalletCaveat stands beside every fact about addresses.
const SharedWalletCaveat = "An address at several doors is a fact about the address. It may be a payment processor, a platform or one operator; it is no verdict about anybody."

// Wallets is what one round shows of advertised receiving addresses: counts, no names and no addresses. An address is a
// pair of network and digest.
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

// WalletFacts derives a round's facts about addresses from its rows.
func WalletFacts(r corpus.Round, rows iter.Seq2[corpus.StoredRow, error]) (Wallets, error) {
	facts, _, err := Share(r, rows)
	return facts, err
}

// Share derives a round's facts about addresses and which of them were shared.
func Share(r corpus.Round, rows iter.Seq2[corpus.StoredRow, error]) (Wallets, Sharing, error) {
	w := newWallets(r)
	for row, err := range rows {
		if err != nil {
			return Wallets{}, Sharing{}, err
		}
		w.add(&row.Row)
	}
	facts, shared, _ := w.done()
	return facts, shared, nil
}

// Sharing tells at how many hosts one round saw an address. It holds only those seen at more than one.
type Sharing struct {
	addresses []addressKey // sorted
	hosts     []int64
}

// Others is at how many hosts besides one the round saw the address, given that it saw it at that one.
func (s Sharing) Others(address corpus.PayTo) int64 {
	if i, ok := slices.BinarySearchFunc(s.addresses, keyOf(address), addressKey.compare); ok {
		return s.hosts[i] - 1
	}
	return 0
}

// addressKey is the first half of the SHA-256 of an address's network and digest: enough to tell addresses apart, as
// nobody finds two of one key with less than 2^64 tries, and half the memory.
type addressKey [16]byte

func (k addressKey) compare(other addressKey) int { return bytes.Compare(k[:], other[:]) }

func keyOf(p corpus.PayTo) addressKey {
	sum := sha256.Sum256([]byte(p.Network + "|" + p.Digest))
	return addressKey(sum[:len(addressKey{})])
}

// wallets gathers the addresses of one round: 16 bytes for each time a host names one.
type wallets struct {
	facts Wallets
	seen  []addressKey
}

func newWallets(r corpus.Round) *wallets {
	return &wallets{facts: Wallets{Cited: cite(r), Caveat: SharedWalletCaveat}}
}

func (w *wallets) add(row *corpus.Row) {
	if row.Verdict != corpus.VerdictNotProbed {
		w.facts.HostsProbed++
	}
	if row.Offer == nil {
		return
	}
	w.facts.WithOffer++
	if len(row.Offer.PayTo) > 0 {
		w.facts.WithPayTo++
	}
	for i, p := range row.Offer.PayTo {
		if slices.Contains(row.Offer.PayTo[:i], p) {
			continue
		}
		w.seen = append(w.seen, keyOf(p))
	}
}

// done also tells how often the five addresses named most were named, and all others together.
func (w *wallets) done() (Wallets, Sharing, []int64) {
	facts, shared := w.facts, Sharing{}
	var named []int64
	slices.SortFunc(w.seen, addressKey.compare)
	for len(w.seen) > 0 {
		n := 1
		for n < len(w.seen) && w.seen[n] == w.seen[0] {
			n++
		}
		facts.Addresses++
		named = largest(named, int64(n))
		facts.LargestCluster = max(facts.LargestCluster, int64(n))
		if n > 1 {
			facts.Shared++
			shared.addresses, shared.hosts = append(shared.addresses, w.seen[0]), append(shared.hosts, int64(n))
		}
		w.seen = w.seen[n:]
	}
	return facts, shared, named
}
