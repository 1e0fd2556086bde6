package till

import (
	"store.example/agentstore/dynamic/account"
	"store.example/agentstore/dynamic/rail"
)

// HighMark is one thing that must never be given twice, noted outside the ledger before the answer
// leaves, so that a store restored from an older backup knows it (M13).
type HighMark struct {
	Patron int64  `json:"patron"`
	Item   string `json:"item"`
	Pool   string `json:"pool,omitzero"`
	Entry  string `json:"entry,omitzero"` // digest
	Word   string `json:"word,omitzero"`
	Jar    int64  `json:"jar,omitzero"`
	// Of a sale on account: whose it is, the digest of its name, that of its body, what is owed.
	Account string `json:"account,omitzero"`
	Ref     string `json:"ref,omitzero"`
	Request string `json:"request,omitzero"`
	Net     int64  `json:"net,omitzero"`
	// Spent is of a sale by voucher.
	Spent *SpentMark `json:"spent,omitzero"`
}

// SpentMark is a voucher that was taken: with it a restored ledger claims what it has forgotten.
type SpentMark struct {
	Network string        `json:"network"`
	Channel string        `json:"channel"`
	Config  *rail.Channel `json:"config,omitzero"` // with the first one of a channel
	rail.Voucher
}

// HighMark is what must not be given twice of every purchase.
func (p *Purchase) HighMark() HighMark {
	m := HighMark{Patron: p.Number, Item: p.Item}
	if a := p.Account; a != nil {
		m.Account, m.Ref, m.Request, m.Net = a.Account, account.RefDigest(a.Ref), a.Request, a.Terms.Net
	}
	if s := p.Spent; s != nil {
		m.Spent = &SpentMark{Network: p.Payment.Network, Channel: s.Channel.ID,
			Max: s.Max, Signature: p.Payment.Signature}
		if s.First {
			m.Spent.Config = &s.Channel
		}
	}
	return m
}

// HighWater keeps marks durably. Keep returns when the mark is on disk.
type HighWater interface{ Keep(HighMark) error }

type noHighWater struct{}

func (noHighWater) Keep(HighMark) error { return nil }
