package archive

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/tlog"
)

// TestAHeadByAKeyThatWasGivenUpIsNotServed re-signs the head of a record with the log key that was
// handed over: nothing is answered from it, at the start or later.
func TestAHeadByAKeyThatWasGivenUpIsNotServed(t *testing.T) {
	former := writer(t)
	former.LogKey, former.Ring = attest.SpecimenFormerLogKey(), attest.SpecimenRingBefore()
	corpustest.Append(t, former, 3, 1)
	log := attest.SpecimenKeyFor(attest.PurposeLog)
	ring, err := former.HandOver(t.Context(), log.Public(), "2026-10-05", "yearly")
	if err != nil {
		t.Fatal(err)
	}
	w := &seal.Writer{Dir: former.Dir, Origin: former.Origin, Identity: former.Identity, LogKey: log, Ring: ring}
	corpustest.Append(t, w, 3, 2)
	a, _ := openArchive(t, w)
	if a.Now() == nil || len(a.Now().Rounds) != 2 {
		t.Fatal("the record is not served")
	}
	head := openRecord(t, w).Log.Head()
	id, err := hex.DecodeString(strings.Split(tlog.VerifierKey(w.Origin, former.LogKey.Public()), "+")[1])
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(w.Dir, "log", "checkpoint")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	note := fmt.Sprintf("%s\n— %s %s\n", head.Text, w.Origin,
		base64.StdEncoding.EncodeToString(append(id, former.LogKey.Sign([]byte(head.Text))...)))
	if err := os.WriteFile(file, []byte(note), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := a.Refresh(); !errors.Is(err, attest.ErrNotInForce) || len(a.Now().Rounds) != 2 {
		t.Errorf("it is taken up: %v", err)
	}
	if _, err := Open(t.Context(), Config{Record: w.Dir, Index: filepath.Join(t.TempDir(), "view"),
		Ring: ring}); !errors.Is(err, attest.ErrNotInForce) {
		t.Errorf("it is served from the start: %v", err)
	}
}
