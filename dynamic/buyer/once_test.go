package buyer

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/ledger"
)

// killed is a ledger of a process that dies after so many writes: what is written last is kept, and
// the process learns nothing of it.
type killed struct {
	ledger.DB
	left int
}

var errDead = errors.New("the process is dead")

func (m *killed) Update(ctx context.Context, f func(ledger.Tx) error) error {
	if m.left == 0 {
		return errDead
	}
	m.left--
	if err := m.DB.Update(ctx, f); err != nil || m.left > 0 {
		return err
	}
	return errDead
}

// TestAnIDIsSignedOnce kills the process after each write of a purchase that has an ID. Whoever
// goes on with it presents the same payment and gets what came of it, however often he asks.
func TestAnIDIsSignedOnce(t *testing.T) {
	for writes := 1; writes <= 8; writes++ {
		synctest.Test(t, func(t *testing.T) {
			d := simpleDoor(func(int, *http.Request) (*http.Response, error) { return delivered(), nil })
			db := ledger.NewMem(ledger.MemOptions{})
			buy := func(db ledger.DB) (*Result, error) {
				b := newBuyer(t, d, func(c *Config) { c.Journal = InLedger(db, "once") })
				return b.Buy(t.Context(), doorURL, Options{ID: "order_1", Again: true})
			}
			_, died := buy(&killed{db, writes})
			if writes < 4 && died == nil {
				t.Errorf("alive after %d writes", writes)
			}
			time.Sleep(time.Hour) // the lease of the dead ends
			for range 3 {
				r, err := buy(db)
				if err != nil || r.State != Delivered || r.Billed != "yes" || r.Nonce == "" || r.SignedAt.IsZero() ||
					r.AnsweredAt.IsZero() || string(r.Body) != `{"deliverable":"hello"}` {
					t.Fatalf("killed after %d writes: %+v, %v", writes, r, err)
				}
			}
			if signed := slices.Compact(slices.Sorted(slices.Values(d.payment))); len(signed) != 1 {
				t.Errorf("killed after %d writes: %d payments were signed", writes, len(signed))
			}
			b := newBuyer(t, d, func(c *Config) { c.Journal = InLedger(db, "once") })
			if r, err := b.Buy(t.Context(), doorURL+"&other", Options{ID: "order_1"}); err == nil || r != nil {
				t.Errorf("another request under the same ID: %+v, %v", r, err)
			}
		})
	}
}

// A folder keeps an ID to one payment too, and a token that is not among those is not paid in.
func TestAnIDInAFolder(t *testing.T) {
	d := simpleDoor(func(int, *http.Request) (*http.Response, error) { return response(410, nil, "{}"), nil })
	b := newBuyer(t, d, nil)
	for range 2 {
		r, err := b.Buy(t.Context(), doorURL, Options{ID: "order_2"})
		if _, refused := errors.AsType[*DoorError](err); !refused || r.State != Refused {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if len(d.payment) != 1 {
		t.Errorf("presented %d times", len(d.payment))
	}
	if _, err := b.Buy(t.Context(), doorURL, Options{ID: "../x"}); err == nil {
		t.Error("a path is taken for an ID")
	}
	b = newBuyer(t, d, func(c *Config) { c.Tokens = []Token{{assets[1].Network, assets[1].Address}} })
	if _, err := b.Buy(t.Context(), doorURL, Options{}); !errors.Is(err, ErrNotPayable) || len(d.payment) != 1 {
		t.Errorf("another token: %v", err)
	}
}
