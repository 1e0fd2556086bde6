package desk_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/archive"
	"store.example/agentstore/dynamic/budget"
	"store.example/agentstore/dynamic/desk"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/postgres"
	"store.example/agentstore/templates"
)

const base = "https://store.test"

// patience turns a hang into a failure. No machine is so slow that an answer takes as long: nothing
// here ends because a time is over.
const patience = 5 * time.Minute

// reach leads every public-looking name to one listener on loopback, after the guard.
type reach struct {
	address string
	lookups *atomic.Int64 // counted, if there
}

func (r reach) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if r.lookups != nil {
		r.lookups.Add(1)
	}
	switch {
	case strings.HasPrefix(host, "inside."):
		return []netip.Addr{netip.MustParseAddr("10.0.0.7")}, nil
	case strings.HasPrefix(host, "nowhere."):
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
}

func (r reach) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, r.address)
}

// door answers as a ready door; its certificate is good for *.example.com.
func door(hits *atomic.Int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if hits != nil {
			hits.Add(1)
		}
		for _, p := range practice.All() {
			if p.ID == "dust-correct" {
				a := p.Answer("https://" + r.Host + r.URL.Path)
				maps.Copy(w.Header(), a.Header)
				w.WriteHeader(a.Status)
				w.Write(a.Body)
			}
		}
	}
}

// options are what a test changes of a desk.
type options struct {
	Address string // of the street
	CA      []byte // its certificate, PEM
	Ledger  string // postgres address; "" is in memory
	Limits  map[string][2]int
	Walks   int
	record  desk.Record
	archive *archive.Archive
	roster  desk.Roster
	hourly  bool
	drawer  *desk.Drawer
	lookups *atomic.Int64 // of names
	db      ledger.DB     // in place of Ledger
	payable func(ctx context.Context, url, method string) string
}

// tableOf is the table of budgets with a window so long that no test sees it end.
func tableOf(limits map[string][2]int) []budget.Limit {
	table := dynamic.Budgets()
	for i := range table {
		table[i].Window, table[i].Fair = 100*365*24*time.Hour, false // a test is one client
		l, ok := limits[table[i].Name]
		switch {
		case table[i].Name == desk.BudgetHost:
			table[i].Each, table[i].Kept = max(l[0], 1), l[1] // what most tests ask one host is no matter of theirs
			if !ok {
				table[i].Each = 1 << 20
			}
		case ok:
			table[i].Process, table[i].Shared = l[0], l[1]
		}
	}
	return table
}

// open makes a server with a desk. Drain and close what it returns.
func open(ctx context.Context, o options) (*dynamic.Server, *desk.Desk, ledger.DB, error) {
	fail := func(err error) (*dynamic.Server, *desk.Desk, ledger.DB, error) { return nil, nil, nil, err }
	site, err := content.Load(content.Sources{})
	if err != nil {
		return fail(err)
	}
	db := ledger.DB(ledger.NewMem(ledger.MemOptions{}))
	if o.db != nil {
		db = o.db
	} else if o.Ledger != "" {
		if db, err = postgres.Open(ctx, o.Ledger, postgres.Options{}); err != nil {
			return fail(err)
		}
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(o.CA) {
		return fail(errors.New("the street has no certificate"))
	}
	at := reach{o.Address, o.lookups}
	client, err := fetch.New(fetch.Config{UserAgent: "store/1 (+" + base + "/criteria)", Key: attest.SpecimenKey(),
		Agent: base, OwnHosts: []string{"store.test"},
		Resolver: at, Dialer: at, Roots: roots, Timeout: patience})
	if err != nil {
		return fail(err)
	}
	budgets, err := budget.New(db, tableOf(o.Limits))
	if err != nil {
		return fail(err)
	}
	chrome, err := templates.NewChrome(templates.Chrome{Title: "Store", BaseURL: base})
	if err != nil {
		return fail(err)
	}
	if o.record == nil {
		o.record = desk.Rounds{}
	}
	d, err := desk.New(desk.Config{BaseURL: base, Site: site, DB: db, Secret: bytes.Repeat([]byte("s"), 32),
		Budgets: budgets, Client: client, Key: attest.SpecimenKey(), Ring: attest.SpecimenRing(), Record: o.record,
		Chrome: func() *templates.Chrome { return chrome }, Archive: o.archive,
		Roster: o.roster, Hourly: o.hourly, Keep: o.drawer,
		Walks: o.Walks, Share: time.Hour, Time: patience, Payable: o.payable})
	if err != nil {
		return fail(err)
	}
	s, err := dynamic.New(dynamic.Config{Rows: d.Rows(), BaseURL: base, Budgets: budgets,
		Limits: dynamic.Limits{Handle: 3 * patience}})
	return s, d, db, err
}

// street starts a street of one handler.
func street(t testing.TB, h http.Handler) options {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = nil
	s.StartTLS()
	t.Cleanup(s.Close)
	return options{Address: s.Listener.Addr().String(),
		CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})}
}

// openTest is open for one test.
func openTest(t testing.TB, o options) http.Handler {
	t.Helper()
	h, _ := openWithLedger(t, o)
	return h
}

func openWithLedger(t testing.TB, o options) (http.Handler, ledger.DB) {
	t.Helper()
	s, d, db, err := open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Drain(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s, db
}

// post sends a JSON body to a handler and returns the answer's status, header and members.
func post(t testing.TB, h http.Handler, path string, body any) (int, http.Header, map[string]any) {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("POST", base+path, bytes.NewReader(raw))
	r.Header.Set("Content-Type", "application/json")
	return exchangeWith(t, h, r)
}

func exchangeWith(t testing.TB, h http.Handler, r *http.Request) (int, http.Header, map[string]any) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var doc map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatalf("%s: %v\n%s", r.URL.Path, err, w.Body)
	}
	return w.Code, w.Header(), doc
}

type asked struct {
	URL string `json:"url"`
}

// childEnv holds, as JSON, the options of a copy of this test binary that is a store in a process
// of its own.
const childEnv = "DESK_TEST_CHILD"

func TestMain(m *testing.M) {
	if c := os.Getenv(childEnv); c != "" {
		if err := runChild(c); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runChild serves until its standard input ends. It prints where it listens.
func runChild(config string) error {
	var o options
	if err := json.Unmarshal([]byte(config), &o); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	s, d, db, err := open(ctx, o)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // its end is all that is awaited
		stop()
	}()
	fmt.Println(ln.Addr())
	return errors.Join(s.Serve(ctx, ln), d.Drain(context.Background()), db.Close())
}

// child is a running store.
type child struct {
	url string
	pid int
}

func startChild(t testing.TB, o options) child {
	t.Helper()
	config, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), childEnv+"="+string(config))
	c.Stderr = t.Output()
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := c.Wait(); err != nil {
			t.Errorf("a store ended badly: %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("a store did not start: %v", err)
	}
	return child{"http://" + strings.TrimSpace(line), c.Process.Pid}
}

func now() time.Time { return time.Now().UTC() }
