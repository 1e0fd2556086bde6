// Package recordtest makes small records for tests: rows and rounds that are as they should be, a
// writer with the keys of the specimen, and what else tests of records, of their log and of their
// check have in common.
package recordtest

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
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/durable"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/tlog"
)

// Key is a key that is the same in every run.
func Key(t testing.TB, seed byte) *attest.Key {
	t.Helper()
	k, err := attest.Generate(bytes.NewReader(bytes.Repeat([]byte{seed}, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Digest is SHA-256 of a text in hexadecimal.
func Digest(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }

// ReadyRow is a row of a door that is ready, with every member.
func ReadyRow() record.Row {
	previous := int64(0)
	return record.Row{
		Origin: "store.example/corpus", Sequence: 3, Week: "2026-W47", Host: "door.example",
		URL: "https://door.example/pay?<&>", Listed: true, Source: record.SourceDiscovery, Catalog: "bazaar",
		Verdict: record.VerdictReady, ReachedLevel: "L4", Failed: []string{}, Advisories: []string{"no-signed-offers"},
		AlsoUnder: []record.AlsoUnder{{Version: "v1", Verdict: record.VerdictReady}}, Protocols: []string{"x402"},
		ProbeMethod: &record.ProbeMethod{Used: "GET", Attempted: []string{"GET"}},
		Offer: &record.RowOffer{Networks: []string{"eip155:8453"}, Schemes: []string{"exact"}, MinUSDC: "0.001",
			MaxUSDC: "1",
			PayTo:   []record.PayTo{{Network: "eip155:8453", Digest: Digest("address")}}},
		Battery: "v2", Fault: record.FaultNone, ObservedAt: "2026-11-20T10:11:12Z", EvidenceDigest: Digest("evidence"),
		PreviousLeaf: &previous,
	}
}

// UnprobedRow is a row of a door that was not probed.
func UnprobedRow() record.Row {
	return record.Row{
		Origin: "store.example/corpus", Sequence: 3, Week: "2026-W47", Host: "away.example",
		URL: "https://away.example/", Source: record.SourceRevisit, Verdict: record.VerdictNotProbed,
		Reason: "interrupted", Battery: "v2", Fault: record.FaultInstrument, Failed: []string{}, Advisories: []string{},
		Protocols: []string{},
	}
}

// SignRow signs a row that is good.
func SignRow(t testing.TB, r record.Row, k *attest.Key) []byte {
	t.Helper()
	b, err := record.SignRow(r, k)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Round is the header of a third round of such parts.
func Round(parts ...record.Part) record.Round {
	r := record.Round{
		Origin: "store.example/corpus", Sequence: 3, Week: "2026-W47", TakenAt: "2026-11-22T00:00:00Z",
		PreviousDigest: sha256.Sum256([]byte("previous")), Battery: "v2",
		Roster: record.Roster{Listed: 5, Walked: 4,
			Sources: []record.RosterSource{{Name: "bazaar", Kind: record.SourceDiscovery, Hosts: 5, Complete: true}}},
		Coverage: record.Coverage{Due: 5, Probed: 4, NotProbed: 1, PreviousProbed: 4},
		Control:  record.Control{Walks: 2, EvidenceLeftOut: 2},
		Inflows: record.Inflows{From: "2026-11-15T00:00:00Z", To: "2026-11-22T00:00:00Z",
			Networks: []record.NetworkInflow{{Network: "eip155:8453", Read: true, Transfers: 3, Addresses: 2,
				USDC: "1.5"}}},
		FirstLeaf: 100, Parts: parts,
	}
	for _, p := range parts {
		r.Rows += p.Rows
	}
	return r
}

// SignRound signs a header that is good.
func SignRound(t testing.TB, r record.Round, k *attest.Key) (record.Round, []byte) {
	t.Helper()
	r, raw, err := record.SignRound(r, k)
	if err != nil {
		t.Fatal(err)
	}
	return r, raw
}

// PrivateHalf is the private key of Key.
func PrivateHalf(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
}

// Origin is that of the logs.
const Origin = "store.example/corpus"

// Writer writes a record in a folder of its own with the keys of the specimen.
func Writer(t testing.TB) *seal.Writer {
	t.Helper()
	return &seal.Writer{Dir: t.TempDir(), Origin: Origin, Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: attest.SpecimenRing(),
		Judge: rejudge.Batteries{}}
}

// Each yields values without an error.
func Each[T any](values ...T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range values {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// Walked is a row as a walk hands it in.
func Walked(host, verdict string) record.Row {
	r := ReadyRow()
	r.Host, r.URL, r.Verdict, r.PreviousLeaf, r.Sequence, r.Origin, r.Week = host, "https://"+host+"/", verdict, nil, 0,
		"", ""
	if verdict == record.VerdictNotProbed {
		u := UnprobedRow()
		u.Host, u.URL, u.Sequence, u.Origin, u.Week = host, r.URL, 0, "", ""
		return u
	}
	if verdict != record.VerdictReady {
		r.ReachedLevel, r.Failed, r.Fault = "L1", []string{"status-402"}, record.FaultDoor
	}
	return r
}

// Draft is a round of rows, a week after the one before it, which were walked an hour before it.
func Draft(sequence int64, rows ...record.Row) seal.Draft {
	at := time.Date(2026, 9, 6, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 7*int(sequence))
	Date(at, rows)
	return seal.Draft{
		Sequence: sequence, Week: record.ISOWeek(at.Add(-time.Hour)), TakenAt: at, Battery: "v2", Rows: Each(rows...),
		Roster: record.Roster{Listed: int64(len(rows)),
			Sources: []record.RosterSource{{Name: "bazaar", Kind: record.SourceDiscovery, Hosts: int64(len(rows)),
				Complete: true}}},
		Control: record.Control{Walks: 1},
		Inflows: record.Inflows{From: at.AddDate(0, 0, -7).Format(time.RFC3339), To: at.Format(time.RFC3339),
			Networks: []record.NetworkInflow{}},
	}
}

// Date dates the walks of rows an hour before their round was taken.
func Date(taken time.Time, rows []record.Row) {
	for i := range rows {
		if rows[i].ObservedAt != "" {
			rows[i].ObservedAt = taken.Add(-time.Hour).Format(time.RFC3339)
		}
	}
}

// Seal seals a round that is good.
func Seal(t testing.TB, w *seal.Writer, d seal.Draft) record.Round {
	t.Helper()
	r, err := w.Seal(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Small has three rounds, two observations and a host that comes and goes.
func Small(t testing.TB) *seal.Writer {
	t.Helper()
	w := Writer(t)
	Seal(t, w, Draft(1, Walked("a.example", record.VerdictReady), Walked("b.example", record.VerdictNotReady),
		Walked("c.example", record.VerdictNotProbed)))
	Observe(t, w, "first")
	Seal(t, w, Draft(2, Walked("a.example", record.VerdictReady), Walked("c.example", record.VerdictUnreachable)))
	Observe(t, w, "second")
	Seal(t, w, Draft(3, Walked("b.example", record.VerdictReady), Walked("d.example", record.VerdictReady)))
	return w
}

// Observe adds a retired word, an hour behind the newest round.
func Observe(t testing.TB, w *seal.Writer, word string) {
	t.Helper()
	at := Draft(1).TakenAt
	if _, err := os.Stat(filepath.Join(w.Dir, record.RingFile)); err == nil {
		at = at.AddDate(0, 0, 7*(len(Open(t, w).Rounds())-1))
	}
	if _, err := w.Observe(t.Context(), record.Observation{At: at.Add(time.Hour).Format(time.RFC3339),
		Kind: record.ObservationRetiredWord, Word: &record.Said{Text: word}}); err != nil {
		t.Fatal(err)
	}
}

// Open opens the record of a writer.
func Open(t testing.TB, w *seal.Writer) *record.Record {
	t.Helper()
	r, err := record.Open(os.DirFS(w.Dir), w.Ring)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ReadAll reads every file below a folder but the lock.
func ReadAll(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == durable.LockFile {
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

// MapFS is a copy of a folder that a test may change.
func MapFS(t testing.TB, dir string) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	for name, body := range ReadAll(t, dir) {
		out[name] = &fstest.MapFile{Data: []byte(body), Mode: 0o444}
	}
	return out
}

var numbers = regexp.MustCompile(`[0-9a-f]{64}|[0-9]+`)

// Kind is a name with its digests and numbers taken out: files of one kind are checked alike.
func Kind(name string) string { return numbers.ReplaceAllString(name, "0") }

// Look walks a door that answers every request in one way, or with a failure.
func Look(t testing.TB, url string, answer practice.Answer, failure exchange.Error, at time.Time) (probe.Report,
	probe.Judgement) {
	t.Helper()
	return LookBy(t, probe.Current(), url, Answered{answer, failure}, at)
}

// Answered is what a door answered, or why it did not.
type Answered struct {
	Answer  practice.Answer
	Failure exchange.Error
}

// LookBy is a look at a door by a battery.
func LookBy(t testing.TB, battery, url string, a Answered, at time.Time) (probe.Report, probe.Judgement) {
	t.Helper()
	p, err := probe.NewPreflight(battery, url, probe.Declaration{})
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
			j, err := p.Judgement(recorded, probe.Salt{1})
			if err != nil {
				t.Fatal(err)
			}
			return report, j
		}
		x := exchange.Exchange{Request: next.Request, StartedAt: at, Error: a.Failure}
		if a.Failure.Stage == "" {
			x.Response = exchange.Response{Status: a.Answer.Status, Proto: "HTTP/2.0", Header: a.Answer.Header,
				Body: a.Answer.Body}
		}
		recorded = append(recorded, x)
	}
}

// Kept is the row of a door that answered, and what is kept of the walk.
func Kept(t testing.TB, url string, door practice.Door, at time.Time) (record.Row, []byte) {
	t.Helper()
	report, j := Look(t, url, door.Answer(url), exchange.Error{}, at)
	raw, err := j.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return rejudge.RowFrom(report, j), raw
}

// LookedAt is when a door was walked.
var LookedAt = time.Date(2026, 9, 12, 4, 5, 6, 0, time.UTC)

// Judged is a draft of which every row is made from a walk that is kept: hosts answer as the
// practice doors do, in turn, and every fifth does not answer.
func Judged(t testing.TB, sequence int64, hosts ...string) seal.Draft {
	t.Helper()
	return JudgedBy(t, probe.Current(), sequence, hosts...)
}

// JudgedBy is Judged by a battery.
func JudgedBy(t testing.TB, battery string, sequence int64, hosts ...string) seal.Draft {
	t.Helper()
	d := Draft(sequence)
	d.Battery = battery
	kept := make(map[string][]byte)
	var rows []record.Row
	for i, host := range hosts {
		door := practice.All()[(i+int(sequence))%len(practice.All())]
		url := "https://" + host + "/paid"
		failure := exchange.Error{}
		if i%5 == 4 {
			failure = exchange.Error{Stage: exchange.StageConnect, Text: "connection refused"}
		}
		report, judgement := LookBy(t, battery, url, Answered{door.Answer(url), failure}, d.TakenAt.Add(-time.Hour))
		row := rejudge.RowFrom(report, judgement)
		row.Host, row.Listed, row.Source, row.Catalog = host, true, record.SourceDiscovery, "bazaar"
		rows = append(rows, row)
		raw, err := judgement.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if row.EvidenceDigest != "" {
			kept[host] = raw
		}
	}
	d.Rows = Each(rows...)
	d.Evidence = func(host, _ string) ([]byte, error) { return kept[host], nil }
	return d
}

// Hosts are n names in order.
func Hosts(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("h%05d.example", i))
	}
	return out
}

// Said is a text under a salt that is always the same.
func Said(text string) *record.Said {
	s, err := record.Say(strings.NewReader(strings.Repeat("s", 32)), text)
	if err != nil {
		panic(err) // a test's own text
	}
	return &s
}

// Cosign is what a witness answers with.
func Cosign(k *attest.Key, name string, c tlog.Checkpoint, at uint64) []byte {
	b := binary.BigEndian.AppendUint64(noteID(tlog.Witness{Name: name, Public: k.Public()}.Key()), at)
	b = append(b, k.Sign(fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", at, c.Text))...)
	return fmt.Appendf(nil, "— %s %s\n", name, base64.StdEncoding.EncodeToString(b))
}

// ManyRows yields n rows of a round that was taken at a time, without holding them.
func ManyRows(n int, taken time.Time) iter.Seq2[record.Row, error] {
	return func(yield func(record.Row, error) bool) {
		row := Walked("a.example", record.VerdictReady)
		row.ObservedAt = taken.Add(-time.Hour).Format(time.RFC3339)
		for i := range n {
			row.Host = fmt.Sprintf("h%09d.example", i)
			row.URL = "https://" + row.Host + "/"
			if !yield(row, nil) {
				return
			}
		}
	}
}

// Peak watches the heap while f runs and returns the most that was in use, in bytes.
func Peak(f func()) uint64 {
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

// SignHead is a checkpoint of the log that a key signed.
func SignHead(size int64, root attest.Digest, k *attest.Key) []byte {
	text := fmt.Sprintf("%s\n%d\n%s\n", Origin, size, base64.StdEncoding.EncodeToString(root[:]))
	signature := append(noteID(tlog.VerifierKey(Origin, k.Public())), k.Sign([]byte(text))...)
	return fmt.Appendf(nil, "%s\n— %s %s\n", text, Origin, base64.StdEncoding.EncodeToString(signature))
}

// noteID is the id in the text form of a note's key.
func noteID(key string) []byte {
	id, err := hex.DecodeString(strings.Split(key, "+")[1])
	if err != nil {
		panic(err) // our own form
	}
	return id
}
