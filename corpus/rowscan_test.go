package corpus

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"agentstore/corpus/attest"
)

// TestScanRowReadsWhatJSONReads compares both readers on rows with and without each member, on rows that need escapes,
// and on rows with a byte changed: where scanRow reads one, JSON reads the same.
func TestScanRowReadsWhatJSONReads(t *testing.T) {
	full := walked("a.example", VerdictReady)
	full.Origin, full.Sequence, full.Week, full.Catalog = "store.example/corpus", 12, "2026-W47", "bazaar"
	full.AlsoUnder = &AlsoUnder{Version: "v1", Verdict: VerdictNotReady, Difference: "payto-payable"}
	full.ProbeMethod = &ProbeMethod{Used: "POST", Attempted: []string{"GET", "POST"}, DeclaredBy: "allow"}
	full.Offer = &RowOffer{Networks: []string{"eip155:8453", "eip155:1"}, Schemes: []string{"exact"}, MinUSDC: "0.01", MaxUSDC: "2",
		PayTo:             []PayTo{{Network: "eip155:8453", Digest: full.EvidenceDigest}, {Network: "eip155:1", Digest: full.EvidenceDigest}},
		NotCapturedReason: "too many"}
	full.PreviousLeaf = new(int64(41))
	full.Failed, full.Advisories, full.Protocols = []string{}, []string{"x", "y"}, []string{"x402", "mpp-v1"}
	missed := Row{Origin: "o", Sequence: 1, Week: "2026-W47", Host: "b.example", URL: "https://b.example/", Source: SourceRevisit, Verdict: VerdictNotProbed,
		Reason: "interrupted", Failed: []string{}, Advisories: []string{}, Protocols: []string{}, Battery: "v2", Fault: FaultNone}
	empty := full
	empty.Offer = &RowOffer{Networks: []string{}, Schemes: []string{}, PayTo: []PayTo{}}
	escaped := full
	escaped.URL = "https://a.example/\"ü\"\u2028"
	scanned := 0
	for i, row := range []Row{full, missed, empty, escaped, walked("c.example", VerdictUnreachable)} {
		row.Origin, row.Week, row.Sequence = "store.example/corpus", "2026-W47", max(row.Sequence, 1)
		raw, err := SignRow(row, attest.SpecimenKey())
		if err != nil {
			t.Fatal(err)
		}
		var got, want Row
		if ok := scanRow(string(raw), &got, new(rowRoom)); ok != (i != 3) {
			t.Errorf("row %d: scanned is %v: %s", i, ok, raw)
		} else if ok {
			if err := json.Unmarshal(raw, &want, json.RejectUnknownMembers(true)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("row %d (-JSON +scanned):\n%s", i, diff)
			}
			if again, err := attest.Canonical(got); err != nil || string(again) != string(raw) {
				t.Errorf("row %d: written again it is another: %v", i, err)
			}
		}
		parsesAsJSON(t, row, raw)
		rng := rand.New(rand.NewPCG(uint64(i), 3))
		for range 4000 {
			bad := append([]byte(nil), raw...)
			switch at := rng.IntN(len(bad)); rng.IntN(3) {
			case 0:
				bad[at] ^= byte(1 + rng.IntN(255))
			case 1:
				bad = append(bad[:at], bad[at+1:]...)
			case 2:
				bad = append(bad[:at], append([]byte(`",:{}[]0\`)[rng.IntN(9):][:1], raw[at:]...)...)
			}
			parsesAsJSON(t, row, bad)
			got, want = Row{}, Row{}
			if !scanRow(string(bad), &got, new(rowRoom)) {
				continue
			}
			scanned++
			if err := json.Unmarshal(bad, &want, json.RejectUnknownMembers(true)); err != nil {
				t.Fatalf("scanned, but no JSON (%v): %s", err, bad)
			}
			if err := attest.ParseCanonical(bad, &want); err != nil {
				t.Fatalf("scanned, but not canonical (%v): %s", err, bad)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s (-JSON +scanned):\n%s", bad, diff)
			}
		}
	}
	if scanned < 1000 {
		t.Errorf("only %d changed rows could be read", scanned)
	}
}

// parsesAsJSON holds what a round reads of a row that its header commits to against what JSON reads of it.
func parsesAsJSON(t *testing.T, like Row, raw []byte) {
	t.Helper()
	var want Row
	round := Round{Origin: like.Origin, Sequence: like.Sequence, Week: like.Week, Parts: []Part{{}}}
	wrong := json.Unmarshal(raw, &want, json.RejectUnknownMembers(true))
	if wrong == nil {
		wrong = round.Belongs(&want)
	}
	var got StoredRow
	err := newRowsOf(&round).parse(&got, string(raw), 7, new(rowRoom))
	if (err == nil) != (wrong == nil) {
		t.Fatalf("%s: %v, as JSON %v", raw, err, wrong)
	}
	if diff := cmp.Diff(want, got.Row); err == nil && diff != "" {
		t.Fatalf("%s (-JSON +parsed):\n%s", raw, diff)
	}
}

// TestPrintable puts every byte at every place among others of every kind.
func TestPrintable(t *testing.T) {
	for length := range 20 {
		for at := range length {
			for _, around := range []byte{' ', '~', 'a', '[', ']'} {
				b := bytes.Repeat([]byte{around}, length)
				if !printable(string(b)) {
					t.Fatalf("%q is not printable", b)
				}
				for c := range 256 {
					b[at] = byte(c)
					if got, want := printable(string(b)), c >= ' ' && c < 0x7f && c != '\\'; got != want {
						t.Fatalf("printable(%q) = %v", b, got)
					}
				}
			}
		}
	}
}

func BenchmarkScanRow(b *testing.B) {
	row := walked("a.example", VerdictReady)
	row.Origin, row.Sequence, row.Week = "store.example/corpus", 12, "2026-W47"
	raw, err := SignRow(row, attest.SpecimenKey())
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	room := new(rowRoom)
	for b.Loop() {
		var r Row
		room.reset()
		if !scanRow(string(raw), &r, room) {
			b.Fatal("not scanned")
		}
	}
}
