package shop

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/verify"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/generator"
)

// exportEnv holds, in a child process, the folder of the store whose observations it exports until
// it is killed.
const exportEnv = "STORE_TEST_EXPORT"

func TestMain(m *testing.M) {
	if dir := os.Getenv(exportEnv); dir != "" {
		fmt.Println(exportForever(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func observingConfig(dir string) *Config {
	return &Config{BaseURL: "https://store.test", Ledger: "bolt:" + filepath.Join(dir, "ledger"),
		Record: filepath.Join(dir, "record"),
		Keys:   KeysConfig{Identity: Specimen, Log: Specimen, Ring: Specimen}}
}

// retire puts n words on the feed, each in a transaction of its own.
func retire(ctx context.Context, db ledger.DB, n int) error {
	for range n {
		err := db.Update(ctx, func(tx ledger.Tx) error {
			last, err := ledger.Last(tx, feed.Counter)
			if err != nil {
				return err
			}
			return feed.Observe(tx, record.Observation{Kind: record.ObservationRetiredWord,
				Word: &record.Said{Text: "word" + strconv.FormatInt(last+1, 10)}, Epitaph: "Rest."})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func exportForever(dir string) error {
	ctx := context.Background()
	c := observingConfig(dir)
	fmt.Println("begun")
	for {
		db, err := OpenLedger(ctx, c)
		if err != nil {
			return err
		}
		if err := errors.Join(retire(ctx, db, 1+rand.IntN(3)), db.Close()); err != nil {
			return err
		}
		if _, err := ExportObservations(ctx, c); err != nil {
			return err
		}
	}
}

// agrees demands that the record holds the ledger's feed, number by number, and verifies whole.
func agrees(t *testing.T, c *Config) int {
	t.Helper()
	db, err := OpenLedger(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	var want []record.Observation
	err = db.View(t.Context(), func(tx ledger.Tx) (err error) {
		want, err = feed.Since(tx, 1, 1<<30)
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	got, err := record.ReadObservations(os.DirFS(c.Record), attest.SpecimenRing())
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("the record has %d observations, the feed %d", len(got), len(want))
	}
	for i, o := range got {
		if o.Number != want[i].Number || !cmp.Equal(o.Word, want[i].Word) || o.At != want[i].At {
			t.Fatalf("observation %d is %+v, want %+v", i+1, o, want[i])
		}
	}
	report, err := verify.Record(t.Context(), os.DirFS(c.Record), attest.SpecimenRing(),
		verify.RecordOptions{Judge: rejudge.Batteries{}})
	if err != nil || len(report.Problems) > 0 || report.Observations != int64(len(want)) {
		t.Fatalf("the record verifies with %v, %d observations: %v", report.Problems, report.Observations, err)
	}
	clone, err := verify.Clone(t.Context(), os.DirFS(c.Record),
		verify.CloneOptions{Judge: rejudge.Batteries{}})
	if err != nil || len(clone.Problems) > 0 {
		t.Fatalf("its manifest: %v, %v", clone.Problems, err)
	}
	return len(got)
}

// onFeed is how many observations the feed holds.
func onFeed(t *testing.T, c *Config) (n int64) {
	t.Helper()
	db, err := OpenLedger(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	err = db.View(t.Context(), func(tx ledger.Tx) (err error) { n, err = ledger.Last(tx, feed.Counter); return err })
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestKilledExportsLoseAndDoubleNothing(t *testing.T) {
	dir := t.TempDir()
	c := observingConfig(dir)
	// A slow machine makes little in the time of a short life: then lives get longer.
	life := 250
	for kills := 0; kills < 25 || onFeed(t, c) < 25; kills++ {
		if kills >= 25 {
			life *= 2
		}
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), exportEnv+"="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		if !lines.Scan() || lines.Text() != "begun" {
			t.Fatalf("the child says %q", lines.Text())
		}
		timer := time.AfterFunc(time.Duration(1+rand.IntN(life))*time.Millisecond, func() { child.Process.Kill() })
		if lines.Scan() {
			t.Fatalf("the export failed: %s", lines.Text())
		}
		timer.Stop()
		_ = child.Wait() // it was killed
	}
	if _, err := ExportObservations(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if n := agrees(t, c); n < 25 {
		t.Errorf("only %d observations were made", n)
	}
	if n, err := ExportObservations(t.Context(), c); n != 0 || err != nil {
		t.Errorf("another export wrote %d: %v", n, err)
	}
}

func TestExportGoesThroughTheServingProcess(t *testing.T) {
	dir := t.TempDir()
	c := observingConfig(dir)
	db, err := OpenLedger(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := retire(t.Context(), db, feed.PageSize+3); err != nil {
		t.Fatal(err)
	}
	s := &Shop{Config: *c, DB: db, Ring: attest.SpecimenRing()}
	want := int64(feed.PageSize + 3 + len(s.Ring.Handovers)) // which are noted by who exports
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.serveControl(ctx, c.Ledger) }()
	socket, _ := controlSocket(c.Ledger)
	for { // it listens before anybody asks
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "unix", socket)
		if err == nil {
			_ = conn.Close()
			break
		}
		runtime.Gosched()
	}
	// Two at once: what one of them writes the other one finds written.
	errs := make(chan error, 2)
	for range 2 {
		go func() {
			for {
				_, err := ExportObservations(ctx, c)
				last, lastErr := feed.LastOf(c.Record)
				if err != nil || lastErr != nil || last >= want {
					errs <- errors.Join(err, lastErr)
					return
				}
			}
		}()
	}
	if err := errors.Join(<-errs, <-errs); err != nil {
		t.Error(err)
	}
	stop()
	if err := errors.Join(<-served, db.Close()); err != nil {
		t.Error(err)
	}
	if n := agrees(t, c); int64(n) != want {
		t.Errorf("%d observations were exported", n)
	}
}

// TestNothingIsWrittenIntoANewerRecord: a record of which a newer release has written the manifest
// or a round is refused before anything is put into it, and before anything is answered from it.
func TestNothingIsWrittenIntoANewerRecord(t *testing.T) {
	for name, format := range map[string]string{"manifest.json": "store-manifest/v2",
		"rounds/000001/header.json": "store-round/v2"} {
		c := observingConfig(t.TempDir())
		db, err := OpenLedger(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(c.Record, filepath.FromSlash(name))
		if err := errors.Join(retire(t.Context(), db, 1), db.Close(), os.MkdirAll(filepath.Dir(at), 0o700),
			os.WriteFile(at, []byte(`{"format":"`+format+`"}`+"\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
		n, err := ExportObservations(t.Context(), c)
		if !errors.Is(err, generator.ErrNewerRelease) || n > 0 {
			t.Errorf("%s: %d observations exported, %v", name, n, err)
		}
		if _, err := os.Stat(ObservationsDir(c)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: observations are there: %v", name, err)
		}
		c.View = filepath.Join(filepath.Dir(c.Record), "view")
		for does, err := range map[string]error{"serving": second((&Shop{Config: *c}).openArchive(t.Context())),
			"building": second(BuildInput(c))} {
			if !errors.Is(err, generator.ErrNewerRelease) || !strings.Contains(err.Error(), format) {
				t.Errorf("%s: %s: %v", name, does, err)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }
