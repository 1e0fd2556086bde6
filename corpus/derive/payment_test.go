package derive

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tier"
)

// Where a host takes money is said from its newest observation, and why it is not said otherwise.
func TestPaymentIsOfTheNewestObservation(t *testing.T) {
	a, b := record.PayTo{Network: "eip155:8453", Digest: "a"}, record.PayTo{Network: "eip155:1", Digest: "b"}
	entry := func(sequence int64, probed string, offer *record.RowOffer) tier.Entry {
		e := tier.Entry{Sequence: sequence, Week: "2026-W4" + string(rune('0'+sequence)), Probed: probed}
		if probed == tier.Probed {
			e.Row = &record.StoredRow{Offer: offer}
		}
		return e
	}
	// So many others name an address in a round.
	others := func(sequence int64, p record.PayTo) int64 { return 10*sequence + int64(p.Digest[0]-'a') }
	for name, c := range map[string]struct {
		entries []tier.Entry
		want    Payment
	}{
		"an address named twice": {
			[]tier.Entry{entry(1, tier.Probed, &record.RowOffer{PayTo: []record.PayTo{b}}),
				entry(2, tier.Probed, &record.RowOffer{PayTo: []record.PayTo{a, b, a}, PayToLeftOut: 3}),
				entry(3, tier.NotWalked, nil)},
			Payment{Week: "2026-W42", Sequence: 2, Captured: true, LeftOut: 3, Digest: &a.Digest, Others: new(int64),
				Addresses: []Paid{{a, 20}, {b, 21}}},
		},
		"one address": {[]tier.Entry{entry(3, tier.Probed, &record.RowOffer{PayTo: []record.PayTo{b}})},
			Payment{Week: "2026-W43", Sequence: 3, Captured: true, Digest: &b.Digest, Others: new(int64),
				Addresses: []Paid{{b, 31}}}},
		"no offer": {[]tier.Entry{entry(1, tier.Probed, nil)},
			Payment{Week: "2026-W41", Sequence: 1, WhyNot: NotCapturedNoOffer}},
		"an offer that is not read": {[]tier.Entry{entry(1, tier.Probed,
			&record.RowOffer{NotCapturedReason: record.NotCapturedUnreadable})},
			Payment{Week: "2026-W41", Sequence: 1, WhyNot: record.NotCapturedUnreadable}},
		"no address": {[]tier.Entry{entry(1, tier.Probed, &record.RowOffer{})},
			Payment{Week: "2026-W41", Sequence: 1, WhyNot: "no_address_in_the_offer"}},
		"never observed": {[]tier.Entry{entry(1, tier.NotWalked, nil), entry(2, tier.NotWalked, nil)},
			Payment{Week: "2026-W42", Sequence: 2, WhyNot: NotCapturedUnseen}},
		"no round": {nil, Payment{WhyNot: NotCapturedUnseen}},
	} {
		if c.want.Captured {
			*c.want.Others = c.want.Addresses[0].Others
		}
		c.want.Caveat = SharedWalletCaveat
		if diff := cmp.Diff(&c.want, payment(tier.History{Entries: c.entries}, others)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if raw, err := json.Marshal(c.want); err != nil || !strings.Contains(string(raw), `"digest":null`) != c.want.Captured {
			t.Errorf("%s: %s, %v: the digest is there, and null where there is none", name, raw, err)
		}
	}
}
