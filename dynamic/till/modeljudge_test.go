package till_test

import (
	"context"
	"strings"

	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/till"
)

// judge holds the end against the rules.
func (m *model) judge() {
	all := tilltest.Purchases(m.t, m.db)
	byID := map[string]till.Purchase{}
	numbers := map[int64]bool{}
	curios := map[string]string{}
	var credited int64
	owed := map[string]int64{}
	m.chain.mu.Lock()
	defer m.chain.mu.Unlock()
	for _, p := range all {
		byID[p.ID] = p
		if !tilltest.Resting(p) || !p.Final {
			m.t.Errorf("after the storm purchase %s is %s, final %v (%s)", p.ID, p.State, p.Final, p.Reason)
		}
		if p.Number != 0 {
			if numbers[p.Number] {
				m.t.Errorf("patron number %d was given twice", p.Number)
			}
			numbers[p.Number] = true
		}
		if p.Item == "the_drawer" && (p.State == till.Delivered || p.State == till.Reversed) {
			if other := curios[p.Entry]; other != "" {
				m.t.Errorf("%s and %s got the same curio", p.ID, other)
			}
			curios[p.Entry] = p.ID
		}
		if p.Spent != nil || p.Held != nil {
			continue // judged below
		}
		u, b := m.chain.use(p.Payment.Payer + "|" + p.Payment.Nonce)
		paid := b != nil && !u.cancelled
		switch p.State {
		case till.Uncredited:
			owed[p.Payment.Payer+"|"+p.Payment.Nonce] += p.Amount
			if !paid {
				m.t.Errorf("%s is owed for, and no money moved", p.ID)
			}
		case till.Delivered, till.RefundOwed:
			credited += p.Amount
			if !paid {
				m.t.Errorf("%s is %s, and no money moved", p.ID, p.State)
			} else if p.State == till.Delivered && (p.Proof.Tx != u.tx.id() || p.Proof.BlockHash != b.hash) {
				m.t.Errorf("%s names another payment than the chain", p.ID)
			}
		default:
			if paid {
				m.t.Errorf("%s is %s (%s), and was paid", p.ID, p.State, p.Reason)
			}
		}
	}
	for n := range int64(len(numbers)) {
		if !numbers[n+1] {
			m.t.Errorf("patron number %d is missing among %d", n+1, len(numbers))
		}
	}
	claimed, strays := map[string]till.Claim{}, int64(0)
	m.db.View(context.Background(), func(tx ledger.Tx) error {
		for _, s := range m.sales {
			c, err := ledger.GetJSON[till.Claim](tx, ledger.AuthKey(fakeNetwork, fakeAsset, "fake", s.payload.Payer,
				s.payload.Nonce))
			if err == nil {
				claimed[s.payload.key()] = c
			}
		}
		return nil
	})
	for _, s := range m.sales {
		if s.most > 0 || s.hold != nil {
			continue
		}
		c, known := claimed[s.payload.key()]
		if u, b := m.chain.use(s.payload.key()); b != nil && !u.cancelled &&
			(!known || c.Answered || byID[c.Purchase].State == till.Uncredited) {
			if u.tx.Relayer {
				m.t.Errorf("a payment that buys nothing of its own was settled by us: %+v", c)
			}
			if owed[s.payload.key()] != u.amount {
				m.t.Errorf("a payment of %d that no purchase credits is owed as %d", u.amount, owed[s.payload.key()])
			}
			delete(owed, s.payload.key())
			strays += u.amount
		}
		for _, r := range s.answers {
			if r.Status == 200 && r.Purchase() != c.Purchase {
				m.t.Errorf("an answer is of purchase %s, the payment's is %s", r.Purchase(), c.Purchase)
			}
		}
	}
	old := int64(0) // what payTo had before
	for _, b := range m.chain.blocks {
		for key, u := range b.uses {
			switch {
			case !strings.HasPrefix(key, "of-old|"):
			// a reorganisation moved it to where it looks like a stray
			case b.time.After(m.began) && owed[key] == u.amount:
				delete(owed, key)
				strays += u.amount
			default:
				old += u.amount
			}
		}
	}
	if len(owed) > 0 {
		m.t.Errorf("owed for what a purchase credits: %v", owed)
	}
	seen := map[string]int{}
	m.judgeVouchers(all, seen)
	captured := m.judgeHolds(all, seen)
	e := m.chain.head().escrow
	if got := m.chain.received(); got != old+credited+strays+captured+e.moved || e.held() != m.chain.escrowed() {
		m.t.Errorf("payTo received %d and had %d, the journal credits %d, strangers sent %d, %d were captured and %d "+
			"swept; %d are in escrow, %d should be", got, old, credited, strays, captured, e.moved, m.chain.escrowed(),
			e.held())
	}
	// Every number of the relayer's is used up: nothing later can be stuck behind one.
	var next uint64
	m.db.View(context.Background(), func(tx ledger.Tx) error {
		v, err := tx.Get(ledger.RelayerKey(fakeNetwork, "relayer", "next"))
		if err != nil {
			return err
		}
		next, err = ledger.ParseNumber(string(v))
		return err
	})
	if mined := m.chain.head().mined; mined < next {
		m.t.Errorf("the relayer's numbers from %d to %d are still open", mined, next-1)
	}
	if lost, reverts, held := m.lost(); held != 0 || lost != reverts {
		m.t.Errorf("%d settlements hold gas, %d counts as lost; their reverts cost %d", held, lost, reverts)
	}
	for _, p := range all {
		if p.Spent == nil && p.Held == nil {
			seen[string(p.State)]++
		}
	}
	m.t.Logf("%d starts, %d payments, %d open at most, %s, %d paid for nothing", m.starts, len(m.sales), m.most,
		tally(seen), strays)
}
