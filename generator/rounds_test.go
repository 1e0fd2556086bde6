package generator

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/generator/pages"
)

// snapshot is what a stranger reads of a published round.
type snapshot struct {
	Round json.RawMessage   `json:"round"`
	Rows  []json.RawMessage `json:"rows"`
	Parts []struct {
		URL    string        `json:"url"`
		Rows   int64         `json:"rows"`
		SHA256 attest.Digest `json:"sha256"`
	} `json:"parts"`
}

func readSnapshot(t *testing.T, in Input, name string) (snapshot, record.Round) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(in.OutDir, name))
	if err != nil {
		t.Fatal(err)
	}
	var s snapshot
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	round, err := record.VerifyRound(s.Round, ed25519.PublicKey(in.Ring.Identity().Public))
	if err != nil {
		t.Fatalf("%s: its header is not the one that was signed: %v", name, err)
	}
	return s, round
}

// TestARoundIsPublishedAsItWasSigned reads a small round's rows out of one file, and a large one's
// out of its parts.
func TestARoundIsPublishedAsItWasSigned(t *testing.T) {
	public := ed25519.PublicKey(attest.SpecimenKey().Public())
	in, _ := recordInput(t, 5, 1)
	mustBuild(t, in)
	s, round := readSnapshot(t, in, "corpus/1.json")
	if int64(len(s.Rows)) != round.Rows || len(s.Parts) > 0 {
		t.Fatalf("%d rows and %d parts of %d rows", len(s.Rows), len(s.Parts), round.Rows)
	}
	for _, raw := range s.Rows {
		row, err := record.VerifyRow(raw, public)
		if err == nil {
			err = round.Belongs(&row)
		}
		if err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(in.OutDir, "corpus", "parts")); err == nil {
		t.Error("a small round has parts")
	}

	in, _ = recordInput(t, pages.InlineRows, 1)
	in.outputs = only("round*")
	mustBuild(t, in)
	s, round = readSnapshot(t, in, "corpus/1.json")
	if len(s.Rows) > 0 || len(s.Parts) != len(round.Parts) || round.Rows <= pages.InlineRows {
		t.Fatalf("%d rows and %d parts of %d", len(s.Rows), len(s.Parts), len(round.Parts))
	}
	var rows int64
	for i, p := range s.Parts {
		body, err := os.ReadFile(filepath.Join(in.OutDir, p.URL))
		if err != nil {
			t.Fatal(err)
		}
		if sha256.Sum256(body) != round.Parts[i].SHA256 || p.SHA256 != round.Parts[i].SHA256 ||
			p.Rows != round.Parts[i].Rows {
			t.Errorf("%s is not part %d of the header", p.URL, i+1)
		}
		first, _, _ := bytes.Cut(body, []byte{'\n'})
		if _, err := record.VerifyRow(first, public); err != nil {
			t.Errorf("%s: %v", p.URL, err)
		}
		rows += p.Rows
	}
	if rows != round.Rows {
		t.Errorf("the parts have %d rows, the header %d", rows, round.Rows)
	}
	if r := mustBuild(t, in); r.Written != 0 {
		t.Errorf("built again: %+v", r)
	}
	found, err := attest.VerifyTree(t.Context(), os.DirFS(in.OutDir), attest.PublicLayout(), in.Ring)
	if err != nil || len(found.Problems) > 0 {
		t.Errorf("VerifyTree: %v, %v", err, found.Problems)
	}
}
