package roster_test

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/record"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/roster"
)

// Doors of the street that answer, or fail, at once.
var (
	answering = []string{"ready-many", "ready-bare", "ready-dual", "ready-without-offers", "ready-without-contract"}
	silent    = []string{"no-such-name", "connection-refused", "no-route"}
)

func hostOf(name string) string { return name + ".doors.street" }

func urls(names ...string) (out []string) {
	for _, n := range names {
		out = append(out, "https://"+hostOf(n)+"/paid")
	}
	return out
}

// quick is a census of doors that answer at once and of some that cannot be reached.
func (w *world) quick() census.Config {
	return w.config(lists(urls(slices.Concat(answering, silent)...)...)...)
}

// breaking is a client whose requests fail from the n-th on.
type breaking struct {
	fetch.Asker
	left *atomic.Int64
}

func (b breaking) Do(ctx context.Context, req exchange.Request, rule fetch.Rule) (exchange.Exchange, error) {
	x, err := b.Asker.Do(ctx, req, rule)
	if b.left.Add(-1) < 0 {
		x.Response, x.Error = exchange.Response{}, exchange.Error{Stage: exchange.StageConnect, Text: "no route"}
	}
	return x, err
}

func TestNothingIsUnreachableWhileTheControlFails(t *testing.T) {
	for holds, want := range map[int64][2]int64{0: {1, 1}, 1: {2, 1}} {
		t.Run(fmt.Sprintf("after %d", holds), func(t *testing.T) {
			w := newWorld(t)
			cfg := w.quick()
			left := new(atomic.Int64)
			left.Store(holds)
			cfg.Control.Client = breaking{cfg.Client, left}
			w.run(cfg)
			w.verify()
			rows := w.rows(1)
			for _, name := range silent {
				if r := rows[hostOf(name)]; r.Verdict != record.VerdictNotProbed ||
					r.Reason != record.ReasonControlFailed || r.Fault != record.FaultInstrument {
					t.Errorf("%s: %s (%s), fault %s", name, r.Verdict, r.Reason, r.Fault)
				}
			}
			for _, name := range answering {
				if r := rows[hostOf(name)]; r.Verdict != record.VerdictReady {
					t.Errorf("%s: %s, and it answered", name, r.Verdict)
				}
			}
			if got := w.round(1).Control; got.Walks != want[0] || got.Failed != want[1] ||
				int64(len(got.Evidence)) != want[0] {
				t.Errorf("control %+v, want %d", got, want)
			}
		})
	}
	w := newWorld(t)
	w.run(w.quick())
	for _, name := range silent {
		if r := w.rows(1)[hostOf(name)]; r.Verdict != record.VerdictUnreachable {
			t.Errorf("%s: %s while the control holds", name, r.Verdict)
		}
	}
}

func TestCapIsCountedAgainstTheRound(t *testing.T) {
	w := newWorld(t)
	var struck []string
	for range 3 {
		cfg := w.quick()
		cfg.Cap = 5
		report := w.run(cfg)
		round := w.round(report.Sequence)
		if !report.Capped || !round.Roster.Capped || !round.Coverage.Suspect || round.Coverage.Due != 8 ||
			round.Roster.Listed != 8 {
			t.Fatalf("round %+v", round)
		}
		beyond := []string{}
		for host, row := range w.rows(report.Sequence) {
			if row.Reason == census.ReasonBeyondCap {
				beyond = append(beyond, host)
				if w.street.Visits(host) > int(report.Sequence)-1 {
					t.Errorf("%s is beyond the cap and was walked", host)
				}
			}
		}
		if len(beyond) != 3 {
			t.Errorf("%d hosts beyond the cap, want 3", len(beyond))
		}
		slices.Sort(beyond)
		struck = append(struck, strings.Join(beyond, " "))
		w.now = w.now.AddDate(0, 0, 7)
	}
	w.verify()
	if struck[0] == struck[1] && struck[1] == struck[2] {
		t.Error("the cap strikes the same hosts each week")
	}
}

func TestSourceThatBreaksOffIsNamed(t *testing.T) {
	w := newWorld(t)
	broken := census.Source{Name: "bazaar", Kind: record.SourceDiscovery,
		Read: func(_ context.Context, _ census.Reading, name func(census.Named)) error {
			name(census.Named{URL: urls("ready-bare")[0]})
			return errors.New("at offset 100: it answered 500")
		}}
	w.run(w.config(append(lists(urls("ready-many")...), broken)...))
	w.verify()
	round := w.round(1)
	want := record.RosterSource{Name: "bazaar", Kind: record.SourceDiscovery, Hosts: 1,
		Problem: "at offset 100: it answered 500"}
	if got := round.Roster.Sources[3]; got != want || !round.Coverage.Suspect {
		t.Errorf("source %+v, suspect %v", got, round.Coverage.Suspect)
	}
	if row := w.rows(1)[hostOf("ready-bare")]; row.Catalog != "bazaar" || !row.Listed {
		t.Errorf("what it named before that: %+v", row)
	}
}

// TestVanishedHostIsRevisited: a host that no list names is walked until it was silent for long
// enough.
func TestVanishedHostIsRevisited(t *testing.T) {
	w := newWorld(t)
	sources := func(names ...string) []census.Source {
		s := lists(urls(names...)...)
		s[2] = census.Revisits("revisits", 2)
		return s
	}
	w.run(w.config(sources("ready-many", "ready-bare", "no-route")...))
	for week := range 4 {
		w.now = w.now.AddDate(0, 0, 7)
		w.run(w.config(sources("ready-many")...))
		rows := w.rows(int64(week) + 2)
		if r := rows[hostOf("ready-bare")]; r.Source != record.SourceRevisit || r.Listed ||
			r.Verdict != record.VerdictReady {
			t.Errorf("week %d: %+v", week, r)
		}
		// It was listed in the first round, silent in it and since: two rounds of that are enough.
		if _, there := rows[hostOf("no-route")]; there != (week < 2) {
			t.Errorf("week %d: a row of the silent host: %v", week, there)
		}
		if r := rows[hostOf("ready-many")]; r.Source != record.SourceList || !r.Listed {
			t.Errorf("week %d: %+v", week, r)
		}
	}
	w.verify()
}

// slow is a client that says when a walk begins, and goes on when it may.
type slow struct {
	fetch.Asker
	begun chan string
	goOn  chan struct{}
}

func (s slow) Do(ctx context.Context, req exchange.Request, rule fetch.Rule) (exchange.Exchange, error) {
	s.begun <- req.URL
	<-s.goOn
	return s.Asker.Do(ctx, req, rule)
}

func TestStoppedCensusGoesOn(t *testing.T) {
	w := newWorld(t)
	cfg := w.quick()
	client := slow{cfg.Client, make(chan string, 100), make(chan struct{})}
	cfg.Client, cfg.Workers, cfg.Raw = client, 3, nil
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := census.Run(ctx, cfg)
		done <- err
	}()
	for range 3 {
		<-client.begun
	}
	stop()
	close(client.goOn)
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("Run: %v", err)
	}
	state, err := w.store.Week(t.Context(), record.ISOWeek(w.now))
	if err != nil || state.Phase != census.PhaseOpen || state.Done == 0 || state.Done == state.Due {
		t.Fatalf("state %+v, %v", state, err)
	}
	again := w.quick()
	again.Lease = time.Hour // what was released need not run out
	w.run(again)
	w.verify()
	for host, row := range w.rows(1) {
		if row.Verdict == record.VerdictNotProbed {
			t.Errorf("%s: %s", host, row.Reason)
		}
		if n := w.street.Visits(host); n > 1 {
			t.Errorf("%s was walked %d times", host, n)
		}
	}
}

// TestInterruptedWalkIsNotRepeated: a process writes down that it begins, and is never heard of
// again.
func TestInterruptedWalkIsNotRepeated(t *testing.T) {
	w := newWorld(t)
	cfg := w.quick()
	cfg.Writer = nil
	cfg.Sources = lists(urls("ready-many", "ready-bare")...)
	ctx, stop := context.WithCancel(t.Context())
	cfg.Store = stopper{w.store, stop}
	if _, err := census.Run(ctx, cfg); err == nil {
		t.Fatal("a run whose context ended did not say so")
	}
	week := record.ISOWeek(w.now)
	shard, err := w.store.TakeShard(t.Context(), week, "dead", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if len(shard.Todo) != 2 || len(shard.Stale) != 0 {
		t.Fatalf("shard %+v", shard)
	}
	lost := shard.Todo[0]
	if err := w.store.Commit(t.Context(), shard, census.Commit{Claims: shard.Todo[:1]}, time.Hour); err != nil {
		t.Fatal(err)
	}
	why, err := w.store.Why(t.Context(), week, lost.Host)
	if err != nil || why.ThisWeek.State != census.StateWalking {
		t.Errorf("why %+v, %v", why.ThisWeek, err)
	}
	w.expire(shard.Lease)
	w.run(w.config(lists()...))
	w.verify()
	if row := w.rows(1)[lost.Host]; row.Verdict != record.VerdictNotProbed || row.Reason != census.ReasonInterrupted ||
		row.Fault != record.FaultInstrument {
		t.Errorf("row %+v", row)
	}
	if n := w.street.Visits(lost.Host); n != 0 {
		t.Errorf("it was walked %d times", n)
	}
	// Whoever comes back from the dead writes nothing more.
	late := census.Commit{Results: []census.Result{{Row: w.rows(1)[lost.Host]}}}
	if err := w.store.Commit(t.Context(), shard, late, time.Minute); !errors.Is(err, census.ErrLost) {
		t.Errorf("Commit under a lost lease: %v", err)
	}
}

// expire lets a lease run out.
func (w *world) expire(l census.Lease) {
	w.t.Helper()
	err := w.db.Update(w.t.Context(), func(tx ledger.Tx) error {
		key := ledger.LeaseKey("census-" + l.Week + "-" + l.Job)
		held, err := ledger.GetJSON[ledger.Lease](tx, key)
		if err != nil {
			return err
		}
		held.Expires = tx.Now()
		return ledger.SetJSON(tx, key, held)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// stopper stops the census when the roster stands, before anything is walked.
type stopper struct {
	*roster.Store
	stop func()
}

func (s stopper) TakeShard(ctx context.Context, _, _ string, _ time.Duration) (census.Shard, error) {
	s.stop()
	return census.Shard{}, ctx.Err()
}

func TestWeekThatIsOverIsSealedWithoutWalks(t *testing.T) {
	w := newWorld(t)
	cfg := w.quick()
	week := record.ISOWeek(w.now)
	ctx, stop := context.WithCancel(t.Context())
	cfg.Store = stopper{w.store, stop}
	if _, err := census.Run(ctx, cfg); err == nil {
		t.Fatal("a run whose context ended did not say so")
	}
	w.now = w.now.AddDate(0, 0, 7)
	cfg = w.quick()
	cfg.Week = week
	if r := w.run(cfg); r.Outcome != census.OutcomeSealed || r.Week != week {
		t.Fatalf("report %+v", r)
	}
	for host, row := range w.rows(1) {
		if row.Reason != census.ReasonWeekOver || w.street.Visits(host) != 0 {
			t.Errorf("%s: %s, walked %d times", host, row.Reason, w.street.Visits(host))
		}
	}
	w.verify()
	cfg.Week = record.ISOWeek(w.now.AddDate(0, 0, -14))
	if _, err := census.Run(t.Context(), cfg); err == nil {
		t.Error("a week before the last round was begun")
	}
	cfg.Week = record.ISOWeek(w.now.AddDate(0, 0, 7))
	if _, err := census.Run(t.Context(), cfg); err == nil {
		t.Error("a week that has not begun was")
	}
}

// counter is a reader of one network.
type counter struct {
	from, to time.Time
	got      map[string][]string
	err      error
}

func (c *counter) Count(_ context.Context, from, to time.Time, addresses map[string][]string) ([]record.NetworkInflow,
	error) {
	c.from, c.to, c.got = from, to, addresses
	return []record.NetworkInflow{{Network: "eip155:8453", Read: true, Transfers: 3, Addresses: 1, USDC: "1.5"}}, c.err
}

func TestInflowsAreCountedAndAddressesForgotten(t *testing.T) {
	w := newWorld(t)
	reader := &counter{}
	cfg := w.quick()
	cfg.Inflows = reader
	w.run(cfg)
	w.verify()
	monday, err := census.Monday(record.ISOWeek(w.now))
	if err != nil || !reader.from.Equal(monday) || !reader.to.Equal(w.now.Truncate(time.Second)) ||
		len(reader.got["eip155:8453"]) == 0 {
		t.Errorf("counted from %s to %s at %v, %v", reader.from, reader.to, reader.got, err)
	}
	round := w.round(1)
	var named []string
	for _, n := range round.Inflows.Networks {
		named = append(named, n.Network)
		if (n.Network == "eip155:8453") != n.Read {
			t.Errorf("inflow %+v", n)
		}
	}
	if len(named) < 2 || !slices.IsSorted(named) {
		t.Errorf("networks %v", named)
	}
	left, err := w.store.Addresses(t.Context(), round.Week)
	if err != nil || len(left) != 0 {
		t.Errorf("%v, %v are kept after the round", left, err)
	}
	w.now = w.now.AddDate(0, 0, 7)
	cfg = w.quick()
	reader.err = errors.New("the RPC is down")
	cfg.Inflows = reader
	w.run(cfg)
	w.verify()
	if reader.from.Format(time.RFC3339) != round.Inflows.To {
		t.Errorf("the second span begins at %s, the first ended at %s", reader.from, round.Inflows.To)
	}
	for _, n := range w.round(2).Inflows.Networks {
		if n.Read || n.Reason == "" {
			t.Errorf("inflow %+v", n)
		}
	}
}

func TestRawRecordingsAreKeptApart(t *testing.T) {
	w := newWorld(t)
	dir := filepath.Join(t.TempDir(), "recordings")
	folder, err := census.OpenFolder(dir, "one")
	if err != nil {
		t.Fatal(err)
	}
	cfg := w.quick()
	cfg.Raw = folder
	w.run(cfg)
	week := record.ISOWeek(w.now)
	name := filepath.Join(dir, week, "one.recordings")
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range []int{0, 1} {
		if err := os.WriteFile(name, whole[:len(whole)-cut], 0o600); err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for host, r := range recordingsOf(t, name) {
			if !strings.HasPrefix(r.Start, "https://"+host+"/") {
				t.Errorf("%s: a recording of %s", host, r.Start)
			}
			got[host] += len(r.Exchanges)
		}
		if len(got) != len(answering)+len(silent)-cut || cut == 0 && got[hostOf("ready-bare")] != 1 {
			t.Errorf("with %d bytes cut off: %v", cut, got)
		}
	}
	if st, err := os.Stat(name); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	later, err := census.Monday(week)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		weeks int
		stays bool
	}{{2, true}, {1, false}} {
		if err := folder.Keep(c.weeks, record.ISOWeek(later.AddDate(0, 0, 7))); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(name); (err == nil) != c.stays {
			t.Errorf("kept for %d weeks: %v", c.weeks, err)
		}
	}
	if err := folder.Close(); err != nil {
		t.Error(err)
	}
}

// TestScriptedCensusIsTheSame: one walker, one clock, the same street: the same rows to the byte.
func TestScriptedCensusIsTheSame(t *testing.T) {
	w := newWorld(t)
	var rounds [2][]record.Row
	for i := range rounds {
		other := newWorld(t)
		other.street, other.now = w.street, w.now
		other.writer.Identity, other.writer.LogKey, other.writer.Ring = w.writer.Identity, w.writer.LogKey,
			w.writer.Ring
		cfg := other.quick()
		cfg.Workers, cfg.Batch = 1, 3
		other.run(cfg)
		rows := other.rows(1)
		for _, host := range slices.Sorted(maps.Keys(rows)) {
			row := rows[host]
			// The street signs each offer anew.
			row.EvidenceDigest, row.Signature = "", nil
			rounds[i] = append(rounds[i], row)
		}
		if c := other.round(1).Control; c.Walks < 3 {
			t.Errorf("control %+v", c)
		}
	}
	if diff := cmp.Diff(rounds[0], rounds[1]); diff != "" {
		t.Errorf("- first + second\n%s", diff)
	}
}

// recordingsOf reads the entries of a file of raw recordings up to one that is cut off, by host.
func recordingsOf(t *testing.T, name string) map[string]fetch.Recording {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]fetch.Recording{}
	for {
		var head struct {
			Host  string `json:"host"`
			Bytes int    `json:"bytes"`
		}
		line, rest, ok := bytes.Cut(raw, []byte{'\n'})
		if !ok || json.Unmarshal(line, &head) != nil || head.Bytes > len(rest) {
			return all
		}
		if all[head.Host], err = fetch.DecodeRecording(rest[:head.Bytes]); err != nil {
			t.Fatal(err)
		}
		raw = rest[head.Bytes:]
	}
}
