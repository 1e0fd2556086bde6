package record

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/attest"
)

// seen is a row of a door that was walked.
func seen(host, verdict string) Row {
	r := Row{Host: host, URL: "https://" + host + "/", Listed: true, Source: SourceDiscovery, Catalog: "bazaar",
		Verdict: verdict, ReachedLevel: "L4",
		Failed: []string{}, Advisories: []string{"no-signed-offers"},
		AlsoUnder: []AlsoUnder{{Version: "v1", Verdict: VerdictReady}}, Protocols: []string{"x402"},
		ProbeMethod: &ProbeMethod{Used: "GET", Attempted: []string{"GET"}},
		Offer: &RowOffer{Networks: []string{"eip155:8453"}, Schemes: []string{"exact"}, MinUSDC: "0.001", MaxUSDC: "1",
			PayTo: []PayTo{{Network: "eip155:8453", Digest: strings.Repeat("b1", 32)}}},
		Battery: "v2", Fault: FaultNone, ObservedAt: "2026-11-20T10:11:12Z", EvidenceDigest: strings.Repeat("0a", 32)}
	if verdict != VerdictReady {
		r.ReachedLevel, r.Failed, r.Fault = "L1", []string{"status-402"}, FaultDoor
	}
	return r
}

// TestScanRowReadsWhatJSONReads compares both readers on rows with and without each member, on rows
// that need escapes, and on rows with a byte changed: where scanRow reads one, JSON reads the same.
func TestScanRowReadsWhatJSONReads(t *testing.T) {
	full := seen("a.example", VerdictReady)
	full.Origin, full.Sequence, full.Week, full.Catalog = "store.example/corpus", 12, "2026-W47", "bazaar"
	full.AlsoUnder = []AlsoUnder{{Version: "v1", Verdict: VerdictNotReady, Difference: "payto-payable"},
		{Version: "v3", Verdict: VerdictReady}}
	full.ProbeMethod = &ProbeMethod{Used: "POST", Attempted: []string{"GET", "POST"}, DeclaredBy: "allow"}
	full.Offer = &RowOffer{Networks: []string{"eip155:8453", "eip155:1"}, Schemes: []string{"exact"}, MinUSDC: "0.01",
		MaxUSDC: "2",
		PayTo: []PayTo{{Network: "eip155:8453", Digest: full.EvidenceDigest},
			{Network: "eip155:1", Digest: full.EvidenceDigest}},
		NotCapturedReason: "too many"}
	full.PreviousLeaf = new(int64(41))
	full.Failed, full.Advisories, full.Protocols = []string{}, []string{"x", "y"}, []string{"x402", "mpp-v1"}
	apart := full
	apart.Verdict, apart.Fault, apart.Failed = VerdictNotReady, FaultPath, []string{}
	apart.Vantages = []Vantage{{ID: strings.Repeat("a", kidLength), Verdict: VerdictReady,
		EvidenceDigest: full.EvidenceDigest},
		{ID: strings.Repeat("b", kidLength), Verdict: VerdictUnreachable, EvidenceDigest: full.EvidenceDigest}}
	missed := Row{Origin: "o", Sequence: 1, Week: "2026-W47", Host: "b.example", URL: "https://b.example/",
		Source: SourceRevisit, Verdict: VerdictNotProbed,
		Reason: "interrupted", Failed: []string{}, Advisories: []string{}, Protocols: []string{}, Battery: "v2",
		Fault: FaultNone}
	empty := full
	empty.Offer = &RowOffer{Networks: []string{}, Schemes: []string{}, PayTo: []PayTo{}}
	escaped := full
	escaped.URL = "https://a.example/\"ü\"\u2028"
	scanned := 0
	for i, row := range []Row{full, missed, empty, escaped, seen("c.example", VerdictUnreachable), apart} {
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
		parsesAsJSON(t, row, raw, raw)
		rng := rand.New(rand.NewPCG(uint64(i), 3))
		for range 1000 {
			bad := append([]byte(nil), raw...)
			switch at := rng.IntN(len(bad)); rng.IntN(3) {
			case 0:
				bad[at] ^= byte(1 + rng.IntN(255))
			case 1:
				bad = append(bad[:at], bad[at+1:]...)
			case 2:
				bad = append(bad[:at], append([]byte(`",:{}[]0\`)[rng.IntN(9):][:1], raw[at:]...)...)
			}
			parsesAsJSON(t, row, raw, bad)
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
	if scanned < 250 {
		t.Errorf("only %d changed rows could be read", scanned)
	}
}

// parsesAsJSON holds what a round reads of a row that its header commits to against what JSON reads
// of it: by itself, and behind the row of another round that it may be like.
func parsesAsJSON(t *testing.T, like Row, before, raw []byte) {
	t.Helper()
	var want Row
	round := Round{Origin: like.Origin, Sequence: like.Sequence, Week: like.Week, Parts: []Part{{}}}
	wrong := json.Unmarshal(raw, &want, json.RejectUnknownMembers(true))
	if wrong == nil {
		wrong = round.Belongs(&want)
	}
	earlier := round
	earlier.Sequence, earlier.Week = round.Sequence+1, "2026-W48"
	head, tail := newRowsOf(&round).lead, newRowsOf(&earlier).lead
	for _, before := range []string{"", tail + strings.TrimPrefix(string(before), head)} {
		room := new(rowRoom)
		var first, got StoredRow
		if before != "" {
			if err := newRowsOf(&earlier).parse(&first, before, 3, room); err != nil {
				t.Fatalf("%s: %v", before, err)
			}
		}
		err := newRowsOf(&round).parse(&got, string(raw), 7, room)
		if (err == nil) != (wrong == nil) {
			t.Fatalf("%s: %v, as JSON %v", raw, err, wrong)
		}
		if diff := cmp.Diff(want, got.Row); err == nil && diff != "" {
			t.Fatalf("%s (-JSON +parsed):\n%s", raw, diff)
		}
		// What comes behind it is read from it, or from the one before.
		var again StoredRow
		if err := newRowsOf(&round).parse(&again, string(raw), 7, room); (err == nil) != (wrong == nil) || err == nil &&
			!reflect.DeepEqual(again, got) {
			t.Fatalf("%s: read again as %+v, %v", raw, again.Row, err)
		}
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

// TestRowsLikeTheOneBefore reads one row after the other, of which most are like the one before in
// all that was seen, or in all but one member: each is what JSON reads.
func TestRowsLikeTheOneBefore(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	row := seen("a.example", VerdictReady)
	row.Origin, row.Week = "store.example/corpus", "2026-W47"
	room := new(rowRoom)
	alike := 0
	var kept []StoredRow
	var want []Row
	for sequence := range int64(3000) {
		row.Sequence = sequence + 1
		row.ObservedAt = []string{"2026-11-20T10:00:00Z", "2026-11-20T10:00:01Z"}[rng.IntN(2)]
		row.PreviousLeaf = []*int64{nil, new(int64(7)), new(sequence)}[rng.IntN(3)]
		switch rng.IntN(12) {
		case 0:
			row.Catalog = []string{"one", "two"}[rng.IntN(2)]
		case 1:
			row.Advisories = [][]string{{}, {"x"}, {"x", "y"}}[rng.IntN(3)]
		case 2:
			row.Battery = []string{"v2", "v1"}[rng.IntN(2)]
			row.AlsoUnder = nil
		case 3:
			row.Protocols = [][]string{{"x402"}, {"x402", "mpp-v1"}}[rng.IntN(2)]
		case 4:
			row.URL = []string{"https://a.example/paid", `https://a.example/"paid"`}[rng.IntN(2)]
		case 5:
			row.Offer = []*RowOffer{nil, {Networks: []string{"eip155:1"}, Schemes: []string{"exact"},
				PayTo: []PayTo{}}}[rng.IntN(2)]
		}
		raw, err := SignRow(row, attest.SpecimenKey())
		if err != nil {
			t.Fatal(err)
		}
		round := Round{Origin: row.Origin, Sequence: row.Sequence, Week: row.Week, Parts: []Part{{}}}
		before := room.like.row
		var got StoredRow
		if err := newRowsOf(&round).parse(&got, string(raw), 7, room); err != nil {
			t.Fatal(err)
		}
		if before != nil && before == room.like.row {
			alike++
		}
		kept = append(kept, got)
		want = append(want, Row{})
		if err := json.Unmarshal(raw, &want[sequence]); err != nil {
			t.Fatal(err)
		}
	}
	for i := range kept { // at the end, when others were read from them
		if diff := cmp.Diff(want[i], kept[i].Row); diff != "" {
			t.Fatalf("row %d (-JSON +parsed):\n%s", i, diff)
		}
	}
	if alike < 500 {
		t.Errorf("only %d rows were like the one before", alike)
	}
}
