package services

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/buyer"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/till"
)

const (
	base  = "eip155:8453"
	payTo = "0x52908400098527886E0F7030069857D2E4169EE7"
)

// chain is one network: what was presented to it, and what of that has moved.
type chain struct {
	rail.Rail
	mu      sync.Mutex
	balance int64
	down    bool
	moved   map[string]time.Time // by nonce
}

func (*chain) Info() rail.Info {
	t := networks.Tokens()
	i := slices.IndexFunc(t, func(t networks.Token) bool { return t.Network == base && t.Symbol == "USDC" })
	return rail.Info{Network: base, Name: "Base", Asset: t[i].Address}
}

func (c *chain) Head(context.Context) (rail.Head, error) {
	if c.down {
		return rail.Head{}, errors.New("the node is away")
	}
	return rail.Head{Block: 100, Time: time.Now()}, nil
}

func (c *chain) Funds(context.Context, string, []string) (rail.Funds, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return rail.Funds{Balance: big.NewInt(c.balance)}, nil
}

func (*chain) CheckPayout(*rail.Payment) error { return nil }

// Redeemed knows of what is final, which is what is two minutes old.
func (c *chain) Redeemed(_ context.Context, p *rail.Payment, from uint64) (rail.Redemption, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	final := time.Now().Add(-2 * time.Minute)
	red := rail.Redemption{Balance: big.NewInt(c.balance), Final: final}
	at, used := c.moved[p.Nonce]
	if red.Used = used; !used || at.After(final) {
		return red, nil
	}
	if from != 100 || p.PayTo != payTo || p.Method != "eip3009" {
		return red, errors.New("looked for in the wrong place")
	}
	red.Proof = &rail.Proof{Tx: "0x" + strings.Repeat("ab", 32), Block: 101, BlockTime: at}
	return red, nil
}

// move settles a payment, unless it is past its time.
func (c *chain) move(header string) bool {
	raw, err := base64.StdEncoding.DecodeString(header)
	var p struct {
		Payload struct {
			Authorization struct {
				Nonce, Value, To, ValidBefore string
			}
		}
	}
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil {
		panic(err)
	}
	a := p.Payload.Authorization
	c.mu.Lock()
	defer c.mu.Unlock()
	value, _ := new(big.Int).SetString(a.Value, 10)
	end, _ := new(big.Int).SetString(a.ValidBefore, 10)
	if _, used := c.moved[a.Nonce]; used || time.Now().Unix() >= end.Int64() || a.To != payTo {
		return false
	}
	c.moved[a.Nonce], c.balance = time.Now(), c.balance-value.Int64()
	return true
}

// world is a door, a chain and a ledger.
type world struct {
	t     *testing.T
	db    ledger.DB
	chain *chain
	mu    sync.Mutex
	// price is what the door asks; answer is what it gives for a payment, the nth time.
	price   int64
	answer  func(n int, payment string) (*http.Response, error)
	unpaid  func() (*http.Response, error)
	hangs   bool // once it is paid
	asked   int
	paid    []string
	said    []http.Header
	reports []attest.Audit
	closed  []goods.LaunchOutcome
	ended   []string
}

func response(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}},
		Body: io.NopCloser(strings.NewReader(body))}
}

func (w *world) terms() *http.Response {
	info := w.chain.Info()
	raw, err := json.Marshal(map[string]any{"x402Version": 2, "resource": map[string]any{"url": door},
		"accepts": []any{map[string]any{"scheme": "exact", "network": base, "asset": info.Asset, "payTo": payTo,
			"amount": big.NewInt(w.price).String(), "maxTimeoutSeconds": 3600,
			"extra": map[string]any{"name": "USD Coin", "version": "2"}}}})
	if err != nil {
		w.t.Error(err)
	}
	r := response(402, "")
	r.Header.Set("PAYMENT-REQUIRED", base64.StdEncoding.EncodeToString(raw))
	return r
}

// RoundTrip implements http.RoundTripper.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "did.json") {
		return response(404, ""), nil
	}
	w.mu.Lock()
	payment := r.Header.Get("PAYMENT-SIGNATURE")
	if w.said = append(w.said, r.Header); payment == "" {
		w.asked++
		w.mu.Unlock()
		if w.unpaid != nil {
			return w.unpaid()
		}
		return w.terms(), nil
	}
	w.paid = append(w.paid, payment)
	n := len(w.paid)
	w.mu.Unlock()
	if w.hangs {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return w.answer(n, payment)
}

const door = "https://door.example.com/paid?key=private"

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, db: ledger.NewMem(ledger.MemOptions{}), price: 50_000,
		chain: &chain{balance: 1_000_000, moved: map[string]time.Time{}}}
	w.answer = func(_ int, payment string) (*http.Response, error) {
		if w.chain.move(payment) {
			time.Sleep(2 * time.Second)
			return response(200, "the good"), nil
		}
		return response(402, "{}"), nil
	}
	return w
}

// walker is a process on a ledger.
func (w *world) walker(db ledger.DB) *Services {
	key, err := wallet.ParseKey(strings.Repeat("7", 64))
	if err != nil {
		w.t.Fatal(err)
	}
	return New(Config{BaseURL: "https://store.example", DB: db, Log: quiet, Launches: LaunchConfig{
		Purse: &Purse{Account: key.Address().String(), Rails: []rail.Rail{w.chain}},
		Buyer: func(tokens []buyer.Token) (Buyer, error) {
			return buyer.New(buyer.Config{Wallet: key, Journal: buyer.InLedger(db, LaunchJob), Ceiling: LaunchCap,
				MaxValidity: MaxValidity, Timeout: AskFor, Tokens: tokens, Client: &http.Client{Transport: w}})
		},
		Observe: func(tx ledger.Tx, o record.Observation) error {
			n, err := ledger.Next(tx, "test_seen")
			o.Format, o.Number, o.At = record.ObservationFormat, n, stamp(tx.Now())
			if err := errors.Join(err, o.Check()); err != nil {
				return err
			}
			return ledger.SetJSON(tx, ledger.GoodsKey("test_seen"), o)
		},
		Ended: func(verdict string) { w.ended = append(w.ended, verdict) }}})
}

// signs is the till that it was sold at.
func (w *world) signs() *signs {
	return &signs{
		report: func(_ context.Context, purchase string, a attest.Audit, at time.Time) (*till.SignedArtifact, error) {
			a.AuditID, a.PatronNumber, a.Date = "audit_abcdefghij2345672345", 1, stamp(at)
			proof, err := attest.SignPayload(attest.SpecimenKey(), a)
			if err == nil {
				_, err = attest.ParseArtifact([]byte(proof.SignedPayload))
			}
			w.reports = append(w.reports, a)
			return &till.SignedArtifact{ID: a.AuditID, Class: a.Class, Purchase: purchase, Proof: proof}, err
		},
		closed: func(g *goods.Made) {
			d, err := goods.Delivered[goods.Launched](g)
			if err != nil {
				w.t.Error(err)
			}
			w.closed = append(w.closed, d.LaunchOutcome)
		},
	}
}

// run runs a process on a ledger for a time. It stops early where the ledger dies.
func (w *world) run(db ledger.DB, d time.Duration) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	if k, is := db.(*killed); is {
		k.die = cancel
	}
	work, err := schedule.New(schedule.Config{DB: db, Jobs: w.walker(db).Jobs(w.signs()),
		Log: quiet, Poll: 5 * time.Second})
	if err != nil {
		w.t.Fatal(err)
	}
	_ = work.Run(ctx) // a dead ledger is an error
}

// sold begins a purchase as the till's transaction does.
func (w *world) sold() {
	w.t.Helper()
	at := time.Now().UTC().Truncate(time.Second)
	read := stamp(at)
	err := w.db.Update(context.Background(), func(tx ledger.Tx) error {
		return errors.Join(launches.put(tx, order, LaunchRecord{Order: order, Purchase: "p1",
			Item:   "launch_check",
			Target: door, Host: "door.example.com", Door: door, Method: "GET", Starts: at,
			Reading: &goods.Reading{Target: door, ReadAt: read, Verdict: "ready",
				Findings: []attest.Finding{{Checker: "preflight/v2", Verdict: "ready", Report: []byte(`{}`)}},
				Evidence: []attest.Seen{{Method: "GET", URL: door, At: read, Status: 402}}}}, tx.Now()),
			ledger.SetJSON(tx, ledger.PurchaseKey("p1"), till.Purchase{ID: "p1", State: till.Promised}))
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// came is what a purchase came to, and what the record was told of it, once or never; everything
// that is due must be done.
func (w *world) came() (rec LaunchRecord, told record.Observation) {
	w.t.Helper()
	err := w.db.View(context.Background(), func(tx ledger.Tx) (err error) {
		if rec, err = ReadLaunch(tx, order); err != nil {
			return err
		}
		if tasks, err := schedule.Tasks(tx, LaunchJob); err != nil || len(tasks) > 0 {
			w.t.Errorf("%d tasks are left: %v", len(tasks), err)
		}
		if p, err := ledger.GetJSON[launchPlace](tx, launchedKey(rec.Host)); err != nil || p.Until.IsZero() {
			w.t.Errorf("its place at the host counts as %+v, %v", p, err)
		}
		told, _, err = ledger.FindJSON[record.Observation](tx, ledger.GoodsKey("test_seen"))
		return err
	})
	if err != nil || !rec.Closed || rec.Outcome == nil || told.Number > 1 {
		w.t.Fatalf("%+v, observed %d times, %v", rec, told.Number, err)
	}
	return rec, told
}

// spent is how much left the wallet; it is never more than the cap, by one payment that was signed.
func (w *world) spent() int64 {
	w.t.Helper()
	if n := len(slices.Compact(slices.Sorted(slices.Values(w.paid)))); n > 1 {
		w.t.Errorf("%d payments were presented", n)
	}
	spent := 1_000_000 - w.chain.balance
	if spent > LaunchCap {
		w.t.Errorf("%d left the wallet", spent)
	}
	return spent
}

var errLost = errors.New("connection reset")

// unpaid is a door that has such an answer for whoever does not pay.
func unpaid(r *http.Response, err error) func(*world) {
	return func(w *world) { w.unpaid = func() (*http.Response, error) { return r, err } }
}

const never = time.Duration(-1)

// takes is a door that moves the money after a time, and has such an answer for it at once.
func takes(after time.Duration, r *http.Response, err error) func(*world) {
	return func(w *world) {
		w.answer = func(_ int, payment string) (*http.Response, error) {
			switch {
			case after == 0:
				w.chain.move(payment)
			case after > 0:
				time.AfterFunc(after, func() { w.chain.move(payment) })
			}
			return r, err
		}
	}
}

// What a door does decides the verdict, and never costs more than the cap.
func TestWhatADoorDoes(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(w *world)
		verdict string // or why nothing was bought
		spent   int64
	}{
		"sells":                 {func(*world) {}, derive.OutcomeDelivered, 50_000},
		"asks more in the end":  {func(w *world) { w.price = 50_001 }, "it asks for more than 0.05 USDC", 0},
		"redirects":             {unpaid(response(302, ""), nil), WhyUnsigned(&buyer.DoorError{}), 0},
		"gives it away":         {unpaid(response(200, "x"), nil), "it delivers without asking for a payment", 0},
		"answers nothing":       {unpaid(nil, errLost), WhyUnsigned(errLost), 0},
		"takes and is silent":   {takes(0, nil, errLost), derive.OutcomeCharged, 50_000},
		"takes and says no":     {takes(0, response(402, "{}"), nil), derive.OutcomeCharged, 50_000},
		"refuses":               {takes(never, response(402, "{}"), nil), derive.OutcomeRefused, 0},
		"delivers, takes none":  {takes(never, response(200, "x"), nil), derive.OutcomeNotCharged, 0},
		"never answers":         {takes(never, nil, errLost), derive.OutcomeUnanswered, 0},
		"hangs":                 {func(w *world) { w.hangs = true }, derive.OutcomeUnanswered, 0},
		"settles at last":       {takes(4*time.Minute, response(403, ""), nil), derive.OutcomeCharged, 50_000},
		"settles past its time": {takes(6*time.Minute, response(403, ""), nil), derive.OutcomeRefused, 0},
		"our wallet is empty": {func(w *world) { w.chain.balance = 0 },
			"the store's wallet could pay on no network at the time", 1_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				c.change(w)
				w.sold()
				w.run(w.db, 3*time.Hour)
				rec, told := w.came()
				walk, unpaid := told.Walk, told.Unpaid
				out := rec.Outcome.LaunchOutcome
				if c.spent <= LaunchCap && w.spent() != c.spent || len(w.closed) != 1 || w.closed[0] != out ||
					len(w.ended) != 1 {
					t.Errorf("spent %d, closed %+v as %v", w.spent(), w.closed, w.ended)
				}
				if out.Verdict+out.NotWalked != c.verdict {
					t.Errorf("came to %q, want %q", out.Verdict+out.NotWalked, c.verdict)
				}
				if moved := out.Transaction != ""; moved != (c.spent == LaunchCap) || moved != (walk != nil) ||
					(out.Verdict != "" && !moved) != (unpaid != nil) {
					t.Errorf("transaction %q, on the record %+v", out.Transaction, told)
				}
				if out.Owed() != (name == "our wallet is empty") {
					t.Errorf("owed: %v", out.Owed())
				}
				if out.NotWalked != "" {
					if len(w.reports)+len(w.paid) != 0 {
						t.Errorf("%d reports of nothing, %d payments", len(w.reports), len(w.paid))
					}
					return
				}
				a := w.reports[0]
				if len(w.reports) != 1 || a.Verdict != c.verdict || len(a.Findings) != 2 || len(a.Evidence) != 2 ||
					out.Evidence != a.EvidenceSHA256 || a.Evidence[1].Status == 0 != (rec.Sent.Answer == nil) {
					t.Errorf("reported %+v", w.reports)
				}
				if walk != nil && (walk.URL != "https://door.example.com/paid" || walk.Network != base ||
					walk.USDC != "0.05" || walk.Transaction != out.Transaction || walk.By != record.BoughtByStore ||
					derive.Outcome(walk.Claim, true) != c.verdict) {
					t.Errorf("on the record: %+v", walk)
				}
				if unpaid != nil && (unpaid.URL != "https://door.example.com/paid" || unpaid.Network != base ||
					unpaid.USDC != "0.05" || derive.Outcome(unpaid.Claim, false) != c.verdict) {
					t.Errorf("on the record: %+v", unpaid)
				}
			})
		})
	}
}

// The door learns nothing of the order, and is asked as everybody asks.
func TestTheDoorLearnsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.sold()
		at := w.answer
		w.answer = func(n int, payment string) (*http.Response, error) {
			time.Sleep(700 * time.Millisecond)
			return at(n, payment)
		}
		w.run(w.db, time.Hour)
		rec, told := w.came()
		for _, h := range w.said {
			for name, v := range h {
				if strings.Contains(strings.Join(v, " "), order) {
					t.Errorf("%s tells of the order", name)
				}
			}
		}
		if c := told.Walk.Claim; c == nil || c.Status != 200 || c.Bytes != 8 || c.LatencyMS != 2700 ||
			c.ContentType != "text/plain" {
			t.Errorf("claim %+v of %+v", told.Walk.Claim, rec.Sent)
		}
	})
}

// killed is the ledger of a process that dies after so many writes: the last is kept, and the
// process does not learn of it.
type killed struct {
	ledger.DB
	mu   sync.Mutex
	left int
	die  func()
}

func (k *killed) Update(ctx context.Context, f func(ledger.Tx) error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.left == 0 {
		return errors.New("the process is dead")
	}
	if k.left--; k.left > 0 {
		return k.DB.Update(ctx, f)
	}
	k.die()
	return errors.Join(k.DB.Update(ctx, f), errors.New("the process is dead"))
}

// A process that dies after any write leaves a purchase that another goes on with: one payment is
// signed, and one outcome told.
func TestKilledAfterEveryWrite(t *testing.T) {
	alive := 0
	for writes := 1; alive < 2; writes++ {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.sold()
			k := &killed{DB: w.db, left: writes}
			w.run(k, 20*time.Minute)
			if k.left > 0 {
				alive++
			}
			w.run(w.db, 3*time.Hour)
			rec, told := w.came()
			if rec.Outcome.Verdict != derive.OutcomeDelivered && rec.Outcome.Verdict != derive.OutcomeCharged ||
				told.Walk == nil || w.spent() != 50_000 {
				t.Errorf("killed after %d writes: %+v, told %+v", writes, rec.Outcome, told)
			}
			for _, o := range w.closed { // it may be told twice, and says the same
				if o.Verdict != rec.Outcome.Verdict || o.AuditID != rec.Outcome.AuditID {
					t.Errorf("killed after %d writes: closed as %+v and %+v", writes, o, rec.Outcome)
				}
			}
		})
		if writes > 60 {
			t.Fatal("it never ends")
		}
	}
}

// Nothing is bought for a payment that was taken back.
func TestAPaymentThatWasTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.sold()
		err := w.db.Update(t.Context(), func(tx ledger.Tx) error {
			return ledger.SetJSON(tx, ledger.PurchaseKey("p1"), till.Purchase{ID: "p1", State: till.Reversed})
		})
		if err != nil {
			t.Fatal(err)
		}
		w.run(w.db, time.Hour)
		if w.asked != 0 || len(w.closed) != 0 || w.spent() != 0 {
			t.Errorf("asked %d times, closed %v", w.asked, w.closed)
		}
	})
}

// What a door passes on of its facilitator's words is kept and reported as its word: bounded,
// printable, without addresses. What cannot be read is left out, and costs nothing else.
func TestWhatADoorPassesOn(t *testing.T) {
	code := func(json string) string { return base64.StdEncoding.EncodeToString([]byte(json)) }
	const bazaar = `{"bazaar":{"status":"rejected","rejectedReason":"no schema for ` + payTo + `"}}`
	for name, c := range map[string]struct {
		header, value string
		words         []feed.Word
	}{
		"extensions": {"EXTENSION-RESPONSES", code(bazaar), []feed.Word{{Header: "EXTENSION-RESPONSES",
			Text: `{"bazaar":{"status":"rejected","rejectedReason":"no schema for (address)"}}`}}},
		"reason": {"PAYMENT-RESPONSE", code(`{"success":false,"errorReason":"insufficient_funds","payer":"0x1",
			"extensions":{"offer-receipt":{"info":1},"a\u001b[2J":{"b":2}}}`), []feed.Word{{Header: "PAYMENT-RESPONSE",
			Text: `{"errorReason":"insufficient_funds","extensions":{"a\u001b[2J":{"b":2}}}`}}},
		"nothing said":    {"PAYMENT-RESPONSE", code(`{"success":true,"transaction":"0xabc"}`), nil},
		"no base64":       {"EXTENSION-RESPONSES", bazaar, nil},
		"no JSON":         {"EXTENSION-RESPONSES", code(bazaar[1:]), nil},
		"names twice":     {"EXTENSION-RESPONSES", code(`{"a":1,"a":2}`), nil},
		"far too long":    {"EXTENSION-RESPONSES", code(`{"a":"` + strings.Repeat("a", 3000) + `"}`), nil},
		"of a wrong kind": {"PAYMENT-RESPONSE", code(`{"errorReason":["x"]}`), nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.answer = func(_ int, payment string) (*http.Response, error) {
					w.chain.move(payment)
					r := response(200, "the good")
					r.Header.Set(c.header, c.value)
					return r, nil
				}
				w.sold()
				w.run(w.db, time.Hour)
				rec, told := w.came()
				if told.Walk == nil || rec.Outcome.Verdict != derive.OutcomeDelivered {
					t.Errorf("came to %+v", rec.Outcome)
				}
				var said struct {
					Answer struct {
						Passed []feed.Word `json:"passed_on"`
					}
				}
				if err := json.Unmarshal(w.reports[0].Findings[0].Report, &said); err != nil ||
					!slices.Equal(said.Answer.Passed, c.words) {
					t.Errorf("reported %+v, %v", said.Answer.Passed, err)
				}
				err := w.db.View(t.Context(), func(tx ledger.Tx) error {
					p, err := feed.PassedBy(tx, "door.example.com")
					if (p == nil) != (c.words == nil) || p != nil && (!slices.Equal(p.Words, c.words) ||
						p.Door != "https://door.example.com/paid") {
						t.Errorf("kept %+v", p)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}
