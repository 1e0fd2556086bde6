package till_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"
)

// midsummers are when a keeper's year begins: it runs over the end of 2004 and of 2026, which have
// a week 53, of 2025, whose last days are of the next year's first week, and of 2023, which ends
// with a Sunday.
var midsummers = []int{2004, 2025, 2026, 2023}

// year runs a keeper's year of one seed: two processes that are ended, killed and away now and
// then, buyers who come when they like and in rushes, most of all about the year's end.
func year(t *testing.T, seed uint64) map[string]int {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("again: STORE_SEED=%d go test ./dynamic/till -run 'TestYear$'", seed)
		}
	})
	cryptotest.SetGlobalRandom(t, seed)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var n map[string]int
	synctest.Test(t, func(t *testing.T) {
		begin := time.Date(midsummers[seed%4], 7, 1, 9, 0, 0, 0, time.UTC)
		time.Sleep(time.Until(begin))
		w := newWorld(t, seed, 2, 20*time.Minute)
		w.during(func() { n = w.year(begin) })
	})
	return n
}

func (w *world) year(begin time.Time) map[string]int {
	const buyers, rushes = 90, 6
	end, last := begin.AddDate(1, 0, 0), begin.AddDate(1, 0, 0).Add(-60*24*time.Hour)
	var all sync.WaitGroup
	for place := range w.processes {
		all.Go(func() { w.fates(place, last, 16*24*time.Hour, 20*time.Hour) })
	}
	w.withdraws = true
	all.Go(func() { w.keeps(end.Add(-15 * 24 * time.Hour)) })
	all.Go(func() { w.nights(last) })
	for i := range buyers {
		all.Go(func() {
			who := fmt.Sprint("buyer ", i)
			w.dice.wait(who, last.Sub(begin))
			w.comes(i, w.wish(who, i))
		})
	}
	newYear := time.Date(begin.Year()+1, 1, 1, 0, 0, 0, 0, time.UTC)
	monday := newYear.AddDate(0, 0, (8-int(newYear.Weekday()))%7)
	for r := range rushes {
		all.Go(func() {
			who := fmt.Sprint("rush ", r)
			at := begin.Add(time.Duration(w.dice.intN(who, 300)) * 24 * time.Hour)
			switch r { // about midnight
			case 0:
				at = monday.Add(-90 * time.Second)
			case 1:
				at = monday.AddDate(0, 0, -7).Add(-90 * time.Second)
			case 2:
				at = newYear.Add(-90 * time.Second)
			}
			time.Sleep(time.Until(at))
			item := humanGoods[w.dice.intN(who, len(humanGoods))]
			for k := range 3 + w.dice.intN(who, 6) {
				i := 1000 + 100*r + k
				all.Go(func() {
					w.dice.wait(fmt.Sprint("buyer ", i), 3*time.Minute)
					what := w.wish(fmt.Sprint("buyer ", i), i)
					what.item = item
					what.in.Del("url")
					what.in.Del("pass_id")
					what.in.Set("detail", fmt.Sprint("Rushed ", i))
					w.comes(i, what)
				})
			}
		})
	}
	all.Wait()
	time.Sleep(time.Until(end))
	return w.judge()
}

// nights are times when no node answers, until a time: some a few hours, some a day. Payers take
// back then what they can.
func (w *world) nights(until time.Time) {
	m := &model{t: w.t, chain: w.chain}
	for time.Now().Before(until) {
		w.dice.wait("nights", 40*24*time.Hour)
		w.silence(true)
		w.dice.wait("nights", 30*time.Hour)
		w.mu.Lock()
		sales := slices.Clone(w.sales)
		w.mu.Unlock()
		m.reclaims(sales)
		time.Sleep(time.Minute)
		w.silence(false)
	}
}

// silence has no node answer, or all of them again.
func (w *world) silence(is bool) {
	w.chain.mu.Lock()
	defer w.chain.mu.Unlock()
	w.chain.silent = is
}

// A keeper's year: orders in, late, answered, owed and paid; places by ISO week; passes that lapse,
// watches that end, word that is refused and taken; processes that are ended and killed.
func TestYear(t *testing.T) {
	if one := os.Getenv("STORE_SEED"); one != "" {
		seed, err := strconv.ParseUint(one, 10, 64)
		if err != nil {
			t.Fatalf("STORE_SEED: %v", err)
		}
		t.Log(tally(year(t, seed)))
		return
	}
	seeds := uint64(2)
	if raced {
		seeds = 0 // each takes ten times as long; the kills have the same parts
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { t.Log(tally(year(t, seed))) })
	}
}

// STORE_SOAK=1 runs a thousand seeds, on every processor one: what runs in a bubble depends on
// being alone in its process.
func TestSoakYear(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("STORE_SOAK is not set")
	}
	seeds, begin := make(chan int), time.Now()
	var all sync.WaitGroup
	for range runtime.NumCPU() {
		all.Go(func() {
			for seed := range seeds {
				year := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestYear$", "-test.v")
				year.Env = append(os.Environ(), fmt.Sprint("STORE_SEED=", seed), "GOGC=400")
				if out, err := year.CombinedOutput(); err != nil {
					t.Errorf("seed %d: %v\n%s", seed, err, out)
				} else if t.Logf("seed %d after %s", seed, time.Since(begin).Round(time.Second)); seed%50 == 0 {
					t.Logf("%s", out)
				}
			}
		})
	}
	for seed := range 1000 {
		seeds <- seed
	}
	close(seeds)
	all.Wait()
}
