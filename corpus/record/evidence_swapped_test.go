package record_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
)

// zipped is a member of a pack as it is written.
func zipped(t *testing.T, raw []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func entryOf(raw, member []byte) record.EvidenceEntry {
	sum := sha256.Sum256(raw)
	return record.EvidenceEntry{Host: "h00000.example", SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(member))}
}

// A member is read only if it is nothing but what its entry names.
func TestAMemberIsWhatItsEntryNames(t *testing.T) {
	raw := []byte("judged\n")
	most, more := bytes.Repeat([]byte{'x'}, probe.MaxJudgement), bytes.Repeat([]byte{'x'}, probe.MaxJudgement+1)
	var u record.Unpacker
	for name, c := range map[string]struct {
		member []byte
		entry  record.EvidenceEntry
		ok     bool
	}{
		"as it is":           {zipped(t, raw), entryOf(raw, nil), true},
		"another digest":     {zipped(t, raw), entryOf([]byte("judged otherwise\n"), nil), false},
		"something behind":   {append(zipped(t, raw), 0), entryOf(raw, nil), false},
		"a member behind":    {append(zipped(t, raw), zipped(t, raw)...), entryOf(raw, nil), false},
		"the longest":        {zipped(t, most), entryOf(most, nil), true},
		"longer":             {zipped(t, more), entryOf(more, nil), false},
		"longer, cut digest": {zipped(t, append(bytes.Clone(more), "tail"...)), entryOf(more, nil), false},
	} {
		if _, err := u.Open(c.member, c.entry); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Evidence that is swapped together with its index is not what the signed row names.
func TestSwappedEvidenceIsRefused(t *testing.T) {
	w := recordtest.Writer(t)
	recordtest.Seal(t, w, recordtest.Judged(t, 1, recordtest.Hosts(1)...))
	r := recordtest.Open(t, w)
	if raw, err := r.RawEvidence(1, "h00000.example"); err != nil || raw == nil {
		t.Fatalf("%d bytes, %v", len(raw), err)
	}
	other := []byte("another judgement\n")
	member := zipped(t, other)
	index, err := attest.Canonical(record.EvidenceIndex{Format: record.EvidenceIndexFormat,
		Entries: []record.EvidenceEntry{entryOf(other, member)}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{record.EvidencePack(1, 0): member,
		record.EvidenceIndexPath(1, 0): append(index, '\n')} {
		file := filepath.Join(w.Dir, filepath.FromSlash(name))
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if raw, err := r.RawEvidence(1, "h00000.example"); err == nil {
		t.Errorf("%q stands for what the row names", raw)
	}
}
