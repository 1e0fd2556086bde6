package verify

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/tlog"
)

// handedOver is a record of two rounds whose log changed hands between them, under the former key
// and the one in force.
type handedOver struct {
	w             *seal.Writer // of now
	former        *seal.Writer // of before
	at            attest.LogHead
	before, after fstest.MapFS // the record at the handover, knowing nothing of it, and now
	ring          []byte       // of now
}

func handOver(t testing.TB) handedOver {
	t.Helper()
	id, first, second := recordtest.Key(t, 1), recordtest.Key(t, 2), recordtest.Key(t, 3)
	ring, err := attest.NewRing("2026-01-01", map[attest.Purpose]ed25519.PublicKey{attest.PurposeIdentity: id.Public(),
		attest.PurposeLog: first.Public()})
	if err != nil {
		t.Fatal(err)
	}
	h := handedOver{former: &seal.Writer{Dir: t.TempDir(), Origin: recordtest.Origin, Identity: id, LogKey: first,
		Ring: ring}}
	recordtest.Seal(t, h.former, recordtest.Draft(1, recordtest.Walked("a.example", record.VerdictReady),
		recordtest.Walked("b.example", record.VerdictReady)))
	recordtest.Observe(t, h.former, "synergy")
	h.before = recordtest.MapFS(t, h.former.Dir)
	next, err := h.former.HandOver(t.Context(), second.Public(), "2026-09-14", "yearly")
	if err != nil {
		t.Fatal(err)
	}
	h.at = *next.Handovers[0].LastHead
	h.w = &seal.Writer{Dir: h.former.Dir, Origin: recordtest.Origin, Identity: id, LogKey: second, Ring: next}
	if _, err := h.w.Observe(t.Context(), record.Observation{At: "2026-09-14T00:00:00Z",
		Kind: record.ObservationKeyEvent, Handover: &next.Handovers[0]}); err != nil {
		t.Fatal(err)
	}
	recordtest.Seal(t, h.w, recordtest.Draft(2, recordtest.Walked("a.example", record.VerdictReady)))
	recordtest.Observe(t, h.w, "seamless")
	h.after = recordtest.MapFS(t, h.w.Dir)
	if h.ring, err = next.Encode(); err != nil {
		t.Fatal(err)
	}
	return h
}

// sign puts a head signed by a key in the place of one of the record.
func sign(tree fstest.MapFS, size int64, root attest.Digest, k *attest.Key, places ...string) {
	raw := recordtest.SignHead(size, root, k)
	for _, name := range places {
		tree[name] = &fstest.MapFile{Data: raw, Mode: 0o444}
	}
}

// TestALogKeyOutOfItsTimeIsRefused re-signs every head of a log with the key that was given up and
// with the one that came after it, as the thief of either can. Only what a key signed in its time
// is accepted.
func TestALogKeyOutOfItsTimeIsRefused(t *testing.T) {
	h := handOver(t)
	if r := verify(t, h.after, CloneOptions{}); !r.Sound() {
		t.Fatalf("unspoilt: %v %v", r.Problems, r.Lacking())
	}
	if h.at.Size != 5 {
		t.Fatalf("handed over at %d leaves", h.at.Size)
	}
	rec := recordtest.Open(t, h.w)
	head := rec.Log.Head()
	for name := range h.after {
		var size int64
		if _, err := fmt.Sscanf(name, "log/checkpoints/%d", &size); err != nil {
			continue
		}
		root, err := rec.Log.Root(size)
		if err != nil {
			t.Fatal(err)
		}
		for who, c := range map[string]struct {
			key *attest.Key
			ok  bool
		}{"the former key": {h.former.LogKey, size <= h.at.Size}, "the key in force": {h.w.LogKey, size >= h.at.Size}} {
			tree := maps.Clone(h.after)
			places := []string{name}
			if size == head.Size {
				places = append(places, "log/checkpoint")
			}
			sign(tree, size, root, c.key, places...)
			r := verify(t, tree, CloneOptions{})
			if c.ok && len(r.Problems) > 0 || !c.ok && !names(r, places[len(places)-1]) {
				t.Errorf("%s at %d leaves of %d, handed over at %d: %v", who, size, head.Size, h.at.Size, r.Problems)
			}
			_, err := record.Open(tree, h.w.Ring)
			if size == head.Size && (err == nil) != c.ok {
				t.Errorf("opened with a head by %s: %v", who, err)
			}
			// What hangs on one checkpoint, such as the proof of a row beside its page.
			hashes, err := rec.Log.Inclusion(0, size)
			if err != nil {
				t.Fatal(err)
			}
			leaf, err := rec.Log.Entry(0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := (tlog.Proof{Hashes: hashes, Note: tree[name].Data}).Verify(leaf,
				h.w.Ring); (err == nil) != c.ok || err != nil && !errors.Is(err, attest.ErrNotInForce) {
				t.Errorf("a proof under a checkpoint by %s at %d leaves: %v", who, size, err)
			}
		}
	}
	// At the size of the handover itself the root is given.
	for _, k := range []*attest.Key{h.former.LogKey, h.w.LogKey} {
		if _, _, err := tlog.OpenCheckpoint(recordtest.SignHead(h.at.Size, attest.Digest{7}, k),
			h.w.Ring); !errors.Is(err, attest.ErrNotInForce) {
			t.Errorf("another root where the log changed hands: %v", err)
		}
	}
}

// TestAHandoverIsNotRewritten has the thief of the former key sign its last word again: up to a
// size at which it may sign the head of now.
func TestAHandoverIsNotRewritten(t *testing.T) {
	h := handOver(t)
	head := recordtest.Open(t, h.w).Log.Head()
	later, err := h.former.Ring.Handover(attest.Change{Purpose: attest.PurposeLog, Effective: "2026-09-14",
		Reason:   "yearly",
		LastHead: &attest.LogHead{Size: head.Size, Root: head.Root}}, h.former.LogKey, h.w.LogKey.Public())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := later.Encode()
	if err != nil {
		t.Fatal(err)
	}
	tree := maps.Clone(h.after)
	tree[record.RingFile] = &fstest.MapFile{Data: raw, Mode: 0o444}
	for name := range tree {
		var size int64
		if _, err := fmt.Sscanf(name, "log/checkpoints/%d", &size); err == nil && size > h.at.Size {
			root, err := recordtest.Open(t, h.w).Log.Root(size)
			if err != nil {
				t.Fatal(err)
			}
			sign(tree, size, root, h.former.LogKey, name)
		}
	}
	sign(tree, head.Size, head.Root, h.former.LogKey, "log/checkpoint")
	if r := verify(t, tree, CloneOptions{Ring: h.ring}); !names(r, record.RingFile) {
		t.Errorf("with keys that were learned elsewhere: %v", r.Problems)
	}
	// The identity told of the handover, and cannot be made to tell something else.
	if r := verify(t, tree, CloneOptions{}); !names(r, "observations/000000002.json") {
		t.Errorf("with no other keys than its own: %v", r.Problems)
	}
}

// TestALogThatEndsBeforeItsHandover: the former key signs a shorter log of its thief's making, or
// the true one of then.
func TestALogThatEndsBeforeItsHandover(t *testing.T) {
	h := handOver(t)
	// The record of then, with the ring of now in it: leaves are missing.
	tree := maps.Clone(h.before)
	tree[record.RingFile] = &fstest.MapFile{Data: h.ring, Mode: 0o444}
	root, err := recordtest.Open(t, h.w).Log.Root(4)
	if err != nil {
		t.Fatal(err)
	}
	delete(tree, "observations/000000001.json")
	for name := range tree {
		if strings.HasPrefix(name, "words/") || strings.HasPrefix(name, "log/checkpoints/5") ||
			strings.HasPrefix(name, "log/tile/") && strings.HasSuffix(name, ".p/5") {
			delete(tree, name)
		}
	}
	for name, raw := range recordtest.MapFS(t, h.w.Dir) { // the tiles that a log of four leaves has
		if strings.HasPrefix(name, "log/tile/") && strings.HasSuffix(name, ".p/4") {
			tree[name] = raw
		}
	}
	for _, name := range []string{"log/tile/0/000.p/", "log/tile/entries/000.p/"} {
		tree[name+"4"] = &fstest.MapFile{Data: part(t, h.before[name+"5"].Data, strings.Contains(name, "entries")),
			Mode: 0o444}
	}
	sign(tree, 4, root, h.former.LogKey, "log/checkpoint", "log/checkpoints/4")
	if r := verify(t, tree, CloneOptions{}); !names(r, "log/checkpoint") {
		t.Errorf("cut behind its back: %v %v", r.Problems, r.Lacking())
	}
	// It knows nothing of a handover, and whoever checks it does.
	tree[record.RingFile] = h.before[record.RingFile]
	if r := verify(t, tree, CloneOptions{}); !r.Sound() {
		t.Fatalf("by its own keys: %v %v", r.Problems, r.Lacking())
	}
	r := verify(t, tree, CloneOptions{Ring: h.ring})
	if r.Sound() || r.Refused() || len(r.Lacking()) != 1 ||
		!strings.Contains(r.Lacking()[0], "handed over at 5 leaves") {
		t.Errorf("by the keys of now: %v %v", r.Problems, r.Lacking())
	}
	// As it was, it ends where the log changed hands.
	if r := verify(t, h.before, CloneOptions{Ring: h.ring}); !r.Sound() {
		t.Errorf("the record of the handover by the keys of now: %v %v", r.Problems, r.Lacking())
	}
	// Another log of the same size, whose observation is another.
	w := &seal.Writer{Dir: t.TempDir(), Origin: recordtest.Origin, Identity: h.former.Identity,
		LogKey: h.former.LogKey, Ring: h.former.Ring}
	recordtest.Seal(t, w, recordtest.Draft(1, recordtest.Walked("a.example", record.VerdictReady),
		recordtest.Walked("b.example", record.VerdictReady)))
	recordtest.Observe(t, w, "frictionless")
	if r := verify(t, recordtest.MapFS(t, w.Dir), CloneOptions{Ring: h.ring}); !names(r, "log/checkpoint") {
		t.Errorf("another log with keys of now: %v %v", r.Problems, r.Lacking())
	}
	if _, err := record.Open(os.DirFS(w.Dir), h.w.Ring); err == nil {
		t.Error("another log is opened")
	}
}

// part is the beginning of a tile or of a bundle, with four of five entries.
func part(t testing.TB, data []byte, entries bool) []byte {
	t.Helper()
	if !entries {
		return data[:4*32]
	}
	n := tlog.BundleLength(data, 4)
	if n < 0 {
		t.Fatal("a bundle of fewer than four")
	}
	return data[:n]
}

// TestARememberedHeadOutOfItsTime: a ring that has the log handed over before a head that was seen,
// signed by the former key, is of another history.
func TestARememberedHeadOutOfItsTime(t *testing.T) {
	h := handOver(t)
	for name, c := range map[string]struct {
		size int64
		root attest.Digest
		key  *attest.Key
		ok   bool
	}{
		"the last of the former key":    {h.at.Size, h.at.Root, h.former.LogKey, true},
		"one more by the former key":    {h.at.Size + 1, attest.Digest{1}, h.former.LogKey, false},
		"one by a key of no ring":       {h.at.Size, h.at.Root, recordtest.Key(t, 9), false},
		"before its time by the latter": {h.at.Size - 1, attest.Digest{1}, h.w.LogKey, false},
	} {
		seen := recordtest.SignHead(c.size, c.root, c.key)
		r := verify(t, h.after, CloneOptions{Remembered: seen})
		if c.ok != r.Sound() || !c.ok && (len(r.Problems) != 1 || r.Problems[0].Kind != ProblemRewritten) {
			t.Errorf("%s was seen: %v", name, r.Problems)
		}
	}
}

// TestAProcessThatMissedAHandoverWritesNothing: its key is no more in force, and what it signed
// could not be taken back.
func TestAProcessThatMissedAHandoverWritesNothing(t *testing.T) {
	h := handOver(t)
	before := recordtest.ReadAll(t, h.w.Dir)
	_, err := h.former.Observe(t.Context(), record.Observation{At: "2026-11-20T00:00:00Z",
		Kind: record.ObservationRetiredWord, Word: recordtest.Said("late")})
	if !errors.Is(err, seal.ErrRing) {
		t.Errorf("it observes: %v", err)
	}
	if _, err := h.former.Seal(t.Context(), recordtest.Draft(3)); !errors.Is(err, seal.ErrRing) {
		t.Errorf("it seals: %v", err)
	}
	if _, err := h.former.HandOver(t.Context(), recordtest.Key(t, 8).Public(), "2026-09-14", "again"); !errors.Is(err,
		seal.ErrRing) {
		t.Errorf("it hands over again: %v", err)
	}
	if after := recordtest.ReadAll(t, h.w.Dir); !maps.Equal(before, after) {
		t.Error("something was written")
	}
}

// TestAnIdentityOutOfItsTimeIsRefused has a key sign before it was in force and after.
func TestAnIdentityOutOfItsTimeIsRefused(t *testing.T) {
	id, next := recordtest.Key(t, 1), recordtest.Key(t, 5)
	ring, err := attest.NewRing("2026-08-10", map[attest.Purpose]ed25519.PublicKey{attest.PurposeIdentity: id.Public(),
		attest.PurposeLog: recordtest.Key(t, 2).Public()})
	if err != nil {
		t.Fatal(err)
	}
	if ring, err = ring.Handover(attest.Change{Purpose: attest.PurposeIdentity, Effective: "2026-09-15",
		Reason: "yearly"}, id, next.Public()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key *attest.Key
		day string
		ok  bool
	}{
		{id, "2026-08-09", false}, {id, "2026-08-10", true}, {id, "2026-09-15", true}, {id, "2026-09-16", false},
		{next, "2026-08-10", false}, {next, "2026-09-14", false}, {next, "2026-09-15", true},
		{next, "2031-01-01", true},
	} {
		raw, err := record.SignObservation(record.Observation{Number: 1, At: c.day + "T12:00:00Z",
			Kind: record.ObservationRetiredWord, Word: recordtest.Said("synergy")}, c.key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := record.VerifyObservation(raw, ring); (err == nil) != c.ok || err != nil &&
			!errors.Is(err, attest.ErrNotInForce) {
			t.Errorf("an observation of %s by %s: %v", c.day, c.key, err)
		}
		day, err := time.Parse(time.DateOnly, c.day)
		if err != nil {
			t.Fatal(err)
		}
		round := record.Round{Origin: recordtest.Origin, Sequence: 1, Week: record.ISOWeek(day), TakenAt: c.day +
			"T12:00:00Z",
			Battery: "v2", Parts: []record.Part{}}
		_, header, err := record.SignRound(round, c.key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := record.OpenRound(header, 1, ring); (err == nil) != c.ok || err != nil &&
			!errors.Is(err, attest.ErrNotInForce) {
			t.Errorf("a round of %s by %s: %v", c.day, c.key, err)
		}
	}
	// Nothing is written that nobody would accept.
	w := &seal.Writer{Dir: t.TempDir(), Origin: recordtest.Origin, Identity: next, LogKey: recordtest.Key(t, 2),
		Ring: ring}
	if _, err := w.Seal(t.Context(),
		recordtest.Draft(1, recordtest.Walked("a.example", record.VerdictReady))); err == nil {
		t.Error("a round of before its key is sealed")
	}
	w.Dir = t.TempDir()
	if _, err := w.Observe(t.Context(), record.Observation{At: "2026-09-01T00:00:00Z",
		Kind: record.ObservationRetiredWord, Word: recordtest.Said("early")}); err == nil {
		t.Error("an observation of before its key is kept")
	}
	if _, err := w.Observe(t.Context(), record.Observation{At: "2026-09-15T00:00:00Z",
		Kind: record.ObservationRetiredWord, Word: recordtest.Said("in time")}); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, recordtest.MapFS(t, w.Dir), CloneOptions{}); !r.Sound() || r.Record.Observations != 1 {
		t.Errorf("%v", r.Problems)
	}
}

// TestAHandoverIsToldOnce: a second time, or another one than the ring has, is refused.
func TestAHandoverIsToldOnce(t *testing.T) {
	h := handOver(t)
	if _, err := h.w.Observe(t.Context(), record.Observation{At: "2026-11-20T00:00:00Z",
		Kind: record.ObservationKeyEvent, Handover: &h.w.Ring.Handovers[0]}); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, recordtest.MapFS(t, h.w.Dir), CloneOptions{}); !names(r, "observations/000000004.json") {
		t.Errorf("told twice: %v", r.Problems)
	}
}

// TestCountsDoNotFall: artifacts that were counted are not fewer later.
func TestCountsDoNotFall(t *testing.T) {
	for name, c := range map[string]struct {
		then []record.IssuedClass
		ok   bool
	}{
		"more":           {[]record.IssuedClass{{Class: "anchor", Total: 1}, {Class: "certificate", Total: 5}}, true},
		"the same":       {[]record.IssuedClass{{Class: "anchor", Total: 1}, {Class: "certificate", Total: 4}}, true},
		"fewer":          {[]record.IssuedClass{{Class: "anchor", Total: 1}, {Class: "certificate", Total: 3}}, false},
		"fewer of a few": {[]record.IssuedClass{{Class: "anchor", Total: 0}, {Class: "certificate", Total: 9}}, false},
		"a class less":   {[]record.IssuedClass{{Class: "certificate", Total: 9}}, false},
		"a class more": {[]record.IssuedClass{{Class: "anchor", Total: 1}, {Class: "certificate", Total: 4},
			{Class: "report", Total: 2}}, true},
	} {
		w := recordtest.Writer(t)
		for _, classes := range [][]record.IssuedClass{{{Class: "anchor", Total: 1}, {Class: "certificate", Total: 4}},
			c.then} {
			o := record.Observation{At: "2026-11-20T00:00:00Z", Kind: record.ObservationArtifactsIssued,
				Issued: &record.Issued{Classes: classes}}
			for _, class := range classes {
				o.Issued.Total += class.Total
			}
			if _, err := w.Observe(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		if r := verify(t, recordtest.MapFS(t, w.Dir), CloneOptions{}); r.Sound() != c.ok || !c.ok &&
			!names(r, "observations/000000002.json") {
			t.Errorf("%s: %v", name, r.Problems)
		}
	}
}

// TestAsOf demands rounds up to a week.
func TestAsOf(t *testing.T) {
	_, tree := covered(t)
	for week, ok := range map[string]bool{"": true, "2026-W37": true, "2026-W38": true, "2026-W39": false,
		"2027-W01": false} {
		r := verify(t, tree, CloneOptions{AsOf: week})
		if r.Sound() != ok || r.Refused() || !ok &&
			!slices.ContainsFunc(r.Lacking(), func(s string) bool {
				return strings.Contains(s, week) &&
					strings.Contains(s, "2026-W38")
			}) {
			t.Errorf("as of %q: %v %v", week, r.Lacking(), r.Problems)
		}
	}
	if _, err := Clone(t.Context(), tree, CloneOptions{AsOf: "2026-47"}); err == nil {
		t.Error("no week is a week")
	}
}

// TestALogThatDoesNotGoOnFromItsHandover: the key in force signs a log whose beginning is another
// than the one that it took over. Every one of its checkpoints is by the right key for its size.
func TestALogThatDoesNotGoOnFromItsHandover(t *testing.T) {
	h := handOver(t)
	other := &seal.Writer{Dir: t.TempDir(), Origin: recordtest.Origin, Identity: h.former.Identity,
		LogKey: h.former.LogKey, Ring: h.former.Ring}
	recordtest.Seal(t, other, recordtest.Draft(1, recordtest.Walked("a.example", record.VerdictReady),
		recordtest.Walked("b.example", record.VerdictReady)))
	recordtest.Observe(t, other, "frictionless")
	var err error
	if other.Ring, err = other.HandOver(t.Context(), h.w.LogKey.Public(), "2026-09-14", "yearly"); err != nil {
		t.Fatal(err)
	}
	other.LogKey = h.w.LogKey
	recordtest.Seal(t, other, recordtest.Draft(2, recordtest.Walked("a.example", record.VerdictReady)))
	tree := recordtest.MapFS(t, other.Dir)
	if r := verify(t, tree, CloneOptions{}); !r.Sound() {
		t.Fatalf("by its own keys: %v", r.Problems)
	}
	tree[record.RingFile] = &fstest.MapFile{Data: h.ring, Mode: 0o444}
	delete(tree, "log/checkpoints/5") // which would tell, and which nothing needs
	r := verify(t, tree, CloneOptions{})
	if len(r.Problems) != 1 || r.Problems[0].Path != "log/checkpoint" || r.Problems[0].Kind != ProblemRewritten {
		t.Errorf("by the keys of the other: %v", r.Problems)
	}
	if _, err := record.Open(tree, h.w.Ring); err == nil || !strings.Contains(err.Error(), "rewritten") {
		t.Errorf("it is opened: %v", err)
	}
}
