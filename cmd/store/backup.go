package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/dynamic/ledger"
)

// runBackup writes one consistent snapshot of the ledger, reads it back and checks it before it
// gets its name.
func runBackup(ctx context.Context, c *call) error {
	file := c.flags.String("config", "store.toml", "configuration file")
	if err := c.parse(1, 1); err != nil {
		return err
	}
	cfg, err := shop.Load(*file)
	if err != nil {
		return err
	}
	target := c.flags.Arg(0)
	if _, err := os.Lstat(target); err == nil {
		return fmt.Errorf("%s exists; a backup never replaces one", target)
	}
	out, err := os.CreateTemp(filepath.Dir(target), ".backup-*")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	if err := out.Chmod(0o600); err != nil {
		return err
	}
	if err := shop.Backup(ctx, cfg, out); err != nil {
		return err
	}
	if err := out.Sync(); err != nil {
		return err
	}
	if _, err := out.Seek(0, 0); err != nil {
		return err
	}
	entries, err := ledger.Verify(out)
	if err != nil {
		return fmt.Errorf("the backup does not read back: %w", err)
	}
	if err := os.Link(out.Name(), target); err != nil {
		return err
	}
	st, err := out.Stat()
	if err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "%s: %d entries, %d bytes, verified. It holds private answers: keep it as you keep the "+
		"ledger.\n", target, entries, st.Size())
	return nil
}

// runRestore fills an empty ledger from a backup and leaves it closed. It then reads every network
// for what was paid since the backup, and the high-water files of all processes for what was given
// away since.
func runRestore(ctx context.Context, c *call) error {
	file := c.flags.String("config", "store.toml", "configuration file")
	only := c.flags.Bool("reconcile", false, "do not restore; read the chains and the high-water file again for a "+
		"ledger that is restored and closed")
	dry := c.flags.Bool("dry-run", false, "restore into a ledger that is thrown away, and say what would come of it")
	var files []string
	c.flags.Func("high-water", "high-water `FILE` of a further process of the store, beside the configured one; once "+
		"for each", func(s string) error {
		files = append(files, s)
		return nil
	})
	skip := c.flags.Bool("skip-unreadable", false,
		"go on without the lines of high-water files that cannot be read: what they held may be given twice")
	if err := c.parse(0, 1); err != nil {
		return err
	}
	if (c.flags.NArg() == 1) == *only || *only && *dry {
		c.flags.Usage()
		return errUsage
	}
	cfg, err := shop.Load(*file)
	if err != nil {
		return err
	}
	if !*only {
		in, err := os.Open(c.flags.Arg(0))
		if err != nil {
			return err
		}
		defer in.Close()
		if _, err := ledger.Verify(in); err != nil {
			return fmt.Errorf("%s is not a whole backup: %w", c.flags.Arg(0), err)
		}
		if _, err := in.Seek(0, 0); err != nil {
			return err
		}
		if *dry {
			return restoreDrill(ctx, c, cfg, in.Name(), shop.Trial{Backup: in, HighWater: files, Skip: *skip})
		}
		if err := shop.Restore(ctx, cfg, in); err != nil {
			return err
		}
		fmt.Fprintln(c.stdout, "restored; the store is closed")
	}
	found, err := shop.Reconcile(ctx, cfg, files, *skip, c.logger)
	if err != nil {
		return fmt.Errorf("restored, but not compared with the chains and high-water files (run store restore "+
			"-reconcile when that can be): %w", err)
	}
	e := json.NewEncoder(c.stdout)
	for _, r := range found {
		if err := e.Encode(r); err != nil {
			return err
		}
	}
	fmt.Fprintln(c.stdout, "Read this, then open the store with: store keeper reopen")
	return nil
}

// restoreDrill says what restoring a backup would come to.
func restoreDrill(ctx context.Context, c *call, cfg *shop.Config, file string, t shop.Trial) error {
	d, err := shop.Drill(ctx, cfg, t, c.logger)
	if err != nil {
		return fmt.Errorf("%s is a whole backup, and restoring it would fail: %w", file, err)
	}
	if err := json.NewEncoder(c.stdout).Encode(d); err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "%s is a whole backup; nothing was changed\n", file)
	if d.Occupied {
		fmt.Fprintln(c.stdout, "The configured ledger is there: move its file away first, or the restore refuses it.")
	}
	return nil
}
