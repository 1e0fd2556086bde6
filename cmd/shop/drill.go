package shop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/till"
)

// Drilled is what restoring a backup would come to.
type Drilled struct {
	// Occupied says that the configured ledger's file is there: a restore refuses it.
	Occupied bool              `json:"ledger_occupied"`
	Networks []till.Reconciled `json:"networks"`
	Counters []DrilledCounter  `json:"counters"`
}

// DrilledCounter is the last number of a counter in the backup, and after the high-water files and
// the published record have raised it.
type DrilledCounter struct {
	Name   string `json:"name"`
	Backup int64  `json:"backup"`
	Then   int64  `json:"then"`
}

// Drill restores a backup for trial: into a ledger of its own in a folder for the time being, by
// the same steps, with the chains and high-water files of the configuration. The configured ledger
// is left alone, and nothing is left behind.
func Drill(ctx context.Context, c *Config, r io.Reader, files []string, skip bool, log *slog.Logger) (d Drilled,
	err error) {
	spec, err := LedgerSpec(c)
	if err != nil {
		return d, err
	}
	beside := "" // where the system keeps what is for the time being
	if file, ok := strings.CutPrefix(spec, "bolt:"); ok {
		_, err := os.Stat(file)
		d.Occupied, beside = err == nil, filepath.Dir(file) // a container has no other place to write to
	}
	dir, err := os.MkdirTemp(beside, "store-drill-") // of its owner alone: a backup holds private answers
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	trial := *c
	trial.LedgerFile, trial.Ledger = "", "bolt:"+filepath.Join(dir, "ledger")
	if err := Restore(ctx, &trial, r); err != nil {
		return d, err
	}
	before, err := counters(ctx, &trial)
	if err != nil {
		return d, err
	}
	if d.Networks, err = Reconcile(ctx, &trial, files, skip, log); err != nil {
		return d, fmt.Errorf("comparing with the chains and high-water files: %w", err)
	}
	after, err := counters(ctx, &trial)
	for i, name := range drilledCounters {
		d.Counters = append(d.Counters, DrilledCounter{name, before[i], after[i]})
	}
	return d, err
}

// drilledCounters are those that a restore may raise.
var drilledCounters = [...]string{till.CounterPatron, goods.JarCounter}

func counters(ctx context.Context, c *Config) (n [len(drilledCounters)]int64, err error) {
	db, err := OpenLedger(ctx, c)
	if err != nil {
		return n, err
	}
	err = db.View(ctx, func(tx ledger.Tx) (err error) {
		for i, name := range drilledCounters {
			if n[i], err = ledger.Last(tx, name); err != nil {
				return err
			}
		}
		return nil
	})
	return n, errors.Join(err, db.Close())
}
