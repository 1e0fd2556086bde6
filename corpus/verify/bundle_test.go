package verify

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"store.example/agentstore/corpus/attest"

	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/seal"
)

// judging judges again what is kept of walks.
var bundleJudging = BundleOptions{Judge: rejudge.Batteries{}}

// writeRecord writes three rounds over a few hosts, every row judged and kept but those of round 2.
func writeRecord(t testing.TB) (*record.Record, []byte) {
	t.Helper()
	w := &seal.Writer{Dir: t.TempDir(), Origin: "store.example/corpus", Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: attest.SpecimenRing()}
	for sequence, hosts := range [][]string{{"a.example", "b.example", "c.example"}, {"a.example", "c.example"},
		{"a.example", "b.example"}} {
		sealed(t, w, int64(sequence)+1, hosts...)
	}
	stamp(t, w)
	return open(t, w)
}

func open(t testing.TB, w *seal.Writer) (*record.Record, []byte) {
	t.Helper()
	keys, err := os.ReadFile(filepath.Join(w.Dir, record.RingFile))
	if err != nil {
		t.Fatal(err)
	}
	ring, err := attest.ParseRing(keys)
	if err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(os.DirFS(w.Dir), ring)
	if err != nil {
		t.Fatal(err)
	}
	return r, keys
}

func sealed(t testing.TB, w *seal.Writer, sequence int64, hosts ...string) {
	t.Helper()
	at := time.Date(2026, 9, 6, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 7*int(sequence))
	kept := make(map[string][]byte)
	var rows iter.Seq2[record.Row, error] = func(yield func(record.Row, error) bool) {
		for i, host := range hosts {
			row, raw := recordtest.Kept(t, "https://"+host+"/paid", practice.All()[i], at.Add(-time.Hour))
			kept[host] = raw
			if i == 2 {
				row = record.Row{URL: row.URL, Verdict: record.VerdictNotProbed, Reason: "interrupted", Battery: "v2",
					Fault:  record.FaultInstrument,
					Failed: []string{}, Advisories: []string{}, Protocols: []string{}}
			}
			row.Host, row.Source = host, record.SourceRevisit
			if !yield(row, nil) {
				return
			}
		}
	}
	d := seal.Draft{Sequence: sequence, Week: record.ISOWeek(at.Add(-time.Hour)), TakenAt: at, Battery: "v2",
		Rows: rows}
	if sequence != 2 {
		d.Evidence = func(host, _ string) ([]byte, error) { return kept[host], nil }
	}
	if _, err := w.Seal(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// stamp adds a proof of time of round 1 in a block that shows no work, and a pending one of round
// 2.
func stamp(t testing.TB, w *seal.Writer) {
	t.Helper()
	r, _ := open(t, w)
	first, _ := r.Round(1)
	second, _ := r.Round(2)
	pending := slices.Concat([]byte{0xf0, 1, 'x', 0x08, 0, 0x83, 0xdf, 0xe3, 0x0d, 0x2e, 0xf9, 0x0c, 0x8e, 17, 16},
		[]byte("http://c.example"))
	p, err := ots.FromAnswer(second.Digest, pending)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.AddProof(t.Context(), 2, "c.example", p, nil); err != nil {
		t.Fatal(err)
	}
	// The block's Merkle root is the digest itself.
	p, err = ots.FromAnswer(first.Digest, []byte{0, 0x05, 0x88, 0x96, 0x0d, 0x73, 0xd7, 0x19, 0x01, 1, 7})
	if err != nil {
		t.Fatal(err)
	}
	var block ots.Header
	copy(block[36:68], first.Digest[:])
	block[72], block[75] = 1, 0x20
	if _, err := w.AddProof(t.Context(), 1, "c.example", p, map[int64]ots.Header{7: block}); err != nil {
		t.Fatal(err)
	}
}

func certificate(t testing.TB) []byte {
	t.Helper()
	signed, err := attest.Certificate{CertID: "cert_abcdefghijklmnopqrst", Item: "hello", PatronNumber: 1,
		Date: "2026-11-01T00:00:00Z", PaidUSDC: "0.5"}.Sign(attest.SpecimenKey())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(signed)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func exported(t testing.TB, wants ...Want) Bundle {
	t.Helper()
	r, keys := writeRecord(t)
	b, err := Export(r, keys, wants)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func encoded(t testing.TB, b Bundle) []byte {
	t.Helper()
	raw, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestBundleOfHosts(t *testing.T) {
	b := exported(t, Want{Host: "a.example"}, Want{Host: "b.example"}, Want{Host: "c.example", Sequence: 1},
		Want{Host: "nobody.example"})
	if err := b.AddArtifact(certificate(t)); err != nil {
		t.Fatal(err)
	}
	keys, err := attest.SpecimenRing().Encode()
	if err != nil {
		t.Fatal(err)
	}
	r, err := VerifyBundle(encoded(t, b), BundleOptions{Judge: rejudge.Batteries{}, Ring: keys})
	if err != nil || len(r.Problems) > 0 {
		t.Fatal(err, r.Problems)
	}
	if !r.Trusted || !r.Specimen || len(r.Rounds) != 3 || len(r.Rows) != 6 || len(r.Artifacts) != 1 ||
		r.Artifacts[0].ID != "cert_abcdefghijklmnopqrst" {
		t.Errorf("%+v", r)
	}
	want := []BundleHost{{Host: "a.example", Rows: 3, First: 1, Present: []int64{1, 2, 3}, Whole: true},
		{Host: "b.example", Rows: 2, First: 1, Present: []int64{1, 3}, Whole: true},
		{Host: "c.example", Rows: 2, First: 1, Present: []int64{1}}, {Host: "nobody.example", Present: []int64{},
			Whole: true}}
	if diff := cmp.Diff(want, r.Hosts, cmpopts.IgnoreUnexported(BundleHost{})); diff != "" {
		t.Errorf("hosts:\n%s", diff)
	}
	if diff := cmp.Diff(Rejudged{Again: 4, NotKept: 1, Without: 1}, r.Verdicts); diff != "" {
		t.Errorf("verdicts:\n%s", diff)
	}
	if r.Rounds[0].Time.State != ots.StateUnchecked || r.Rounds[1].Time.State != ots.StatePending ||
		r.Rounds[2].Time != nil {
		t.Errorf("times: %+v", r.Rounds)
	}
	if easy, err := VerifyBundle(encoded(t, b), BundleOptions{Judge: rejudge.Batteries{},
		Difficulty: 1e-20}); err != nil ||
		easy.Rounds[0].Time.State == ots.StatePending {
		t.Errorf("with any work: %+v %v", easy.Rounds[0].Time, err)
	}
	var out bytes.Buffer
	r.Print(&out, "b.json")
	for _, text := range []string{"b.json: UNPROVEN: c.example: its history: 1 of its 2 rows not here, of round 2",
		"UNPROVEN, while what is here is as it was signed: 3 rounds, 6 rows and 1 artifacts",
		"b.example: all its rows to round 3, which are 2, the first in round 1.", "c.example: 1 of its 2 rows.",
		"nobody.example: no row in any round from 1 to 3.", "judged again here", "is not here", "specimen"} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("it does not say %q:\n%s", text, out.String())
		}
	}
}

// TestEveryByteOfABundle changes each byte.
func TestEveryByteOfABundle(t *testing.T) {
	b := exported(t, Want{Host: "b.example", Sequence: 3})
	raw := encoded(t, b)
	r := rand.New(rand.NewPCG(4, 2))
	for at := range raw {
		spoilt := bytes.Clone(raw)
		spoilt[at] ^= byte(1 + r.IntN(255))
		if report, err := VerifyBundle(spoilt, bundleJudging); err == nil && len(report.Problems) == 0 {
			t.Fatalf("byte %d changed from %q to %q is accepted", at, raw[at], spoilt[at])
		}
	}
	for _, end := range []int{0, 1, len(raw) / 2, len(raw) - 1} {
		if _, err := VerifyBundle(raw[:end], bundleJudging); !errors.Is(err, ErrBundle) {
			t.Errorf("%d bytes of it: %v", end, err)
		}
	}
	if _, err := VerifyBundle(append(raw, '\n'), bundleJudging); !errors.Is(err, ErrBundle) {
		t.Errorf("a line more: %v", err)
	}
}

// TestForgedBundles changes what bundles say and puts the digest right again, as somebody who
// forges one would.
func TestForgedBundles(t *testing.T) {
	other := func(t *testing.T) Bundle { // of a store with other rows and the same keys
		w := &seal.Writer{Dir: t.TempDir(), Origin: "store.example/corpus", Identity: attest.SpecimenKey(),
			LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: attest.SpecimenRing()}
		sealed(t, w, 1, "a.example")
		r, keys := open(t, w)
		b, err := Export(r, keys, []Want{{Host: "a.example"}})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, c := range map[string]struct {
		at     string // "" for what is unproven
		change func(b *Bundle)
	}{
		"no row of any":      {"", func(b *Bundle) { b.Rows = []BundleRow{} }},
		"a row less":         {"", func(b *Bundle) { b.Rows = b.Rows[1:] }},
		"a row twice":        {"rows[1]", func(b *Bundle) { b.Rows = slices.Insert(b.Rows, 0, b.Rows[0]) }},
		"rows out of order":  {"rows[1]", func(b *Bundle) { b.Rows[0], b.Rows[1] = b.Rows[1], b.Rows[0] }},
		"a row not shown":    {"rows[0]", func(b *Bundle) { b.Hosts = b.Hosts[1:] }},
		"hosts out of order": {"hosts[1]", func(b *Bundle) { b.Hosts[0], b.Hosts[1] = b.Hosts[1], b.Hosts[0] }},
		"a host twice":       {"hosts[1]", func(b *Bundle) { b.Hosts = slices.Insert(b.Hosts, 0, b.Hosts[0]) }},
		"rows of a host with none": {"rows[0]", func(b *Bundle) {
			b.Hosts[0].Host, b.Hosts[0].Places = "0.example",
				b.Hosts[0].Places[:1]
		}},
		"the entry of another":    {"hosts[0]", func(b *Bundle) { b.Hosts[0].Places = b.Hosts[1].Places }},
		"a head of another fold":  {"hosts[0]", func(b *Bundle) { b.Hosts[0].Places[0].Entry.Head[0] ^= 1 }},
		"fewer rows in the entry": {"hosts[0]", func(b *Bundle) { b.Hosts[0].Places[0].Entry.Rows-- }},
		"another row": {"rows[0]",
			func(b *Bundle) { b.Rows[0].Row = strings.Replace(b.Rows[0].Row, `"listed":false`, `"listed":true`, 1) }},
		"a row of another log":  {"rows[0]", func(b *Bundle) { b.Rows[0] = other(t).Rows[0] }},
		"another judgement":     {"rows[0]", func(b *Bundle) { b.Rows[0].Judgement = b.Rows[3].Judgement }},
		"the proof of another":  {"rows[0]", func(b *Bundle) { b.Rows[0].Proof = b.Rows[1].Proof }},
		"a round less":          {"rows[0]", func(b *Bundle) { b.Rounds = b.Rounds[1:] }},
		"the newest round less": {"hosts[0]", func(b *Bundle) { b.Rounds = b.Rounds[:2] }},
		"rounds out of order": {"rounds[1]", func(b *Bundle) {
			b.Rounds[0], b.Rounds[1] = b.Rounds[1],
				b.Rounds[0]
		}},
		"a round of another log": {"rounds[0]", func(b *Bundle) { b.Rounds[0] = other(t).Rounds[0] }},
		"no consistency":         {"rounds[0]", func(b *Bundle) { b.Rounds[0].Consistency = []attest.Digest{} }},
		"another header": {"rounds[2]",
			func(b *Bundle) { b.Rounds[2].Header = strings.Replace(b.Rounds[2].Header, `"due":2`, `"due":1`, 1) }},
		"the time of another": {"rounds[0]", func(b *Bundle) { b.Rounds[0].Time = b.Rounds[1].Time }},
		"another block": {"rounds[0]", func(b *Bundle) {
			b.Rounds[0].Time.Blocks[0].Header = strings.Repeat("0", 160)
		}},
		"another checkpoint": {"rounds[0]", func(b *Bundle) { b.Checkpoint = other(t).Checkpoint }},
		"no checkpoint":      {"checkpoint", func(b *Bundle) { b.Checkpoint = "" }},
		"another certificate": {"artifacts[0]", func(b *Bundle) {
			b.Artifacts[0].SignedPayload = strings.Replace(b.Artifacts[0].SignedPayload, "0.5", "5.0", 1)
		}},
		"strange keys": {"checkpoint", func(b *Bundle) {
			k, err := attest.Generate(bytes.NewReader(bytes.Repeat([]byte{9}, 64)))
			if err != nil {
				t.Fatal(err)
			}
			l, err := attest.Generate(bytes.NewReader(bytes.Repeat([]byte{8}, 64)))
			if err != nil {
				t.Fatal(err)
			}
			ring, err := attest.NewRing("2026-01-01", map[attest.Purpose]keyBytes{attest.PurposeIdentity: k.Public(),
				attest.PurposeLog: l.Public()})
			if err != nil {
				t.Fatal(err)
			}
			raw, err := ring.Encode()
			if err != nil {
				t.Fatal(err)
			}
			b.Keys = string(raw)
		}},
	} {
		b := exported(t, Want{Host: "a.example"}, Want{Host: "b.example"})
		if err := b.AddArtifact(certificate(t)); err != nil {
			t.Fatal(err)
		}
		c.change(&b)
		r, err := VerifyBundle(encoded(t, b), bundleJudging)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.at == "" && (r.Sound() || r.Refused()) || c.at != "" &&
			!slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Path == c.at }) {
			t.Errorf("%s: %v %v, want %s", name, r.Problems, r.Unproven, c.at)
		}
	}
}

type keyBytes = ed25519.PublicKey

// TestEveryMemberOfABundle changes one character in every string and one in every number of a
// bundle and puts the digest right again: what is not signed itself is bound to what is.
func TestEveryMemberOfABundle(t *testing.T) {
	b := exported(t, Want{Host: "b.example"})
	if err := b.AddArtifact(certificate(t)); err != nil {
		t.Fatal(err)
	}
	raw := encoded(t, b)
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	var places []string
	var collect func(v any, at string)
	collect = func(v any, at string) {
		switch v := v.(type) {
		case map[string]any:
			for name, m := range v {
				collect(m, at+"/"+name)
			}
		case []any:
			for i, m := range v {
				collect(m, fmt.Sprintf("%s/%d", at, i))
			}
		default:
			places = append(places, at)
		}
	}
	collect(tree, "")
	rng := rand.New(rand.NewPCG(3, 3))
	tried := 0
	for _, at := range places {
		if at == "/sha256" || at == "/keys" || at == "/rounds/1/time/proof" || strings.HasSuffix(at, "/header") &&
			strings.Contains(at, "/blocks/") {
			// One is put right, one speaks for itself (see strange keys); a pending proof and a
			// block that shows no work prove nothing, which the report says.
			continue
		}
		for range 3 {
			spoilt, err := changed(raw, at, rng)
			if err != nil {
				t.Fatal(at, err)
			}
			var b Bundle
			if err := json.Unmarshal(spoilt, &b); err != nil {
				continue // no bundle any more
			}
			again := encoded(t, b)
			if bytes.Equal(again, raw) {
				continue
			}
			tried++
			if r, err := VerifyBundle(again, bundleJudging); err == nil && len(r.Problems) == 0 {
				t.Errorf("%s changed, and it is accepted", at)
			}
		}
	}
	if tried < len(places) {
		t.Errorf("%d changes at %d places", tried, len(places))
	}
}

// changed changes one character of the value at a place.
func changed(raw []byte, at string, rng *rand.Rand) ([]byte, error) {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	for {
		if _, err := d.ReadToken(); err != nil {
			return nil, err
		}
		if string(d.StackPointer()) != at || d.PeekKind() == ':' {
			continue
		}
		// The pointer names a member when its name was read and again when its value was.
		var start int64
		end := d.InputOffset()
		if v, err := d.ReadValue(); err == nil && string(d.StackPointer()) == at {
			start, end = d.InputOffset()-int64(len(v)), d.InputOffset()
		} else {
			for start = end - 1; start > 0 && !strings.ContainsRune(",[:", rune(raw[start-1])); start-- {
			}
		}
		out := bytes.Clone(raw)
		i := start + rng.Int64N(end-start)
		if out[i] == '"' || out[i] == '\\' {
			i = start + (end-start)/2
		}
		out[i] = "0123456789abcdef"[rng.IntN(16)]
		return out, nil
	}
}

// TestProofsUnderOtherCheckpoints hands in proofs that are right, but under a later head than the
// round's own.
func TestProofsUnderOtherCheckpoints(t *testing.T) {
	r, keys := writeRecord(t)
	first, _ := r.Round(1)
	second, _ := r.Round(2)
	later := func(index int64) string {
		t.Helper()
		p, err := r.Log.Prove(index, second.LeavesEnd(), r.Ring())
		if err != nil {
			t.Fatal(err)
		}
		return string(p.Text())
	}
	for at, change := range map[string]func(*Bundle){
		"rounds[0]": func(b *Bundle) { b.Rounds[0].Proof = later(first.RoundLeaf()) },
		"rows[0]":   func(b *Bundle) { b.Rows[0].Proof = later(first.FirstLeaf) },
		"hosts[0]": func(b *Bundle) {
			b.Hosts[0].Log, b.Hosts[0].Claim = later(second.HostsLeaf()), record.HostClaim(second.LeavesEnd())
		},
	} {
		b, err := Export(r, keys, []Want{{Host: "a.example"}})
		if err != nil {
			t.Fatal(err)
		}
		change(&b)
		report, err := VerifyBundle(encoded(t, b), bundleJudging)
		if err != nil || !slices.ContainsFunc(report.Problems, func(p Problem) bool { return p.Path == at }) {
			t.Errorf("%s: %v %v", at, report.Problems, err)
		}
	}
}

func TestRememberedCheckpoint(t *testing.T) {
	b := exported(t, Want{Host: "a.example"})
	raw := encoded(t, b)
	r, err := VerifyBundle(raw, BundleOptions{Judge: rejudge.Batteries{}, Remembered: []byte(b.Checkpoint)})
	if err != nil || len(r.Problems) > 0 || r.Remembered != 13 {
		t.Errorf("%d %v %v", r.Remembered, r.Problems, err)
	}
	// The same store wrote another history of the same size.
	w := &seal.Writer{Dir: t.TempDir(), Origin: "store.example/corpus", Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: attest.SpecimenRing()}
	sealed(t, w, 1, "a.example", "b.example", "d.example")
	other, _ := open(t, w)
	if r, err = VerifyBundle(raw, BundleOptions{Remembered: other.Log.Head().Raw}); err != nil ||
		len(r.Problems) == 0 ||
		r.Problems[0].Path != "rounds[0]" || !strings.Contains(r.Problems[0].Detail, "rewritten") {
		t.Errorf("a rewritten history: %v %v", r.Problems, err)
	}
	if _, err := VerifyBundle(raw, BundleOptions{Judge: rejudge.Batteries{},
		Remembered: []byte("nonsense")}); err == nil {
		t.Error("what is remembered cannot be read, and it is fine")
	}
}

func TestExportRefuses(t *testing.T) {
	r, keys := writeRecord(t)
	for _, w := range []Want{{Host: "a.example", Sequence: 4}, {Host: "a.example", Sequence: -1}, {}} {
		if _, err := Export(r, keys, []Want{w}); err == nil {
			t.Errorf("%+v is exported", w)
		}
	}
	var b Bundle
	for _, raw := range []string{"", "{}", `{"signed_payload":""}`, "[]"} {
		if err := b.AddArtifact([]byte(raw)); err == nil {
			t.Errorf("%q is an artifact", raw)
		}
	}
}

func FuzzVerify(f *testing.F) {
	f.Add(encoded(f, exported(f, Want{Host: "b.example"})))
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, err := ParseBundle(raw)
		if err != nil {
			return
		}
		if again := encoded(t, b); !bytes.Equal(again, raw) {
			t.Errorf("%q is written %q", raw, again)
		}
		if _, err := VerifyBundle(raw, bundleJudging); err != nil {
			t.Error(err)
		}
	})
}
