package solana_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/svm"
	"store.example/agentstore/dynamic/rail"
)

// flooded is a cluster on which somebody writes to the store's account.
type flooded interface {
	observed
	Finalize()
	Restart() rail.Rail
}

// findsInAFlood is what every cluster is held to: money among more transactions than one piece has
// is found, once, while so many are written between two pieces that the newest are never all read;
// and no process needs what another held in memory.
func findsInAFlood(t *testing.T, c flooded, dust, between int, each func(read func())) {
	crumbs := func(n int) {
		for range n {
			c.land(c.pay(1).wire(t))
		}
	}
	crumbs(1)
	c.land(c.pay(price).wire(t))
	crumbs(dust)
	c.land(c.pay(price + 1).wire(t))
	crumbs(1)
	c.Finalize()
	final, err := c.Restart().Final(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	crumbs(between) // and so there are others above the span
	got := map[int64]int{}
	seen := map[string]bool{}
	span := rail.Span{From: 1000, To: final.Block}
	pieces := 0
	for ; !span.Read() && pieces < 20; pieces++ {
		each(func() {
			for p, err := range c.Restart().Incoming(t.Context(), span) {
				if err != nil {
					t.Fatalf("piece %d: %v", pieces, err)
				}
				for _, tr := range p.Transfers {
					if seen[tr.Tx] {
						t.Errorf("%s of %s came twice", tr.Tx, tr.Amount)
					}
					seen[tr.Tx] = true
					got[tr.Amount.Int64()]++
				}
				span = p.Rest
				return
			}
		})
		crumbs(between)
	}
	if want := map[int64]int{1: dust + 2, price: 1, price + 1: 1}; !maps.Equal(got, want) || !span.Read() {
		t.Errorf("after %d pieces, with %+v left: transfers by amount %v, want %v", pieces, span, got, want)
	}
}

func TestIncomingInAFlood(t *testing.T) {
	h := open(t)
	findsInAFlood(t, h, 120, 60, func(read func()) {
		h.mu.Lock()
		clear(h.seen)
		h.mu.Unlock()
		read()
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.seen["getTransaction"] > 50 || h.seen["getSignaturesForAddress"] > 1 {
			t.Errorf("one piece asks %v", h.seen)
		}
	})
}

func TestIncomingInAFloodOnTheDevnetsCluster(t *testing.T) {
	m := openMachine(t, svm.Start(t))
	findsInAFlood(t, m, 60, 10, func(read func()) { read() })
}

// A span far below the newest transactions is reached in pieces of a page each, and a node that
// gives short pages hides nothing.
func TestIncomingBelowAFlood(t *testing.T) {
	h := open(t)
	h.land(h.pay(price).wire(t))
	h.Finalize()
	final, err := h.rail.Final(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		h.land(h.pay(1).wire(t))
	}
	h.Finalize()
	h.lying("getSignaturesForAddress", func(v any) any {
		list := v.([]any)
		return list[:min(3, len(list))]
	})
	var amounts []string
	pieces := 0
	for p, err := range h.rail.Incoming(t.Context(), rail.Span{To: final.Block}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, tr := range p.Transfers {
			amounts = append(amounts, tr.Amount.String())
		}
		pieces++
	}
	if strings.Join(amounts, " ") != "500000" || pieces < 7 {
		t.Errorf("%d pieces list %v, want one payment of %d", pieces, amounts, price)
	}
}

// A fork takes nothing away on which a later reading depends.
func TestIncomingAfterAFork(t *testing.T) {
	h := open(t)
	h.land(h.pay(price).wire(t))
	h.Finalize()
	final, err := h.rail.Final(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		h.land(h.pay(1).wire(t))
	}
	h.lying("getSignaturesForAddress", func(v any) any {
		list := v.([]any)
		return list[:min(3, len(list))]
	})
	n := 0
	for span := (rail.Span{To: final.Block}); !span.Read(); {
		for p, err := range h.Restart().Incoming(t.Context(), span) {
			if err != nil {
				t.Fatal(err)
			}
			n, span = n+len(p.Transfers), p.Rest
			break
		}
		h.reorg(5)
	}
	if n != 1 {
		t.Errorf("%d transfers, want 1", n)
	}
}

// What a node does not know, or lists as no ledger is, is not taken for the end.
func TestIncomingOfALyingNode(t *testing.T) {
	h := open(t)
	for range 60 {
		h.land(h.pay(1).wire(t))
	}
	h.Pass(time.Minute)
	final, err := h.rail.Final(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first := func() (rest rail.Span) {
		for p, err := range h.rail.Incoming(t.Context(), rail.Span{To: final.Block}) {
			if err != nil {
				t.Fatal(err)
			}
			return p.Rest
		}
		return rest
	}
	rest := first()
	_, again := h.place(rest.Before)
	all := func(v any) any { return v }
	for name, lie := range map[string]struct {
		statuses, list func(any) any
		want           string
	}{
		"where to go on is unknown": {func(any) any { return value(1000, []any{nil}) },
			func(any) any { return []any{} }, "does not know"},
		"it is given again": {all, func(v any) any {
			return append([]any{map[string]any{"signature": rest.Before,
				"slot": again.slot, "err": nil}}, v.([]any)...)
		}, "one chain"},
		"from old to new": {all, func(v any) any {
			list := v.([]any)
			list[0], list[len(list)-1] = list[len(list)-1], list[0]
			return list
		}, "one chain"},
	} {
		h.mu.Lock()
		h.lie = func(m string, _ []json.RawMessage, honest any) (any, *fault) {
			switch m {
			case "getSignatureStatuses":
				return lie.statuses(honest), nil
			case "getSignaturesForAddress":
				return lie.list(honest), nil
			}
			return honest, nil
		}
		h.mu.Unlock()
		failed := ""
		for _, err := range h.rail.Incoming(t.Context(), rest) {
			if err != nil {
				failed = err.Error()
			}
		}
		if !strings.Contains(failed, lie.want) {
			t.Errorf("%s: the error is %q, want %q in it", name, failed, lie.want)
		}
	}
}
