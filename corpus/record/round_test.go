package record_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
)

// A round is as large as its published format allows (store-corpus/v1) and no larger: every part
// but the last has 4,096 rows, 4,096 walks to the control door are named, and a header has 4 MiB.
func TestARoundAtItsBounds(t *testing.T) {
	k := recordtest.Key(t, 1)
	parts := func(rows ...int64) (out []record.Part) {
		for _, n := range rows {
			out = append(out, record.Part{Rows: n, SHA256: sha256.Sum256(nil)})
		}
		return out
	}
	walks := func(n int) record.Round {
		r := recordtest.Round(parts(1)...)
		r.Control = record.Control{Walks: int64(n)}
		for i := range n {
			r.Control.Evidence = append(r.Control.Evidence, recordtest.Digest(fmt.Sprint(i)))
		}
		slices.Sort(r.Control.Evidence)
		return r
	}
	_, raw := recordtest.SignRound(t, recordtest.Round(parts(1)...), k)
	head := func(size int) record.Round {
		r := recordtest.Round(parts(1)...)
		r.Roster.Sources[0].Name += strings.Repeat("x", size-len(raw))
		return r
	}
	for _, c := range []struct {
		name, why string // why it is refused
		round     record.Round
	}{
		{"full parts", "", recordtest.Round(parts(4096, 4096, 1)...)},
		{"a full part last", "", recordtest.Round(parts(4096, 4096)...)},
		{"a part too large", "part 1 holds 4097 rows", recordtest.Round(parts(4097)...)},
		{"the second part too small", "part 2 holds 4095 rows", recordtest.Round(parts(4096, 4095, 1)...)},
		{"all walks", "", walks(4096)},
		{"a walk too many", "4097 walks named, more than 4096", walks(4097)},
		{"a full header", "", head(4 << 20)},
		{"a header too long", "4194305 bytes, more than 4194304", head(4<<20 + 1)},
	} {
		signed, raw, err := record.SignRound(c.round, k)
		if c.why != "" {
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%s: %v, want %q", c.name, err, c.why)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if back, err := record.VerifyRound(raw, k.Public()); err != nil || back.Digest != signed.Digest {
			t.Errorf("%s, read back: %v", c.name, err)
		}
	}
}
