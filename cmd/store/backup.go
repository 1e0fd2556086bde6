package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"agentstore/cmd/shop"
	"agentstore/dynamic/ledger"
)

// runBackup writes one consistent snapshot of the ledger, reads it back and checks it before it gets its name.
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
	fmt.Fprintf(c.stdout, "%s: %d entries, %d bytes, verified. It holds private answers: keep it as you keep the ledger.\n", target, entries, st.Size())
	return nil
}

// runRestore fills an empty ledger from a backup and leaves it closed. It then reads every network for what was paid
// since the backup, and the high-water file for what was given away since.
func runRestore(ctx context.Context, c *call) error {
	file := c.flags.String("config", "store.toml", "configuration file")
	only := c.flags.Bool("reconcile", false, "do not restore; read the chains and the high-water file again for a ledger that is restored and closed")
	dry := c.flags.Bool("dry-run", false, "check the backup and change nothing")
	if err := c.parse(0, 1); err != nil {
		return err
	}
	if (c.flags.NArg() == 1) == *only {
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
		if *dry {
			fmt.Fprintf(c.stdout, "%s is a whole backup; nothing was changed\n", c.flags.Arg(0))
			return nil
		}
		if _, err := in.Seek(0, 0); err != nil {
			return err
		}
		if err := shop.Restore(ctx, cfg, in); err != nil {
			return err
		}
		fmt.Fprintln(c.stdout, "restored; the store is closed")
	}
	found, err := shop.Reconcile(ctx, cfg, c.logger)
	if err != nil {
		return fmt.Errorf("restored, but the chains could not be read (run store restore -reconcile when they can): %w", err)
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

// runKeeper is the keeper's desk.
func runKeeper(ctx context.Context, c *call) error {
	what := c.subverb("reopen")
	file := c.flags.String("config", "store.toml", "configuration file")
	dry := c.flags.Bool("dry-run", false, "say whether it could be reopened and change nothing")
	if err := c.parse(0, 0); err != nil {
		return err
	}
	if what == "" {
		c.flags.Usage()
		return errUsage
	}
	cfg, err := shop.Load(*file)
	if err != nil {
		return err
	}
	if err := shop.Reopen(ctx, cfg, *dry); err != nil {
		return err
	}
	if *dry {
		fmt.Fprintln(c.stdout, "the store can be reopened; nothing was changed")
		return nil
	}
	fmt.Fprintln(c.stdout, "the store is open")
	return nil
}
