package trade_test

import (
	"context"
	"encoding/hex"
	"encoding/json/v2"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"crypto/hmac"
	"crypto/sha256"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/account"
	"store.example/agentstore/dynamic/budget"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"
	"store.example/agentstore/dynamic/trade"
)

const base = "https://store.test"

// quiet is a network on which nobody pays. What no test asks it panics at.
type quiet struct{ rail.Rail }

func (quiet) Info() rail.Info {
	return rail.Info{Network: "eip155:8453", Name: "Base", Asset: "0xusdc", Symbol: "USDC", PayTo: "0xaa",
		Unit: "wei", Accounts: []string{"0xrelayer"}, Timeout: time.Minute}
}
func (quiet) Fuel(context.Context) (*big.Int, bool, error)     { return big.NewInt(1), false, nil }
func (quiet) Check(context.Context) error                      { return nil }
func (quiet) Changed() <-chan struct{}                         { return nil }
func (quiet) Accounts(context.Context) ([]rail.Account, error) { return nil, nil }
func (quiet) Standing(context.Context) (rail.Standing, error) {
	return rail.Standing{Head: time.Now(), Priced: true}, nil
}
func (quiet) Final(context.Context) (rail.Head, error) {
	return rail.Head{Block: 1, Time: time.Now().Add(24 * time.Hour)}, nil
}
func (quiet) Head(context.Context) (rail.Head, error) {
	return rail.Head{Block: 1, Time: time.Now()}, nil
}
func (quiet) Incoming(_ context.Context, s rail.Span) iter.Seq2[rail.Piece, error] {
	return rail.Ascending(s, func(uint64, uint64) iter.Seq2[rail.Transfer, error] {
		return func(func(rail.Transfer, error) bool) {}
	})
}

// A secret of 32 bytes.
var secretBytes = []byte("the secret of the bazaar, 32 b..")

var bazaar = trade.Account{ID: "bazaar", Partner: "The Bazaar", Secrets: [][]byte{secretBytes},
	Limits: account.Limits{Credit: 250e6, Daily: 100e6}}

// shop is a trade counter behind a server.
type shop struct {
	t    testing.TB
	srv  *dynamic.Server
	desk *trade.Counter
	till *till.Till
	db   ledger.DB
}

type options struct {
	till    func(*till.Config)
	trade   func(*trade.Config)
	account func(*trade.Account)
}

var loaded = sync.OnceValues(func() (*content.Site, error) {
	site, err := content.Load(content.Sources{})
	if err == nil {
		site.Config.BaseURL = base
	}
	return site, err
})

func open(t testing.TB, db ledger.DB, o options) shop {
	t.Helper()
	site, err := loaded()
	check(t, err)
	cfg := till.Config{BaseURL: base, Site: site, DB: db, Rails: []rail.Rail{quiet{}},
		Keys: []*attest.Key{attest.SpecimenKey()}, Ring: attest.SpecimenRing(),
		Secret: []byte(strings.Repeat("s", 32)), Log: slog.New(slog.DiscardHandler)}
	if o.till != nil {
		o.till(&cfg)
	}
	s := shop{t: t, db: db}
	s.till, err = till.New(cfg)
	check(t, err)
	sells, err := counter.New(counter.Config{Till: s.till})
	check(t, err)
	budgets, err := budget.New(db, dynamic.Budgets())
	check(t, err)
	a := bazaar
	if o.account != nil {
		o.account(&a)
	}
	c := trade.Config{BaseURL: base, DB: db, Site: site, Till: s.till, Counter: sells, Budgets: budgets, Specimen: site,
		Accounts: []trade.Account{a, {ID: "unready", Partner: "Not yet"}}}
	if o.trade != nil {
		o.trade(&c)
	}
	s.desk, err = trade.New(c)
	check(t, err)
	s.srv, err = dynamic.New(dynamic.Config{Rows: append(s.desk.Rows(), sells.Rows()...), BaseURL: base,
		Budgets: budgets})
	check(t, err)
	return s
}

func mem() ledger.DB { return ledger.NewMem(ledger.MemOptions{Calm: true}) }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// call is a request as an account signs it. Empty fields are filled in.
type call struct {
	path, body       string
	timestamp, nonce string
	secret           []byte
	at               time.Time
	header           http.Header // over what is made of the others; a value "-" takes a header away
}

var nonces atomic.Int64

func nonce() string { return fmt.Sprintf("%032x", nonces.Add(1)) }

func order(account, item, ref string, more ...string) string {
	return fmt.Sprintf(`{"account":%q,"item_id":%q,"order_ref":%q%s}`, account, item, ref, strings.Join(more, ""))
}

func mac(secret []byte, signed string) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte(signed))
	return m.Sum(nil)
}

func (c call) request() *http.Request {
	if c.secret == nil {
		c.secret = secretBytes
	}
	if c.nonce == "" {
		c.nonce = nonce()
	}
	if c.at.IsZero() {
		c.at = time.Now()
	}
	if c.timestamp == "" {
		c.timestamp = strconv.FormatInt(c.at.Unix(), 10)
	}
	r := httptest.NewRequest(http.MethodPost, base+c.path, strings.NewReader(c.body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Trade-Timestamp", c.timestamp)
	r.Header.Set("X-Trade-Nonce", c.nonce)
	r.Header.Set("X-Trade-Signature", "sha256="+hex.EncodeToString(mac(c.secret, c.timestamp+"."+c.nonce+"."+c.body)))
	for k, vs := range c.header {
		r.Header[http.CanonicalHeaderKey(k)] = vs
		if len(vs) == 1 && vs[0] == "-" {
			r.Header.Del(k)
		}
	}
	return r
}

func (s shop) send(r *http.Request) (int, map[string]any, http.Header) {
	s.t.Helper()
	w := httptest.NewRecorder()
	s.srv.ServeHTTP(w, r)
	raw, err := io.ReadAll(w.Result().Body)
	check(s.t, err)
	var v map[string]any
	if err := json.Unmarshal(raw, &v); err != nil {
		s.t.Fatalf("%s: %v\n%.400s", r.URL.Path, err, raw)
	}
	return w.Code, v, w.Header()
}

func (s shop) call(c call) (int, map[string]any) {
	s.t.Helper()
	code, v, _ := s.send(c.request())
	return code, v
}

func (s shop) buy(item, ref string, more ...string) (int, map[string]any) {
	s.t.Helper()
	return s.call(call{path: "/api/trade/bazaar/" + item, body: order("bazaar", item, ref, more...)})
}

func (s shop) get(path string) map[string]any {
	s.t.Helper()
	code, v, _ := s.send(httptest.NewRequest(http.MethodGet, base+path, nil))
	if code != 200 {
		s.t.Fatalf("%s: %d %v", path, code, v)
	}
	return v
}

func (s shop) book(id string) (b account.Book) {
	s.t.Helper()
	check(s.t, s.db.View(context.Background(), func(tx ledger.Tx) (err error) {
		b, err = account.ReadBook(tx, id)
		return err
	}))
	return b
}

// at walks into an answer.
func at(v map[string]any, path ...string) any {
	var x any = v
	for _, p := range path {
		m, _ := x.(map[string]any)
		x = m[p]
	}
	return x
}

func text(v map[string]any, path ...string) string {
	s, _ := at(v, path...).(string)
	return s
}

// keys are all keys of a ledger with their values.
func keys(t testing.TB, db ledger.DB) map[string]string {
	t.Helper()
	out := map[string]string{}
	check(t, db.View(context.Background(), func(tx ledger.Tx) error {
		clear(out)
		for e, err := range tx.Scan(nil, nil) {
			if err != nil {
				return err
			}
			out[ledger.KeyText(e.Key)] = string(e.Value)
		}
		return nil
	}))
	return out
}
