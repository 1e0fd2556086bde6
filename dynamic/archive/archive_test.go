package archive

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/hostindex"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/tier"
)

const base = "https://store.test"

func writer(t *testing.T) *seal.Writer {
	return &seal.Writer{Dir: t.TempDir(), Origin: "store.test/corpus", Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: attest.SpecimenRing()}
}

func openRecord(t *testing.T, w *seal.Writer) *record.Record {
	t.Helper()
	r, err := record.Open(os.DirFS(w.Dir), w.Ring)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func openArchive(t *testing.T, w *seal.Writer) (*Archive, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "view")
	a, err := Open(t.Context(), Config{Record: w.Dir, Index: dir, Ring: w.Ring})
	if err != nil {
		t.Fatal(err)
	}
	return a, dir
}

func TestFollowsTheRecord(t *testing.T) {
	w := writer(t)
	a, dir := openArchive(t, w)
	rounds := func() int {
		t.Helper()
		if err := a.Refresh(); err != nil {
			t.Fatal(err)
		}
		if a.Now() == nil {
			return 0
		}
		return len(a.Now().Rounds)
	}
	build := func() {
		t.Helper()
		if err := hostindex.Build(t.Context(), openRecord(t, w), dir); err != nil {
			t.Fatal(err)
		}
	}
	if n := rounds(); n != 0 {
		t.Fatalf("an empty record has %d rounds", n)
	}
	corpustest.Append(t, w, 3, 2)
	if n := rounds(); n != 0 {
		t.Errorf("%d rounds before there is an index", n)
	}
	build()
	if n := rounds(); n != 2 {
		t.Errorf("%d rounds, want 2", n)
	}
	old := a.Now()
	if err := a.Refresh(); err != nil || a.Now() != old {
		t.Errorf("nothing moved, and it was read again: %v", err)
	}
	corpustest.Append(t, w, 3, 5)
	if n := rounds(); n != 2 || len(old.Feed) != 0 || len(a.Now().Feed) != 2 {
		t.Errorf("a stale index: %d rounds, %d observations, want 2 and 2", n, len(a.Now().Feed))
	}
	build()
	if n := rounds(); n != 5 {
		t.Errorf("%d rounds, want 5", n)
	}
	if h, ok, err := old.History("standing.example"); !ok || err != nil || h.ProbedRounds != 2 {
		t.Errorf("the old state: %v, %v, %v", h, ok, err)
	}
	if h, ok, err := a.Now().History("standing.example"); !ok || err != nil || h.ProbedRounds != 5 {
		t.Errorf("the new state: %v, %v, %v", h, ok, err)
	}
	// What cannot be read leaves what there is.
	if err := os.WriteFile(filepath.Join(dir, "current"), []byte("nonsense\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	held := a.Now()
	if err := a.Refresh(); err == nil || a.Now() != held {
		t.Errorf("a damaged pointer: %v", err)
	}
	// A new server makes the index anew.
	b, err := Open(t.Context(), Config{Record: w.Dir, Index: dir, Ring: w.Ring})
	if err != nil || len(b.Now().Rounds) != 5 {
		t.Errorf("opened over a damaged pointer: %v", err)
	}
}

func TestRunTakesANewRound(t *testing.T) {
	w := writer(t)
	corpustest.Append(t, w, 1, 1)
	a, dir := openArchive(t, w)
	corpustest.Append(t, w, 1, 2)
	r := openRecord(t, w)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- a.Run(ctx) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(a.Now().Rounds); n != 1 {
			t.Errorf("%d rounds before the index moved", n)
		}
		if err := hostindex.Build(ctx, r, dir); err != nil {
			t.Error(err)
		}
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if n := len(a.Now().Rounds); n != 2 {
			t.Errorf("%d rounds after the index moved", n)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestObservationsAreFoundInTheLog(t *testing.T) {
	w := writer(t)
	// Some before the first round, some between two, some behind the last.
	observe := func(word string) {
		t.Helper()
		if _, err := w.Observe(t.Context(), record.Observation{At: "2026-08-31T00:00:00Z",
			Kind: record.ObservationRetiredWord, Word: &record.Said{Text: word}}); err != nil {
			t.Fatal(err)
		}
	}
	observe("one")
	observe("two")
	corpustest.Append(t, w, 2, corpustest.Weeks)
	observe("three")
	a, _ := openArchive(t, w)
	s := a.Now()
	if len(s.Feed) != 7 {
		t.Fatalf("%d observations", len(s.Feed))
	}
	for _, o := range s.Feed {
		raw, err := os.ReadFile(filepath.Join(w.Dir, "observations", o.File()))
		if err != nil {
			t.Fatal(err)
		}
		leaf, ok := s.Record.ObservationLeaf(o.Number)
		proof, err := s.Record.Log.Prove(leaf, s.Record.Log.Head().Size, s.Record.Ring())
		if err != nil || !ok {
			t.Fatal(err)
		}
		if entry, err := s.Record.Log.Entry(leaf); err != nil || string(entry) != string(raw) {
			t.Errorf("observation %d is not leaf %d: %v", o.Number, leaf, err)
		}
		if _, err := proof.Verify(raw, w.Ring); err != nil {
			t.Errorf("observation %d: %v", o.Number, err)
		}
	}
	for _, n := range []int64{0, -1, 8} {
		if leaf, ok := s.Record.ObservationLeaf(n); ok {
			t.Errorf("observation %d is leaf %d", n, leaf)
		}
	}
	if o, ok := s.Word("two"); !ok || o.Number != 2 {
		t.Errorf("%v, %v", o, ok)
	}
	if _, ok := s.Word("four"); ok {
		t.Error("a word that nobody retired")
	}
}

func TestStateSaysWhatTheRecordSays(t *testing.T) {
	w := writer(t)
	corpustest.Append(t, w, 5, corpustest.Weeks)
	a, _ := openArchive(t, w)
	s, r := a.Now(), openRecord(t, w)
	feed, err := r.Observations()
	if err != nil {
		t.Fatal(err)
	}
	hosts := 0
	others := map[string]int64{} // by sequence and address
	for h, err := range r.Histories() {
		if err != nil {
			t.Fatal(err)
		}
		hosts++
		got, ok, err := s.History(h.Host)
		if !ok || err != nil {
			t.Fatalf("%s: %v, %v", h.Host, ok, err)
		}
		if diff := cmp.Diff(tier.HistoryOf(r.Rounds(), h, feed), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", h.Host, diff)
		}
		for _, row := range h.Rows {
			if row.Offer != nil {
				for _, p := range row.Offer.PayTo {
					others[fmt.Sprint(row.Sequence, p)]++
				}
			}
		}
	}
	if hosts < 15 {
		t.Errorf("%d hosts are no test", hosts)
	}
	shared := 0
	for h := range r.Histories() {
		for _, row := range h.Rows {
			if row.Offer == nil {
				continue
			}
			for _, p := range row.Offer.PayTo {
				n, err := s.Others(row.Sequence, p)
				if want := others[fmt.Sprint(row.Sequence, p)] - 1; err != nil || n != want {
					t.Errorf("%s in round %d: %d others, want %d: %v", h.Host, row.Sequence, n, want, err)
				} else if n > 0 {
					shared++
				}
			}
		}
	}
	if shared == 0 {
		t.Error("no address is shared: no test")
	}
	if got := s.About("standing.example"); len(got) != 2 || got[0].Walk == nil || got[1].Declaration == nil {
		t.Errorf("about standing.example: %v", got)
	}
	if got := s.About("nobody.example"); len(got) != 0 {
		t.Errorf("about nobody: %v", got)
	}
	if _, ok, err := s.History("nobody.example"); ok || err != nil {
		t.Errorf("nobody is there: %v", err)
	}
}

func TestAddressReading(t *testing.T) {
	w := writer(t)
	corpustest.Append(t, w, 5, corpustest.Weeks)
	a, _ := openArchive(t, w)
	s := a.Now()
	of := func(address string) AddressReading {
		t.Helper()
		got, err := s.Address(base, address)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	two := of("0x2")
	if two.NeverSeen || two.DoorsTotal != 2 || len(two.Doors) != 2 || two.Caveat == "" || two.RoundsInChain != 12 {
		t.Fatalf("reading %+v", two)
	}
	d := two.Doors[1]
	if d.Host != "established.example" || d.Network != "eip155:8453" || d.FirstWeek != "2026-W36" ||
		d.LastWeek != "2026-W47" || d.Rounds != 9 || len(d.Weeks) != 12 ||
		d.EntryURL != base+"/corpus/12.json" || d.HistoryURL != base+"/corpus/host/established.example" {
		t.Errorf("door %+v", d)
	}
	if wk := d.Weeks[1]; wk.Verdict != "not_ready" || wk.Advertised || wk.Snapshot != s.Rounds[1].Digest.String() ||
		wk.Sequence != 2 {
		t.Errorf("week %+v", wk)
	}
	dear := of("0x9")
	if len(dear.Doors) != 1 || len(dear.Doors[0].Drift) != 1 {
		t.Fatalf("reading %+v", dear)
	}
	if diff := cmp.Diff(TermDrift{FromWeek: "2026-W39", ToWeek: "2026-W40", Field: "min_usdc", From: "0.01",
		To: "0.25"}, dear.Doors[0].Drift[0]); diff != "" {
		t.Errorf("drift (-want +got):\n%s", diff)
	}
	moved := of("0x8")
	if door := moved.Doors[0]; door.LastWeek != "2026-W42" || door.Weeks[7].Advertised || !door.Weeks[6].Advertised {
		t.Errorf("a door that moved away: %+v", door)
	}
	if got := of("0xbeef"); !got.NeverSeen || got.DoorsTotal != 0 || len(got.Doors) != 0 || got.Caveat != "" ||
		got.StandingNote != nil {
		t.Errorf("an address that was never seen: %+v", got)
	}
	// A note by the address is read with it.
	p := record.PayTo{Network: "eip155:8453", Digest: exchange.PayToDigest("eip155:8453", "0x2")}
	for _, statement := range []string{"first", "second"} {
		if _, err := w.Observe(t.Context(), record.Observation{At: "2026-12-01T00:00:00Z",
			Kind: record.ObservationStandingNote, Note: &record.StandingNote{
				Host: "established.example", Lane: "wallet", Statement: record.Said{Text: statement},
				SignedAt: "2026-12-01T00:00:00Z", PayTo: &p}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Refresh(); err != nil {
		t.Fatal(err)
	}
	s = a.Now()
	if note := of("0x2").StandingNote; note == nil || note.Statement != "second" || note.By != "address" {
		t.Errorf("note %+v", note)
	}
}

// TestAddressIsAskedOnEveryNetworkThatRowsName seals rows on networks that no table knows, one of
// them no network at all, and one row that leaves addresses out.
func TestAddressIsAskedOnEveryNetworkThatRowsName(t *testing.T) {
	const held, elsewhere = "0x00000000000000000000000000000000000000aa", "0x00000000000000000000000000000000000000bb"
	w := writer(t)
	seal := func(sequence int64, offers map[string]*record.RowOffer) {
		at := corpustest.Monday.AddDate(0, 0, 7*int(sequence)-1)
		_, err := w.Seal(t.Context(), seal.Draft{Sequence: sequence, Week: record.ISOWeek(at), TakenAt: at,
			Battery: "v2", Roster: record.Roster{Sources: []record.RosterSource{}},
			Inflows: record.Inflows{From: at.AddDate(0, 0, -6).Format(time.RFC3339), To: at.Format(time.RFC3339),
				Networks: []record.NetworkInflow{}},
			Rows: func(yield func(record.Row, error) bool) {
				for _, host := range slices.Sorted(maps.Keys(offers)) {
					if !yield(record.Row{Host: host, URL: "https://" + host + "/", Source: record.SourceDiscovery,
						Verdict: record.VerdictReady, ReachedLevel: "L4", Failed: []string{},
						Advisories: []string{}, Protocols: []string{}, Battery: "v2", Fault: record.FaultNone,
						ObservedAt: at.Add(-time.Hour).Format(time.RFC3339), EvidenceDigest: strings.Repeat("ab", 32),
						Offer: offers[host]}, nil) {
						return
					}
				}
			}})
		if err != nil {
			t.Fatal(err)
		}
	}
	offer := func(networks ...string) *record.RowOffer {
		o := &record.RowOffer{Networks: []string{}, Schemes: []string{"exact"}, PayTo: []record.PayTo{}}
		for _, n := range networks {
			o.PayTo = append(o.PayTo, record.PayTo{Network: n, Digest: exchange.PayToDigest(n, held)})
		}
		return o
	}
	seal(1, map[string]*record.RowOffer{"a.example": offer("eip155:143"), "b.example": offer("eip155:987654"),
		"c.example": offer(networks.OtherNetwork)})
	a, dir := openArchive(t, w)
	got, err := a.Now().Address(base, held)
	if err != nil || got.NeverSeen || got.PossiblyLeftOut || got.DoorsTotal != 3 || got.NetworksAsked < 10 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = a.Now().Address(base, elsewhere); err != nil || !got.NeverSeen || got.PossiblyLeftOut {
		t.Errorf("%+v, %v", got, err)
	}
	cut := offer()
	for i := range record.MaxPayTo {
		cut.PayTo = append(cut.PayTo, record.PayTo{Network: "eip155:8453", Digest: exchange.PayToDigest("eip155:8453",
			fmt.Sprintf("0x%040x", 900+i))})
	}
	cut.PayToLeftOut = 1
	seal(2, map[string]*record.RowOffer{"a.example": cut})
	fresh, err := record.Open(os.DirFS(w.Dir), w.Ring)
	if err == nil {
		err = hostindex.Build(t.Context(), fresh, dir)
	}
	if err = errors.Join(err, a.Refresh()); err != nil {
		t.Fatal(err)
	}
	if got, err = a.Now().Address(base, elsewhere); err != nil || !got.NeverSeen || !got.PossiblyLeftOut {
		t.Errorf("beside a row that leaves addresses out: %+v, %v", got, err)
	}
	if got, err = a.Now().Address(base, held); err != nil || got.DoorsTotal != 3 ||
		got.Doors[0].Weeks[len(got.Doors[0].Weeks)-1].Advertised || !got.Doors[0].Weeks[1].PossiblyLeftOut {
		t.Errorf("a door that may have left it out: %+v, %v", got, err)
	}
}

func TestSignedThingsAreFoundById(t *testing.T) {
	w := writer(t)
	corpustest.Append(t, w, 2, corpustest.Weeks)
	a, _ := openArchive(t, w)
	s := a.Now()
	found := map[string]int{}
	for leaf := range s.Record.Log.Head().Size {
		if _, ok, err := s.Signed(fmt.Sprintf("row_%d", leaf)); err != nil {
			t.Fatal(err)
		} else if ok {
			found[ClassRow]++
		}
	}
	for n := range int64(20) {
		for _, class := range []string{ClassRound, ClassObservation} {
			g, ok, err := s.Signed(fmt.Sprintf("%s_%d", class, n))
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				continue
			}
			found[class]++
			if _, err := g.Proof.Verify(g.Entry, w.Ring); err != nil || g.Proof.Index != g.Leaf {
				t.Errorf("%s %d: %v", class, n, err)
			}
			switch class {
			case ClassRound:
				round, err := record.VerifyRound(g.Raw, w.Identity.Public())
				if err != nil || round.Sequence != n || round.Digest != attest.Digest(sha256.Sum256(g.Payload)) {
					t.Errorf("round %d: %v, %v", n, round.Sequence, err)
				}
			case ClassObservation:
				if o, err := record.VerifyObservation(g.Raw, w.Ring); err != nil || o.Number != n {
					t.Errorf("observation %d: %v, %v", n, o.Number, err)
				}
			}
		}
	}
	for kid, leaf := range map[string]int64{w.Identity.KID(): 0, attest.SpecimenKeyFor(attest.PurposeGit).KID(): -1} {
		if p, err := s.KeyPlace(kid); err != nil || (p != nil) != (leaf == 0) || p != nil && (p.Leaf != 0 ||
			p.Origin != s.Rounds[0].Origin) {
			t.Errorf("the log shows %s at %+v, %v", kid, p, err)
		}
	}
	next := attest.SpecimenFormerLogKey()
	handed, err := w.Ring.Handover(attest.Change{Purpose: attest.PurposeIdentity, Effective: "2026-11-23",
		Reason: "a test"}, w.Identity, next.Public())
	if err != nil {
		t.Fatal(err)
	}
	w.Ring, w.Identity = handed, next
	o, err := w.Observe(t.Context(), record.Observation{At: "2026-11-23T12:00:00Z",
		Kind: record.ObservationKeyEvent, Handover: &handed.Handovers[len(handed.Handovers)-1]})
	if err != nil {
		t.Fatal(err)
	}
	after, _ := openArchive(t, w)
	if p, err := after.Now().KeyPlace(next.KID()); err != nil || p == nil || p.Leaf == 0 ||
		p.ID != fmt.Sprintf("observation_%d", o[0].Number) {
		t.Errorf("the log shows the next key at %+v, %v", p, err)
	}
	var rows int64
	for _, r := range s.Rounds {
		rows += r.Rows
	}
	if diff := cmp.Diff(map[string]int{ClassRow: int(rows), ClassRound: 12, ClassObservation: 4}, found); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	for _, id := range []string{"", "row", "row_", "row_-1", "row_01", "round_0", "round_13", "row_99999", "row_ 1",
		"cert_1", "round_1_2", "ROW_1", "row_99999999999999999999"} {
		if _, ok, err := s.Signed(id); ok || err != nil {
			t.Errorf("%q is there: %v", id, err)
		}
	}
}

// TestNewObservationsAreReadAlone holds that what is held is not read again, and what is new is
// checked.
func TestNewObservationsAreReadAlone(t *testing.T) {
	w := writer(t)
	corpustest.Append(t, w, 1, corpustest.Weeks)
	a, _ := openArchive(t, w)
	old := a.Now()
	first := filepath.Join(w.Dir, "observations", "000000001.json")
	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	said, err := record.Say(nil, "new")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := record.SignObservation(record.Observation{Number: 5, At: "2026-12-01T00:00:00Z",
		Kind: record.ObservationRetiredWord, Word: &said}, w.Identity)
	if err != nil {
		t.Fatal(err)
	}
	fifth := filepath.Join(w.Dir, "observations", "000000005.json")
	if err := os.WriteFile(fifth, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	a.seen = ""
	if err := a.Refresh(); err != nil || len(a.Now().Feed) != 5 || len(old.Feed) != 4 {
		t.Errorf("%d observations, and %d before: %v", len(a.Now().Feed), len(old.Feed), err)
	}
	if err := os.WriteFile(filepath.Join(w.Dir, "observations", "000000006.json"), raw, 0o644); err != nil {
		t.Fatal(err)
	}
	a.seen = ""
	if err := a.Refresh(); err == nil || len(a.Now().Feed) != 5 {
		t.Errorf("an observation in another's place: %v", err)
	}
}
