package feed_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/verify"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
)

func update(t *testing.T, db ledger.DB, f func(ledger.Tx) error) {
	t.Helper()
	if err := db.Update(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

func since(t *testing.T, db ledger.DB, from int64, limit int) (all []record.Observation) {
	t.Helper()
	err := db.View(t.Context(), func(tx ledger.Tx) (err error) {
		all, err = feed.Since(tx, from, limit)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// salted is a text as who keeps it hands it over.
func salted(t *testing.T, text string) record.Said {
	t.Helper()
	s, err := record.Say(nil, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func word(w string) record.Observation {
	return record.Observation{Kind: record.ObservationRetiredWord, Word: &record.Said{Text: w}, Epitaph: "Rest."}
}

// handedOver is a ring in which the identity was handed over, and the handover.
func handedOver(t *testing.T, ring attest.Ring) attest.Ring {
	t.Helper()
	fresh, err := attest.Generate(strings.NewReader(strings.Repeat("n", 32)))
	if err != nil {
		t.Fatal(err)
	}
	next, err := ring.Handover(attest.Change{Purpose: attest.PurposeIdentity, Effective: "2026-12-01",
		Reason: "it was time"}, attest.SpecimenKey(), ed25519.PublicKey(fresh.Public()))
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// everyKind is one observation of each kind.
func everyKind(t *testing.T) []record.Observation {
	h := handedOver(t, attest.SpecimenRing()).Handovers[0]
	digest, synergy := strings.Repeat("ab", 32), salted(t, "synergy")
	return []record.Observation{
		{Kind: record.ObservationRetiredWord, Word: &synergy, Epitaph: "Rest."},
		{Kind: record.ObservationPaidRefresh, Refresh: &record.Refresh{Host: "a.example", URL: "https://a.example/x",
			Verdict: record.VerdictNotReady, ReachedLevel: "L1",
			Failed: []string{"status-402"}, Battery: "v2", Fault: record.FaultDoor, EvidenceDigest: digest}},
		{Kind: record.ObservationPaidWalk, Walk: &record.PaidWalk{Host: "a.example", URL: "https://a.example/x",
			Network: "eip155:8453", Transaction: "0x01", USDC: "0.01",
			Claim: &record.WalkClaim{Status: 200, BodySHA256: digest, Bytes: 7, LatencyMS: 12,
				ContentType: "text/plain"}}},
		{Kind: record.ObservationDeclaration, Declaration: &record.Declaration{Host: "a.example", Shape: "v1-strings",
			Doors: []string{"https://a.example/x"}, Foreign: 2}},
		{Kind: record.ObservationStandingNote, Note: &record.StandingNote{Host: "a.example", Lane: "wallet",
			Statement: salted(t, "We moved."), SignedAt: "2026-11-20T00:00:00Z",
			PayTo: &record.PayTo{Network: "eip155:8453", Digest: digest}}},
		{Kind: record.ObservationPublishedTip, Tip: &record.Tip{ID: "tip_1", Title: salted(t, "Retry"),
			Text: salted(t, "Present the same payment again.")}},
		{Kind: record.ObservationArtifactsIssued,
			Issued: &record.Issued{Total: 3, Classes: []record.IssuedClass{{Class: "certificate", Total: 3}}}},
		{Kind: record.ObservationKeyEvent, Handover: &h},
	}
}

func TestEveryKindComesBackWhole(t *testing.T) {
	db := ledger.NewMem(ledger.MemOptions{})
	want := everyKind(t)
	for _, o := range want {
		update(t, db, func(tx ledger.Tx) error { return feed.Observe(tx, o) })
	}
	got := since(t, db, 1, 100)
	for i := range want {
		want[i].Format, want[i].Number = record.ObservationFormat, int64(i+1)
		if want[i].Tip != nil {
			want[i].Tip.Text.Salt, want[i].Tip.Text.Text = nil, "" // which is sold, and kept elsewhere
		}
		if i < len(got) {
			want[i].At = got[i].At
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the feed differs (-want +got):\n%s", d)
	}
	if page := since(t, db, 3, 2); len(page) != 2 || page[0].Number != 3 || page[1].Number != 4 {
		t.Errorf("a page of two from 3 is %v", page)
	}
	w := &seal.Writer{Dir: t.TempDir(), Origin: "store.example/corpus", Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: attest.SpecimenRing()}
	signed, err := w.Observe(t.Context(), got...)
	if err != nil || len(signed) != len(want) {
		t.Fatalf("the record took %d: %v", len(signed), err)
	}
	if _, err := w.Observe(t.Context(), got[2:]...); !errors.Is(err, seal.ErrNumber) {
		t.Errorf("the same observations again: %v", err)
	}
	// The handover that is told is in the ring of after it.
	report, err := verify.Record(t.Context(), os.DirFS(w.Dir), handedOver(t, w.Ring),
		verify.RecordOptions{Judge: rejudge.Batteries{}})
	if report.Words.Kept != 3 {
		t.Errorf("%+v texts", report.Words)
	}
	if err != nil || len(report.Problems) > 0 || report.Observations != int64(len(want)) {
		t.Errorf("the record has %d observations and problems %v: %v", report.Observations, report.Problems, err)
	}
}

func TestWhatCannotStandInTheRecordIsRefused(t *testing.T) {
	db := ledger.NewMem(ledger.MemOptions{})
	for name, o := range map[string]record.Observation{
		"no kind":       {Word: &record.Said{Text: "x"}},
		"other members": {Kind: record.ObservationPublishedTip, Word: &record.Said{Text: "x"}},
		"two members": {Kind: record.ObservationRetiredWord, Word: &record.Said{Text: "x"},
			Tip: &record.Tip{ID: "1", Title: record.Said{Text: "t"}, Text: salted(t, "t")}},
		"a refresh without": {Kind: record.ObservationPaidRefresh, Refresh: &record.Refresh{Host: "a.example"}},
		"too long": {Kind: record.ObservationRetiredWord,
			Word: &record.Said{Text: strings.Repeat("x", 61<<10)}},
		"no UTF-8": word("\xff"),
		"a number for text": {Kind: record.ObservationArtifactsIssued,
			Issued: &record.Issued{Total: 1 << 60, Classes: []record.IssuedClass{{Class: "c", Total: 1 << 60}}}},
	} {
		if err := db.Update(t.Context(), func(tx ledger.Tx) error { return feed.Observe(tx, o) }); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if got := since(t, db, 1, 10); len(got) != 0 {
		t.Errorf("the feed holds %v", got)
	}
}

func TestOlderEntriesAreRead(t *testing.T) {
	db := ledger.NewMem(ledger.MemOptions{})
	update(t, db, func(tx ledger.Tx) error {
		if _, err := ledger.Next(tx, feed.Counter); err != nil {
			return err
		}
		return tx.Set(ledger.GoodsKey("observation", ledger.Number(1)),
			[]byte(`{"number":1,"at":"2026-10-02T02:00:00+02:00","kind":"artifacts_issued","issued":{"total":0,"classes":[]}}`))
	})
	update(t, db, func(tx ledger.Tx) error { return feed.Observe(tx, word("leverage")) })
	got := since(t, db, 1, 10)
	if len(got) != 2 || got[0].At != "2026-10-02T00:00:00Z" || got[0].Issued == nil || got[0].Check() != nil ||
		got[1].Number != 2 {
		t.Errorf("the feed is %+v", got)
	}
}

func TestClosedLedgerGivesNoNumbers(t *testing.T) {
	db := ledger.NewMem(ledger.MemOptions{})
	update(t, db, func(tx ledger.Tx) error { return tx.Set(ledger.ClosedKey(), nil) })
	for name, f := range map[string]func(tx ledger.Tx) error{
		"observe": func(tx ledger.Tx) error { return feed.Observe(tx, word("synergy")) },
		"follow":  func(tx ledger.Tx) error { return feed.Follow(tx, 4, nil) },
		"artifacts": func(tx ledger.Tx) error {
			return errors.Join(ledger.Raise(tx, "patron", 1),
				feed.Artifacts(tx, []feed.Class{{"certificate", "patron"}}))
		},
	} {
		if err := db.Update(t.Context(), f); !errors.Is(err, feed.ErrShut) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRestoredLedgerGoesOnBehindTheRecord(t *testing.T) {
	db := ledger.NewMem(ledger.MemOptions{})
	ring := handedOver(t, attest.SpecimenRing())
	rec := []record.Observation{
		{Number: 4, At: "2026-11-01T00:00:00Z", Kind: record.ObservationDeclaration,
			Declaration: &record.Declaration{Host: "a.example", Shape: "v1-strings",
				Doors: []string{"https://a.example/x"}}},
	}
	for i := range ring.Handovers {
		rec = append(rec, record.Observation{Number: int64(5 + i), At: "2026-11-02T00:00:00Z",
			Kind: record.ObservationKeyEvent, Handover: &ring.Handovers[i]})
	}
	next := int64(len(rec) + 4)
	update(t, db, func(tx ledger.Tx) error {
		for _, o := range rec {
			if err := feed.Recorded(tx, o); err != nil {
				return err
			}
		}
		return nil
	})
	update(t, db, func(tx ledger.Tx) error {
		return errors.Join(feed.KeyEvents(tx, ring), feed.Observe(tx, word("synergy")))
	})
	if got := since(t, db, 1, 10); len(got) != 1 || got[0].Number != next || got[0].Word.Text != "synergy" {
		t.Errorf("the feed is %+v, want one word as number %d", got, next)
	}
	err := db.View(t.Context(), func(tx ledger.Tx) error {
		all, err := feed.Declarations(tx)
		if err != nil || len(all) != 1 || all[0].Host != "a.example" || all[0].Number != 4 || len(all[0].Methods) != 1 {
			t.Errorf("declared is %+v: %v", all, err)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if err := db.Update(t.Context(), func(tx ledger.Tx) error { return feed.Follow(tx, 9, nil) }); err == nil {
		t.Error("a feed that is behind the record was taken for its own")
	}
	empty := ledger.NewMem(ledger.MemOptions{})
	if err := empty.Update(t.Context(),
		func(tx ledger.Tx) error { return feed.Follow(tx, next-1, rec[:1]) }); err == nil {
		t.Error("a record of which a part was read was followed")
	}
	// The record may begin before what is shown here; its events count all the same.
	for len(rec) < int(next-1) {
		rec = append([]record.Observation{{Number: 1, Kind: record.ObservationRetiredWord}}, rec...)
	}
	issuedBefore := record.Observation{Number: next, Kind: record.ObservationArtifactsIssued,
		Issued: &record.Issued{Total: 3, Classes: []record.IssuedClass{{Class: "certificate", Total: 3}}}}
	rec = append(rec, issuedBefore)
	for total, seen := range map[int64]int{1: 1, 4: 2} {
		empty := ledger.NewMem(ledger.MemOptions{})
		update(t, empty, func(tx ledger.Tx) error {
			return errors.Join(feed.Follow(tx, next, rec), feed.KeyEvents(tx, ring), ledger.Raise(tx, "patron", total),
				feed.Artifacts(tx, []feed.Class{{Name: "certificate", Counter: "patron"}}),
				feed.Observe(tx, word("synergy")))
		})
		got := since(t, empty, 1, 10)
		if len(got) != seen || got[0].Number != next+1 || got[len(got)-1].Word == nil {
			t.Errorf("an empty ledger with %d artifacts beside a record of %d goes on with %+v", total, next, got)
		}
		for _, o := range got {
			if o.Handover != nil {
				t.Errorf("the key event that the record holds is told again: %+v", o)
			}
		}
	}
}

func TestKeyEventsStandOnce(t *testing.T) {
	db := ledger.NewMem(ledger.MemOptions{})
	ring := handedOver(t, attest.SpecimenRing())
	for range 3 {
		update(t, db, func(tx ledger.Tx) error { return feed.KeyEvents(tx, ring) })
	}
	got := since(t, db, 1, 10)
	if n := len(ring.Handovers); n == 0 || len(got) != n || got[n-1].Handover == nil ||
		got[n-1].Handover.ToKID != ring.Identity().KID {
		t.Errorf("the feed is %+v", got)
	}
}

func TestArtifactsAreCountedOnceAWeek(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which begins on a Saturday
		db := ledger.NewMem(ledger.MemOptions{})
		time.Sleep(2 * time.Hour) // a week's first hour counts for the week before
		var totals []int64
		for day := range 24 {
			update(t, db, func(tx ledger.Tx) error {
				n := int64(0)
				if day < 12 {
					n = int64(1 + day)
				}
				return errors.Join(ledger.Raise(tx, "patron", n),
					feed.Artifacts(tx, []feed.Class{{"stamp", "stamp"}, {"certificate", "patron"}}))
			})
			time.Sleep(24 * time.Hour)
		}
		for _, o := range since(t, db, 1, 100) {
			totals = append(totals, o.Issued.Total)
		}
		// Saturday, the two Mondays after it, and the Monday on which the last three were seen.
		if d := cmp.Diff([]int64{1, 3, 10, 12}, totals); d != "" {
			t.Errorf("counts (-want +got):\n%s", d)
		}
	})
}

func TestDeclarations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := ledger.NewMem(ledger.MemOptions{})
		declare := func(host string, doors ...string) {
			update(t, db, func(tx ledger.Tx) error {
				return feed.Declare(tx, record.Declaration{Host: host, Shape: "v1-strings", Doors: doors},
					make([]string, len(doors)))
			})
			time.Sleep(25 * time.Hour)
		}
		declare("none.example")
		declare("b.example", "https://b.example/1")
		declare("a.example", "https://a.example/1")
		declare("b.example", "https://b.example/1")
		declare("b.example", "https://b.example/2")
		declare("a.example")
		if got := since(t, db, 1, 100); len(got) != 4 {
			t.Errorf("%d observations, want the four that say something new: %+v", len(got), got)
		}
		var all []feed.Declared
		err := db.View(context.Background(), func(tx ledger.Tx) (err error) {
			all, err = feed.Declarations(tx)
			return err
		})
		if err != nil || len(all) != 2 || all[0].Host != "a.example" || len(all[0].Doors) != 0 || all[0].Number != 4 ||
			all[1].Doors[0] != "https://b.example/2" || all[1].Number != 3 {
			t.Errorf("declared is %+v: %v", all, err)
		}
	})
}
