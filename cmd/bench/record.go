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
	"store.example/agentstore/corpus/audit"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/judge"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/generator"
)

// The record that is measured: so many hosts, walked in so many weeks.
const (
	someHosts   = 10_000
	manyHosts   = 100_000
	recordWeeks = 12
)

// recordRows are the promises about a site with a large record.
var recordRows = []row{
	{"hosts-hugo", "pages of 10,000 hosts with 12 weeks", "Hugo 0.160 with the same data and sizes", "hosts/s", 2.5,
		false, openHugo},
	{"hosts-write", "pages of 10,000 hosts with 12 weeks", "writing the same files, to the disk", "s", 1.5, true,
		openHostsWrite},
	{"hosts-rate", "pages of 100,000 hosts", "those of 10,000, ten times", "hosts/s", 0.8, false, openHostsRate},
	{"hosts-memory", "peak memory with 100,000 hosts", "that with 10,000", "MB", 1.3, true, openHostsMemory},
	{"seal", "sealing the 13th week of 10,000 hosts", "sealing their 2nd", "s", 1.2, true, openSeal},
	{"verify", "verifying a record of 120,000 rows", "ed25519 alone on all cores", "signatures/s", 0.7, false,
		openVerify},
}

// record writes a record of n hosts once, and keeps it until the end.
func (l *lab) record(ctx context.Context, n int) (string, error) {
	dir := filepath.Join(l.dir, fmt.Sprintf("record-%d", n))
	if _, err := os.Stat(filepath.Join(dir, "rounds", strconv.Itoa(recordWeeks), "header.json")); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	began := time.Now()
	for week := range recordWeeks {
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

// siteBuilder is the first argument with which this program builds a site with a record and says
// how that went.
const siteBuilder = "build-site"

// built is what a builder says.
type built struct {
	Seconds float64 `json:"seconds"` // of the build alone
	PeakMB  float64 `json:"peak_mb"` // of the process, by VmHWM
	Files   int     `json:"files"`
}

// siteOptions say what a builder builds: the specimen if nothing else is named.
type siteOptions struct {
	Content string // folder of the sources
	Record  string // folder of the record
	Out     string
}

func buildSite(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes what to build, as JSON", siteBuilder)
	}
	var o siteOptions
	if err := json.Unmarshal([]byte(args[0]), &o); err != nil {
		return err
	}
	var from content.Sources
	if o.Content != "" {
		from.Content = os.DirFS(o.Content)
	}
	site, err := content.Load(from)
	if err != nil {
		return err
	}
	in := input(site, o.Out)
	if o.Record != "" {
		in.Corpus = os.DirFS(o.Record)
	}
	began := time.Now() // whoever began this process has had the disk caught up before
	r, err := generator.Build(context.Background(), in)
	if err != nil {
		return err
	}
	out := built{Seconds: time.Since(began).Seconds(), Files: r.Files}
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
			out.PeakMB = n / 1024
		}
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// build builds a site in a process of its own, into a folder that goes after the row.
func (l *lab) build(ctx context.Context, o siteOptions) (out built, public string, err error) {
	self, err := os.Executable()
	if err != nil {
		return out, "", err
	}
	public, err = l.place("site")
	if err != nil {
		return out, "", err
	}
	o.Out = public
	what, err := json.Marshal(o)
	if err != nil {
		return out, "", err
	}
	cmd := exec.CommandContext(ctx, self, siteBuilder, string(what))
	cmd.Stderr = os.Stderr
	raw, err := cmd.Output()
	if err != nil {
		return out, "", fmt.Errorf("building a site: %w", err)
	}
	return out, public, json.Unmarshal(raw, &out)
}

// hostsPerSecond is a run that builds a site of n hosts.
func (l *lab) hostsPerSecond(record string, n int) func(context.Context) (float64, error) {
	return func(ctx context.Context) (float64, error) {
		b, _, err := l.build(ctx, siteOptions{Record: record})
		return float64(n) / b.Seconds, err
	}
}

// openHostsWrite sets a full build against writing the files that it makes.
func openHostsWrite(ctx context.Context, l *lab) (*contest, error) {
	record, err := l.record(ctx, someHosts)
	if err != nil {
		return nil, err
	}
	var files []treeFile
	return &contest{
		ours: func(ctx context.Context) (float64, error) {
			var public string
			took, err := onDisk(func() (seconds float64, err error) {
				var b built
				b, public, err = l.build(ctx, siteOptions{Record: record})
				return b.Seconds, err
			})
			if err == nil && files == nil {
				files, err = readTree(public)
			}
			return took, err
		},
		peer: func(context.Context) (float64, error) { return l.write(files) },
	}, nil
}

func openHostsRate(ctx context.Context, l *lab) (*contest, error) {
	many, err := l.record(ctx, manyHosts)
	if err != nil {
		return nil, err
	}
	some, err := l.record(ctx, someHosts)
	if err != nil {
		return nil, err
	}
	return &contest{
		ours: l.hostsPerSecond(many, manyHosts),
		// As many hosts in as many files: what the disk does with that many bytes falls on both.
		peer: func(ctx context.Context) (float64, error) {
			seconds := 0.0
			for range manyHosts / someHosts {
				b, _, err := l.build(ctx, siteOptions{Record: some})
				if err != nil {
					return 0, err
				}
				seconds += b.Seconds
			}
			return manyHosts / seconds, nil
		},
	}, nil
}

func openHostsMemory(ctx context.Context, l *lab) (*contest, error) {
	peak := func(n int) (func(context.Context) (float64, error), error) {
		record, err := l.record(ctx, n)
		return func(ctx context.Context) (float64, error) {
			b, public, err := l.build(ctx, siteOptions{Record: record})
			return b.PeakMB, errors.Join(err, os.RemoveAll(public))
		}, err
	}
	many, err := peak(manyHosts)
	if err != nil {
		return nil, err
	}
	some, err := peak(someHosts)
	return &contest{ours: many, peer: some}, err
}

// openSeal sets a week's seal behind many weeks against that behind one.
func openSeal(ctx context.Context, l *lab) (*contest, error) {
	old, err := l.record(ctx, someHosts)
	if err != nil {
		return nil, err
	}
	young, err := l.place("young")
	if err == nil {
		err = os.MkdirAll(young, 0o755)
	}
	if err == nil {
		err = sealWeek(ctx, young, someHosts, 0)
	}
	if err != nil {
		return nil, err
	}
	next := func(record string, week int) func(context.Context) (float64, error) {
		return func(ctx context.Context) (float64, error) {
			dir, err := l.place("sealed")
			if err == nil {
				err = os.CopyFS(dir, os.DirFS(record))
			}
			if err != nil {
				return 0, err
			}
			took, err := onDisk(func() (float64, error) {
				return timed(func() error { return sealWeek(ctx, dir, someHosts, week) })
			})
			return took, errors.Join(err, os.RemoveAll(dir))
		}
	}
	return &contest{ours: next(old, recordWeeks), peer: next(young, 1)}, nil
}

// openVerify sets the check of a whole record against verifying as many signatures of as many
// bytes.
func openVerify(ctx context.Context, l *lab) (*contest, error) {
	dir, err := l.record(ctx, someHosts)
	if err != nil {
		return nil, err
	}
	ours := func(ctx context.Context) (float64, error) {
		var rows int64
		took, err := timed(func() error {
			r, err := audit.Record(ctx, os.DirFS(dir), attest.SpecimenRing(),
				audit.RecordOptions{Judge: judge.Batteries{}})
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
