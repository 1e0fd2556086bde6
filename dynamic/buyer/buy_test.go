package buyer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/pay/x402"
	"store.example/agentstore/dynamic/rail"
)

var helloAsked = rail.Requirement{Scheme: "exact", Network: "eip155:8453", Amount: "500000", Asset: baseUSD,
	PayTo:             payTo,
	MaxTimeoutSeconds: 300, Extra: map[string]any{"name": "USD Coin", "version": "2"}}

func TestPurchase(t *testing.T) {
	d := simpleDoor(func(int, *http.Request) (*http.Response, error) { return delivered(), nil })
	var log bytes.Buffer
	b := newBuyer(t, d, func(c *Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	r, err := b.Buy(t.Context(), doorURL, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.State != Delivered || string(r.Body) != `{"deliverable":"hello"}` || r.Billed != "yes" ||
		r.Transaction != "0xabc" || r.Amount != 500000 || len(r.Warnings) != 0 {
		t.Errorf("result %+v", r)
	}
	p := checkPayment(t, d.payment[0], helloAsked)
	if p.Resource != "https://shop.example/api/buy/hello" {
		t.Errorf("resource %q is not echoed", p.Resource)
	}
	if got := string(p.Extensions["unheard-of"].Info); got != `{"a":2,"b":1}` {
		t.Errorf("extension echoed as %s", got)
	}
	id, ok := x402.PaymentID(p)
	if !ok || id != "store-hello-202611201130" || !strings.Contains(d.dumps[0], "\nIdempotency-Key: "+id+"\n") {
		t.Errorf("payment-identifier %q in %s", id, d.dumps[0])
	}
	all := files(t, b)
	if len(all) != 1 || all[0].State != Delivered || string(all[0].Answer.Body) != string(r.Body) {
		t.Errorf("journal %+v", all)
	}
	if info, err := os.Stat(r.Journal); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("journal file: %v, %v", info.Mode(), err)
	}
	if strings.Contains(log.String(), "name=x") || strings.Contains(log.String(), d.payment[0][:40]) {
		t.Errorf("log shows the query or the payment: %s", log.String())
	}
	noSecret(t, dirOf(b), log.String())
}

func TestPostWithBodyAndHeaders(t *testing.T) {
	d := simpleDoor(func(int, *http.Request) (*http.Response, error) { return delivered(), nil })
	b := newBuyer(t, d, nil)
	o := Options{Method: "POST", Body: []byte(`{"q":1}`), Header: http.Header{"Content-Type": {"application/json"}},
		IdempotencyKey: "my-own-key-0123456789"}
	if _, err := b.Buy(t.Context(), doorURL, o); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"POST " + doorURL, "Content-Type: application/json",
		"Idempotency-Key: my-own-key-0123456789", `{"q":1}`} {
		if !strings.Contains(d.dumps[0], want) {
			t.Errorf("request lacks %q:\n%s", want, d.dumps[0])
		}
	}
}

func TestFreeDoor(t *testing.T) {
	d := &door{unpaid: func(int) *http.Response { return response(200, nil, "free") }}
	b := newBuyer(t, d, nil)
	r, err := b.Buy(t.Context(), doorURL, Options{})
	if err != nil || !r.Free || string(r.Body) != "free" || len(files(t, b)) != 0 {
		t.Errorf("Buy = %+v, %v", r, err)
	}
}

// TestAnswersThatLeaveThePaymentOpen has each of them come twice before the good does: it is always
// the same request that is sent again.
func TestAnswersThatLeaveThePaymentOpen(t *testing.T) {
	problem := func(status int, code, more string) *http.Response {
		return response(status, nil, `{"type":"https://shop.example/problems/`+code+`"`+more+`}`)
	}
	tests := []struct {
		name   string
		answer func() (*http.Response, error)
		atMost time.Duration // of waiting for the third answer
	}{
		{"lost after settlement", func() (*http.Response, error) { return nil, errLost }, 4 * time.Second},
		{"500", func() (*http.Response, error) { return response(500, nil, ""), nil }, 4 * time.Second},
		{"503 payment_unknown", func() (*http.Response, error) {
			return problem(503, "payment_unknown",
				`,"billed":"unknown"`), nil
		}, 4 * time.Second},
		{"502 of a proxy", func() (*http.Response, error) { return response(502, nil, "<html>"), nil },
			4 * time.Second},
		{"409 in flight", func() (*http.Response, error) { return problem(409, "idempotency_in_flight", ""), nil },
			4 * time.Second},
		{"409 to be repeated", func() (*http.Response, error) {
			return problem(409, "x", `,"retry":"same_payment"`),
				nil
		}, 4 * time.Second},
		{"429", func() (*http.Response, error) { return response(429, nil, ""), nil }, 4 * time.Second},
		{"402 settlement_pending", func() (*http.Response, error) {
			return response(402, map[string]string{"PAYMENT-RESPONSE": b64(obj{"success": false,
				"errorReason": "settlement_pending", "transaction": "0x1", "network": "eip155:8453"})}, "{}"), nil
		}, 4 * time.Second},
		{"the body breaks off", func() (*http.Response, error) {
			r := response(200, nil, "")
			r.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"deliv`), brokenReader{}))
			return r, nil
		}, 4 * time.Second},
		{"headers without end", func() (*http.Response, error) {
			return response(200, map[string]string{"X-Long": strings.Repeat("x", maxHeaders)}, ""), nil
		}, 4 * time.Second},
		{"Retry-After in seconds",
			func() (*http.Response, error) { return response(503, map[string]string{"Retry-After": "20"}, ""), nil },
			41 * time.Second},
		{"Retry-After as a date", func() (*http.Response, error) {
			return response(503, map[string]string{"Retry-After": time.Now().Add(20 * time.Second).UTC().Format(
				http.TimeFormat)}, ""), nil
		}, 41 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := simpleDoor(func(n int, r *http.Request) (*http.Response, error) {
					if n <= 2 {
						return tt.answer()
					}
					return delivered(), nil
				})
				b := newBuyer(t, d, nil)
				start := time.Now()
				r, err := b.Buy(t.Context(), doorURL, Options{})
				if err != nil || r.State != Delivered {
					t.Fatalf("Buy = %+v, %v", r, err)
				}
				if len(d.dumps) != 3 || d.dumps[1] != d.dumps[0] || d.dumps[2] != d.dumps[0] || d.signatures() != 1 ||
					d.asked != 1 {
					t.Errorf("%d requests with %d signatures", len(d.dumps), d.signatures())
				}
				if took := time.Since(start); took > tt.atMost || took < tt.atMost*3/4-time.Second {
					t.Errorf("took %v, want about %v", took, tt.atMost)
				}
			})
		})
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestAHangingDoorIsTimedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := simpleDoor(func(n int, r *http.Request) (*http.Response, error) {
			if n == 1 {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return delivered(), nil
		})
		start := time.Now()
		r, err := newBuyer(t, d, nil).Buy(t.Context(), doorURL, Options{})
		if err != nil || r.State != Delivered || d.signatures() != 1 {
			t.Fatalf("Buy = %+v, %v", r, err)
		}
		if took := time.Since(start); took != DefaultTimeout+firstWait {
			t.Errorf("took %v", took)
		}
	})
}

func TestNoAnswerWhileValid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := false
		d := simpleDoor(func(int, *http.Request) (*http.Response, error) {
			if up {
				return delivered(), nil
			}
			return nil, errLost
		})
		b := newBuyer(t, d, nil)
		start := time.Now()
		r, err := b.Buy(t.Context(), doorURL, Options{})
		if !errors.Is(err, ErrUnknown) || r == nil || r.State != Signed || r.Billed != "unknown" {
			t.Fatalf("Buy = %+v, %v", r, err)
		}
		if took := time.Since(start); took < 300*time.Second || took > 303*time.Second {
			t.Errorf("gave up after %v", took)
		}
		if d.signatures() != 1 {
			t.Errorf("%d signatures", d.signatures())
		}
		// Neither another try nor a resumption while the door is down signs anything.
		if _, err := b.Buy(t.Context(), doorURL, Options{}); !errors.Is(err, ErrUnfinished) {
			t.Errorf("Buy = %v, want ErrUnfinished", err)
		}
		sent := len(d.payment)
		if _, err := b.Resume(t.Context()); !errors.Is(err, ErrUnknown) || len(d.payment) != sent+1 {
			t.Errorf("Resume = %v after %d presentations", err, len(d.payment)-sent)
		}
		up = true
		all, err := b.Resume(t.Context())
		if err != nil || len(all) != 1 || all[0].State != Delivered || len(all[0].Warnings) != 0 {
			t.Fatalf("Resume = %+v, %v", all, err)
		}
		if d.signatures() != 1 || d.asked != 1 {
			t.Errorf("%d signatures after %d unpaid requests", d.signatures(), d.asked)
		}
		if all, err := b.Resume(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("Resume of nothing = %v, %v", all, err)
		}
		if _, err := b.Buy(t.Context(), doorURL, Options{}); err != nil || d.signatures() != 2 {
			t.Errorf("the next Buy = %v", err)
		}
	})
}

func TestGivenUpADayAfterExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := simpleDoor(func(int, *http.Request) (*http.Response, error) { return nil, errLost })
		b := newBuyer(t, d, nil)
		if _, err := b.Buy(t.Context(), doorURL, Options{}); !errors.Is(err, ErrUnknown) {
			t.Fatal(err)
		}
		time.Sleep(25 * time.Hour)
		r, err := b.Resume(t.Context())
		if !errors.Is(err, ErrUnknown) || len(r) != 1 || r[0].State != Unknown {
			t.Errorf("Resume = %+v, %v", r, err)
		}
		if r, err := b.Resume(t.Context()); err != nil || len(r) != 0 {
			t.Errorf("Resume = %+v, %v", r, err)
		}
	})
}

// TestTermsChange has a door ask for more once it holds a payment, and between showing the terms
// and buying.
func TestTermsChange(t *testing.T) {
	dear := required(entry(obj{"amount": "900000"}))
	t.Run("after the payment", func(t *testing.T) {
		d := simpleDoor(func(int, *http.Request) (*http.Response, error) {
			r := challenge(dear)
			return r, nil
		})
		b := newBuyer(t, d, nil)
		r, err := b.Buy(t.Context(), doorURL, Options{})
		if de, ok := errors.AsType[*DoorError](err); !ok || de.Status != 402 || r.State != Refused || r.Billed != "no" {
			t.Errorf("Buy = %+v, %v", r, err)
		}
		if len(d.payment) != 1 || d.asked != 1 {
			t.Errorf("%d payments, %d unpaid requests", len(d.payment), d.asked)
		}
	})
	tests := []struct {
		name  string
		after obj
		pays  string // empty: ErrChanged
	}{
		{"the same", required(entry(nil)), "500000"},
		{"more", dear, ""},
		{"less", required(entry(obj{"amount": "400000"})), "400000"},
		{"another receiver", required(entry(obj{"payTo": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"})), ""},
		{"another network", required(
			entry(obj{"network": "eip155:137", "asset": "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359"})), ""},
		{"up front", required(entry(obj{"extra": obj{"name": "USD Coin", "version": "2", "paymentFlow": "upfront"}})),
			""},
		{"more before the same", required(entry(obj{"amount": "900000"}), entry(nil)), "500000"},
	}
	for _, tt := range tests {
		t.Run("agreed, then "+tt.name, func(t *testing.T) {
			d := &door{unpaid: func(n int) *http.Response {
				if n == 1 {
					return challenge(required(entry(nil)))
				}
				return challenge(tt.after)
			}, paid: func(int, *http.Request) (*http.Response, error) { return delivered(), nil }}
			b := newBuyer(t, d, nil)
			agreed, err := b.Terms(t.Context(), doorURL, Options{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = b.Buy(t.Context(), doorURL, Options{Agreed: agreed})
			if tt.pays == "" {
				if !errors.Is(err, ErrChanged) || len(d.payment) != 0 || len(files(t, b)) != 0 {
					t.Errorf("Buy = %v with %d payments", err, len(d.payment))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			asked := helloAsked
			asked.Amount = tt.pays
			checkPayment(t, d.payment[0], asked)
		})
	}
}

func TestFinalRefusals(t *testing.T) {
	tests := []struct {
		name   string
		answer *http.Response
		billed string
		says   string
	}{
		{"not settled", response(402,
			map[string]string{"PAYMENT-RESPONSE": b64(obj{"success": false,
				"errorReason": "invalid_exact_evm_insufficient_balance", "transaction": "", "network": "eip155:8453"})},
			"{}"), "no", "insufficient_balance"},
		{"used on chain", response(402,
			map[string]string{"PAYMENT-REQUIRED": b64(obj{"x402Version": 2,
				"error": "invalid_exact_evm_nonce_already_used", "accepts": []int{}})}, "{}"), "yes",
			"the money has moved"},
		{"billed, the door says",
			response(409, nil, `{"type":"https://shop.example/problems/payment_already_used","detail":"used","billed":"yes"}`), "yes", "payment_already_used"},
		{"bad input", response(400, nil, `{"error":"bad"}`), "unknown", "bad"},
		{"redirected", response(307, map[string]string{"Location": "https://evil.example/"}, ""), "unknown",
			"not followed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := simpleDoor(func(int, *http.Request) (*http.Response, error) { return tt.answer, nil })
			b := newBuyer(t, d, nil)
			r, err := b.Buy(t.Context(), doorURL, Options{})
			if _, ok := errors.AsType[*DoorError](err); !ok || !strings.Contains(err.Error(), tt.says) ||
				r.State != Refused || r.Billed != tt.billed {
				t.Errorf("Buy = %+v, %v", r, err)
			}
			if len(d.payment) != 1 || files(t, b)[0].State != Refused {
				t.Errorf("%d payments, journal %+v", len(d.payment), files(t, b)[0])
			}
			noSecret(t, dirOf(b), err.Error())
		})
	}
}

func TestReplayOfAnEarlierPurchaseIsTold(t *testing.T) {
	d := simpleDoor(func(int, *http.Request) (*http.Response, error) {
		r := delivered()
		r.Header.Set("Idempotent-Replayed", "true")
		return r, nil
	})
	r, err := newBuyer(t, d, nil).Buy(t.Context(), doorURL, Options{})
	if err != nil || !r.Replay || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "earlier purchase") {
		t.Errorf("Buy = %+v, %v", r, err)
	}
}

func TestSuggestedKeyOfAnotherOrderIsNotUsed(t *testing.T) {
	d := simpleDoor(func(int, *http.Request) (*http.Response, error) { return delivered(), nil })
	b := newBuyer(t, d, nil)
	var keys []string
	for _, u := range []string{doorURL, doorURL, "https://shop.example/api/buy/hello?name=y"} {
		if _, err := b.Buy(t.Context(), u, Options{}); err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(d.dumps[len(d.dumps)-1], "Idempotency-Key: ")
		key, _, _ := strings.Cut(rest, "\n")
		keys = append(keys, key)
	}
	if keys[0] != "store-hello-202611201130" || keys[1] != keys[0] || keys[2] == keys[0] || !wellFormedKey(keys[2]) {
		t.Errorf("keys %q", keys)
	}
}

func TestJournalledBeforeSentAndResumed(t *testing.T) {
	// The journal is copied at the moment the payment leaves: what a crash would leave behind.
	crashed := filepath.Join(t.TempDir(), "crashed")
	ctx, cancel := context.WithCancel(t.Context())
	var b *Buyer
	d := simpleDoor(nil)
	d.paid = func(n int, r *http.Request) (*http.Response, error) {
		if n == 1 {
			if err := os.CopyFS(crashed, os.DirFS(dirOf(b))); err != nil {
				t.Error(err)
			}
			cancel()
			return nil, errLost
		}
		return delivered(), nil
	}
	b = newBuyer(t, d, nil)
	r, err := b.Buy(ctx, doorURL, Options{Method: "POST", Body: []byte("in\x00put")})
	if !errors.Is(err, ErrUnknown) || !errors.Is(err, context.Canceled) || r.State != Signed {
		t.Fatalf("Buy = %+v, %v", r, err)
	}
	noSecret(t, crashed)
	// Resuming needs no wallet.
	after := newBuyer(t, d, func(c *Config) { c.Journal, c.Wallet = Folder(crashed), nil })
	all, err := after.Resume(t.Context())
	if err != nil || len(all) != 1 || all[0].State != Delivered {
		t.Fatalf("Resume = %+v, %v", all, err)
	}
	if len(d.dumps) != 2 || d.dumps[0] != d.dumps[1] {
		t.Errorf("resumed with another request:\n%s", strings.Join(d.dumps, "\n---\n"))
	}
}

func TestUnwritableOrBrokenJournalSignsNothing(t *testing.T) {
	d := simpleDoor(func(int, *http.Request) (*http.Response, error) { return delivered(), nil })
	b := newBuyer(t, d, nil)
	if err := os.MkdirAll(dirOf(b), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dirOf(b), "20260101T000000Z-x.json"),
		[]byte(`{"format":"store-purchase/v1","id":"other"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Buy(t.Context(), doorURL, Options{}); err == nil || len(d.payment) != 0 {
		t.Errorf("Buy = %v with %d payments", err, len(d.payment))
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b = newBuyer(t, d, func(c *Config) { c.Journal = Folder(file) })
	if _, err := b.Buy(t.Context(), doorURL, Options{}); err == nil || len(d.payment) != 0 {
		t.Errorf("Buy = %v with %d payments", err, len(d.payment))
	}
}
