package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/witness"
)

// runWitness shows the log's head to the configured witnesses and keeps their cosignatures. The
// answer is no (exit code 3) when none of them signed, or one has seen another history.
func runWitness(ctx context.Context, c *call) error { return witnessReaching(ctx, c, nil) }

// witnessReaching is runWitness with another way to witnesses.
func witnessReaching(ctx context.Context, c *call, reach func(*fetch.Config)) error {
	file := c.flags.String("config", "store.toml", "configuration file")
	asJSON := c.flags.Bool("json", false, "print the report as JSON")
	if err := c.parse(0, 0); err != nil {
		return err
	}
	cfg, err := shop.Load(*file)
	if err != nil {
		return err
	}
	report, err := shop.Witness(ctx, cfg, shop.Outside{Log: c.logger, Reach: reach})
	if err != nil {
		return err
	}
	if *asJSON {
		err = json.NewEncoder(c.stdout).Encode(report)
	} else {
		c.printWitnessed(report)
	}
	if err == nil && refused(report) {
		return errNo
	}
	return err
}

// refused reports whether no witness signed, or one has seen another history.
func refused(report witness.Witnessed) bool {
	return report.Signed == 0 || slices.ContainsFunc(report.By, func(a witness.Answer) bool { return a.Split })
}

func (c *call) printWitnessed(report witness.Witnessed) {
	fmt.Fprintf(c.stdout, "%s: size %d, root %s, cosigned by %d of %d witnesses\n", report.Origin, report.Size,
		report.Root, report.Signed, len(report.By))
	for _, w := range report.By {
		switch {
		case w.Split:
			fmt.Fprintf(c.stdout, "%s: SPLIT VIEW: %s\n", w.Name, w.Problem)
		case w.Problem != "":
			fmt.Fprintf(c.stdout, "%s: %s\n", w.Name, w.Problem)
		case w.Held:
			fmt.Fprintf(c.stdout, "%s: signed before\n", w.Name)
		default:
			fmt.Fprintf(c.stdout, "%s: signed at %s\n", w.Name, w.At)
		}
	}
}

// runStamp hands new rounds in at the configured calendars and fetches proofs that have become
// more.
func runStamp(ctx context.Context, c *call) error { return stampReaching(ctx, c, nil) }

// stampReaching is runStamp with another way to calendars.
func stampReaching(ctx context.Context, c *call, reach func(*fetch.Config)) error {
	file := c.flags.String("config", "store.toml", "configuration file")
	asJSON := c.flags.Bool("json", false, "print the report as JSON")
	if err := c.parse(0, 0); err != nil {
		return err
	}
	cfg, err := shop.Load(*file)
	if err != nil {
		return err
	}
	report, err := shop.Stamp(ctx, cfg, shop.Outside{Log: c.logger, Reach: reach})
	if err != nil {
		return err
	}
	if *asJSON {
		return json.NewEncoder(c.stdout).Encode(report)
	}
	fmt.Fprintf(c.stdout, "%d digests handed in, %d proofs upgraded, %d block headers added, %d still pending\n",
		report.Stamped, report.Upgraded, report.Headers, report.Pending)
	for _, f := range report.Files {
		fmt.Fprintln(c.stdout, f)
	}
	for _, p := range report.Problems {
		fmt.Fprintf(c.stdout, "problem: %s\n", p)
	}
	return nil
}
