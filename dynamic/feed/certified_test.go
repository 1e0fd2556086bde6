package feed_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tlog"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
)

// deliver delivers certificates and says in which week.
func deliver(t *testing.T, db ledger.DB, payloads ...string) (week string) {
	t.Helper()
	update(t, db, func(tx ledger.Tx) (err error) {
		for _, p := range payloads {
			if _, err := ledger.Next(tx, "patron"); err != nil {
				return err
			}
			if week, err = feed.Certified(tx, p); err != nil {
				return err
			}
		}
		return nil
	})
	return week
}

// count puts the counts of certificates on the feed, where they are due.
func count(t *testing.T, db ledger.DB) {
	t.Helper()
	update(t, db, func(tx ledger.Tx) error {
		return feed.Artifacts(tx, []feed.Class{{Name: "certificate", Counter: "patron"}})
	})
}

func proveCertificate(t *testing.T, db ledger.DB, week, payload string) (p *feed.CertificateProof, err error) {
	t.Helper()
	err = errors.Join(err, db.View(t.Context(), func(tx ledger.Tx) (err error) {
		p, err = feed.ProveCertificate(tx, week, payload)
		return err
	}))
	return p, err
}

// holds checks a proof as a stranger does, by what the observation says.
func holds(t *testing.T, p *feed.CertificateProof, payload string, all []record.Observation) {
	t.Helper()
	o := all[p.Observation-1]
	root, err := attest.ParseDigest(o.Issued.Certificates.Root)
	if err != nil {
		t.Fatal(err)
	}
	d := sha256.Sum256([]byte(payload))
	err = tlog.CheckInclusion(p.Hashes, o.Issued.Certificates.Size, root, p.Index, attest.LeafHash(d[:]))
	if err != nil || *o.Issued.Certificates != p.IssuedTree {
		t.Fatalf("%s at %d of %+v: %v", payload, p.Index, p.IssuedTree, err)
	}
}

// TestEveryCertificateStandsInATree delivers certificates week by week, more and fewer than a tile
// holds, and proves each of them and nothing else.
func TestEveryCertificateStandsInATree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which begins on a Saturday
		db := ledger.NewMem(ledger.MemOptions{Calm: true})
		monday := time.Date(2000, 1, 3, 0, 0, 0, 0, time.UTC)
		weeks := make(map[string]string) // of each payload
		sizes := []int{30, 0, 256, 1, 600, 0, 0, 2, 255, 257, 512, 513}
		for w, n := range sizes {
			payloads := make([]string, n)
			for i := range payloads {
				payloads[i] = fmt.Sprintf("certificate %d of week %d", i, w)
			}
			monday = monday.AddDate(0, 0, 7)
			time.Sleep(time.Until(monday) - time.Second) // the last moment of a week is in it
			week := deliver(t, db, payloads...)
			for _, p := range payloads {
				weeks[p] = week
			}
			count(t, db)
			time.Sleep(time.Second) // and nothing is made of it for an hour, while transactions end
			count(t, db)
			if n > 0 {
				if p, err := proveCertificate(t, db, week, payloads[0]); p != nil || err != nil {
					t.Fatalf("a certificate is in a tree of a week that goes on: %+v, %v", p, err)
				}
			}
			time.Sleep(time.Hour)
			count(t, db)
		}
		all := since(t, db, 1, 100)
		seen, undelivered := make(map[string]bool), make(map[string]string)
		for payload, week := range weeks {
			p, err := proveCertificate(t, db, week, payload)
			if err != nil || p == nil {
				t.Fatalf("%s: %+v, %v", payload, p, err)
			}
			holds(t, p, payload, all)
			place := fmt.Sprint(p.Observation, " ", p.Index)
			if seen[place] {
				t.Fatalf("%s stands at the place of another", payload)
			}
			seen[place] = true
			undelivered[week] = payload + " more"
		}
		for week, payload := range undelivered {
			if p, err := proveCertificate(t, db, week, payload); p != nil || err != nil {
				t.Fatalf("what was not delivered is proved: %+v, %v", p, err)
			}
		}
		var leaves int64
		last := ""
		for _, o := range all {
			if c := o.Issued.Certificates; c != nil {
				if leaves += c.Size; c.Through <= last {
					t.Errorf("a tree through %s behind one through %s", c.Through, last)
				}
				last = c.Through
			}
		}
		if int(leaves) != len(weeks) {
			t.Errorf("%d leaves of %d certificates", leaves, len(weeks))
		}
		// What is put in a week that has its tree is told, and not proved.
		const late = "certificate 0 of week 4"
		d := sha256.Sum256([]byte("late"))
		update(t, db, func(tx ledger.Tx) error {
			return tx.Set(ledger.GoodsKey("certified", weeks[late], hex.EncodeToString(d[:])), nil)
		})
		failed := 0
		for payload, week := range weeks {
			if week != weeks[late] {
				continue
			}
			if _, err := proveCertificate(t, db, week, payload); err != nil {
				if failed++; !strings.Contains(err.Error(), "are not those of observation") {
					t.Fatal(err)
				}
			}
		}
		if failed == 0 {
			t.Error("a leaf more changes nothing")
		}
		if p, err := proveCertificate(t, db, weeks[late], "late"); p != nil {
			t.Errorf("a certificate of later is proved: %+v, %v", p, err)
		}
	})
}

// TestARestoredLedgerPlantsNoWeekAgain: a ledger that lost what it had goes on behind the trees of
// the record.
func TestARestoredLedgerPlantsNoWeekAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := ledger.NewMem(ledger.MemOptions{})
		deliver(t, db, "a", "b")
		time.Sleep(3 * 24 * time.Hour)
		count(t, db)
		held := since(t, db, 1, 10)
		if len(held) != 1 || held[0].Issued.Certificates == nil || held[0].Issued.Certificates.Size != 2 {
			t.Fatalf("%+v", held)
		}
		restored := ledger.NewMem(ledger.MemOptions{})
		update(t, restored, func(tx ledger.Tx) error {
			return errors.Join(feed.Recorded(tx, held[0]), ledger.Raise(tx, "patron", 2))
		})
		// What is delivered once more stands in the tree of its new week.
		week := deliver(t, restored, "b", "c")
		time.Sleep(7 * 24 * time.Hour)
		count(t, restored)
		after := since(t, restored, 2, 10)
		if len(after) != 1 || after[0].Issued.Certificates == nil || after[0].Issued.Certificates.Size != 2 ||
			after[0].Issued.Certificates.Through != week {
			t.Fatalf("%+v", after)
		}
		for _, payload := range []string{"b", "c"} {
			p, err := proveCertificate(t, restored, week, payload)
			if err != nil || p == nil {
				t.Fatal(p, err)
			}
			holds(t, p, payload, append(held, after...))
		}
		if p, err := proveCertificate(t, restored, held[0].Issued.Certificates.Through, "a"); p != nil || err != nil {
			t.Errorf("what was lost is proved: %+v, %v", p, err)
		}
	})
}

// at is a transaction at another time.
type at struct {
	ledger.Tx
	now time.Time
}

func (a at) Now() time.Time { return a.now }

// TestAClockThatGoesBackCountsNothing: what is delivered meanwhile is counted when the week comes.
func TestAClockThatGoesBackCountsNothing(t *testing.T) {
	db := ledger.NewMem(ledger.MemOptions{})
	monday := time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC)
	count := func(now time.Time, payload string) (n int) {
		update(t, db, func(tx ledger.Tx) error {
			_, err := feed.Certified(at{tx, now}, payload)
			if err == nil {
				_, err = ledger.Next(tx, "patron")
			}
			return errors.Join(err, feed.Artifacts(at{tx, now}, []feed.Class{{Name: "certificate", Counter: "patron"}}))
		})
		return len(since(t, db, 1, 10))
	}
	for i, c := range []struct {
		now  time.Time
		want int
	}{{monday.AddDate(0, 0, -7), 1}, {monday, 2}, {monday.Add(-time.Second), 2}, {monday.AddDate(0, 0, 7), 3}} {
		if got := count(c.now, fmt.Sprint(i)); got != c.want {
			t.Errorf("at %s: %d counts, want %d", c.now, got, c.want)
		}
	}
}
