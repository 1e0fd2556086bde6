package settle_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// several is a network of no known kind that settles any number of payments in one transaction. A
// payment whose payer is poor is left out of the block, and the rest of its transaction is not.
type several struct {
	rail.Rail // of which nothing else is asked

	mu      sync.Mutex
	changed chan struct{}
	poor    string
	sent    []bundle // in blocks, by number
}

// bundle is a transaction; its JSON is its bytes.
type bundle struct {
	Number uint64
	Nonces []string
	Paid   map[string]bool
}

func (*several) Info() rail.Info             { return rail.Info{Network: "test:several"} }
func (*several) Check(context.Context) error { return nil }
func (*several) Standing(context.Context) (rail.Standing, error) {
	return rail.Standing{Head: time.Now(), Priced: true}, nil
}

func (n *several) Changed() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.changed
}

func (n *several) Accounts(context.Context) ([]rail.Account, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return []rail.Account{{Address: "one", Mined: uint64(len(n.sent))}}, nil
}

func (n *several) Draft(_ context.Context, ps []*rail.Payment) (rail.Draft, error) {
	accounts, err := n.Accounts(context.Background())
	accounts[0].Pending = accounts[0].Mined
	return bundled{accounts, ps}, err
}

type bundled struct {
	accounts []rail.Account
	ps       []*rail.Payment
}

func (bundled) Price() rail.Price { return rail.Price{} }

func (b bundled) Sign(seq rail.Sequencer) (rail.Signed, error) {
	account, number, err := seq.Next(b.accounts)
	x := bundle{Number: number}
	for _, p := range b.ps {
		x.Nonces = append(x.Nonces, p.Nonce)
	}
	raw, jsonErr := json.Marshal(x)
	return rail.Signed{ID: fmt.Sprint("tx-", number), Raw: raw, Account: account, Sequence: number},
		errorOf(err, jsonErr)
}

func errorOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Send seals a block with each transaction whose turn it is.
func (n *several) Send(_ context.Context, all ...rail.Signed) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range all {
		var x bundle
		if err := json.Unmarshal(s.Raw, &x); err != nil {
			return err
		}
		if x.Number != uint64(len(n.sent)) {
			continue
		}
		x.Paid = map[string]bool{}
		for _, nonce := range x.Nonces {
			x.Paid[nonce] = nonce != n.poor
		}
		n.poor = "" // it has money by the next block
		n.sent = append(n.sent, x)
	}
	close(n.changed)
	n.changed = make(chan struct{})
	return nil
}

func (n *several) Status(_ context.Context, p *rail.Payment, signed []rail.Signed, _ rail.Verified,
	_ time.Time) (rail.Finding, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, x := range n.sent {
		if x.Paid[p.Nonce] {
			proof := &rail.Proof{Tx: fmt.Sprint("tx-", x.Number), LogIndex: uint64(slices.Index(x.Nonces, p.Nonce))}
			return rail.Finding{State: rail.Paid, Proof: proof}, nil
		}
	}
	f := rail.Finding{State: rail.Waiting, Advice: rail.Wait}
	if len(signed) > 0 && signed[len(signed)-1].Sequence < uint64(len(n.sent)) {
		f.Advice = rail.Redraft
	}
	return f, nil
}

// heard is an owner that waits until each member is paid.
type heard struct{ proofs map[string]rail.Proof }

func (*heard) Waits(bool)                              {}
func (*heard) Reverted(ledger.Tx, settle.Member) error { return nil }
func (h *heard) Heard(_ context.Context, _ *settle.Settlement, m settle.Member, n settle.News) (bool, error) {
	if n.State == rail.Paid {
		h.proofs[m.ID] = *n.Proof
	}
	return n.State != rail.Paid, nil
}

// Several payments are settled by one transaction, each proved by a place of its own; one that it
// did not settle goes alone.
func TestSeveralMembersInOneTransaction(t *testing.T) {
	for _, poor := range []string{"", "nonce-1"} {
		t.Run("left out: "+poor, func(t *testing.T) {
			n := &several{changed: make(chan struct{}), poor: poor}
			db := ledger.NewMem(ledger.MemOptions{})
			g, err := settle.NewGasGuard(settle.GasConfig{DB: db, Rails: []rail.Rail{n}})
			if err != nil {
				t.Fatal(err)
			}
			d, err := settle.New(settle.Config{DB: db, Rails: []rail.Rail{n}, Gas: g})
			if err != nil {
				t.Fatal(err)
			}
			o := settle.Order{Arrow: func(ledger.Tx, *settle.Settlement) error { return nil }}
			for i := range 5 {
				o.Members = append(o.Members, settle.Member{ID: fmt.Sprint("purchase-", i), Payment: rail.Payment{
					Network: "test:several", Payer: fmt.Sprint("payer-", i), Nonce: fmt.Sprint("nonce-", i),
					Amount: big.NewInt(1000)}})
			}
			s, err := d.Begin(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if len(n.sent) != 0 {
				t.Error("something was sent before Begin returned")
			}
			h := &heard{proofs: map[string]rail.Proof{}}
			if err := d.Drive(t.Context(), s, h); err != nil {
				t.Fatal(err)
			}
			want := 1
			if poor != "" {
				want = 2
			}
			if len(n.sent) != want || len(h.proofs) != 5 {
				t.Errorf("%d transactions, %d members paid; want %d, 5", len(n.sent), len(h.proofs), want)
			}
			places := map[rail.Proof]bool{}
			for id, p := range h.proofs {
				if places[p] = true; poor != "" && (p.Tx == "tx-1") != (id == "purchase-1") {
					t.Errorf("%s is paid by %s", id, p.Tx)
				}
			}
			if len(places) != 5 {
				t.Errorf("%d places prove 5 payments", len(places))
			}
			if kept, err := d.Load(t.Context(), s.ID); err != nil || len(kept.Sent) != want {
				t.Errorf("the record has %d transactions, %v; want %d", len(kept.Sent), err, want)
			}
		})
	}
}
