package facilitator_test

import (
	"context"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/facilitator"
	"store.example/agentstore/dynamic/settle"
)

// stuck is a network on which nothing ends: what a flooder presents is being verified, what an
// honest payer presented waits for a block.
type stuck struct {
	rail.Rail
	drafts atomic.Int64
}

func (*stuck) Info() rail.Info { return rail.Info{Network: "eip155:1"} }
func (*stuck) Requirement(n int64) rail.Requirement {
	return rail.Requirement{Scheme: "exact", Network: "eip155:1", Asset: "0xa", Amount: fmt.Sprint(n)}
}
func (*stuck) Parse(payload []byte, _ rail.Requirement) (*rail.Payment, error) {
	return &rail.Payment{Network: "eip155:1", Payer: "payer", Nonce: string(payload), Amount: big.NewInt(1_000_000)},
		nil
}
func (*stuck) Verify(ctx context.Context, p *rail.Payment, _ rail.Requirement, _ time.Time) (rail.Verified, error) {
	if !strings.Contains(p.Nonce, "honest") {
		<-ctx.Done()
	}
	return rail.Verified{}, ctx.Err()
}
func (*stuck) Check(context.Context) error { return nil }
func (*stuck) Standing(context.Context) (rail.Standing, error) {
	return rail.Standing{Head: time.Now(), Priced: true}, nil
}
func (s *stuck) Draft(context.Context, []*rail.Payment) (rail.Draft, error) {
	s.drafts.Add(1)
	return plain{}, nil
}
func (*stuck) Send(context.Context, ...rail.Signed) error       { return nil }
func (*stuck) Accounts(context.Context) ([]rail.Account, error) { return nil, nil }
func (*stuck) Status(context.Context, *rail.Payment, []rail.Signed, rail.Verified, time.Time) (rail.Finding, error) {
	return rail.Finding{State: rail.Waiting, Advice: rail.Wait}, nil
}
func (*stuck) Changed() <-chan struct{} { return nil }

type plain struct{}

func (plain) Sign(rail.Sequencer) (rail.Signed, error) { return rail.Signed{ID: "0x1"}, nil }
func (plain) Price() rail.Price                        { return rail.Price{} }

// handler is a facilitator on a network.
func handler(t *testing.T, r rail.Rail) *facilitator.Handler {
	t.Helper()
	db := ledger.NewMem(ledger.MemOptions{})
	g, err := settle.NewGasGuard(settle.GasConfig{DB: db, Rails: []rail.Rail{r}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := settle.New(settle.Config{DB: db, Rails: []rail.Rail{r}, Gas: g, Pause: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	h, err := facilitator.NewHandler(facilitator.HandlerConfig{Rails: []rail.Rail{r}, Gas: g, Settles: d,
		PayTo: []string{"0xb"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// settled presents an authorization of the stuck network, and is the answer.
func settled(ctx context.Context, h http.Handler, nonce string) *httptest.ResponseRecorder {
	terms := `{"scheme":"exact","network":"eip155:1","amount":"1000000","asset":"0xa","payTo":"0xb","maxTimeoutSeconds":60}`
	body := `{"x402Version":2,"paymentPayload":{"x402Version":2,"payload":{"nonce":"` + nonce + `"},"accepted":` +
		terms + `},"paymentRequirements":` + terms + `}`
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "POST", "/settle", strings.NewReader(body)))
	return w
}

// Worthless authorizations, however many, do not make the facilitator forget a settlement that is
// under way, which it would then send twice.
func TestAFloodForgetsNothingUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, floods)
}

func floods(t *testing.T) {
	r := new(stuck)
	h := handler(t, r)
	gone, leave := context.WithCancel(t.Context())
	leave()
	waited, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	if w := settled(waited, h, "honest"); !strings.Contains(w.Body.String(), facilitator.Pending) {
		t.Fatalf("an honest payment is answered %d %s", w.Code, w.Body)
	}
	var last *httptest.ResponseRecorder
	for i := range 4096 {
		last = settled(gone, h, fmt.Sprint("flood-", i))
	}
	if last.Code != 503 || last.Header().Get("Retry-After") == "" || !strings.Contains(last.Body.String(), "too many") {
		t.Errorf("one too many is answered %d %s", last.Code, last.Body)
	}
	again, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	settled(again, h, "honest")
	if n := r.drafts.Load(); n != 1 {
		t.Errorf("%d settlements of one authorization, want 1", n)
	}
}

// Who waits in vain while a network says nothing of a payment is told that nothing is known, and
// not that the payment failed: it may be settled yet.
func TestWhatIsNotEvenBroadcastIsNotKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := handler(t, new(stuck))
		began := time.Now()
		w := settled(t.Context(), h, "in vain")
		if w.Code != 503 || w.Header().Get("Retry-After") == "" || strings.Contains(w.Body.String(), "success") {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
		if took := time.Since(began); took > time.Minute+time.Second {
			t.Errorf("answered after %s", took)
		}
	})
}

// unwritable is a network of which something cannot be written as JSON.
type unwritable struct{ *stuck }

func (unwritable) Info() rail.Info {
	return rail.Info{Network: "eip155:1", Kind: map[string]any{"name": "\xff"}}
}

// What cannot be written is answered as a fault of the server, and not as an empty success.
func TestAnAnswerThatCannotBeWritten(t *testing.T) {
	w := httptest.NewRecorder()
	handler(t, unwritable{new(stuck)}).ServeHTTP(w, httptest.NewRequest("GET", "/supported", nil))
	if w.Code != 500 || w.Body.Len() == 0 {
		t.Errorf("%d %q", w.Code, w.Body)
	}
}
