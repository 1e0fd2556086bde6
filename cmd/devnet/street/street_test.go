package street

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/corpus/accounts"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/criteria"
	"store.example/agentstore/corpus/declarations"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/offerreceipt"
	"store.example/agentstore/corpus/probe"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sync/errgroup"
)

func opened(t testing.TB) *Street {
	t.Helper()
	s, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// patience is for what ends by itself, also on a slow and crowded machine.
const patience = 5 * time.Minute

func client(t testing.TB, s *Street, timeout time.Duration) *fetch.Client {
	t.Helper()
	c, err := fetch.New(s.Config(fetch.Config{UserAgent: "walker/1 (+https://store.test/bot)",
		Key: attest.SpecimenKey(), Agent: "https://store.test",
		OwnHosts: []string{"store.test"}, Timeout: timeout}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// declaration reads what the host's own discovery file says of a door.
func declaration(t testing.TB, c *fetch.Client, d Door) probe.Declaration {
	t.Helper()
	if d.Declares == "" {
		return probe.Declaration{}
	}
	at := "https://" + d.Host + "/.well-known/x402"
	x, err := c.Do(t.Context(), exchange.Request{Method: http.MethodGet, URL: at}, fetch.Rule{})
	if err != nil {
		t.Error(err)
	}
	file, err := declarations.Parse(x.Response.Body, at)
	if err != nil || len(file.Entries) != 1 || file.Entries[0].URL != d.URL() {
		t.Errorf("%s declares %v, %v", d.Host, file.Entries, err)
		return probe.Declaration{}
	}
	return probe.Declaration{Method: file.Entries[0].Method, By: "well-known"}
}

// look walks to a door under v2 and judges the same recording under v1, from its file form.
func look(t testing.TB, c *fetch.Client, d Door) (v1, v2 probe.Report, recording fetch.Recording, err error) {
	t.Helper()
	url := d.URL()
	if d.Spelled != "" {
		if url, err = c.Parse(d.Spelled, fetch.Rule{}); err != nil {
			return v1, v2, recording, err
		}
	}
	declared := declaration(t, c, d)
	checker, err := probe.NewPreflight(probe.V2, url, declared)
	if err != nil {
		return v1, v2, recording, err
	}
	checker.ReadsAccounts(accounts.Reader{}, networks.Solana)
	v2, recording, err = fetch.Walk(t.Context(), c, checker, fetch.WalkStart{URL: url, PlainHTTP: d.Plain,
		Time:  patience,
		Nodes: fetch.Nodes{networks.Solana: Node}})
	if err != nil {
		return v1, v2, recording, err
	}
	raw, err := recording.Encode()
	if err != nil {
		return v1, v2, recording, err
	}
	kept, err := fetch.DecodeRecording(raw)
	if err != nil {
		return v1, v2, recording, err
	}
	again, err := probe.Replay(kept.Exchanges, checker)
	if err != nil {
		return v1, v2, recording, err
	}
	if !bytes.Equal(encode(v2), encode(again)) {
		t.Errorf("%s: judged again, the report is another:\n%s\n%s", d.Name, encode(v2), encode(again))
	}
	old, err := probe.NewPreflight(probe.V1, url, declared)
	if err != nil {
		return v1, v2, recording, err
	}
	kept.Exchanges = kept.Exchanges[:1]
	v1, err = probe.Replay(kept.Exchanges, old)
	return v1, v2, recording, err
}

func failed(r probe.Report) []string {
	var out []string
	for _, c := range r.Checks {
		if !c.OK {
			out = append(out, c.Name)
		}
	}
	return out
}

func raised(r probe.Report) []string {
	var out []string
	for _, a := range r.Advisories {
		out = append(out, a.Name)
	}
	return out
}

func TestEveryDoorGetsItsVerdict(t *testing.T) {
	s := opened(t)
	var mu sync.Mutex // guards seen
	seen := map[string]map[string]bool{}
	note := func(name, what string) {
		mu.Lock()
		defer mu.Unlock()
		if seen[name] == nil {
			seen[name] = map[string]bool{}
		}
		seen[name][what] = true
	}
	var g errgroup.Group
	g.SetLimit(24) // the slow ones wait side by side
	for _, d := range s.Doors() {
		g.Go(func() error {
			wait := patience
			if d.Slow {
				wait = 3 * time.Second
			}
		again:
			v1, v2, recording, err := look(t, client(t, s, wait), d)
			if d.Want.Refused != "" {
				if r, ok := errors.AsType[*fetch.Refusal](err); !ok || r.Code != d.Want.Refused {
					t.Errorf("%s: %v, want %s", d.Name, err, d.Want.Refused)
				}
				return nil
			}
			if err != nil {
				t.Errorf("%s: %v", d.Name, err)
				return nil
			}
			last := recording.Exchanges[len(recording.Exchanges)-1]
			got := Want{V1: v1.Verdict, V2: v2.Verdict, FailedV1: failed(v1), FailedV2: failed(v2),
				Advisories: raised(v2), Level: v2.ReachedLevel,
				Fault: v2.Fault, Stage: last.Error.Stage, Protocols: v2.ProtocolsSpoken}
			diff := cmp.Diff(d.Want, got, cmpopts.EquateEmpty())
			if diff != "" && d.Slow && wait < patience {
				wait *= 5 // on a slow machine he gave up before the door could let him wait
				goto again
			}
			if diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s%v", d.Name, d.Doc, diff, last.Error)
			}
			for _, e := range append(slices.Clone(v1.ChecksVector), v2.ChecksVector...) {
				note(e.Name, string(e.State))
			}
			for _, a := range v2.Advisories {
				note(a.Name, "raised")
			}
			return nil
		})
	}
	g.Wait() // its functions report through t
	for _, b := range probe.Batteries() {
		for _, c := range b.Checks {
			if !seen[c.Name]["pass"] || !seen[c.Name]["fail"] {
				t.Errorf("check %s was seen as %v", c.Name, seen[c.Name])
			}
		}
	}
	for _, a := range probe.Advisories() {
		if !seen[a.Name]["raised"] {
			t.Errorf("no door raises the advisory %s", a.Name)
		}
	}
	for _, d := range criteria.Defects() {
		if d.Detectable == criteria.Unpaid && len(d.Signals) > 0 &&
			!slices.ContainsFunc(d.Signals, func(n string) bool { return seen[n]["fail"] || seen[n]["raised"] }) {
			t.Errorf("no door shows the defect %s", d.ID)
		}
	}
}

// TestManyWalksHoldLittle walks to doors that send without end, two hundred at once, and watches
// the memory of client and street together. Unbounded, one of these bodies alone is more than all
// of it.
func TestManyWalksHoldLittle(t *testing.T) {
	s := opened(t)
	c := client(t, s, patience)
	const walks, limit = 200, 400 << 20
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(heap)
	before := heap[0].Value.Uint64()
	var mu sync.Mutex // guards most
	var most uint64
	var g errgroup.Group
	for i := range walks {
		g.Go(func() error {
			host := []string{"body-endless", "body-bomb", "head-endless"}[i%3]
			url := fmt.Sprintf("https://%d.%s.%s/%s", i, host, Domain, path)
			checker, err := probe.NewPreflight(probe.V2, url, probe.Declaration{})
			if err != nil {
				return err
			}
			_, recording, err := fetch.Walk(t.Context(), c, checker, fetch.WalkStart{URL: url, Time: patience})
			if err != nil {
				return err
			}
			if x := recording.Exchanges[0]; len(x.Response.Body) > fetch.DefaultMaxBytes ||
				x.Error.Stage == exchange.StageDeadline {
				return fmt.Errorf("%s: %d bytes, %+v", url, len(x.Response.Body), x.Error)
			}
			now := []metrics.Sample{{Name: heap[0].Name}}
			metrics.Read(now)
			mu.Lock()
			defer mu.Unlock()
			most = max(most, now[0].Value.Uint64())
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d MiB at most, %d MiB before", most>>20, before>>20)
	if most > before+limit {
		t.Errorf("%d MiB were held, want %d at most", (most-before)>>20, limit>>20)
	}
}

func TestRowsAreWhole(t *testing.T) {
	names := map[string]bool{}
	for _, d := range Doors() {
		if names[d.Name] || d.Doc == "" || !strings.HasSuffix(d.Doc, ".") {
			t.Errorf("row %q: its name is taken or its doc %q is no sentence", d.Name, d.Doc)
		}
		names[d.Name] = true
		ways := 0
		for _, given := range []bool{d.serve != nil, d.conn != nil, d.wire != nil, d.lookup != nil, d.dial != nil,
			d.cert != certGood} {
			if given {
				ways++
			}
		}
		if ways != 1 {
			t.Errorf("row %s stands on the street in %d ways", d.Name, ways)
		}
	}
	for _, host := range []string{"a.md", "a.com.br", "a.zip"} {
		if !slices.ContainsFunc(Doors(), func(d Door) bool { return d.Host == host }) {
			t.Errorf("no door at %s", host)
		}
	}
	if !slices.ContainsFunc(Doors(), func(d Door) bool { return len(d.Host) == 253 }) {
		t.Error("no host has 253 characters")
	}
}

// TestOffersVerify follows the offers of a door to the key that its own host publishes.
func TestOffersVerify(t *testing.T) {
	s := opened(t)
	c := client(t, s, patience)
	x, err := c.Do(t.Context(), exchange.Request{Method: http.MethodGet, URL: "https://ready-many." + Domain + "/" +
		path}, fetch.Rule{})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(x.Response.Header.Get("Payment-Required"))
	if err != nil {
		t.Fatal(err)
	}
	var challenge struct {
		Extensions map[string]struct {
			Info struct {
				Offers []struct{ Signature string }
			}
		}
	}
	if err := json.Unmarshal(raw, &challenge, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	offers := challenge.Extensions["offer-receipt"].Info.Offers
	if len(offers) != 3 {
		t.Fatalf("%d offers in %s", len(offers), raw)
	}
	for _, o := range offers {
		r, _, err := fetch.Walk(t.Context(), c,
			offerreceipt.Checker{Request: offerreceipt.Request{Artifact: o.Signature},
				At: x.StartedAt}, fetch.WalkStart{Kinds: []string{"did"}})
		if err != nil || r.Verdict != offerreceipt.Conforms || r.KeyResolution != offerreceipt.ResolvedWeb ||
			r.Live == nil || !*r.Live {
			t.Errorf("%v, %s", err, encode(r))
		}
	}
}

// telling is the street's dialer, and says when a connection is open.
type telling struct {
	*Street
	open chan<- bool
}

func (d telling) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := d.Street.DialContext(ctx, network, address)
	if err == nil {
		select {
		case d.open <- true:
		default:
		}
	}
	return c, err
}

func TestTheStreetEnds(t *testing.T) {
	s, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	dialled := make(chan bool, 2)
	cfg := s.Config(fetch.Config{UserAgent: "walker/1 (+https://store.test/bot)", Key: attest.SpecimenKey(),
		Agent: "https://store.test", Timeout: patience})
	cfg.Dialer = telling{s, dialled}
	c, err := fetch.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan exchange.Exchange, 2)
	for _, name := range []string{"head-never", "head-slow"} {
		go func() {
			x, err := c.Do(t.Context(), exchange.Request{Method: http.MethodGet, URL: "https://" + name + "." + Domain +
				"/" + path}, fetch.Rule{})
			if err != nil {
				t.Error(err)
			}
			done <- x
		}()
	}
	<-dialled
	<-dialled
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if x := <-done; x.Error.Stage == "" || x.Error.Stage == exchange.StageDeadline {
			t.Errorf("%s: %+v", x.Request.URL, x.Error)
		}
	}
	x, err := c.Do(t.Context(), exchange.Request{Method: http.MethodGet, URL: "https://status-200." + Domain + "/paid"},
		fetch.Rule{})
	if err != nil || x.Error.Stage != exchange.StageConnect {
		t.Errorf("after the end: %v, %+v", err, x.Error)
	}
	if _, err := s.LookupNetIP(t.Context(), "ip", "example.com"); err == nil {
		t.Error("the street knows a name of the world")
	}
	if _, err := s.DialContext(t.Context(), "tcp", "127.0.0.1:1"); err == nil ||
		!strings.Contains(fmt.Sprint(err), "unreachable") {
		t.Errorf("the street leads elsewhere: %v", err)
	}
}
