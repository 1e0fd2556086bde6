package dynamic

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/lint"
	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/dynamic/a2a"
	"store.example/agentstore/dynamic/bounty"
	"store.example/agentstore/dynamic/budget"

	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/desk"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/mcp"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/roster"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/dynamic/services"
	"store.example/agentstore/dynamic/till"
	"store.example/agentstore/dynamic/trade"
	"store.example/agentstore/dynamic/visitors"
	"store.example/agentstore/templates"
)

// closedRail is a network that asks for money and takes none.
type closedRail struct{}

var errClosed = errors.New("this network takes no payment")

func (closedRail) Info() rail.Info {
	return rail.Info{Network: "eip155:8453", Name: "Base", Asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
		Symbol: "USDC",
		PayTo:  "0x000000000000000000000000000000000000dEaD", Timeout: 5 * time.Minute, Via: "self"}
}

func (r closedRail) Requirement(amount int64) rail.Requirement {
	i := r.Info()
	return rail.Requirement{Scheme: "exact", Network: i.Network, Amount: strconv.FormatInt(amount, 10), Asset: i.Asset,
		PayTo:             i.PayTo,
		MaxTimeoutSeconds: int(i.Timeout / time.Second), Extra: map[string]any{"name": "USD Coin", "version": "2"}}
}

func (closedRail) Parse([]byte, rail.Requirement) (*rail.Payment, error) {
	return nil, &rail.Refusal{Reason: "invalid_payload", Message: "closed"}
}

func (closedRail) Verify(context.Context, *rail.Payment, rail.Requirement, time.Time) (rail.Verified, error) {
	return rail.Verified{}, errClosed
}
func (closedRail) Signed(*rail.Payment) bool                                  { return false }
func (closedRail) Draft(context.Context, []*rail.Payment) (rail.Draft, error) { return nil, errClosed }
func (closedRail) Replace(context.Context, []*rail.Payment, rail.Signed, bool) (rail.Draft, error) {
	return nil, errClosed
}
func (closedRail) Send(context.Context, ...rail.Signed) error       { return errClosed }
func (closedRail) Accounts(context.Context) ([]rail.Account, error) { return nil, errClosed }
func (closedRail) Status(context.Context, *rail.Payment, []rail.Signed, rail.Verified, time.Time) (rail.Finding,
	error) {
	return rail.Finding{}, errClosed
}
func (closedRail) Changed() <-chan struct{}                 { return nil }
func (closedRail) Check(context.Context) error              { return nil }
func (closedRail) Head(context.Context) (rail.Head, error)  { return rail.Head{Block: 1}, nil }
func (closedRail) Final(context.Context) (rail.Head, error) { return rail.Head{Block: 1}, nil }
func (closedRail) Funds(context.Context, string, []string) (rail.Funds, error) {
	return rail.Funds{}, errClosed
}
func (closedRail) ProveSigner(context.Context, string, []byte, []byte) error {
	return &rail.Refusal{Reason: "invalid_signature"}
}
func (closedRail) Incoming(_ context.Context, s rail.Span) iter.Seq2[rail.Piece, error] {
	return rail.Ascending(s, func(uint64, uint64) iter.Seq2[rail.Transfer, error] {
		return func(func(rail.Transfer, error) bool) {}
	})
}
func (closedRail) Standing(context.Context) (rail.Standing, error) {
	return rail.Standing{Head: time.Now(), Priced: true}, nil
}
func (closedRail) Explain(context.Context, *rail.Payment, rail.Revert) (rail.Cause, error) {
	return rail.Cause{}, errClosed
}
func (closedRail) Fuel(context.Context) (*big.Int, bool, error) { return new(big.Int), true, nil }
func (closedRail) Run(ctx context.Context) error                { <-ctx.Done(); return nil }

// shopRows are the routes of a till that can be asked everything but takes no payment.
func shopRows(t testing.TB) []route.Row {
	return shopRowsOf(t, new(*Server), ledger.NewMem(ledger.MemOptions{}))
}

// shopRowsOf are shopRows over a ledger, of a server that is made with them: what agents call is
// answered by it.
func shopRowsOf(t testing.TB, s **Server, db ledger.DB) []route.Row {
	t.Helper()
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	later := services.New(services.Config{BaseURL: base, DB: db})
	shop, err := till.New(till.Config{
		BaseURL: base, Site: site, Kinds: later.Kinds(), DB: db, Rails: []rail.Rail{closedRail{}},
		Keys: []*attest.Key{attest.SpecimenKey()}, Ring: attest.SpecimenRing(), Secret: make([]byte, 32),
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	certificates := counter.Certificates
	certificates.Page = func(id string, _ counter.Verification) ([]byte, error) { return []byte("<p>" + id), nil }
	sells, err := counter.New(counter.Config{Till: shop, Later: later, Classes: []counter.Class{certificates},
		Door: func(d counter.Door) ([]byte, error) {
			return fmt.Appendf(nil, "<p>%d %d", d.Status, len(d.Accepts)), nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	why := &roster.Reasons{Store: roster.New(db), BaseURL: base, Now: time.Now}
	doors, err := mcp.New(mcp.Config{BaseURL: base, Site: site, Routes: route.Describe(publicRows()),
		Documents: api.Documents,
		Serve:     func(w http.ResponseWriter, r *http.Request) { (*s).Again(w, r) }, Buy: sells.Buy})
	if err != nil {
		t.Fatal(err)
	}
	chrome, err := templates.NewChrome(templates.Chrome{Title: "Store", BaseURL: base})
	if err != nil {
		t.Fatal(err)
	}
	// The last second of a week that a year has but every fifth or sixth time.
	hours := &counter.Clock{BaseURL: base, Site: site,
		Chrome:  func() *templates.Chrome { return chrome },
		Weather: func(time.Time) content.Weather { return content.Weather{Word: "still", Week: "2026-W52"} },
		Now:     func() time.Time { return time.Date(2027, 1, 3, 23, 59, 59, 500, time.UTC) }}
	return slices.Concat(sells.Rows(), later.Rows(sells), hours.Rows(), deskRows(t, site, db), why.Rows(), doors.Rows(),
		visitorRows(t, site, db), bountyRows(t, db), (&a2a.Door{Tool: doors.Call}).Rows(),
		tradeRows(t, site, shop, sells))
}

// tradeRows are the routes of a trade counter with the sandbox alone.
func tradeRows(t testing.TB, site *content.Site, shop *till.Till, sells *counter.Counter) []route.Row {
	t.Helper()
	budgets, err := budget.New(shop.Config().DB, Budgets())
	if err != nil {
		t.Fatal(err)
	}
	d, err := trade.New(trade.Config{BaseURL: base, DB: shop.Config().DB, Site: site, Till: shop, Counter: sells,
		Budgets: budgets, Specimen: site})
	if err != nil {
		t.Fatal(err)
	}
	return d.Rows()
}

// street is where the desk's probes end up: one door, whatever name and address was asked for.
type street struct{ address string }

func (street) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if strings.HasPrefix(host, "inside.") {
		return []netip.Addr{netip.MustParseAddr("10.0.0.7")}, nil
	}
	return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
}

func (s street) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, s.address)
}

// deskRows are the routes of a desk that reads one practice door.
func deskRows(t testing.TB, site *content.Site, db ledger.DB) []route.Row {
	t.Helper()
	door := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, p := range practice.All() {
			if p.ID == "dust-correct" {
				a := p.Answer("https://" + r.Host + r.URL.Path)
				maps.Copy(w.Header(), a.Header)
				w.WriteHeader(a.Status)
				w.Write(a.Body)
			}
		}
	}))
	t.Cleanup(door.Close)
	roots := x509.NewCertPool()
	roots.AddCert(door.Certificate())
	at := street{door.Listener.Addr().String()}
	client, err := fetch.New(fetch.Config{UserAgent: "store/1 (+" + base + "/criteria)", Key: attest.SpecimenKey(),
		Agent: base, OwnHosts: []string{"store.example"},
		Resolver: at, Dialer: at, Roots: roots})
	if err != nil {
		t.Fatal(err)
	}
	chrome, err := templates.NewChrome(templates.Chrome{Title: "Store", BaseURL: base})
	if err != nil {
		t.Fatal(err)
	}
	limits := Budgets()
	for i := range limits {
		if limits[i].Name == desk.BudgetHost { // the scripts ask one door, and may take less than a minute
			limits[i].Each, limits[i].Kept = 1000, 0
		}
	}
	budgets, err := budget.New(db, limits)
	if err != nil {
		t.Fatal(err)
	}
	d, err := desk.New(desk.Config{BaseURL: base, Site: site, DB: db, Secret: bytes.Repeat([]byte("s"), 32),
		Budgets: budgets, Client: client, Key: attest.SpecimenKey(), Ring: attest.SpecimenRing(), Record: desk.Rounds{},
		Chrome: func() *templates.Chrome { return chrome }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Drain(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return d.Rows()
}

// visitorRows are the routes of a free counter.
func visitorRows(t testing.TB, site *content.Site, db ledger.DB) []route.Row {
	t.Helper()
	chrome, err := templates.NewChrome(templates.Chrome{Title: "Store", BaseURL: base})
	if err != nil {
		t.Fatal(err)
	}
	d, err := visitors.New(visitors.Config{BaseURL: base, DB: db, Key: attest.SpecimenKey(),
		Site: site, Chrome: func() *templates.Chrome { return chrome }})
	if err != nil {
		t.Fatal(err)
	}
	return d.Rows()
}

// bountyRows are the routes of a board that pays no rewards.
func bountyRows(t testing.TB, db ledger.DB) []route.Row {
	t.Helper()
	chrome, err := templates.NewChrome(templates.Chrome{Title: "Store", BaseURL: base})
	if err != nil {
		t.Fatal(err)
	}
	d, err := bounty.New(bounty.Config{BaseURL: base, DB: db, Key: attest.SpecimenKey(),
		Rails: []rail.Rail{closedRail{}}, Ready: func(context.Context, string) error { return errClosed },
		Wallets:  noWallets{},
		Read:     func(context.Context, string) (bounty.Door, error) { return bounty.Door{}, errClosed },
		OptedOut: func(context.Context, string) bool { return false },
		Chrome:   func() *templates.Chrome { return chrome }})
	if err != nil {
		t.Fatal(err)
	}
	return d.Rows()
}

// noWallets knows no wallet.
type noWallets struct{}

func (noWallets) ProveText(context.Context, string, string, string, string) (who, why string, err error) {
	return "", "no wallets are known", nil
}

// publicRows are the rows of every instrument, for who only describes them.
func publicRows() []route.Row {
	var rows []route.Row
	for _, r := range slices.Concat(counter.Described(services.New(services.Config{}).Kinds()).Rows(),
		new(services.Services).Rows(nil), new(counter.Clock).Rows(), new(desk.Desk).Rows(), new(roster.Reasons).Rows(),
		new(mcp.Doors).Rows(), new(visitors.Service).Rows(), new(a2a.Door).Rows(), new(bounty.Service).Rows(),
		new(trade.Counter).Rows()) {
		r.Handle = func(http.ResponseWriter, *http.Request) error { return nil }
		rows = append(rows, r)
	}
	return rows
}

var release = flag.Bool("release", false, "write the description of the API as the released one of its version")

// TestNothingReleasedIsTakenAway compares the API with the released description of its contract
// version.
func TestNothingReleasedIsTakenAway(t *testing.T) {
	raw, err := api.BuildOpenAPI(api.Info{BaseURL: base, Title: "Store", Summary: "A general store for agents."},
		route.Describe(publicRows()), api.Documents)
	if err != nil {
		t.Fatal(err)
	}
	file := "../content/api/released/openapi-" + api.ContractVersion + ".json"
	if *release {
		if err := os.WriteFile(file, raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	released, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range lint.Breaking(t, released, raw) {
		t.Error(b)
	}
}

// TestBudgetsAreSpent: no budget is kept that no route names, but for those that are spent beside
// the one of a route.
func TestBudgetsAreSpent(t *testing.T) {
	named := map[string]bool{desk.BudgetHost: true}
	for _, r := range publicRows() {
		named[r.Budget] = true
	}
	for _, l := range Budgets() {
		if !named[l.Name] {
			t.Errorf("budget %s is named by no route", l.Name)
		}
		if l.Doc == "" {
			t.Errorf("budget %s does not say what it protects", l.Name)
		}
	}
}

// TestProblemCodesHavePages: the type of every problem document leads to a page with the same
// status.
func TestProblemCodesHavePages(t *testing.T) {
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range problem.Codes {
		p, ok := site.Problem(c.Code)
		if !ok {
			t.Errorf("code %s has no page", c.Code)
		} else if p.Status != c.Status {
			t.Errorf("code %s has status %d, its page says %d", c.Code, c.Status, p.Status)
		}
	}
	for _, p := range site.Problems() {
		if _, ok := problem.Lookup(p.Code()); !ok {
			t.Errorf("page %s is about no code", p.Name)
		}
	}
}
