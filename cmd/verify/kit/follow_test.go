package kit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/tlog"
	"store.example/agentstore/corpus/verify"
)

// site serves the folder of a record as it is at the moment, and a monitor follows it.
type site struct {
	*httptest.Server
	t     *testing.T
	state string
	mu    sync.Mutex // guards what follows
	tree  fstest.MapFS
	front func(w http.ResponseWriter, r *http.Request) bool // answers in the place of the tree, if it is there
}

func serve(t *testing.T, w *seal.Writer) *site {
	s := &site{t: t, tree: recordtest.MapFS(t, w.Dir), state: filepath.Join(t.TempDir(), "remembered")}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		tree, front := s.tree, s.front
		s.mu.Unlock()
		if front == nil || !front(w, r) {
			http.FileServerFS(tree).ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) show(tree fstest.MapFS) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tree = tree
}

func (s *site) answer(front func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.front = front
}

// follow runs the monitor once.
func (s *site) follow(flags ...string) (int, string) {
	var out, errs strings.Builder
	args := append([]string{"-follow", s.URL, "-remember", s.state}, flags...)
	code := Run(s.t.Context(), Program{"verify", nil}, args, &out, &errs)
	return code, out.String() + errs.String()
}

// remembered are the bytes of the state, "" for none.
func (s *site) remembered() string {
	s.t.Helper()
	b, err := os.ReadFile(s.state)
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return string(b)
}

// want runs the monitor and demands an exit code, words, and whether it goes on from what it sees.
func (s *site) want(what string, code int, words []string, flags ...string) {
	s.t.Helper()
	before := s.remembered()
	got, out := s.follow(flags...)
	if got != code {
		s.t.Errorf("%s: exit %d, want %d: %s", what, got, code, out)
	}
	for _, w := range words {
		if !strings.Contains(out, w) {
			s.t.Errorf("%s: it does not say %q: %s", what, w, out)
		}
	}
	if code != ExitVerified && s.remembered() != before {
		s.t.Errorf("%s: what is remembered changed", what)
	}
}

// offering is a row that asks for money at an address.
func offering(host, address string) record.Row {
	r := recordtest.Walked(host, record.VerdictReady)
	r.Offer.PayTo = []record.PayTo{{Network: "eip155:8453", Digest: recordtest.Digest(address)}}
	return r
}

// watched has two rounds with a host that is followed in the tests.
func watched(t *testing.T) *seal.Writer {
	w := recordtest.Writer(t)
	for n := range int64(2) {
		recordtest.Seal(t, w, recordtest.Draft(n+1, recordtest.Walked("a.example", record.VerdictReady),
			offering("door.example", "first"), recordtest.Walked("z.example", record.VerdictNotReady)))
	}
	recordtest.Observe(t, w, "synergy")
	return w
}

// TestFollow goes on with a record that grows by rounds and observations.
func TestFollow(t *testing.T) {
	w := watched(t)
	s := serve(t, w)
	now := func() { s.show(recordtest.MapFS(t, w.Dir)) }
	hosts := []string{"-host", "door.example", "-host", "NEW.example"}
	s.want("the first time", 0, []string{"has 11 leaves and 2 rounds. Nothing was remembered: what is there now is",
		"door.example: 2 rows, indeterminate — 2 of 2, W37–W38.", "new.example: no row in any round."}, hosts...)
	s.want("nothing new", 0, []string{"has 11 leaves and 2 rounds, as before."}, hosts...)
	broken := recordtest.Walked("door.example", record.VerdictNotReady)
	broken.Offer = nil
	recordtest.Seal(t, w, recordtest.Draft(3, broken))
	now()
	s.want("not ready any more", 0, []string{"round 3 (2026-W39): taken at 2026-09-27T00:00:00Z, 1 rows, 1 probed",
		"door.example: round 3 (2026-W39): not_ready L1, was ready, leaf 11\n",
		"door.example: tier broken, was indeterminate",
		"goes on from the 11 that were seen"}, hosts...)
	recordtest.Seal(t, w, recordtest.Draft(4, offering("new.example", "second")))
	recordtest.Seal(t, w, recordtest.Draft(5, offering("door.example", "second"), offering("new.example", "second")))
	now()
	s.want("two rounds at once", 0, []string{"door.example: round 4 (2026-W40): no row\n",
		"door.example: round 5 (2026-W41): ready L4, was not_ready, leaf 17\n",
		"door.example: round 5 (2026-W41): asks for money at +eip155:8453 " + recordtest.Digest("second") +
			", -eip155:8453 " + recordtest.Digest("first") + "\n",
		"new.example: round 4 (2026-W40): ready L4, leaf 14\n", "new.example: round 5 (2026-W41): ready L4, leaf 18\n",
	}, hosts...)
	between(t, w, s)
	code, out := s.follow(append(hosts, "-json")...)
	if report := decode[verify.FollowReport](t, out); code != 0 || len(report.Hosts) != 2 || report.Requests != 3 {
		t.Errorf("as JSON: exit %d, %d requests: %s", code, report.Requests, out)
	}
	s.want("a week that is not there", 4, []string{"UNPROVEN: anything as of 2026-W43: its newest round is 5"},
		append(hosts, "-as-of", "2026-W43")...)
}

// TestFollowAFolder goes on with a clone that lies in a folder, the record at its top or below.
func TestFollowAFolder(t *testing.T) {
	w := watched(t)
	state := filepath.Join(t.TempDir(), "remembered")
	for i, c := range []struct {
		dir  string
		code int
		says string
	}{{w.Dir, 0, "Nothing was remembered"}, {w.Dir, 0, "as before"}, {t.TempDir(), 1, "holds no record"}} {
		var out, errs bytes.Buffer
		code := Run(t.Context(), Program{"verify", nil}, []string{"-follow", c.dir, "-remember", state}, &out, &errs)
		if code != c.code || !strings.Contains(out.String()+errs.String(), c.says) {
			t.Errorf("%d: exit %d: %s%s", i, code, out.String(), errs.String())
		}
	}
}

func decode[T any](t *testing.T, text string) (out T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err, text)
	}
	return out
}

// between tells of the hosts between two rounds.
func between(t *testing.T, w *seal.Writer, s *site) {
	t.Helper()
	at := recordtest.Draft(6).TakenAt.Add(-time.Hour)
	const url = "https://door.example/paid"
	report, judgement := recordtest.Look(t, url, practice.All()[0].Answer(url), exchange.Error{}, at)
	refresh, err := rejudge.RefreshFrom("door.example", report, judgement)
	if err != nil {
		t.Fatal(err)
	}
	observe := func(o record.Observation) {
		t.Helper()
		if o.At == "" {
			o.At = refresh.At
		}
		if _, err := w.Observe(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	observe(refresh)
	observe(record.Observation{Kind: record.ObservationErratum, Erratum: &record.Erratum{Leaf: 11,
		Reason: "the path was\x1b[2J down", VerdictNow: record.VerdictNotProbed}})
	observe(record.Observation{Kind: record.ObservationWithdrawn, Withdrawn: &record.Withdrawn{
		SHA256: recordtest.Digest("evidence"), Reason: "asked for"}})
	observe(record.Observation{Kind: record.ObservationDeclaration, Declaration: &record.Declaration{
		Host: "new.example", Shape: "x402", Doors: []string{"https://new.example/paid"}}})
	observe(record.Observation{Kind: record.ObservationDeclaration, Declaration: &record.Declaration{
		Host: "z.example", Shape: "x402", Doors: []string{}}})
	s.show(recordtest.MapFS(t, w.Dir))
	before := s.remembered()
	code, out := s.follow("-host", "door.example", "-host", "new.example")
	for _, want := range []string{"door.example: observation 2, paid_refresh: " + refresh.Refresh.Verdict + "\n",
		"door.example: observation 3, erratum: round 3 (2026-W39) should have said not_probed: the path was",
		"door.example: tier broken, was observed",
		"door.example: observation 4, withdrawn: asked for\n", "new.example: observation 5, declaration: 1 doors\n"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit %d, and it does not say %q: %s", code, want, out)
		}
	}
	if strings.Contains(out, "z.example") || strings.Contains(out, "\x1b") || s.remembered() == before {
		t.Errorf("%s", out)
	}
}

// TestFollowAsPublished follows a site in the layout of a store's own pages, with cosignatures
// under the head, as a policy demands.
func TestFollowAsPublished(t *testing.T) {
	w := watched(t)
	s := serve(t, w)
	publish := func(lines ...string) {
		tree := fstest.MapFS{}
		for name, file := range recordtest.MapFS(t, w.Dir) {
			parts := strings.Split(name, "/")
			switch {
			case name == record.RingFile:
				name = "keys.json"
			case parts[0] == "rounds" && parts[2] == "header.json":
				name = "headers/" + parts[1] + ".json"
			case parts[0] == "rounds" && parts[2] == "hosts":
				name = strings.Join(append([]string{"hosts", parts[1]}, parts[3:]...), "/")
			case parts[0] != "log":
				continue
			}
			tree[name] = file
		}
		head := tree["log/checkpoint"]
		tree["log/checkpoint"] = &fstest.MapFile{Data: slices.Concat(head.Data, []byte(strings.Join(lines, "")))}
		s.show(tree)
	}
	x, y := recordtest.Key(t, 21), recordtest.Key(t, 22)
	policy := filepath.Join(t.TempDir(), "policy")
	text := fmt.Sprintf("log %s\nwitness X %s\nwitness Y %s\ngroup g all X Y\nquorum g\n",
		tlog.VerifierKey(w.Origin, w.LogKey.Public()), tlog.Witness{Name: "x.example", Public: x.Public()}.Key(),
		tlog.Witness{Name: "y.example", Public: y.Public()}.Key())
	if err := os.WriteFile(policy, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	sign := func() []string {
		head := recordtest.Open(t, w).Log.Head()
		return []string{string(recordtest.Cosign(x, "x.example", head, 1_790_000_000)),
			string(recordtest.Cosign(y, "y.example", head, 1_790_000_000))}
	}
	flags := []string{"-host", "door.example", "-policy", policy}
	lines := sign()
	publish(lines[0])
	s.want("one of two", 4, []string{"it is not cosigned by Y"}, flags...)
	publish(lines...)
	s.want("both", 0, []string{"door.example: 2 rows"}, flags...)
	recordtest.Seal(t, w, recordtest.Draft(3, offering("door.example", "first")))
	publish()
	s.want("grown", 4, []string{"not cosigned by X, Y"}, flags...)
	publish(sign()...)
	s.want("grown and cosigned", 0, []string{"round 3 (2026-W39): ready L4, leaf 11"}, flags...)
}

// TestFollowAHostThatOptedOut: its tier rests on all that was seen before.
func TestFollowAHostThatOptedOut(t *testing.T) {
	w := recordtest.Writer(t)
	seal := func(n int64, row record.Row) {
		recordtest.Seal(t, w, recordtest.Draft(n, row, recordtest.Walked("z.example", record.VerdictReady)))
	}
	seal(1, recordtest.Walked("door.example", record.VerdictNotReady))
	out := recordtest.Walked("door.example", record.VerdictNotProbed)
	out.Reason, out.Fault, out.EvidenceDigest = record.ReasonOptedOut, record.FaultNone, recordtest.Digest("file")
	for n := range int64(11) {
		seal(n+2, out)
	}
	s := serve(t, w)
	s.want("the first time", 0, []string{"door.example: 12 rows, broken"}, "-host", "door.example")
	seal(13, out)
	s.show(recordtest.MapFS(t, w.Dir))
	s.want("a week on", 0, []string{"door.example: 13 rows, broken"}, "-host", "door.example")
}
