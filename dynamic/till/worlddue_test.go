package till_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/services"
	"store.example/agentstore/dynamic/till"
)

// commitTakes is how long the one writer of a ledger is busy with each transaction.
const commitTakes = 4 * time.Millisecond

// rush is an hour in which much is due at three processes, and what was seen of it.
type rush struct {
	*world
	due   int
	sales int // beside it

	mu   sync.Mutex
	late []time.Duration // of what was due, how late it began
	heap uint64          // at most
}

// spread puts n pieces of work into an hour that begins at a time: seven of ten are looks, two are
// word, one is the first slot of a watch.
func (l *rush) spread(begin time.Time) {
	key := attest.SpecimenKey()
	for from := 0; from < l.due; from += 500 {
		l.update(func(tx ledger.Tx) error {
			for i := from; i < min(from+500, l.due); i++ {
				at := begin.Add(time.Duration(i) * time.Hour / time.Duration(l.due))
				if err := l.put(tx, key, i, at); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// put is one piece, as the transaction that sold it leaves it.
func (l *rush) put(tx ledger.Tx, key *attest.Key, i int, at time.Time) error {
	p := till.Purchase{ID: fmt.Sprintf("pur_due%05d", i), Version: 1, State: till.Delivered, Final: true,
		Item: "phantom_check", CertID: "cert_due", Number: 1, Artifact: pieceID("check_", i)}
	var err error
	var promise any
	switch i % 10 {
	case 7, 8:
		p.Artifact, p.Item = pieceID("order_", i), "quick_judgment"
		promise = attest.Order{OrderID: p.Artifact, Class: attest.ClassOrder}
		err = services.Tell(at1{tx, at}, goods.Notice{Order: p.Artifact, Purchase: p.ID,
			URL: fmt.Sprintf("https://well-%d.example.com/", i), Type: "order.completed", Data: struct{}{}})
	case 9:
		p.Artifact, p.Item, p.State = pieceID("order_", i), "conformance_watch", till.Promised
		promise = attest.Order{OrderID: p.Artifact, Class: attest.ClassOrder}
		url := fmt.Sprintf("https://daily-%d.example.com/", i)
		err = errors.Join(schedule.Put(tx, "watch", p.Artifact, at), ledger.SetJSON(tx, ledger.WatchKey(p.Artifact),
			services.Watch{Slots: []services.Slot{}, Order: p.Artifact, Purchase: p.ID,
				Item:   p.Item,
				Target: url, Inputs: map[string]string{"url": url}, Starts: at.Truncate(time.Second), Hours: 24, Of: 7,
				Minutes: 360}))
	default:
		url := fmt.Sprintf("http://door-%d.example.com/", i)
		promise = attest.Look{CheckID: p.Artifact, Class: attest.ClassCheck, PatronNumber: 1, URL: url,
			Date: at.UTC().Format(time.RFC3339), DueAt: at.UTC().Format(time.RFC3339), FromTheStore: childBase}
		err = errors.Join(schedule.Put(tx, "look", p.Artifact, at), ledger.SetJSON(tx, ledger.LookKey(p.Artifact),
			services.Visit{ID: p.Artifact, Purchase: p.ID, URL: url, Due: at.UTC().Truncate(time.Second)}))
	}
	proof, err2 := attest.SignPayload(key, promise)
	return errors.Join(err, err2, ledger.SetJSON(tx, ledger.PurchaseKey(p.ID), p),
		ledger.SetJSON(tx, ledger.ArtifactKey(p.Artifact, p.ID), till.SignedArtifact{ID: p.Artifact, Purchase: p.ID,
			Proof: proof}))
}

// pieceID is the public id of a piece: letters in the place of digits, as base32 has them.
func pieceID(prefix string, i int) string {
	return prefix + strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprintf("%020d", i))
}

// at1 is a transaction at another time.
type at1 struct {
	ledger.Tx
	at time.Time
}

// Now implements [ledger.Tx].
func (tx at1) Now() time.Time { return tx.at }

func (l *rush) update(f func(ledger.Tx) error) {
	if err := l.db.Update(l.t.Context(), f); err != nil {
		l.t.Fatal(err)
	}
}

// settles buys something again and again for an hour, and says how long each took.
func (l *rush) settles(first int) (took []time.Duration) {
	var all sync.WaitGroup
	for i := range l.sales {
		l.dice.wait("settles", 2*time.Hour/time.Duration(l.sales))
		all.Go(func() {
			p := l.some("settles")
			const path = "/api/buy/small_blessing"
			r, ok := p.ask(path, nil)
			if !ok || r.Status != 402 {
				l.t.Errorf("terms: %d %s", r.Status, r.Raw)
				return
			}
			s := (&model{t: l.t}).signed(path, fmt.Sprintf("payer-%d", first+i), fmt.Sprint("nonce-", first+i),
				tilltest.DecodeChallenge(l.t, r.Header.Get("PAYMENT-REQUIRED")), 5*time.Minute)
			from := time.Now()
			if r, ok := p.ask(path, map[string]string{"PAYMENT-SIGNATURE": s.header}); !ok || r.Status != 200 {
				l.t.Errorf("paid: %d %s", r.Status, r.Raw)
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			took = append(took, time.Since(from))
		})
	}
	all.Wait()
	slices.Sort(took)
	return took
}

func p99(sorted []time.Duration) time.Duration { return sorted[len(sorted)*99/100] }

// dueInAnHour has n pieces of work due in one hour at three processes that share a ledger with one
// writer, beside settlements.
func dueInAnHour(t *testing.T, n, sales int) {
	cryptotest.SetGlobalRandom(t, 1)
	synctest.Test(t, func(t *testing.T) {
		l := &rush{due: n, sales: sales}
		l.world = newWorld(t, 1, 3, time.Second)
		var commits int
		l.db = ledger.NewMem(ledger.MemOptions{Calm: true, Fault: func(op string) (bool, error) {
			if op == "commit" { // its turn is ours
				commits++
				time.Sleep(commitTakes)
			}
			return true, nil
		}})
		began := map[string]bool{"look": true, "callback": true, "watch": true}
		l.world.late = func(d schedule.Task, late time.Duration) {
			if l.mu.Lock(); began[d.Job] {
				l.late = append(l.late, late)
			}
			l.mu.Unlock()
		}
		l.during(func() { l.hours(&commits) })
	})
}

// hours are an hour with settlements alone, and one with everything.
func (l *rush) hours(commits *int) {
	time.Sleep(time.Minute)
	alone := l.settles(0)
	begin := time.Now().Add(10 * time.Minute).Truncate(time.Minute)
	l.spread(begin)
	time.Sleep(time.Until(begin))
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range 60 {
			time.Sleep(time.Minute)
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			l.heap = max(l.heap, now.HeapInuse)
		}
	}()
	from := *commits
	beside := l.settles(1000)
	<-ended
	time.Sleep(30 * time.Minute)
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(l.late)
	if len(l.late) < l.due { // what the store could not read now is begun again
		l.t.Errorf("%d pieces of work were begun, %d were due", len(l.late), l.due)
	}
	l.judgeDue()
	l.t.Logf("%d due: late by %v in the middle, %v p99, %v at most; %d connections at once at most; heap %d MiB "+
		"before, %d MiB at most; %d commits; settling takes %v p99, alone %v", l.due, l.late[len(l.late)/2],
		p99(l.late), l.late[len(l.late)-1], l.town.most, before.HeapInuse>>20, l.heap>>20, *commits-from,
		p99(beside), p99(alone))
	if 5*p99(beside) > 6*p99(alone) {
		l.t.Errorf("settling takes %v p99 beside it, %v alone", p99(beside), p99(alone))
	}
	if p99(l.late) > 10*time.Second || l.late[len(l.late)-1] > time.Minute {
		l.t.Errorf("late by %v p99, %v at most", p99(l.late), l.late[len(l.late)-1])
	}
	if l.town.most > 3*(8+8) { // a worker has one connection
		l.t.Errorf("%d connections at once", l.town.most)
	}
}

// judgeDue: each piece was done once.
func (l *rush) judgeDue() {
	l.town.mu.Lock()
	defer l.town.mu.Unlock()
	for i := range l.due {
		times := len(l.town.looks[fmt.Sprintf("http://door-%d.example.com/", i)])
		switch i % 10 {
		case 7, 8:
			times = len(l.town.words[fmt.Sprintf("well-%d.example.com", i)])
		case 9:
			var rec services.Watch
			l.view(func(tx ledger.Tx) (err error) {
				rec, err = services.ReadWatch(tx, pieceID("order_", i))
				return err
			})
			times = len(rec.Slots)
		}
		if times != 1 {
			l.t.Errorf("piece %d was done %d times", i, times)
		}
	}
}

// Work that is due together is each done once, in time, by three processes.
func TestManyDueInAnHour(t *testing.T) { dueInAnHour(t, 300, 30) }

// STORE_SOAK=1 has ten thousand due in an hour.
func TestSoakTenThousandDueInAnHour(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("STORE_SOAK is not set")
	}
	dueInAnHour(t, 10_000, 120)
}
