package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"store.example/agentstore/cmd/devnet/specimen"
	"store.example/agentstore/cmd/shop"
)

// runSpecimen makes the record that the repository is shown with.
func runSpecimen(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("devnet specimen", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("out", "", "folder of the record; that of this repository is corpus")
	replace := flags.Bool("replace", false, "take away the specimen's record that is there")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *out == "" || flags.NArg() > 0 {
		flags.Usage()
		return flag.ErrHelp
	}
	site, err := shop.LoadSpecimen()
	if err != nil {
		return err
	}
	if *replace {
		if err := specimen.Remove(*out); err != nil {
			return err
		}
	}
	if err := specimen.Write(ctx, *out, site.Config.BaseURL); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "the specimen's record is in %s\n", *out)
	return nil
}

// openRecord makes the record with which a run's store begins, signed by its own keys.
func openRecord(ctx context.Context, cfg *shop.Config) error {
	w, err := shop.RecordWriter(cfg)
	if err != nil {
		return err
	}
	return specimen.WriteFor(ctx, w.Dir, specimen.Site{BaseURL: cfg.BaseURL, Identity: w.Identity, Log: w.LogKey,
		Ring: w.Ring})
}
