package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/schollz/progressbar/v3"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/census"
)

// runCensus takes part in the census of a week and seals its round when everything is walked.
func runCensus(ctx context.Context, c *call) error { return censusWith(ctx, c, shop.CensusOptions{}) }

// censusWith is runCensus with what no flag says.
func censusWith(ctx context.Context, c *call, o shop.CensusOptions) error {
	file := c.flags.String("config", "store.toml", "configuration file")
	week := c.flags.String("week", "", "ISO week such as 2026-W47; the last one may still be finished and sealed "+
		"while no later round is")
	walkOnly := c.flags.Bool("walk-only", false, "walk, and leave sealing to a process that holds the record's keys")
	hourly := c.flags.Bool("hourly", false, "begin the round of this week if nobody did, put the hosts that declared "+
		"themselves since onto it, and walk; seals no round")
	asJSON := c.flags.Bool("json", false, "print the report as JSON")
	if err := c.parse(0, 0); err != nil {
		return err
	}
	if *hourly && (*week != "" || *walkOnly) {
		fmt.Fprintln(c.stderr, "store census: -hourly takes neither -week nor -walk-only")
		return errUsage
	}
	cfg, err := shop.Load(*file)
	if err != nil {
		return err
	}
	// The first signal lets walks under way finish; the second ends the process.
	o.Week, o.WalkOnly, o.Hourly, o.Log = *week, *walkOnly, *hourly, c.logger
	var bar *progressbar.ProgressBar
	if isTerminal(c.stderr) && !*asJSON {
		o.Progress = func(done, due int64) {
			if bar == nil {
				bar = progressbar.NewOptions64(due, progressbar.OptionSetWriter(os.Stderr),
					progressbar.OptionSetDescription("walking"),
					progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionClearOnFinish())
			}
			bar.ChangeMax64(due)
			_ = bar.Set64(done) // a bar that cannot be drawn stops nothing
		}
	}
	report, err := shop.Census(ctx, cfg, o)
	if bar != nil {
		_ = bar.Finish()
	}
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("stopped after %d walks: run it again to go on", report.Walked)
		}
		return err
	}
	if *asJSON {
		return json.NewEncoder(c.stdout).Encode(report)
	}
	fmt.Fprint(c.stdout, censusText(report))
	return nil
}

// censusText says in a few lines what a run came to.
func censusText(r census.Report) string {
	text := fmt.Sprintf("%s: %d hosts known by name, %d due, %d walked by this process, %d added; control door "+
		"walked %d times, failed %d\n",
		r.Week, r.Listed, r.Due, r.Walked, r.Added, r.Control.Walks, r.Control.Failed)
	switch r.Outcome {
	case census.OutcomeSealed, census.OutcomeStood:
		verb := "sealed"
		if r.Outcome == census.OutcomeStood {
			verb = "stands, sealed before"
		}
		text += fmt.Sprintf("round %d %s: %d rows, digest %s\n", r.Sequence, verb, r.Rows, r.Digest)
		if r.Outcome == census.OutcomeSealed {
			text += "store build shows it on the site and to the running server; store stamp has it dated\n"
		}
	case census.OutcomeWalked:
		text += "every host is finished; the round is sealed by store census without -walk-only\n"
	case census.OutcomeNotOpen:
		text += "this week's round takes no more hosts: nothing was added\n"
	}
	if r.Lot == census.LotOwn {
		text += "no Bitcoin block could be had, so the census drew its own order, and twice in a row is suspect: " +
			"name timestamps.explorers or timestamps.headers\n"
	}
	if r.Capped {
		text += "the cap struck: hosts beyond it have rows that say so\n"
	}
	if r.Dropped {
		text += "coverage_drop: under 60 % of the hosts of the round before were probed\n"
	}
	if r.Suspect {
		text += "coverage_suspect: the round says that it is thin\n"
	}
	return text
}
