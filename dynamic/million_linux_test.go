package dynamic

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/hostindex"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/dynamic/archive"
	"store.example/agentstore/templates"
)

// The figures that are promised of a record of a million hosts: STORE_HOSTS sets another number.
// The record of six weeks takes some 3 KB of disk for each host and week, in TMPDIR.

// manyWeeks is how many weeks the record has: its last is compared with its second, the first that
// has a week behind it.
const manyWeeks = 6

// mostGrown is how much more the sealing of the last week may take than that of the second.
const mostGrown = 1.2

// mostOfAPage is what 99 of 100 answers with a host's page take at most where the kernel has the
// files. Where each read goes to the disk, its speed is not ours.
const mostOfAPage = 20 * time.Millisecond

// manyName is a host of the record.
func manyName(i int) string { return fmt.Sprintf("h%09d.example", i) }

// weekOfMany yields the rows of a week: of ten hosts nine are ready and one was not probed, and of
// 29 one has no row. Two neighbours take money at one address.
func weekOfMany(hosts, week int) iter.Seq2[record.Row, error] {
	return func(yield func(record.Row, error) bool) {
		ready := recordtest.Walked("a.example", record.VerdictReady)
		away := recordtest.Walked("a.example", record.VerdictNotProbed)
		for i := range hosts {
			if (i+week)%29 == 7 {
				continue
			}
			row := ready
			if i%10 == 3 {
				row = away
			} else {
				offer, network := *ready.Offer, "eip155:8453"
				offer.PayTo = []record.PayTo{{Network: network, Digest: exchange.PayToDigest(network,
					fmt.Sprintf("0x%040x", i/2))}}
				row.Offer = &offer
			}
			row.Host = manyName(i)
			row.URL = "https://" + row.Host + "/"
			if !yield(row, nil) {
				return
			}
		}
	}
}

// cost is what something took.
type cost struct {
	took time.Duration
	cpu  time.Duration // of all processors, which others on the machine do not lengthen much
	peak uint64        // bytes
}

func (c cost) String() string {
	return fmt.Sprintf("%v, %v of processors, %d MiB", c.took.Round(time.Millisecond), c.cpu.Round(time.Millisecond),
		c.peak>>20)
}

func costOf(t *testing.T, f func()) (c cost) {
	t.Helper()
	c.peak = recordtest.Peak(func() {
		began, before := time.Now(), processors(t)
		f()
		c.took, c.cpu = time.Since(began), processors(t)-before
	})
	return c
}

// processors is how long this process was on a processor.
func processors(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// grown demands that a cost did not follow the history: in processors' time, since the other also
// follows what else the machine does.
func grown(t *testing.T, what string, most float64, second, last cost) {
	t.Helper()
	inTime := last.cpu.Seconds() / second.cpu.Seconds()
	inMemory := float64(last.peak) / float64(second.peak)
	t.Logf("%s: week %d takes %.2f of the 2nd in processors' time, %.2f by the clock, %.2f in memory", what, manyWeeks,
		inTime, last.took.Seconds()/second.took.Seconds(), inMemory)
	// A few MiB more or less are what a collector leaves lying about.
	if inTime > most || inMemory > mostGrown && last.peak > second.peak+16<<20 {
		t.Errorf("%s follows the history: %v in the 2nd week, %v in the last", what, second, last)
	}
}

// TestSoakMillionHosts seals weeks of a million hosts, makes the view of them and asks for hosts'
// pages.
func TestSoakMillionHosts(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("a soak test: set STORE_SOAK")
	}
	hosts := 1_000_000
	if s := os.Getenv("STORE_HOSTS"); s != "" {
		var err error
		if hosts, err = strconv.Atoi(s); err != nil || hosts < 100 {
			t.Fatalf("STORE_HOSTS is %q, want a number of at least 100", s)
		}
	}
	w, views := recordtest.Writer(t), t.TempDir()
	var seals [manyWeeks + 1]cost
	for week := 1; week <= manyWeeks; week++ {
		d := recordtest.Draft(int64(week))
		d.Rows = weekOfMany(hosts, week)
		seals[week] = costOf(t, func() { recordtest.Seal(t, w, d) })
		t.Logf("week %d of %d hosts: sealed in %v; %d MB on disk", week, hosts, seals[week], bytesBelow(t, w.Dir)/1e6)
	}
	grown(t, "sealing", mostGrown, seals[2], seals[manyWeeks])
	built := costOf(t, func() {
		if err := hostindex.Build(t.Context(), recordtest.Open(t, w), views); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("the view in %v; %d MB on disk", built, bytesBelow(t, views)/1e6)
	askForMany(t, w, views, hosts)
}

// bytesBelow is the size of all files of a folder.
func bytesBelow(t *testing.T, dir string) (sum int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// askForMany asks the server for pages of hosts, without a network: once with nothing of the record
// and of its view in memory, and once more for the same hosts. Memory is collected as often as in a
// store.
func askForMany(t *testing.T, w *seal.Writer, dir string, hosts int) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	a, err := archive.Open(t.Context(), archive.Config{Record: w.Dir, Index: dir, Ring: w.Ring})
	if err != nil {
		t.Fatal(err)
	}
	chrome, err := templates.NewChrome(templates.Chrome{Title: "Store", BaseURL: base})
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	s := newServer(t, Config{Log: slog.New(slog.NewTextHandler(log, nil)),
		Site: openTestSite(t, publish(t, t.TempDir(), "tree", base, "d1", testFiles()), ""),
		Renderers: map[string]Renderer{"host": HostPages{Archive: a, BaseURL: base,
			Chrome: func() *templates.Chrome { return chrome }, Spell: func(host string) string { return host }}}})
	random := rand.New(rand.NewPCG(17, uint64(hosts)))
	asked := make([]string, 10_000)
	for i := range asked {
		asked[i] = manyName(random.IntN(hosts))
	}
	for _, cache := range []string{"cold", "warm"} {
		if cache == "cold" {
			forget(t, w.Dir)
			forget(t, dir)
		}
		took := make([]time.Duration, len(asked))
		for i, host := range asked {
			req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, base+"/corpus/host/"+host, nil)
			req.Header.Set("Accept", "text/html")
			rec := httptest.NewRecorder()
			began := time.Now()
			s.ServeHTTP(rec, req)
			took[i] = time.Since(began)
			if rec.Code != http.StatusOK {
				t.Fatalf("%s: %d %s", host, rec.Code, rec.Body)
			}
		}
		slices.Sort(took)
		at := func(share float64) time.Duration { return took[int(share*float64(len(took)))] }
		t.Logf("%d pages of %d hosts, page cache %s: half within %v, 99 of 100 within %v, all within %v", len(took),
			hosts, cache, at(0.5), at(0.99), took[len(took)-1])
		if cache == "warm" && at(0.99) > mostOfAPage {
			t.Errorf("99 of 100 pages within %v, want %v", at(0.99), mostOfAPage)
		}
	}
}

// forget has the kernel drop what it holds of the files of a folder.
func forget(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		// Only what is on the disk can be dropped.
		const dontNeed = 4 // POSIX_FADV_DONTNEED
		err = f.Sync()
		if _, _, no := syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, dontNeed, 0, 0); no != 0 {
			err = errors.Join(err, no)
		}
		return errors.Join(err, f.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
}
