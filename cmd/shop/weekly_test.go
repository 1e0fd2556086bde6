package shop

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/verify"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/schedule"
)

// replica is a process that serves, as far as the record's work goes; it returns what ends it.
func replica(t *testing.T, c Config, db ledger.DB, log *slog.Logger) (stop func()) {
	t.Helper()
	s := &Shop{Config: c, DB: db, Ring: attest.SpecimenRing(), Log: log, reach: lost}
	ctx, cancel := context.WithCancel(t.Context())
	if err := s.openWeekly(ctx); err != nil {
		t.Fatal(err)
	}
	work, err := schedule.New(schedule.Config{DB: db, Jobs: s.jobs, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	var runs sync.WaitGroup
	runs.Go(func() {
		if err := work.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	return func() { cancel(); runs.Wait() }
}

// TestServeSealsOnSunday: one of three processes seals the week's round at the configured hour; a
// Sunday on which nobody served, or the record could not be had, is made up for, until the next;
// what was not sealed by then is told. Each round is handed in at calendars and shown to witnesses.
func TestServeSealsOnSunday(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(thursday()))
		dir := t.TempDir()
		c := observingConfig(dir)
		c.Census = CensusConfig{List: filepath.Join(dir, "doors.txt"), SealHour: "6"}
		c.Timestamps.Calendars, c.Witnesses = Example().Timestamps.Calendars, Example().Witnesses
		if err := os.WriteFile(c.Census.List, []byte("https://a.door.test/paid\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		db := ledger.NewMem(ledger.MemOptions{Calm: true})
		away := func(dir string) {
			t.Helper()
			if err := errors.Join(os.Rename(c.Record, dir), os.WriteFile(c.Record, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		back := func(dir string) {
			t.Helper()
			if err := errors.Join(os.Remove(c.Record), os.Rename(dir, c.Record)); err != nil {
				t.Fatal(err)
			}
		}
		// serve has n processes serve from a time of November for so many minutes.
		serve := func(n, day, hour, minute, minutes int, during func()) {
			t.Helper()
			time.Sleep(time.Until(time.Date(2026, 11, day, hour, minute, 0, 0, time.UTC)))
			var stops []func()
			for range n {
				stops = append(stops, replica(t, *c, db, slog.New(slog.NewTextHandler(&log, nil))))
			}
			during()
			time.Sleep(time.Duration(minutes) * time.Minute)
			for _, stop := range stops {
				stop()
			}
		}
		kept := filepath.Join(dir, "kept")
		nothing := func() {}
		serve(3, 15, 5, 50, 20, nothing) // a Sunday
		var tasks []schedule.Task
		if err := db.View(t.Context(), func(tx ledger.Tx) (err error) {
			tasks, err = schedule.Tasks(tx, "seal")
			return err
		}); err != nil || len(tasks) != 1 || tasks[0].ID != "2026-W47" ||
			!tasks[0].Due.Equal(time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)) {
			t.Errorf("due next: %+v, %v", tasks, err)
		}
		serve(2, 15, 7, 0, 5, nothing)                 // started anew
		serve(1, 22, 15, 0, 5, nothing)                // nobody was there at six
		serve(2, 29, 5, 50, 20, func() { away(kept) }) // the record is away until Tuesday
		back(kept)
		serve(1, 31, 9, 0, 15, nothing)
		serve(1, 36, 5, 50, 20, func() { away(kept) }) // and then until the next Sunday
		back(kept)
		serve(1, 43, 5, 50, 20, func() { away(kept) })
		back(kept)
		serve(1, 43, 7, 0, 15, nothing)
		if want := "the round of 2026-W49 was not sealed"; strings.Count(log.String(), want) != 1 {
			t.Errorf("not told once: %s", log.String())
		}

		for _, asked := range []string{"round 1: stamping", "round 2: stamping", "round 3: stamping",
			"round 4: stamping", "not cosigned"} {
			if !strings.Contains(log.String(), asked) {
				t.Errorf("never %q: %s", asked, log.String())
			}
		}
		rec, err := record.Open(os.DirFS(c.Record), attest.SpecimenRing())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range rec.Rounds() {
			got = append(got, r.Week+" "+r.TakenAt[:len("2026-11-15T06:0")])
		}
		want := []string{"2026-W46 2026-11-15T06:0", "2026-W47 2026-11-22T15:0", "2026-W48 2026-12-01T09:0",
			"2026-W50 2026-12-13T07:0"}
		if !slices.Equal(got, want) {
			t.Errorf("sealed %q, want %q\n%s", got, want, log.String())
		}
		report, err := verify.Clone(t.Context(), os.DirFS(c.Record),
			verify.CloneOptions{Judge: rejudge.Batteries{}})
		if err != nil || len(report.Problems) > 0 {
			t.Errorf("the record: %+v, %v", report.Problems, err)
		}
	})
}

func TestSealHourIsAnHour(t *testing.T) {
	for text, want := range map[string]int{"0": 0, "06": 6, "23": 23} {
		if hour, ok, err := (CensusConfig{SealHour: text}).sealHour(); hour != want || !ok || err != nil {
			t.Errorf("%q: %d, %v, %v", text, hour, ok, err)
		}
	}
	for _, text := range []string{"24", "-1", "6am", "6:00"} {
		if _, _, err := (CensusConfig{SealHour: text}).sealHour(); err == nil {
			t.Errorf("%q is taken for an hour", text)
		}
	}
}
