package verify

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
)

// stateOf is what a first step over a small record remembers, as a file.
func stateOf(t testing.TB) []byte {
	t.Helper()
	w := recordtest.Small(t)
	report, state, err := Follow(os.DirFS(w.Dir), nil, FollowOptions{Hosts: []string{"a.example", "b.example",
		"none.example"}})
	if err != nil || !report.Sound() {
		t.Fatalf("%+v, %v", report, err)
	}
	raw, err := state.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// FuzzParseState: what is read has one spelling, and what is damaged says so.
func FuzzParseState(f *testing.F) {
	good := stateOf(f)
	f.Add(good)
	f.Add(bytes.Replace(good, []byte("a.example"), []byte("c.example"), 1))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := ParseFollowState(raw)
		if err != nil {
			if !errors.Is(err, ErrFollowState) {
				t.Errorf("%v", err)
			}
			return
		}
		if again, err := s.Encode(); err != nil || !bytes.Equal(again, raw) {
			t.Errorf("read %q, written %q, %v", raw, again, err)
		}
	})
}

// TestAStateOfAnotherRecordIsForged: one whose digest is right, and whose parts are not of one
// record.
func TestAStateOfAnotherRecordIsForged(t *testing.T) {
	good := stateOf(t)
	for what, change := range map[string]func(*FollowState){
		"no keys": func(s *FollowState) { s.Keys = "" },
		"a head of others": func(s *FollowState) {
			s.Checkpoint = string(recordtest.SignHead(13, [32]byte{}, recordtest.Key(t, 9)))
		},
		"a round too many": func(s *FollowState) {
			s.Rounds = append(s.Rounds,
				record.Round{Sequence: 4, FirstLeaf: 90})
		},
		"a round too few":   func(s *FollowState) { s.Rounds = s.Rounds[1:] },
		"a row of nobody":   func(s *FollowState) { s.Hosts[0].Rows[0].Row = "{}" },
		"an unsigned event": func(s *FollowState) { s.Hosts[0].Refreshes = []string{"{}"} },
	} {
		s, err := ParseFollowState(good)
		if err != nil {
			t.Fatal(err)
		}
		change(s)
		raw, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseFollowState(raw); !errors.Is(err, ErrFollowState) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
