package keeper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"math/big"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/bounty"
	"store.example/agentstore/dynamic/goods"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"
	"store.example/agentstore/templates"
)

// quiet is a network on which nothing happens.
type webQuiet struct{ rail.Rail }

func (webQuiet) Info() rail.Info {
	return rail.Info{Network: "eip155:8453", Name: "Base", PayTo: "0xaa"}
}

func (webQuiet) Fuel(context.Context) (*big.Int, bool, error) { return big.NewInt(1), false, nil }

func (webQuiet) Final(context.Context) (rail.Head, error) {
	return rail.Head{Block: 1, Time: time.Now()}, nil
}

func (webQuiet) Incoming(_ context.Context, s rail.Span) iter.Seq2[rail.Piece, error] {
	return rail.Ascending(s, func(uint64, uint64) iter.Seq2[rail.Transfer, error] {
		return func(func(rail.Transfer, error) bool) {}
	})
}

func (webQuiet) Check(context.Context) error { return nil }

func (webQuiet) Standing(context.Context) (rail.Standing, error) {
	return rail.Standing{Head: time.Now(), Priced: true, Cost: 1, Balance: big.NewInt(1e9), Need: big.NewInt(1)}, nil
}

// office is a desk on loopback, and what it stands on.
type office struct {
	t     *testing.T
	db    *ledger.Mem
	till  *till.Till
	desk  *Web
	base  string
	token string
	n     int
	board board
}

// board is a bounty board whose doors all cost ten cents, but for those that cannot be read.
type board struct {
	mu  sync.Mutex
	all []bounty.Bounty
}

func (b *board) All(context.Context) ([]bounty.Bounty, time.Time, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.all), time.Now(), nil
}

func (b *board) Post(_ context.Context, p bounty.Posting, dry bool) (bounty.Bounty, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	u, err := url.Parse(p.URL)
	if err != nil || u.Scheme != "https" || p.Reward <= 0 || p.Reward > bounty.MaxReward {
		return bounty.Bounty{}, fmt.Errorf("reading the door: \u202e<b>%s</b>", p.URL)
	}
	made := bounty.Bounty{URL: p.URL, Host: u.Host, Network: "eip155:8453", PayTo: "0xab",
		Amount: 100_000, ID: fmt.Sprintf("bty_%020d", len(b.all)), Domain: u.Host, Reward: p.Reward, Note: p.Note,
		Opened: time.Now(), Expires: time.Now().Add(bounty.OpenFor), PayoutNetwork: "eip155:8453"}
	if !dry {
		b.all = append(b.all, made)
	}
	return made, nil
}

func newOffice(t *testing.T) *office {
	t.Helper()
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	o := &office{t: t, db: ledger.NewMem(ledger.MemOptions{Calm: true}), token: strings.Repeat("t", LeastToken)}
	net1 := webQuiet{}
	o.till, err = till.New(till.Config{BaseURL: "https://store.example", Site: site, DB: o.db, Rails: []rail.Rail{net1},
		Keys: []*attest.Key{attest.SpecimenKey()}, Ring: attest.SpecimenRing(), Secret: []byte(strings.Repeat("s", 32)),
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	k := New(Config{Till: o.till, DB: o.db, Rails: []rail.Rail{net1}})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.desk, err = NewWeb(WebConfig{Desk: k, Till: o.till, Bounties: &o.board, Name: "Specimen",
		Log: slog.New(slog.DiscardHandler), Token: func() (string, error) { return o.token, nil },
		Hosts: []string{"desk.example"}, Listen: ln.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- o.desk.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	o.base = "http://" + ln.Addr().String()
	return o
}

// sold puts a purchase into the ledger.
func (o *office) sold(item string, amount int64, at time.Time) *till.Purchase {
	o.t.Helper()
	o.n++
	p := &till.Purchase{ID: "pur_" + fmt.Sprintf("%020d", o.n), Version: 1, State: till.Delivered, Created: at,
		Updated: at,
		Item:    item, Final: true, Protocol: "x402", Amount: amount, Payment: rail.Payment{Network: "eip155:8453",
			Payer: "0x00000000000000000000000000000000000000ad", Amount: big.NewInt(amount)},
		Proof: &rail.Proof{Tx: "0x1", Block: 1, LogIndex: uint64(o.n), BlockTime: at}}
	o.set(ledger.PurchaseKey(p.ID), p)
	return p
}

func (o *office) set(key []byte, v any) {
	o.t.Helper()
	if err := o.db.Update(context.Background(), func(tx ledger.Tx) error {
		return ledger.SetJSON(tx, key, v)
	}); err != nil {
		o.t.Fatal(err)
	}
}

// order puts an order into the ledger that is due in a while.
func (o *office) order(asked string, left time.Duration) string {
	o.t.Helper()
	p := o.sold("quick_judgment", 3_000_000, time.Now().Add(left-168*time.Hour))
	p.KID, p.CertID, p.Number, p.Date = attest.SpecimenKey().KID(), "cert_"+p.ID[4:], int64(o.n), "2026-11-22T10:11:12Z"
	p.State, p.Inputs = till.Promised, map[string]string{"detail": asked, "agent_name": asked}
	p.Artifact = "order_" + strings.NewReplacer("0", "a", "1", "b", "8", "c", "9", "d").Replace(p.ID[4:])
	p.Made = &goods.Made{Message: "Taken down.", Deliverable: []byte(`{"kind":"human","window_hours":168,"salt":"` +
		strings.Repeat("ab", 32) + `","due_at":"` + time.Now().UTC().Add(left).Format(time.RFC3339) + `"}`)}
	o.set(ledger.PurchaseKey(p.ID), p)
	o.set(ledger.OrderKey(p.Artifact), map[string]string{"purchase": p.ID})
	return p.Artifact
}

// human is a browser at the desk.
type human struct {
	t      *testing.T
	o      *office
	client *http.Client
	base   string // of the session
	form   string
}

func (o *office) visitor() *human {
	jar, err := cookiejar.New(nil)
	if err != nil {
		o.t.Fatal(err)
	}
	return &human{t: o.t, o: o, client: &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}}
}

func (o *office) login() *human {
	o.t.Helper()
	h := o.visitor()
	status, body, at := h.post(o.base+"/", url.Values{"token": {o.token}})
	m := regexp.MustCompile(`name="form" value="([a-z2-7]+)"`).FindStringSubmatch(body)
	if status != 200 || m == nil || !strings.Contains(at.Path, "/d/") {
		o.t.Fatalf("login: %d at %s: %s", status, at, body)
	}
	h.base, h.form = o.base+at.Path, m[1]
	return h
}

func (h *human) send(r *http.Request) (int, string, *url.URL) {
	h.t.Helper()
	resp, err := h.client.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	size := len(body) + len(templates.Asset("style.css"))
	if own, err := files.ReadFile("desk.css"); err != nil {
		h.t.Fatal(err)
	} else {
		size += len(own)
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") && size > templates.MostPage {
		h.t.Errorf("%s: a page of %d bytes with its style, more than %d", resp.Request.URL, size, templates.MostPage)
	}
	return resp.StatusCode, string(body), resp.Request.URL
}

func (h *human) get(path string) (int, string) {
	h.t.Helper()
	r, err := http.NewRequest("GET", h.base+path, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	status, body, _ := h.send(r)
	return status, body
}

// posting is a form as a browser sends it from the desk's own page.
func (h *human) posting(to string, v url.Values) *http.Request {
	h.t.Helper()
	r, err := http.NewRequest("POST", to, strings.NewReader(v.Encode()))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", h.o.base)
	return r
}

func (h *human) post(to string, v url.Values) (int, string, *url.URL) {
	h.t.Helper()
	return h.send(h.posting(to, v))
}

// answer delivers an answer with a file, as a browser does.
func (h *human) answer(order, text, name string, file []byte) (int, string) {
	h.t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for k, v := range map[string]string{"form": h.form, "text": text, "do": "deliver"} {
		if err := m.WriteField(k, v); err != nil {
			h.t.Fatal(err)
		}
	}
	f, err := m.CreateFormFile("file", name)
	if err == nil {
		_, err = f.Write(file)
	}
	if err := errors.Join(err, m.Close()); err != nil {
		h.t.Fatal(err)
	}
	r, err := http.NewRequest("POST", h.base+"order/"+order, &b)
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Content-Type", m.FormDataContentType())
	r.Header.Set("Origin", h.o.base)
	status, body, _ := h.send(r)
	return status, body
}
