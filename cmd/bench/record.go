package main

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/verify"
	"store.example/agentstore/generator"
)

// The records that are measured: so many hosts, walked in so many weeks.
const (
	someHosts   = 10_000
	manyHosts   = 100_000
	recordWeeks = 12
	sealedWeeks = 5
)

// record writes a record of n hosts once, and keeps it until the end.
func (l *lab) record(ctx context.Context, n, weeks int) (string, error) {
	dir := filepath.Join(l.dir, fmt.Sprintf("record-%d-%d", n, weeks))
	if _, err := os.Stat(filepath.Join(dir, "rounds", strconv.Itoa(weeks), "header.json")); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	began := time.Now()
	for week := range weeks {
		if err := sealWeek(ctx, dir, n, week); err != nil {
			return "", err
		}
	}
	fmt.Fprintf(os.Stderr, "a record of %d hosts was written in %s\n", n, time.Since(began).Round(time.Second))
	return dir, nil
}

// sealWeek adds a week, counted from 0, to a record of n hosts.
func sealWeek(ctx context.Context, dir string, n, week int) error {
	w := &seal.Writer{Dir: dir, Origin: "bench.store.example/corpus", Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: attest.SpecimenRing()}
	at := time.Date(2026, 9, 6+7*week, 0, 0, 0, 0, time.UTC)
	_, err := w.Seal(ctx, seal.Draft{
		Sequence: int64(week + 1), Week: record.ISOWeek(at), TakenAt: at, Battery: "v2",
		Control: record.Control{Walks: 2},
		Roster: record.Roster{Listed: int64(n),
			Sources: []record.RosterSource{{Name: "bench", Kind: record.SourceDiscovery, Hosts: int64(n),
				Complete: true}}}, Inflows: record.Inflows{From: at.AddDate(0, 0, -7).Format(time.RFC3339),
			To:       at.Format(time.RFC3339),
			Networks: []record.NetworkInflow{}},
		Rows: syntheticRows(n, week, at),
	})
	return err
}

const baseNetwork = "eip155:8453"

// syntheticRows are the rows of one week: most hosts are ready, some are not, and a few have no
// row.
func syntheticRows(n, week int, at time.Time) iter.Seq2[record.Row, error] {
	return func(yield func(record.Row, error) bool) {
		for i := range n {
			if (i+week*i)%29 == 7 && week > 0 {
				continue
			}
			if !yield(syntheticRow(i, week, at), nil) {
				return
			}
		}
	}
}

func syntheticRow(i, week int, at time.Time) record.Row {
	host := fmt.Sprintf("door-%07d.example", i)
	r := record.Row{
		Host: host, URL: "https://" + host + "/paid", Listed: true, Source: record.SourceDiscovery, Catalog: "bench",
		Battery: "v2", Verdict: record.VerdictReady, ReachedLevel: "L4", Failed: []string{},
		Advisories: []string{"no-signed-offers"}, Protocols: []string{"x402"}, Fault: record.FaultNone,
		ProbeMethod: &record.ProbeMethod{Used: "GET", Attempted: []string{"GET"}},
		ObservedAt:  at.Add(-time.Duration(i%3600) * time.Second).Format(time.RFC3339),
	}
	sum := sha256.Sum256([]byte(host + r.ObservedAt))
	r.EvidenceDigest = fmt.Sprintf("%x", sum)
	if sum[0] < 25 {
		r.Verdict, r.ReachedLevel, r.Fault = record.VerdictNotReady, "L1", record.FaultDoor
		r.Failed, r.Advisories, r.Protocols = []string{"status-402"}, []string{}, []string{}
		return r
	}
	r.Offer = &record.RowOffer{Networks: []string{baseNetwork}, Schemes: []string{"exact"}, MinUSDC: "0.01",
		MaxUSDC: "1",
		PayTo: []record.PayTo{{Network: baseNetwork, Digest: exchange.PayToDigest(baseNetwork,
			fmt.Sprintf("0x%040x", i/2))}}}
	return r
}

// spent is what this program, started by itself, says of its work.
type spent struct {
	Seconds float64 // of the work alone
	PeakMB  float64 // of the process, by VmHWM
}

// say says what was spent.
func (s spent) say() error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(status)) {
		if kb, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(kb), " kB"), 64)
			if err != nil {
				return err
			}
			s.PeakMB = n / 1024
		}
	}
	return json.NewEncoder(os.Stdout).Encode(s)
}

// again starts this program as one of its peers and returns what it spent.
func again(ctx context.Context, args ...string) (out spent, err error) {
	self, err := os.Executable()
	if err != nil {
		return out, err
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stderr = os.Stderr
	raw, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%s: %w", args[0], err)
	}
	return out, json.Unmarshal(raw, &out)
}

// siteBuilder is the first argument with which this program builds a site: of a folder of sources
// and one of a record, the specimen's and none for "", into a third.
const siteBuilder = "build-site"

func buildSite(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("%s takes the folders of sources, record and site", siteBuilder)
	}
	var from content.Sources
	if args[0] != "" {
		from.Content = os.DirFS(args[0])
	}
	site, err := content.Load(from)
	if err != nil {
		return err
	}
	in := input(site, args[2])
	if args[1] != "" {
		in.Corpus = os.DirFS(args[1])
	}
	_, err = generator.Build(context.Background(), in)
	return err
}

// build builds a site in a process of its own, into a folder that goes after the row.
func (l *lab) build(ctx context.Context, sources, record string) (public string, err error) {
	if public, err = l.place("site"); err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, self, siteBuilder, sources, record, public).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("building a site: %w\n%s", err, out)
	}
	return public, err
}

// weekSealer is the first argument with which this program seals a week of many hosts, counted from
// 0, into a record.
const weekSealer = "seal-week"

func sealAnother(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("%s takes a record and a week", weekSealer)
	}
	week, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	took, err := onDisk(func() error { return sealWeek(context.Background(), args[0], manyHosts, week) })
	if err != nil {
		return err
	}
	return spent{Seconds: took}.say()
}

// openSeal sets a week's seal behind many weeks against that behind one.
func openSeal(ctx context.Context, l *lab) (*contest, error) {
	return l.sealing(ctx, func(s spent) float64 { return s.Seconds })
}

// openSealMemory does the same with what it takes of memory.
func openSealMemory(ctx context.Context, l *lab) (*contest, error) {
	return l.sealing(ctx, func(s spent) float64 { return s.PeakMB })
}

func (l *lab) sealing(ctx context.Context, of func(spent) float64) (*contest, error) {
	next := func(weeks int) (func(context.Context) (float64, error), error) {
		record, err := l.record(ctx, manyHosts, weeks)
		return func(ctx context.Context) (float64, error) {
			dir, err := l.place("sealed")
			if err == nil {
				err = os.CopyFS(dir, os.DirFS(record))
			}
			if err != nil {
				return 0, err
			}
			s, err := again(ctx, weekSealer, dir, strconv.Itoa(weeks))
			return of(s), errors.Join(err, os.RemoveAll(dir))
		}, err
	}
	old, err := next(sealedWeeks)
	if err != nil {
		return nil, err
	}
	young, err := next(1)
	return &contest{ours: old, peer: young}, err
}

// openVerify sets the check of a whole record against verifying as many signatures of as many
// bytes.
func openVerify(ctx context.Context, l *lab) (*contest, error) {
	dir, err := l.record(ctx, someHosts, recordWeeks)
	if err != nil {
		return nil, err
	}
	ours := func(ctx context.Context) (float64, error) {
		var rows int64
		took, err := timed(func() error {
			r, err := verify.Record(ctx, os.DirFS(dir), attest.SpecimenRing(),
				verify.RecordOptions{Judge: rejudge.Batteries{}})
			if err == nil && len(r.Problems) > 0 {
				err = fmt.Errorf("the record has problems: %v", r.Problems[0])
			}
			rows = r.Rows
			return err
		})
		return float64(rows) / took, err
	}
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	message := make([]byte, 900) // a row
	signature := ed25519.Sign(private, message)
	peer := func(context.Context) (float64, error) {
		const each = 20_000
		cores := runtime.GOMAXPROCS(0)
		took, err := timed(func() error {
			var wg sync.WaitGroup
			for range cores {
				wg.Go(func() {
					for range each {
						ed25519.Verify(public, message, signature)
					}
				})
			}
			wg.Wait()
			return nil
		})
		return float64(each*cores) / took, err
	}
	return &contest{ours: ours, peer: peer}, nil
}
