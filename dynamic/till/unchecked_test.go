package till_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"iter"
	"math/big"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/restore"
)

// misled is a rail whose node answers for another chain while it is lost: there everything is
// final, every authorization was cancelled, every signature is good, and somebody has paid.
type misled struct {
	rail.Rail
	lost *atomic.Bool
}

func (r misled) Check(ctx context.Context) error {
	if r.lost.Load() {
		return rail.ErrWrongChain
	}
	return r.Rail.Check(ctx)
}

func (r misled) Final(ctx context.Context) (rail.Head, error) {
	if r.lost.Load() {
		return rail.Head{Block: 1 << 40, Time: time.Now().Add(time.Hour)}, nil
	}
	return r.Rail.Final(ctx)
}

func (r misled) Incoming(ctx context.Context, s rail.Span) iter.Seq2[rail.Piece, error] {
	if r.lost.Load() {
		return rail.Ascending(s, func(from, _ uint64) iter.Seq2[rail.Transfer, error] {
			return func(yield func(rail.Transfer, error) bool) {
				yield(rail.Transfer{Network: fakeNetwork, Tx: "0xelsewhere", Block: from, Time: time.Now(),
					Payer: "elsewhere", Amount: big.NewInt(500_000),
					Nonce: "elsewhere", Method: "fake"}, nil)
			}
		})
	}
	return r.Rail.Incoming(ctx, s)
}

func (r misled) Status(ctx context.Context, p *rail.Payment, signed []rail.Signed, since rail.Verified,
	now time.Time) (rail.Finding, error) {
	if r.lost.Load() {
		return rail.Finding{State: rail.Dead, Reason: "cancelled", Final: true}, nil
	}
	return r.Rail.Status(ctx, p, signed, since, now)
}

func (r misled) Verify(ctx context.Context, p *rail.Payment, want rail.Requirement, now time.Time) (rail.Verified,
	error) {
	if r.lost.Load() {
		return rail.Verified{}, nil
	}
	return r.Rail.Verify(ctx, p, want, now)
}

// edited is a payment whose wire form is changed by f.
func edited(t *testing.T, s *modelSale, f func(wire map[string]any)) *modelSale {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(s.header)
	if err != nil {
		t.Fatal(err)
	}
	var wire map[string]any
	if err := json.Unmarshal(raw, &wire); err != nil {
		t.Fatal(err)
	}
	f(wire)
	if raw, err = json.Marshal(wire); err != nil {
		t.Fatal(err)
	}
	out := *s
	out.header = base64.StdEncoding.EncodeToString(raw)
	return &out
}

// Nothing that the node of another chain says is believed: not what arrived there, not what became
// of an authorization, not that a restored store may open.
func TestAnotherChainIsNotBelieved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		site, err := content.Load(content.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		var lost atomic.Bool
		m := bubble(t, site, func(r rail.Rail) rail.Rail { return misled{r, &lost} })
		defer func() { m.stop() }()
		m.pass(time.Minute)
		const path = "/api/buy/hello"
		unseen := m.offered(path, "eager", "never presented", 0)
		older := m.backup()
		under := m.offered(path, "slow", "on its way", 0)
		m.begin(under)
		synctest.Wait()
		m.stop()

		lost.Store(true)
		m.start(site)
		bare := edited(t, under, func(wire map[string]any) { delete(wire, "extensions") })
		if r := <-m.begin(bare); r.Status != 409 || r.Str("billed") != "unknown" {
			t.Errorf("a payment on its way is answered %d %s", r.Status, r.Raw)
		}
		time.Sleep(2 * time.Minute)
		if o := m.owed(); len(o) != 0 {
			t.Errorf("owed for what arrived on another chain: %+v", o)
		}
		if _, _, err := restore.Marks(context.Background(), m.till); err == nil {
			t.Error("a high-water file is rebuilt from another chain")
		}
		m.stop()

		lost.Store(false)
		m.start(site)
		m.chain.mu.Lock()
		m.chain.pool = append(m.chain.pool, &fakeTx{Pays: []fakePayload{unseen.payload}, Salt: "strangers"})
		m.chain.mu.Unlock()
		m.pass(3 * time.Minute)
		if o := m.owed(); len(o) != 1 || o[0].Payer != "eager" {
			t.Errorf("owed on the right chain: %+v, want what arrived there", o)
		}

		m.restore(site, older)
		if _, err := restore.Reconcile(context.Background(), m.till, nil, nil); err != nil {
			t.Fatal(err)
		}
		lost.Store(true)
		got, err := restore.Reopen(context.Background(), m.db, []rail.Rail{misled{fakeRail{m.chain}, &lost}},
			restore.Options{})
		if !errors.Is(err, rail.ErrWrongChain) || len(got) != 1 || got[0].Open || got[0].Reason == "" {
			t.Errorf("Reopen by the word of another chain = %+v, %v", got, err)
		}
	})
}
