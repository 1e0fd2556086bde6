package settle_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// lapsing is blocks whose authorizations can end: of the dead the number that is open is told.
type lapsing struct {
	*blocks
	gone map[string]bool // by nonce
}

func (n *lapsing) Status(ctx context.Context, p *rail.Payment, signed []rail.Signed, since rail.Verified,
	now time.Time) (rail.Finding, error) {
	n.mu.Lock()
	gone, mined := n.gone[p.Nonce], uint64(len(n.sent))
	n.mu.Unlock()
	if !gone {
		return n.blocks.Status(ctx, p, signed, since, now)
	}
	f := rail.Finding{State: rail.Dead, Reason: "cancelled"}
	for _, s := range signed {
		if s.Sequence >= mined && f.Unfilled == nil {
			f.Unfilled = &s
		}
	}
	return f, nil
}

// Replace is for what it is told, at the same number.
func (n *lapsing) Replace(_ context.Context, ps []*rail.Payment, old rail.Signed, fill bool) (rail.Draft, error) {
	return renewed{bundled{ps: ps}, old, fill}, nil
}

type renewed struct {
	bundled
	old  rail.Signed
	fill bool
}

func (r renewed) Sign(rail.Sequencer) (rail.Signed, error) {
	x := bundle{Number: r.old.Sequence}
	raw, err := json.Marshal(x)
	return rail.Signed{ID: r.old.ID + "'", Raw: raw, Account: r.old.Account, Sequence: r.old.Sequence,
		Fill: r.fill}, err
}

// Who was signed for at a number hears of it, and nobody else does: what fills the number of one of
// several, or that of all, names the same members as what it fills. Else those of the others would
// seem to be signed for at a number of which they know nothing, and wait for it.
func TestFillIsForWhomItsNumberWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		n := &lapsing{blocks: q.n, gone: map[string]bool{}}
		q.use(n)
		q.know("payer", 5)
		q.busy()
		q.begin(t.Context(), orders("payer", 5)...)
		time.Sleep(300 * time.Millisecond)
		synctest.Wait()
		q.waited(300 * time.Millisecond)
		id := q.settlement("payer-0").ID
		watch := func(members ...string) *settle.Settlement {
			t.Helper()
			s, err := q.d.Load(t.Context(), id)
			if err == nil {
				err = q.d.Watch(t.Context(), s, &heard{proofs: map[string]rail.Proof{}}, members...)
			}
			if err == nil {
				s, err = q.d.Load(t.Context(), id)
			}
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		// The number of all is used up and moved nothing; two of them go alone.
		n.mu.Lock()
		for len(n.sent) < 5 {
			n.sent = append(n.sent, bundle{Number: uint64(len(n.sent))})
		}
		n.mu.Unlock()
		watch("payer-1")
		s := watch("payer-3")
		if len(s.Sent) != 3 || !slices.Equal(s.Sent[1].Of, []int{place(s, "payer-1")}) ||
			!slices.Equal(s.Sent[2].Of, []int{place(s, "payer-3")}) {
			t.Fatalf("signed is %+v", s.Sent)
		}
		before := signedOf(s)
		n.mu.Lock()
		n.gone["payer-1"] = true
		n.mu.Unlock()
		s = watch("payer-1")
		if len(s.Sent) != 4 || !s.Sent[3].Fill || !slices.Equal(s.Sent[3].Of, s.Sent[1].Of) ||
			s.Sent[3].Sequence != s.Sent[1].Sequence {
			t.Fatalf("the number of one is filled by %+v", s.Sent[len(s.Sent)-1])
		}
		for who, had := range before {
			if got := signedOf(s)[who]; who != "payer-1" && !slices.Equal(got, had) {
				t.Errorf("%s has %v signed for it, and had %v", who, got, had)
			}
		}
	})
}

// What all of them wait for is filled for all of them, when the last of them can land no more.
func TestFillOfAllIsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		n := &lapsing{blocks: q.n, gone: map[string]bool{}}
		q.use(n)
		q.know("payer", 5)
		q.busy()
		q.begin(t.Context(), orders("payer", 5)...)
		time.Sleep(300 * time.Millisecond)
		synctest.Wait()
		s := q.settlement("payer-0")
		for i := range 5 {
			n.mu.Lock()
			n.gone[fmt.Sprint("payer-", i)] = true
			n.mu.Unlock()
			err := q.d.Watch(t.Context(), s, &heard{proofs: map[string]rail.Proof{}}, fmt.Sprint("payer-", i))
			if err != nil {
				t.Fatal(err)
			}
			if s, err = q.d.Load(t.Context(), s.ID); err != nil {
				t.Fatal(err)
			}
			if want := 1 + i/4; len(s.Sent) != want {
				t.Fatalf("%d are dead, and %d transactions are signed, want %d", i+1, len(s.Sent), want)
			}
		}
		for i := range s.Members {
			if txs := s.Signed(s.Members[i].ID); len(txs) != 2 || !txs[1].Fill || txs[1].Sequence != txs[0].Sequence {
				t.Errorf("%s has %v signed for it", s.Members[i].ID, txs)
			}
		}
	})
}

func place(s *settle.Settlement, member string) int {
	return slices.IndexFunc(s.Members, func(m settle.Member) bool { return m.ID == member })
}

// signedOf are the transactions that were signed for each member.
func signedOf(s *settle.Settlement) map[string][]string {
	all := map[string][]string{}
	for _, m := range s.Members {
		for _, x := range s.Signed(m.ID) {
			all[m.ID] = append(all[m.ID], x.ID)
		}
	}
	return all
}
