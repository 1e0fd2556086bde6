package kit

import (
	"crypto/sha256"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/rule"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/verify"
)

// TestFollowKeepsTheRulesOfAClone has whoever holds all keys break a rule of a new round, or of
// what stands before it: whoever follows refuses it by the rule by which a check of the clone does.
func TestFollowKeepsTheRulesOfAClone(t *testing.T) {
	taken := recordtest.Draft(3).TakenAt
	closing := func(w *seal.Writer, at time.Time) {
		_, err := w.Observe(t.Context(), record.Observation{At: at.Format(record.SecondLayout),
			Kind: record.ObservationRoster, Roster: &record.ClosedRoster{Week: recordtest.Draft(3).Week, Hosts: 1,
				Digest: rosterOf(t, "door.example"), Height: 900_000, Own: sha256.Sum256(make([]byte, 32))}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		rule   rule.Rule
		before func(*seal.Writer)
		forge  func(*record.Round)
	}{
		{rule.RoundCoverage, nil, func(r *record.Round) { r.Coverage.Suspect = false }},
		{rule.RoundProbed, nil, func(r *record.Round) { r.Coverage.PreviousProbed++ }},
		{rule.RoundWeek, nil, func(r *record.Round) { r.TakenAt = "2027-06-01T00:00:00Z" }},
		{rule.ObservationDate, func(w *seal.Writer) {
			_, err := w.Observe(t.Context(), record.Observation{At: "2999-01-01T00:00:00Z",
				Kind: record.ObservationRetiredWord, Word: &record.Said{Text: "petrichor"}})
			if err != nil {
				t.Fatal(err)
			}
		}, func(*record.Round) {}},
		{rule.LotClosed, nil, func(r *record.Round) {
			r.Lot = &record.Lot{RosterDigest: rosterOf(t, "door.example"), Own: make([]byte, 32)}
		}},
		{rule.LotDate, func(w *seal.Writer) { closing(w, taken.Add(-12*time.Hour)) }, func(r *record.Round) {
			r.Lot = &record.Lot{RosterDigest: rosterOf(t, "door.example"), Height: 900_000,
				Header: blockOf(taken.Add(-24 * time.Hour))}
		}},
		{rule.LotTwice, func(w *seal.Writer) {
			closing(w, taken.Add(-12*time.Hour))
			closing(w, taken.Add(-11*time.Hour))
		}, func(*record.Round) {}},
	} {
		w := watched(t)
		s := serve(t, w)
		s.want("before", 0, nil, onDoor...)
		if c.before != nil {
			c.before(w)
		}
		recordtest.Seal(t, w, recordtest.Draft(3, offering("door.example", "first")))
		forgeHeader(t, w, 3, c.forge)
		s.show(recordtest.MapFS(t, w.Dir))
		s.want(string(c.rule), 3, []string{"(rule " + string(c.rule) + ")"}, onDoor...)
		r, err := verify.Record(t.Context(), os.DirFS(w.Dir), w.Ring, verify.RecordOptions{})
		if err != nil || len(r.Problems) == 0 || r.Problems[0].Rule != c.rule {
			t.Errorf("a check of the clone says %v, want %s: %v", r.Problems, c.rule, err)
		}
	}
}

// forgeHeader puts another header, signed as it should be, in the place of the newest round's, and
// the log that commits to it in the place of the log.
func forgeHeader(t *testing.T, w *seal.Writer, sequence int64, forge func(*record.Round)) {
	t.Helper()
	r := recordtest.Open(t, w)
	round, _ := r.Round(sequence)
	leaves := leavesOf(t, r)
	forge(&round)
	round, raw := recordtest.SignRound(t, round, w.Identity)
	leaf, err := record.EncodeRoundLeaf(round, raw)
	if err == nil {
		err = os.WriteFile(filepath.Join(w.Dir, record.HeaderPath(sequence)), raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	leaves[round.RoundLeaf()] = leaf
	logAnew(t, w, leaves)
}

func rosterOf(t *testing.T, hosts ...string) attest.Digest {
	t.Helper()
	h := record.NewRosterHash(recordtest.Draft(3).Week)
	for _, host := range hosts {
		if err := h.Add(host); err != nil {
			t.Fatal(err)
		}
	}
	_, digest := h.Sum()
	return digest
}

// blockOf is a block header of a time, of the little difficulty that it states.
func blockOf(at time.Time) attest.Hex {
	var h ots.Header
	binary.LittleEndian.PutUint32(h[68:], uint32(at.Unix()))
	binary.LittleEndian.PutUint32(h[72:], 0x207fffff)
	for n := uint32(0); h.Work(record.LeastWork) != nil; n++ {
		binary.LittleEndian.PutUint32(h[76:], n)
	}
	return h[:]
}
