package kit_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/cmd/check/kit"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/wallet"
)

const secret = "1111111111111111111111111111111111111111111111111111111111111111"

// A door takes every payment for good, and misbehaves as its fields say.
type door struct {
	price  func(asked int) int64
	again  bool // charges for an order again
	forget bool // knows no payment twice
	says   bool // passes on what its facilitator said
	empty  bool // gives nothing
	mpp    bool // sells by MPP

	mu      sync.Mutex
	asked   int              // unpaid requests
	paid    int              // paid requests
	signed  map[string]int64 // by nonce
	settled map[string]string
	tokens  map[string]int // of the field X-Token
}

// RoundTrip implements http.RoundTripper.
func (d *door) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tokens[r.Header.Get("X-Token")]++
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	raw, err := base64.StdEncoding.DecodeString(r.Header.Get("Payment-Signature"))
	if d.mpp {
		raw, err = base64.RawURLEncoding.DecodeString(strings.TrimPrefix(r.Header.Get("Authorization"), "Payment "))
	}
	if err != nil || len(raw) == 0 {
		d.asked++
		d.terms(w, r)
		return w.Result(), nil
	}
	d.paid++
	var p struct {
		Payload struct {
			Authorization struct{ Nonce, Value string }
			Nonce, Value  string // by MPP
		}
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	nonce, order := p.Payload.Authorization.Nonce+p.Payload.Nonce, r.Header.Get("Idempotency-Key")
	d.signed[nonce], _ = strconv.ParseInt(p.Payload.Authorization.Value+p.Payload.Value, 10, 64)
	tx, known := d.settled[nonce]
	if !known && !d.again {
		tx, known = d.settled[order]
	}
	if known && d.forget {
		d.terms(w, r)
		return w.Result(), nil
	}
	if !known {
		tx = fmt.Sprintf("0x%064x", len(d.settled)+1)
		d.settled[nonce], d.settled[order] = tx, tx
	}
	if d.mpp {
		w.Header().Set("Payment-Receipt", base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil,
			`{"status":"success","method":"evm","reference":%q,"chainId":8453}`, tx)))
	} else {
		w.Header().Set("Payment-Response", base64.StdEncoding.EncodeToString(fmt.Appendf(nil,
			`{"success":true,"transaction":%q,"network":"eip155:8453"}`, tx)))
	}
	if d.says {
		w.Header().Set("Extension-Responses",
			base64.StdEncoding.EncodeToString([]byte(`{"bazaar":{"status":"rejected"}}`)))
	}
	w.Header().Set("Content-Type", "application/json")
	if !d.empty {
		io.WriteString(w, `{"sky":"rain"}`)
	}
	return w.Result(), nil
}

func (d *door) terms(w http.ResponseWriter, r *http.Request) {
	if d.mpp {
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Payment id="c%d", realm="door.example", method="evm", `+
			`intent="charge", expires=%q, request="%s"`, d.asked, time.Now().Add(time.Minute).UTC().Format(time.RFC3339),
			base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"amount":"%d",`+
				`"currency":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","methodDetails":{"chainId":8453,`+
				`"credentialTypes":["authorization"]},"recipient":"0x000000000000000000000000000000000000dEaD"}`,
				d.price(d.asked)))))
		w.WriteHeader(http.StatusPaymentRequired)
		return
	}
	w.Header().Set("Payment-Required", base64.StdEncoding.EncodeToString(fmt.Appendf(nil,
		`{"x402Version":2,"error":"Payment required","resource":{"url":%q},"accepts":[{"scheme":"exact",
		"network":"eip155:8453","amount":"%d","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
		"payTo":"0x000000000000000000000000000000000000dEaD","maxTimeoutSeconds":60,
		"extra":{"name":"USD Coin","version":"2"}}]}`, r.URL.String(), d.price(d.asked))))
	w.WriteHeader(http.StatusPaymentRequired)
}

func newDoor(price int64) *door {
	return &door{price: func(int) int64 { return price }, signed: map[string]int64{}, settled: map[string]string{},
		tokens: map[string]int{}}
}

// buy runs the test at a door and returns its rows by name, and what was signed in all.
func buy(t *testing.T, d *door, max int64, journal string) (rows map[string]kit.Row, signed int64) {
	t.Helper()
	key, err := wallet.ParseKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	cfg := kit.PurchaseConfig{URL: "https://door.example/paid", Wallet: key, Max: max,
		Header: http.Header{"X-Token": {"staging-token"}}, Journal: journal, Transport: d}
	if d.mpp {
		cfg.Protocol = kit.ByMPP
	}
	all, err := kit.RunPurchases(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	rows = map[string]kit.Row{}
	for i, r := range all {
		if len(all) != len(kit.Checks()) || kit.Checks()[i].Name != r.Name {
			t.Errorf("%d rows, of which row %d is %s", len(all), i, r.Name)
		}
		rows[r.Name] = r
	}
	for _, n := range d.signed {
		signed += n
	}
	return rows, signed
}

// The cap holds for all payments together, whatever the door says they cost.
func TestTheCapHolds(t *testing.T) {
	for range 40 {
		synctest.Test(t, func(t *testing.T) {
			d, most := newDoor(0), rand.Int64N(200_000)+1
			first, rise := rand.Int64N(60_000)+1, rand.Int64N(3)*rand.Int64N(30_000)
			d.price = func(asked int) int64 { return first + int64(asked)*rise }
			d.again, d.forget = rand.N(2) == 0, rand.N(2) == 0
			if _, signed := buy(t, d, most, t.TempDir()); signed > most {
				t.Errorf("signed %d of at most %d (price %d, rising by %d)", signed, most, first, rise)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(20_000)
		rows, signed := buy(t, d, 70_000, t.TempDir())
		if r := rows["lost-502"]; signed != 60_000 || r.BlockedBy != "max-usd" ||
			!strings.Contains(r.Detail, "-max-usd 0.18") || rows["lost-fresh-402"].State != probe.Pass {
			t.Errorf("signed %d, %+v, %+v", signed, r, rows["lost-fresh-402"])
		}
	})
}

// What a door passes on of its facilitator's words is told beside the settlement.
func TestWhatTheFacilitatorSaid(t *testing.T) {
	for _, says := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := newDoor(10_000)
			d.says = says
			rows, _ := buy(t, d, 10_000, t.TempDir())
			if told := strings.HasSuffix(rows["settlement"].Detail,
				`its facilitator said, in EXTENSION-RESPONSES: {"bazaar":{"status":"rejected"}}`); told != says {
				t.Errorf("says %v: %+v", says, rows["settlement"])
			}
		})
	}
}

// Nine payments see to everything, and eight are not enough by whatever they lack: a door that
// knows its orders settles eight of them.
func TestHowManyPayments(t *testing.T) {
	const price = 10_000
	for _, c := range []struct {
		max     int64
		signed  int64
		blocked int
	}{{9 * price, 9, 0}, {9*price - 1, 8, 1}, {8 * price, 8, 1}, {price, 1, 7}, {price - 1, 0, 0}} {
		synctest.Test(t, func(t *testing.T) {
			d := newDoor(price)
			rows, signed := buy(t, d, c.max, t.TempDir())
			blocked := 0
			for _, r := range rows {
				if r.BlockedBy == "max-usd" {
					blocked++
				}
			}
			settled := map[string]bool{}
			for _, tx := range d.settled {
				settled[tx] = true
			}
			if signed != c.signed*price || blocked != c.blocked || c.signed == 9 && (signed !=
				kit.Payments()*price || len(settled) != kit.Orders()) {
				t.Errorf("at most %d: signed %d, settled %d, %d rows blocked, want %d payments and %d blocked", c.max,
					signed, len(settled), blocked, c.signed, c.blocked)
			}
		})
	}
}

// What a door does wrong is told in its row, and each order is asked for no more often than its
// loss takes.
func TestRows(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*door)
		fails  string
		asked  int // unpaid: terms, and once for each order; the lost one's terms twice
		paid   int
	}{
		{"right", func(*door) {}, "", 1 + 1 + 7 + 2, 1 + 7*2},
		{"charges again", func(d *door) { d.again = true }, "lost-fresh-402", 1 + 1 + 7 + 2, 1 + 7*2},
		{"forgets", func(d *door) { d.forget = true }, "lost-fresh-402 lost-connection lost-502 lost-504 " +
			"lost-time-out lost-cut lost-early", 1 + 1 + 7 + 2, 1 + 7*2},
		{"gives nothing", func(d *door) { d.empty = true }, "goods", 2, 1},
		{"changes its terms", func(d *door) { d.price = func(asked int) int64 { return int64(1000 * asked) } }, "goods",
			2, 0},
	} {
		sees := func(t *testing.T, mpp bool) {
			d := newDoor(1000)
			d.mpp = mpp
			c.change(d)
			rows, _ := buy(t, d, 100_000, t.TempDir())
			for _, check := range kit.Checks() {
				failed := rows[check.Name].State == probe.Fail
				if want := strings.Contains(" "+c.fails+" ", " "+check.Name+" "); failed != want {
					// Hung up on before it was asked, this door has nothing to forget.
					if check.Name != "lost-early" {
						t.Errorf("%s: %+v", c.name, rows[check.Name])
					}
				}
			}
			if d.asked > c.asked || d.paid > c.paid {
				t.Errorf("%s: asked %d times unpaid and %d times paid, want at most %d and %d", c.name, d.asked, d.paid,
					c.asked, c.paid)
			}
			if s := rows["settlement"]; c.fails == "" && (s.State != probe.Pass || d.paid < 1+7) {
				t.Errorf("%s, by MPP %v: %d times paid, %+v", c.name, mpp, d.paid, s)
			}
		}
		for _, mpp := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) { sees(t, mpp) })
		}
	}
}

// By MPP the payment stands in a field that doors in front of doors use too: it cannot hold both.
func TestOneAuthorization(t *testing.T) {
	key, err := wallet.ParseKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	cfg := kit.PurchaseConfig{URL: "https://door.example/paid", Wallet: key, Max: 1, Protocol: kit.ByMPP,
		Header: http.Header{"Authorization": {"Bearer staging-token"}}, Journal: t.TempDir(), Transport: newDoor(1)}
	if _, err := kit.RunPurchases(t.Context(), cfg); err == nil || strings.Contains(err.Error(), "staging-token") {
		t.Errorf("%v", err)
	}
}

// The journal is its owner's alone and holds neither key nor token; the token reaches the door.
func TestSecretsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, dir := newDoor(1000), t.TempDir()
		rows, _ := buy(t, d, 100_000, dir)
		if d.tokens["staging-token"] == 0 || len(d.tokens) != 1 {
			t.Errorf("the door saw %v", d.tokens)
		}
		files := 0
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			raw, err := os.ReadFile(path)
			if len(raw) > 0 {
				files++
			}
			if info.Mode().Perm() != 0o600 || bytes.Contains(raw, []byte(secret)) ||
				bytes.Contains(raw, []byte("staging-token")) {
				t.Errorf("%s: %v\n%s", path, info.Mode(), raw)
			}
			return err
		})
		if err != nil || files != 9 {
			t.Errorf("%d purchases in the journal: %v", files, err)
		}
		if said := fmt.Sprint(rows); strings.Contains(said, "staging-token") || strings.Contains(said, secret) {
			t.Error("a row holds a secret")
		}
	})
}
