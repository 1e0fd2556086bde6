package corpus

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"agentstore/corpus/attest"
	"agentstore/corpus/exchange"
	"agentstore/corpus/probe"
)

// fixedKey is a key that is the same in every run.
func fixedKey(t testing.TB, seed byte) *attest.Key {
	t.Helper()
	k, err := attest.Generate(bytes.NewReader(bytes.Repeat([]byte{seed}, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func digest(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }

func readyRow() Row {
	previous := int64(0)
	return Row{
		Origin: "store.example/corpus", Sequence: 3, Week: "2026-W47", Host: "door.example", URL: "https://door.example/pay?<&>",
		Listed: true, Source: SourceDiscovery, Catalog: "bazaar", Verdict: VerdictReady, ReachedLevel: "L4",
		Failed: []string{}, Advisories: []string{"no-signed-offers"},
		AlsoUnder: &AlsoUnder{Version: "v1", Verdict: VerdictReady}, Protocols: []string{"x402"},
		ProbeMethod: &ProbeMethod{Used: "GET", Attempted: []string{"GET"}},
		Offer: &RowOffer{Networks: []string{"eip155:8453"}, Schemes: []string{"exact"}, MinUSDC: "0.001", MaxUSDC: "1",
			PayTo: []PayTo{{Network: "eip155:8453", Digest: digest("address")}}},
		Battery: "v2", Fault: FaultNone, ObservedAt: "2026-11-20T10:11:12Z", EvidenceDigest: digest("evidence"), PreviousLeaf: &previous,
	}
}

func unprobedRow() Row {
	return Row{
		Origin: "store.example/corpus", Sequence: 3, Week: "2026-W47", Host: "away.example", URL: "https://away.example/",
		Source: SourceRevisit, Verdict: VerdictNotProbed, Reason: "interrupted", Battery: "v2", Fault: FaultInstrument,
		Failed: []string{}, Advisories: []string{}, Protocols: []string{},
	}
}

func signRow(t testing.TB, r Row, k *attest.Key) []byte {
	t.Helper()
	b, err := SignRow(r, k)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func testRound(parts ...Part) Round {
	r := Round{
		Origin: "store.example/corpus", Sequence: 3, Week: "2026-W47", TakenAt: "2026-11-22T00:00:00Z",
		PreviousDigest: sha256.Sum256([]byte("previous")), Battery: "v2",
		Roster:    Roster{Listed: 5, Walked: 4, Sources: []RosterSource{{Name: "bazaar", Kind: SourceDiscovery, Hosts: 5, Complete: true}}},
		Coverage:  Coverage{Due: 5, Probed: 4, NotProbed: 1, PreviousProbed: 4},
		Control:   Control{Walks: 2},
		Inflows:   Inflows{From: "2026-11-15T00:00:00Z", To: "2026-11-22T00:00:00Z", Networks: []NetworkInflow{{Network: "eip155:8453", Read: true, Transfers: 3, Addresses: 2, USDC: "1.5"}}},
		FirstLeaf: 100, Parts: parts,
	}
	for _, p := range parts {
		r.Rows += p.Rows
	}
	return r
}

func signRound(t testing.TB, r Round, k *attest.Key) (Round, []byte) {
	t.Helper()
	r, raw, err := SignRound(r, k)
	if err != nil {
		t.Fatal(err)
	}
	return r, raw
}

func everyByteChange(t *testing.T, raw []byte, accepted func([]byte) bool) {
	t.Helper()
	if !accepted(raw) {
		t.Fatal("the unchanged artifact is refused")
	}
	changed := bytes.Clone(raw)
	for i := range raw {
		for x := 1; x < 256; x++ {
			changed[i] = raw[i] ^ byte(x)
			if accepted(changed) {
				t.Fatalf("byte %d changed from %#02x to %#02x is accepted", i, raw[i], changed[i])
			}
		}
		changed[i] = raw[i]
	}
}

func privateHalf(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
}

const testOrigin = "store.example/corpus"

func testWriter(t testing.TB) *Writer {
	t.Helper()
	return &Writer{Dir: t.TempDir(), Origin: testOrigin, Identity: attest.SpecimenKey(), LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: attest.SpecimenRing()}
}

// each yields values without an error.
func each[T any](values ...T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range values {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// walked is a row as a walk hands it in.
func walked(host, verdict string) Row {
	r := readyRow()
	r.Host, r.URL, r.Verdict, r.PreviousLeaf, r.Sequence, r.Origin, r.Week = host, "https://"+host+"/", verdict, nil, 0, "", ""
	if verdict == VerdictNotProbed {
		u := unprobedRow()
		u.Host, u.URL, u.Sequence, u.Origin, u.Week = host, r.URL, 0, "", ""
		return u
	}
	if verdict != VerdictReady {
		r.ReachedLevel, r.Failed, r.Fault = "L1", []string{"status-402"}, FaultDoor
	}
	return r
}

func draft(sequence int64, rows ...Row) Draft {
	at := time.Date(2026, 9, 6, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 7*int(sequence))
	return Draft{
		Sequence: sequence, Week: ISOWeek(at.Add(-time.Hour)), TakenAt: at, Battery: "v2", Rows: each(rows...),
		Roster:  Roster{Listed: int64(len(rows)), Sources: []RosterSource{{Name: "bazaar", Kind: SourceDiscovery, Hosts: int64(len(rows)), Complete: true}}},
		Control: Control{Walks: 1},
		Inflows: Inflows{From: at.AddDate(0, 0, -7).Format(time.RFC3339), To: at.Format(time.RFC3339), Networks: []NetworkInflow{}},
	}
}

func seal(t testing.TB, w *Writer, d Draft) Round {
	t.Helper()
	r, err := w.Seal(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// smallRecord has three rounds, two observations and a host that comes and goes.
func smallRecord(t testing.TB) *Writer {
	t.Helper()
	w := testWriter(t)
	seal(t, w, draft(1, walked("a.example", VerdictReady), walked("b.example", VerdictNotReady), walked("c.example", VerdictNotProbed)))
	observe(t, w, "first")
	seal(t, w, draft(2, walked("a.example", VerdictReady), walked("c.example", VerdictUnreachable)))
	observe(t, w, "second")
	seal(t, w, draft(3, walked("b.example", VerdictReady), walked("d.example", VerdictReady)))
	return w
}

func observe(t testing.TB, w *Writer, word string) {
	t.Helper()
	if _, err := w.Observe(t.Context(), Observation{At: "2026-11-20T00:00:00Z", Kind: ObservationRetiredWord, Word: &Said{Text: word}}); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, w *Writer) *Record {
	t.Helper()
	r, err := Open(os.DirFS(w.Dir), w.Ring)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func readAll(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == lockFile {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		out[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func mapFS(t testing.TB, dir string) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	for name, body := range readAll(t, dir) {
		out[name] = &fstest.MapFile{Data: []byte(body), Mode: 0o444}
	}
	return out
}

// look walks a door that answers every request in one way, or with a failure.
func look(t testing.TB, url string, answer probe.Answer, failure exchange.Error, at time.Time) (probe.Report, probe.Judgement) {
	t.Helper()
	p, err := probe.NewPreflight(probe.V2, url, probe.Declaration{})
	if err != nil {
		t.Fatal(err)
	}
	var recorded []exchange.Exchange
	for {
		report, next, err := p.Step(recorded)
		if err != nil {
			t.Fatal(err)
		}
		if next == nil {
			j, err := p.Judgement(recorded)
			if err != nil {
				t.Fatal(err)
			}
			return report, j
		}
		x := exchange.Exchange{Request: next.Request, StartedAt: at, Error: failure}
		if failure.Stage == "" {
			x.Response = exchange.Response{Status: answer.Status, Proto: "HTTP/2.0", Header: answer.Header, Body: answer.Body}
		}
		recorded = append(recorded, x)
	}
}

var lookedAt = time.Date(2026, 9, 13, 4, 5, 6, 0, time.UTC)

// judged is a draft of which every row is made from a walk that is kept: hosts answer as the practice doors do, in turn,
// and every fifth does not answer.
func judged(t testing.TB, sequence int64, hosts ...string) Draft {
	t.Helper()
	d := draft(sequence)
	kept := make(map[string][]byte)
	var rows []Row
	for i, host := range hosts {
		practice := probe.Practices()[(i+int(sequence))%len(probe.Practices())]
		url := "https://" + host + "/paid"
		failure := exchange.Error{}
		if i%5 == 4 {
			failure = exchange.Error{Stage: exchange.StageConnect, Text: "connection refused"}
		}
		report, judgement := look(t, url, practice.Answer(url), failure, d.TakenAt.Add(-time.Hour))
		row := RowFrom(report, judgement)
		row.Host, row.Listed, row.Source, row.Catalog = host, true, SourceDiscovery, "bazaar"
		rows = append(rows, row)
		raw, err := judgement.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if row.EvidenceDigest != "" {
			kept[host] = raw
		}
	}
	d.Rows = each(rows...)
	d.Evidence = func(host, _ string) ([]byte, error) { return kept[host], nil }
	return d
}

func hosts(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("h%05d.example", i))
	}
	return out
}

// said is a text under a salt that is always the same.
func said(text string) *Said {
	s, err := Say(strings.NewReader(strings.Repeat("s", 32)), text)
	if err != nil {
		panic(err) // a test's own text
	}
	return &s
}

// cosign is what a witness answers with.
func cosign(k *attest.Key, name string, c Checkpoint, at uint64) []byte {
	b := binary.BigEndian.AppendUint64(noteID(Witness{Name: name, Public: k.Public()}.Key()), at)
	b = append(b, k.Sign(fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", at, c.Text))...)
	return fmt.Appendf(nil, "— %s %s\n", name, base64.StdEncoding.EncodeToString(b))
}

// manyRows yields n rows without holding them.
func manyRows(n int) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		row := walked("a.example", VerdictReady)
		for i := range n {
			row.Host = fmt.Sprintf("h%09d.example", i)
			row.URL = "https://" + row.Host + "/"
			if !yield(row, nil) {
				return
			}
		}
	}
}

// peak watches the heap while f runs and returns the most that was in use, in bytes.
func peak(f func()) uint64 {
	runtime.GC()
	stop := make(chan struct{})
	var most uint64
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			runtime.GC() // how much of what is dead lies about depends on the machine
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	})
	f()
	close(stop)
	wg.Wait()
	return most
}

// signHead is a checkpoint of the log that a key signed.
func signHead(size int64, root attest.Digest, k *attest.Key) []byte {
	text := fmt.Sprintf("%s\n%d\n%s\n", testOrigin, size, base64.StdEncoding.EncodeToString(root[:]))
	signature := append(noteID(VerifierKey(testOrigin, k.Public())), k.Sign([]byte(text))...)
	return fmt.Appendf(nil, "%s\n— %s %s\n", text, testOrigin, base64.StdEncoding.EncodeToString(signature))
}

// noteID is the id in the text form of a note's key.
func noteID(key string) []byte {
	id, err := hex.DecodeString(strings.Split(key, "+")[1])
	if err != nil {
		panic(err) // our own form
	}
	return id
}
