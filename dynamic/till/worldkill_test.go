package till_test

import (
	"fmt"
	"net/url"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"
)

// killed runs three processes over one ledger for some days, each of which is killed again and
// again: before and after it writes, after a step of a purchase, while it sends a transaction,
// visits, reads, or sends word, and in between.
func killed(t *testing.T, seed uint64, buyers int, days, every time.Duration) (n map[string]int) {
	cryptotest.SetGlobalRandom(t, seed)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, seed, 3, time.Minute)
		w.during(func() {
			begin := time.Now()
			last := begin.Add(days)
			var all sync.WaitGroup
			for place := range w.processes {
				all.Go(func() { w.fates(place, last, every, 20*time.Minute) })
			}
			all.Go(func() { w.keeps(last.Add(48 * time.Hour)) })
			for i := range buyers {
				all.Go(func() {
					who := fmt.Sprint("buyer ", i)
					w.dice.wait(who, days-24*time.Hour)
					what := w.wish(who, i)
					if i%2 == 0 {
						what = wish{"phantom_check", url.Values{"url": {fmt.Sprintf("http://door-%d.example.com/", i)}}}
					}
					w.comes(i, what)
				})
			}
			all.Wait()
			time.Sleep(time.Until(last.Add(10 * 24 * time.Hour))) // terms and tries end
			n = w.judge()
			for place, k := range w.kills {
				n["killed "+place] = k
			}
		})
	})
	return n
}

// What is done later by processes that are killed anywhere is done once, or told as missed: human
// orders, terms, visits and word.
func TestKillsOverWhatIsDoneLater(t *testing.T) {
	n := killed(t, 1, 16, 48*time.Hour, 4*time.Hour)
	if t.Log(tally(n)); n["kills"] < 15 {
		t.Errorf("%d kills show little", n["kills"])
	}
}

// STORE_SOAK=1 kills at least 200 of them, and some of them at each place.
func TestSoakKillsOverWhatIsDoneLater(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("STORE_SOAK is not set")
	}
	sum := map[string]int{}
	for seed := uint64(100); seed < 105 && (sum["kills"] < 200 || !everywhere(sum)); seed++ {
		for k, n := range killed(t, seed, 120, 6*24*time.Hour, 3*time.Hour) {
			sum[k] += n
		}
	}
	if t.Log(tally(sum)); sum["kills"] < 200 || !everywhere(sum) {
		t.Error("that shows little")
	}
}

// everywhere reports whether some process was killed at each place.
func everywhere(sum map[string]int) bool {
	return !slices.ContainsFunc(places, func(place string) bool { return sum["killed "+place] == 0 })
}
