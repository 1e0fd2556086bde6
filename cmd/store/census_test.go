package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/street"
	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/verify"
	"store.example/agentstore/dynamic/ledger/ledgertest"
)

// streetVariable holds, in a process that a test started, the way to the test's street: then that
// process is the store.
const streetVariable = "STORE_TEST_STREET"

func TestMain(m *testing.M) {
	if os.Getenv(asVerify) != "" {
		os.Exit(run(context.Background(), append([]string{"verify"}, os.Args[1:]...), os.Stdout, os.Stderr))
	}
	if os.Getenv(stuckVariable) != "" {
		stuck()
		os.Exit(0)
	}
	if os.Getenv(verbVariable) != "" {
		os.Exit(run(untilSignal(), os.Args[1:], os.Stdout, os.Stderr))
	}
	if raw := os.Getenv(streetVariable); raw != "" {
		var far farStreet
		if err := json.Unmarshal([]byte(raw), &far); err != nil {
			panic(err)
		}
		c := &call{flags: flag.NewFlagSet("store census", flag.ContinueOnError), stdout: os.Stdout, stderr: os.Stderr,
			args: os.Args[1:]}
		c.logger = newLogger(os.Stderr, &c.level, true)
		if err := censusWith(context.Background(), c, shop.CensusOptions{Reach: far.reach}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// farStreet leads a process to the doors of a street that another process opened.
type farStreet struct {
	PEM   string            `json:"pem"`
	Doors map[string]string `json:"doors"` // listener by host; "" for a name that does not resolve
}

func (f farStreet) reach(cfg *fetch.Config) {
	cfg.Resolver, cfg.Dialer, cfg.Roots = f, f, x509.NewCertPool()
	cfg.Roots.AppendCertsFromPEM([]byte(f.PEM))
	cfg.Timeout = 8 * time.Second // a slow machine is no unreachable door
}

// LookupNetIP gives each listener an address of its own.
func (f farStreet) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	host = strings.TrimSuffix(host, ".")
	to, ok := f.Doors[host]
	if first, rest, found := strings.Cut(host, "."); !ok && found && strings.Trim(first, "0123456789") == "" {
		to = f.Doors[rest]
	}
	at, err := netip.ParseAddrPort(to)
	if err != nil {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return []netip.Addr{netip.AddrFrom4([4]byte{44, 44, byte(at.Port() >> 8), byte(at.Port())})}, nil
}

func (f farStreet) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	b := at.Addr().As4()
	var d net.Dialer
	return d.DialContext(ctx, network, fmt.Sprintf("127.0.0.1:%d", int(b[2])<<8|int(b[3])))
}

// block is a street and what it takes to walk it from other processes.
type block struct {
	t      *testing.T
	street *street.Street
	env    string
	lines  []string
	due    map[string]bool // hosts that a round must have a row of
	began  time.Time       // in the week of the round
}

// control is the door that is our own in these tests.
const control = "ready-many." + street.Domain

func openBlock(t *testing.T, each int) *block {
	t.Helper()
	s, err := street.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &block{t: t, street: s, due: map[string]bool{}, began: time.Now()}
	far := farStreet{PEM: string(s.PEM()), Doors: map[string]string{}}
	for _, d := range s.Doors() {
		// Of those that let everybody wait one is enough, as it takes a walk's whole time.
		if d.Plain || d.Want.Refused != "" || d.Slow && d.Name != "head-never" {
			continue
		}
		far.Doors[d.Host] = s.Listen(d)
		for i := range each {
			host := fmt.Sprintf("%d.%s", i+1, d.Host)
			if len(host) > 253 {
				continue
			}
			b.lines = append(b.lines, "https://"+host+"/paid")
			b.due[host] = true
		}
	}
	raw, err := json.Marshal(far)
	if err != nil {
		t.Fatal(err)
	}
	b.env = streetVariable + "=" + string(raw)
	return b
}

// site makes a keeper's folder with a ledger of its own, and returns its configuration file. A
// lease is longer than the system leaves a process alone: one that went on after another had taken
// its shard over would knock twice, as every census whose machine sleeps may.
func (b *block) site() string {
	b.t.Helper()
	dir := b.t.TempDir()
	keys := filepath.Join(dir, "keys")
	if _, err := shop.MakeKeys(keys, "2026-11-01"); err != nil {
		b.t.Fatal(err)
	}
	text := fmt.Sprintf(`base_url = "https://store.example"
listen = "127.0.0.1:0"
ledger = %q
record = "record"
[keys]
identity = "keys/identity.pem"
ring = "keys/ring.json"
secret = "keys/till.secret"
log = "keys/log.pem"
[census]
list = "doors.txt"
control = "https://9999.%s/paid"
workers = 16
shard = 48
lease = "20s"
recordings = "recordings"
`, ledgertest.Postgres(b.t), control)
	for name, body := range map[string]string{"store.toml": text, "doors.txt": strings.Join(b.lines, "\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
	return filepath.Join(dir, "store.toml")
}

// start starts a process of the store's binary that takes part in the census.
func (b *block) start(config string, out *bytes.Buffer, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], append([]string{"-config", config, "-json"}, args...)...)
	cmd.Env = append(os.Environ(), b.env)
	cmd.Stdout, cmd.Stderr = out, out
	return cmd
}

// ordeal is one week's census by three processes, of which any is killed at any moment.
type ordeal struct {
	killed      atomic.Int64
	interrupted int
	probed      int
}

// run runs the census with kills left to be made, and checks what it came to.
func (o *ordeal) run(b *block, kills int64) {
	b.t.Helper()
	config := b.site()
	visits := map[string]int{}
	for host := range b.due {
		visits[host] = b.street.Visits(host)
	}
	var left atomic.Int64
	left.Store(kills)
	var wg sync.WaitGroup
	failed := make([]error, 3)
	for i := range failed {
		wg.Go(func() {
			for {
				var out bytes.Buffer
				cmd := b.start(config, &out)
				if err := cmd.Start(); err != nil {
					failed[i] = err
					return
				}
				done := make(chan error, 1)
				go func() { done <- cmd.Wait() }()
				// Half of the kills come early, when the roster is written and the first walks
				// begin.
				mortal := left.Add(-1) >= 0
				var killer <-chan time.Time
				if mortal {
					killer = time.After(time.Duration(rand.Int64N(int64(4*time.Second)) >> rand.IntN(3)))
				}
				select {
				case <-killer:
					if cmd.Process.Kill() == nil {
						o.killed.Add(1)
					}
					<-done
					continue
				case err := <-done:
					var report census.Report
					if err == nil {
						err = json.Unmarshal(lastLine(out.Bytes()), &report)
					}
					if err == nil && report.Sequence != 1 {
						err = fmt.Errorf("report %+v", report)
					}
					if err != nil {
						err = fmt.Errorf("%w\n%s", err, out.Bytes())
					}
					if failed[i] = err; mortal && err == nil {
						continue // it was through before its time: again, beside or behind the others
					}
					return
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(failed...); err != nil {
		b.t.Fatal(err)
	}
	o.check(b, config, visits)
}

func lastLine(b []byte) []byte {
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	return lines[len(lines)-1]
}

// check demands exactly one valid round, and no door that was knocked on twice.
func (o *ordeal) check(b *block, config string, before map[string]int) {
	b.t.Helper()
	cfg, err := shop.Load(config)
	if err != nil {
		b.t.Fatal(err)
	}
	ring, err := os.ReadFile(cfg.Keys.Ring)
	if err != nil {
		b.t.Fatal(err)
	}
	report, err := verify.Clone(b.t.Context(), os.DirFS(cfg.Record), verify.CloneOptions{Ring: ring,
		Judge: rejudge.Batteries{}})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, p := range report.Problems {
		b.t.Errorf("%s: %s: %s", p.Path, p.Kind, p.Detail)
	}
	if report.Record == nil || report.Record.Rounds != 1 {
		b.t.Fatalf("the record holds %+v", report.Record)
	}
	keys, err := shop.Ring(cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	rec, err := record.Open(os.DirFS(cfg.Record), keys)
	if err != nil {
		b.t.Fatal(err)
	}
	if week := rec.Rounds()[0].Week; week != record.ISOWeek(b.began) {
		b.t.Errorf("the round is of %s, which is not that of the test", week)
	}
	rows := map[string]bool{}
	for row, err := range rec.Rows(1) {
		if err != nil {
			b.t.Fatal(err)
		}
		rows[row.Host] = true
		if !b.due[row.Host] {
			b.t.Errorf("a row of %s, which nobody named", row.Host)
		}
		visits := b.street.Visits(row.Host) - before[row.Host]
		most := 1
		if b.street.ByConnection(row.Host) {
			most = 2 // its own file was asked for first
		}
		if visits > most {
			b.t.Errorf("%s was walked %d times", row.Host, visits)
		}
		switch {
		case row.Reason == census.ReasonInterrupted:
			o.interrupted++
		case row.Verdict != record.VerdictNotProbed:
			o.probed++
			if visits == 0 && row.Verdict != record.VerdictUnreachable {
				b.t.Errorf("%s is %s, and nobody was there", row.Host, row.Verdict)
			}
		case !slices.Contains([]string{record.ReasonMethodUnresolved, record.ReasonInputs, record.ReasonNotJudged,
			probe.ReasonChallenged}, row.Reason):
			b.t.Errorf("%s: %s for the reason %s", row.Host, row.Verdict, row.Reason)
		}
	}
	for host := range b.due {
		if !rows[host] {
			b.t.Errorf("no row of %s", host)
		}
	}
}

// TestKilledCensus: three processes share a census and are killed at random moments; whoever is
// left ends it.
func TestKilledCensus(t *testing.T) {
	b := openBlock(t, 1)
	var o ordeal
	o.run(b, 3)
	t.Logf("%d kills, %d hosts interrupted, %d probed", o.killed.Load(), o.interrupted, o.probed)
}

// TestSoakKilledCensus is the same for a hundred kills, over several rounds.
func TestSoakKilledCensus(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("a soak runs with STORE_SOAK=1")
	}
	b := openBlock(t, 2)
	var o ordeal
	rounds := 0
	for o.killed.Load() < 100 {
		o.run(b, min(12, 100-o.killed.Load()))
		rounds++
	}
	if o.interrupted == 0 {
		t.Error("no walk was ever interrupted: the kills came at the wrong moments")
	}
	t.Logf("%d kills over %d rounds: %d hosts interrupted, %d probed, each walked once", o.killed.Load(), rounds,
		o.interrupted, o.probed)
}

// TestASealedRoundSaysWhatIsNext reads what a run says at its end: a round that was just sealed is
// nowhere to be seen yet.
func TestASealedRoundSaysWhatIsNext(t *testing.T) {
	for outcome, want := range map[string]bool{census.OutcomeSealed: true, census.OutcomeStood: false,
		census.OutcomeWalked: false, census.OutcomeNotOpen: false} {
		if got := strings.Contains(censusText(census.Report{Week: "2026-W47", Outcome: outcome}),
			"store build"); got != want {
			t.Errorf("%s: names store build: %v", outcome, got)
		}
	}
}

// TestRehearsal walks the doors of the list that are on this machine, for a shop that is there too.
func TestRehearsal(t *testing.T) {
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := practice.All()[0].Answer("http://" + r.Host + r.URL.Path)
		maps.Copy(w.Header(), a.Header)
		w.WriteHeader(a.Status)
		w.Write(a.Body)
	}))
	defer door.Close()
	for _, c := range []struct{ base, list, says string }{
		{"http://127.0.0.1:4050", door.URL + "/paid\nhttps://far.example/paid # not here\n", "READY"},
		{"http://127.0.0.1:4050", "https://far.example/paid\n", "names no door on this machine"},
		{"https://store.example", door.URL + "/paid\n", "-dry-run says"},
	} {
		cfg := shop.Example()
		cfg.BaseURL, cfg.Census.List = c.base, file(t, "doors.txt", c.list)
		var out bytes.Buffer
		config := file(t, "store.toml", shop.Annotated(cfg))
		code := run(t.Context(), []string{"census", "-rehearse", "-config", config}, &out, &out)
		if !strings.Contains(out.String(), c.says) || strings.Contains(out.String(), "far.example: ") {
			t.Errorf("%s: %d: %s", c.base, code, &out)
		}
	}
}
