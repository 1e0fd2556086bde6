package buyer

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

const (
	network    = "eip155:8453"
	authorizer = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
	cost       = 500_000
)

// voucherDoor is a seller by voucher in memory, with the chain that its channel is on. It is honest
// unless bent.
type voucherDoor struct {
	key   *wallet.Key // the buyer's
	chain *httptest.Server

	mu        sync.Mutex
	charged   int64
	last      wireVoucher
	answers   map[string]*http.Response // of vouchers that bought, by request
	deposits  map[string]bool           // salts
	presented []wireVouchers
	// The chain.
	balance, claimed int64
	time             int64

	terms   func(extra obj)            // bends the 402
	correct func(extra obj)            // has every voucher answered by a 402, and bends that
	success func(settlement obj)       // bends what is said of a success
	reason  string                     // of correct; a mismatch where it is empty
	answer  func(n int) *http.Response // instead of all that; nil: not instead
}

func newVoucherDoor(t *testing.T) *voucherDoor {
	d := &voucherDoor{key: testKey(t), answers: map[string]*http.Response{}, deposits: map[string]bool{}}
	d.chain = httptest.NewServer(http.HandlerFunc(d.rpc))
	t.Cleanup(d.chain.Close)
	return d
}

// rpc is a node: the chain id, the head, receipts of whatever is asked for, and the escrow's views.
func (d *voucherDoor) rpc(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Method string
		Params []json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		panic(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	words := func(n ...int64) string {
		s := "0x"
		for _, v := range n {
			s += fmt.Sprintf("%064x", v)
		}
		return s
	}
	var result any
	switch q.Method {
	case "eth_chainId":
		result = "0x2105"
	case "eth_getBlockByNumber":
		result = obj{"timestamp": fmt.Sprintf("%#x", d.time), "baseFeePerGas": "0x1"}
	case "eth_getTransactionReceipt":
		result = obj{"status": "0x1"}
	case "eth_call":
		if strings.Contains(string(q.Params[0]), "0x7a7ebd7b") {
			result = words(d.balance, d.claimed)
		} else {
			result = words(0, 0)
		}
	}
	json.NewEncoder(w).Encode(obj{"jsonrpc": "2.0", "id": 1, "result": result})
}

// entry is the door's terms for vouchers.
func (d *voucherDoor) entry(bend func(obj)) obj {
	extra := obj{"name": "USD Coin", "version": "2", "minDeposit": "1000000", "receiverAuthorizer": authorizer,
		"withdrawDelay": 86_400}
	e := entry(obj{"scheme": rail.SchemeVouchers, "extra": extra})
	for _, f := range []func(obj){d.terms, bend} {
		if f != nil {
			f(extra)
		}
	}
	if amount, ok := extra["amount"]; ok {
		e["amount"] = amount
	}
	return e
}

func (d *voucherDoor) state(channel string) obj {
	return obj{"channelId": channel, "balance": fmt.Sprint(d.balance), "totalClaimed": fmt.Sprint(d.claimed),
		"withdrawRequestedAt": 0, "refundNonce": "0", "chargedCumulativeAmount": fmt.Sprint(d.charged)}
}

// RoundTrip implements http.RoundTripper.
func (d *voucherDoor) RoundTrip(r *http.Request) (*http.Response, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.time = time.Now().Unix()
	header := r.Header.Get(headerSignature)
	if header == "" {
		return challenge(required(entry(obj{"scheme": "other"}), d.entry(nil))), nil
	}
	raw, err := base64.StdEncoding.DecodeString(header)
	var w struct{ Payload wireVouchers }
	if err == nil {
		err = json.Unmarshal(raw, &w)
	}
	if err != nil {
		return nil, err
	}
	p := w.Payload
	d.presented = append(d.presented, p)
	if d.answer != nil {
		if resp := d.answer(len(d.presented)); resp != nil {
			return resp, nil
		}
	}
	key := p.Voucher.Max + p.Voucher.Signature + r.URL.String()
	if resp := d.answers[key]; resp != nil {
		return copied(resp), nil
	}
	max, _ := strconv.ParseInt(p.Voucher.Max, 10, 64)
	if p.Deposit != nil && (max == d.charged+cost) {
		if salt := p.Deposit.Authorization.ERC3009.Salt; !d.deposits[salt] {
			d.deposits[salt] = true
			n, _ := strconv.ParseInt(p.Deposit.Amount, 10, 64)
			d.balance += n
		}
	}
	corrective := func(reason string, bend func(obj)) *http.Response {
		q := required(d.entry(func(extra obj) {
			extra["channelState"] = d.state(p.Voucher.Channel)
			extra["voucherState"] = obj{"signedMaxClaimable": d.last.Max, "signature": d.last.Signature}
			if bend != nil {
				bend(extra)
			}
		}))
		q["error"] = "invalid_batch_settlement_evm_" + reason
		return challenge(q)
	}
	switch {
	case d.correct != nil && d.reason != "":
		return corrective(d.reason, d.correct), nil
	case d.correct != nil:
		return corrective(rail.ReasonMismatch, d.correct), nil
	case max != d.charged+cost:
		return corrective(rail.ReasonMismatch, nil), nil
	case max > d.balance:
		return corrective(rail.ReasonExceeds, nil), nil
	}
	d.charged, d.last = max, p.Voucher
	state := d.state(p.Voucher.Channel)
	s := obj{"success": true, "payer": strings.ToLower(d.key.Address().String()), "network": network, "transaction": "",
		"extra": obj{"channelState": state, "chargedAmount": fmt.Sprint(cost)}}
	if p.Deposit != nil {
		s["transaction"], s["amount"] = "0x"+strings.Repeat("ab", 32), p.Deposit.Amount
	}
	if d.success != nil {
		d.success(s)
	}
	resp := response(200, map[string]string{"PAYMENT-RESPONSE": b64(s)}, `{"deliverable":"hello"}`)
	d.answers[key] = copied(resp)
	return resp, nil
}

// copied is an answer that can be given again; all are the same text.
func copied(r *http.Response) *http.Response {
	return response(r.StatusCode, map[string]string{"PAYMENT-RESPONSE": r.Header.Get("PAYMENT-RESPONSE")},
		`{"deliverable":"hello"}`)
}

// buyer is one with a wallet and a node.
func (d *voucherDoor) buyer(t *testing.T, change func(*Config)) *Buyer {
	return newBuyer(t, d, func(c *Config) {
		c.Nodes = map[string]string{network: d.chain.URL}
		if change != nil {
			change(c)
		}
	})
}

// spent has a correction say that the voucher which was just presented is spent, and show it.
func (d *voucherDoor) spent(extra obj) {
	v := d.presented[len(d.presented)-1].Voucher
	extra["channelState"].(obj)["chargedCumulativeAmount"] = v.Max
	extra["voucherState"] = obj{"signedMaxClaimable": v.Max, "signature": v.Signature}
}

// What a hostile seller says costs at most the price of one more purchase, and is never signed for
// otherwise: the rows are its second answer, after an honest first sale.
func TestHostileSellersOfVouchers(t *testing.T) {
	state := func(name, value string) func(obj) {
		return func(extra obj) { extra["channelState"].(obj)[name] = value }
	}
	stranger, err := wallet.ParseKey(strings.Repeat("5", 64))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		bend   func(d *voucherDoor, channel string)
		says   string // in the error or the warnings
		err    error
		signed int64 // the most that was signed for in the end
		sent   int   // payments that were presented
	}{
		{"a count above what was signed", func(d *voucherDoor, _ string) {
			d.correct = state("chargedCumulativeAmount", "900000")
		}, "shows a voucher for 0.5", nil, 2 * cost, 2},
		{"a count with a signature of another's", func(d *voucherDoor, channel string) {
			d.correct = func(extra obj) {
				extra["channelState"].(obj)["chargedCumulativeAmount"] = "900000"
				sig := stranger.Sign(wallet.VoucherDigest(8453, bytes32(channel), 900_000))
				extra["voucherState"] = obj{"signedMaxClaimable": "900000", "signature": fmt.Sprintf("0x%x", sig)}
			}
		}, "not signed by this wallet", nil, 2 * cost, 2},
		{"a count below what it claimed", func(d *voucherDoor, _ string) {
			d.claimed, d.correct = cost, state("chargedCumulativeAmount", "0")
		}, "has claimed 0.5", nil, 2 * cost, 2},
		{"the state of another channel", func(d *voucherDoor, _ string) {
			d.correct = state("channelId", "0x"+strings.Repeat("1", 64))
		}, "of another channel", nil, 2 * cost, 2},
		{"another authorizer in the correction", func(d *voucherDoor, _ string) {
			d.correct = func(extra obj) { extra["receiverAuthorizer"] = payTo }
		}, "of another channel", nil, 2 * cost, 2},
		{"a delay out of range in the correction", func(d *voucherDoor, _ string) {
			d.correct = func(extra obj) { extra["withdrawDelay"] = 60 }
		}, "of another channel", nil, 2 * cost, 2},
		{"less balance than the chain has", func(d *voucherDoor, _ string) {
			d.reason, d.correct = rail.ReasonExceeds, state("balance", "0")
		}, "asks for what was presented", nil, 2 * cost, 2},
		{"what is true, for ever", func(d *voucherDoor, _ string) { d.correct = func(obj) {} },
			"asks for what was presented", nil, 2 * cost, 2},
		{"the voucher just shown as spent, for ever", func(d *voucherDoor, _ string) {
			d.correct = d.spent
		}, "nothing was charged", nil, 3 * cost, 3},
		{"more charged than asked", func(d *voucherDoor, _ string) {
			d.success = func(s obj) { s["extra"].(obj)["chargedAmount"] = "500001" }
		}, "No more is bought", nil, 2 * cost, 2},
		{"a sum above what was signed", func(d *voucherDoor, _ string) {
			d.success = func(s obj) { s["extra"].(obj)["channelState"].(obj)["chargedCumulativeAmount"] = "1000001" }
		}, "No more is bought", nil, 2 * cost, 2},
		{"an answer of another channel", func(d *voucherDoor, _ string) {
			d.success = func(s obj) { s["extra"].(obj)["channelState"].(obj)["channelId"] = "0x1" }
		}, "No more is bought", nil, 2 * cost, 2},
		{"less balance in an answer", func(d *voucherDoor, _ string) {
			d.success = func(s obj) { s["extra"].(obj)["channelState"].(obj)["balance"] = "1" }
		}, "by this journal it is 1 USDC", nil, 2 * cost, 2},
		{"nothing of what was charged", func(d *voucherDoor, _ string) {
			d.success = func(s obj) { delete(s, "extra") }
		}, "the whole price is counted", nil, 2 * cost, 2},
		{"another authorizer", func(d *voucherDoor, _ string) {
			d.terms = func(extra obj) { extra["receiverAuthorizer"] = payTo }
		}, "still has 0.5 USDC", ErrChannel, cost, 1},
		{"another delay", func(d *voucherDoor, _ string) {
			d.terms = func(extra obj) { extra["withdrawDelay"] = 900 }
		}, "still has 0.5 USDC", ErrChannel, cost, 1},
		{"a delay out of range", func(d *voucherDoor, _ string) {
			d.terms = func(extra obj) { extra["withdrawDelay"] = 2_592_001 }
		}, "is not 900 to 2592000", ErrNotPayable, cost, 1},
		{"a delay in words", func(d *voucherDoor, _ string) {
			d.terms = func(extra obj) { extra["withdrawDelay"] = "86400" }
		}, "withdrawDelay is a number", ErrNotPayable, cost, 1},
		{"a price above the ceiling", func(d *voucherDoor, _ string) {
			d.terms = func(extra obj) { extra["amount"] = "1000001" }
		}, "Raise the ceiling", ErrCeiling, cost, 1},
		{"a top-up above the ceiling", func(d *voucherDoor, _ string) {
			d.terms = func(extra obj) { extra["amount"], extra["minDeposit"] = "600000", "1000001" }
		}, "deposit of 1.000001 USDC", ErrCeiling, cost, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newVoucherDoor(t)
			b := d.buyer(t, nil)
			first, err := b.Buy(t.Context(), doorURL, Options{})
			if err != nil || first.Voucher == nil {
				t.Fatal(first, err)
			}
			tt.bend(d, first.Voucher.Channel)
			r, err := b.Buy(t.Context(), doorURL+"2", Options{})
			text := fmt.Sprint(err)
			if r != nil {
				text += strings.Join(r.Warnings, " ")
			}
			if !strings.Contains(text, tt.says) || tt.err != nil && !errors.Is(err, tt.err) {
				t.Errorf("it says %s", text)
			}
			var most int64
			for _, p := range d.presented {
				n, err := strconv.ParseInt(p.Voucher.Max, 10, 64)
				if most = max(most, n); err != nil {
					t.Error(err)
				}
			}
			c, err := b.cfg.Journal.channel(t.Context(), first.Voucher.Channel)
			if err != nil || most != tt.signed || len(d.presented) != tt.sent || c.Charged > most || c.Max > most {
				t.Errorf("%d signed for in %d payments, want %d in %d; the channel is %+v, %v", most, len(d.presented),
					tt.signed, tt.sent, c, err)
			}
			if strings.Contains(tt.says, "No more") {
				if _, err := b.Buy(t.Context(), doorURL+"3", Options{}); !errors.Is(err, ErrChannel) ||
					len(d.presented) != tt.sent {
					t.Errorf("and on: %v", err)
				}
			}
		})
	}
}

// A purchase is signed anew by a door's count once, however often its process dies meanwhile.
func TestAPurchaseIsCorrectedOnce(t *testing.T) {
	d := newVoucherDoor(t)
	b := d.buyer(t, nil)
	first, err := b.Buy(t.Context(), doorURL, Options{})
	if err != nil {
		t.Fatal(err)
	}
	d.correct = d.spent
	ctx, cancel := context.WithCancel(t.Context())
	d.answer = func(n int) *http.Response {
		if n != 3 {
			return nil
		}
		cancel()
		return response(503, nil, "")
	}
	if _, err := b.Buy(ctx, doorURL+"2", Options{}); !errors.Is(err, ErrUnknown) {
		t.Fatalf("killed: %v", err)
	}
	for range 3 {
		if _, err := b.Resume(t.Context()); err != nil && len(d.presented) > 4 {
			t.Errorf("resumed: %v", err)
		}
	}
	c, err := b.cfg.Journal.channel(t.Context(), first.Voucher.Channel)
	if err != nil || len(d.presented) != 4 || c.Max != 3*cost {
		t.Errorf("%d payments, the channel is %+v, %v", len(d.presented), c, err)
	}
}

// A deposit that a door refused may land until it expires: until then no other is signed, and the
// same is presented again.
func TestADepositIsSignedOnce(t *testing.T) {
	d := newVoucherDoor(t)
	now := time.Now()
	b := d.buyer(t, func(c *Config) { c.Now = func() time.Time { return now } })
	d.answer = func(n int) *http.Response {
		p := d.presented[n-1] // what is presented is in the journal already
		c, err := b.cfg.Journal.channel(t.Context(), p.Voucher.Channel)
		if err != nil || c == nil || c.Max != cost || c.Deposit == nil || c.Signature != p.Voucher.Signature {
			t.Errorf("presented %+v while the journal has %+v, %v", p.Voucher, c, err)
		}
		return response(410, nil, "{}")
	}
	for range 3 {
		if _, err := b.Buy(t.Context(), doorURL, Options{}); err == nil {
			t.Fatal("it was sold")
		}
	}
	d.answer = nil
	if _, err := b.Buy(t.Context(), doorURL, Options{}); err != nil {
		t.Fatal(err)
	}
	salts := map[string]bool{}
	for _, p := range d.presented {
		salts[p.Deposit.Authorization.ERC3009.Salt] = true
	}
	if len(salts) != 1 || len(d.presented) != 4 || d.balance != 1_000_000 {
		t.Errorf("%d deposits in %d payments, the channel has %d", len(salts), len(d.presented), d.balance)
	}
}

// Whose process dies after any write of its journal, and who is answered or not before, comes to
// one charge and one deposit, whoever goes on.
func TestVouchersSurviveEveryCrash(t *testing.T) {
	d := newVoucherDoor(t)
	for writes := 1; writes <= 14; writes++ {
		t.Run(strconv.Itoa(writes), func(t *testing.T) {
			d.mu.Lock()
			d.charged, d.balance, d.last, d.presented = 0, 0, wireVoucher{}, nil
			clear(d.answers)
			clear(d.deposits)
			d.mu.Unlock()
			synctest.Test(t, func(t *testing.T) {
				db := ledger.NewMem(ledger.MemOptions{})
				with := func(db ledger.DB) *Buyer {
					return d.buyer(t, func(c *Config) { c.Journal = InLedger(db, "once") })
				}
				_, died := with(&killed{db, writes}).Buy(t.Context(), doorURL, Options{ID: "one"})
				if writes < 6 && died == nil {
					t.Errorf("alive after %d writes", writes)
				}
				time.Sleep(time.Hour) // the leases of the dead end
				b := with(db)
				if _, err := b.Resume(t.Context()); err != nil {
					t.Fatal(err)
				}
				r, err := b.Buy(t.Context(), doorURL, Options{ID: "one"})
				if err != nil || r.State != Delivered || r.Voucher.Charged != cost {
					t.Fatalf("gone on: %+v, %v", r, err)
				}
				if r, err = b.Buy(t.Context(), doorURL+"2", Options{ID: "two"}); err != nil || r.Voucher.Deposit != 0 {
					t.Fatalf("the next: %+v, %v", r, err)
				}
				all, err := b.Channels(t.Context())
				if err != nil || len(all) != 1 || all[0].Charged != 2*cost || all[0].Balance != 2*cost ||
					all[0].Open != "" {
					t.Errorf("the channels are %+v, %v", all, err)
				}
			})
			if d.charged != 2*cost || d.balance != 2*cost || len(d.deposits) != 1 {
				t.Errorf("%d of %d charged, by %d deposits", d.charged, d.balance, len(d.deposits))
			}
		})
	}
}

// What a door says of a hold is judged before anything is signed.
func TestTermsOfHoldsAreJudged(t *testing.T) {
	now := time.Now()
	in := func(d time.Duration) int64 { return now.Add(d).Unix() }
	extra := obj{"name": "USD Coin", "version": "2", "authCaptureEscrow": wallet.CaptureEscrow.String(),
		"captureAuthorizer": authorizer, "operatorType": "delegated", "paymentFlow": "escrow",
		"captureDeadline": in(time.Hour), "refundDeadline": in(2 * time.Hour), "minFeeBps": 0, "maxFeeBps": 0,
		"feeRecipient": "0x0000000000000000000000000000000000000000"}
	for _, tt := range []struct {
		name   string
		extra  obj
		signed bool
		says   string
	}{
		{"plain", nil, true, ""},
		{"the default escrow", obj{"authCaptureEscrow": ""}, true, ""},
		{"bound to who signs for the receiver", obj{"receiverAuthorizer": payTo}, true, ""},
		{"a fee within the limit", obj{"maxFeeBps": 50, "feeRecipient": payTo}, true, ""},
		{"another escrow", obj{"authCaptureEscrow": payTo}, false, "not the one that is known"},
		{"held too long", obj{"captureDeadline": in(26 * time.Hour), "refundDeadline": in(27 * time.Hour)}, false,
			"longer than 24h"},
		{"over", obj{"captureDeadline": in(-time.Second)}, false, "captureDeadline is over"},
		{"over before the authorization is", obj{"captureDeadline": in(time.Minute)}, false, "ends before the payment"},
		{"a refund before the capture", obj{"refundDeadline": in(time.Minute)}, false, "refund would end before"},
		{"a fee above the limit", obj{"maxFeeBps": 51}, false, "more than 50"},
		{"fees that are none", obj{"minFeeBps": 2, "maxFeeBps": 1}, false, "its fees are none"},
		{"a deadline in words", obj{"captureDeadline": fmt.Sprint(in(time.Hour))}, false, "are numbers"},
		{"no deadline", obj{"captureDeadline": nil}, false, "is missing"},
		{"nobody as operator", obj{"captureAuthorizer": "0x0000000000000000000000000000000000000000"}, false,
			"not an address"},
		{"a contract as operator", obj{"operatorType": "custom"}, false, "not delegated"},
		{"a policy", obj{"policy": payTo}, false, "names a policy"},
		{"another token's name", obj{"name": "USDC"}, false, "signature would be void"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := maps.Clone(extra)
			maps.Copy(x, tt.extra)
			d := &door{unpaid: func(int) *http.Response {
				return challenge(required(entry(obj{"scheme": rail.SchemeCapture, "extra": x})))
			}, paid: func(int, *http.Request) (*http.Response, error) { return delivered(), nil }}
			b := newBuyer(t, d, func(c *Config) {
				c.Hold, c.Now = HoldLimits{Longest: 24 * time.Hour, FeeBps: 50}, func() time.Time { return now }
			})
			r, err := b.Buy(t.Context(), doorURL, Options{})
			if (err == nil) != tt.signed || len(d.payment) != map[bool]int{true: 1}[tt.signed] ||
				!tt.signed && !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("%+v, %v in %d payments", r, err, len(d.payment))
			}
			if !tt.signed {
				return
			}
			raw, err := base64.StdEncoding.DecodeString(d.payment[0])
			var w struct{ Payload wireHold }
			if err == nil {
				err = json.Unmarshal(raw, &w)
			}
			h, bad := holdOf(r.Hold.Info)
			if err := errors.Join(err, bad); err != nil {
				t.Fatal(err)
			}
			kept := files(t, b)[0].Hold
			if h.Payer = (wallet.Address{}); nonceText(h.Hash(8453)) != w.Payload.Authorization.Nonce ||
				w.Payload.Salt != kept.Info.Salt || w.Payload.SaltNonce != kept.SaltNonce ||
				(kept.SaltNonce != "") != (x["receiverAuthorizer"] != nil) || kept.Info != r.Hold.Info ||
				r.Hold.Reclaim.Unix() != x["captureDeadline"] {
				t.Errorf("signed %+v, kept %+v", w.Payload, kept)
			}
		})
	}
}
