package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/schollz/progressbar/v3"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/screen"
)

// runCensus takes part in the census of a week and seals its round when everything is walked.
func runCensus(ctx context.Context, c *call) error { return censusWith(ctx, c, shop.CensusOptions{}) }

// censusWith is runCensus with what no flag says.
func censusWith(ctx context.Context, c *call, o shop.CensusOptions) error {
	if len(c.args) > 0 && c.args[0] == "rejudge" {
		return runRejudge(ctx, c)
	}
	file := c.flags.String("config", "store.toml", "configuration file")
	week := c.flags.String("week", "", "ISO week such as 2026-W47; the last one may still be finished and sealed "+
		"while no later round is")
	walkOnly := c.flags.Bool("walk-only", false, "walk, and leave sealing to a process that holds the record's keys")
	hourly := c.flags.Bool("hourly", false, "begin the round of this week if nobody did, put the hosts that declared "+
		"themselves since onto it, and walk; seals no round")
	vantage := c.flags.String("vantage", "", "walk the `roster` that a store handed to this walker, from here and by "+
		"census.key, and write what was seen to -out, for the store to take in; touches no ledger and no record")
	out := c.flags.String("out", "", "-vantage: file to write; the roster's name with .seen for .roster if not given")
	vantages := c.flags.Bool("vantages", false, "say whether what walkers at other places handed over so far will be "+
		"taken in; does nothing else")
	dry := c.flags.Bool("dry-run", false, "say which hosts the sources name and what a census would make of each; "+
		"walks nobody and writes nothing")
	rehearse := c.flags.Bool("rehearse", false, "walk the doors of census.list that are on this machine and print "+
		"what came of each; for a shop on loopback, and seals nothing")
	empty := c.flags.Bool("seal-empty", false, "seal the round although no host has a row in it; it stands for ever")
	asJSON := c.flags.Bool("json", false, "print the report as JSON")
	if err := c.parse(0, 0); err != nil {
		return err
	}
	if *hourly && (*week != "" || *walkOnly) {
		fmt.Fprintln(c.stderr, "store census: -hourly takes neither -week nor -walk-only")
		return errUsage
	}
	if *vantages && (*walkOnly || *hourly) || *vantage != "" && (*vantages || *week != "" || *walkOnly || *hourly) ||
		*vantage == "" && *out != "" {
		fmt.Fprintln(c.stderr, "store census: -vantage goes with -out alone, -vantages with -week alone")
		return errUsage
	}
	if (*dry || *rehearse) && (*walkOnly || *hourly || *vantages || *empty || *vantage != "" || *dry && *rehearse) {
		fmt.Fprintln(c.stderr, "store census: -dry-run goes with -week and -json alone, and -rehearse with -json")
		return errUsage
	}
	cfg, err := shop.Load(*file)
	if err != nil {
		return err
	}
	if *rehearse {
		return rehearsal(ctx, c, cfg, *asJSON)
	}
	o.DryRun, o.SealEmpty = *dry, *empty
	// The first signal lets walks under way finish; the second ends the process.
	o.Week, o.WalkOnly, o.Hourly, o.Vantages, o.Log = *week, *walkOnly, *hourly, *vantages, c.logger
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
	if *vantage != "" {
		return walkElsewhere(ctx, c, cfg, o, elsewhere{*vantage, cmp.Or(*out, shop.SeenFile(*vantage)), *asJSON})
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
	if *dry {
		fmt.Fprint(c.stdout, dryRunText(report))
		return nil
	}
	if *vantages {
		fmt.Fprint(c.stdout, vantagesText(report.Vantages, false))
		return nil
	}
	fmt.Fprint(c.stdout, censusText(report))
	return nil
}

// runRejudge is store keeper rejudge. A dry run that finds verdicts which are false and not
// corrected ends with 3.
func runRejudge(ctx context.Context, c *call) error {
	v, _ := shop.VerbNamed("rejudge")
	k, file := v.Call(), c.flags.String("config", "store.toml", "configuration file")
	switch err := k.Read(c.flags, c.args[1:]); {
	case errors.Is(err, shop.ErrCall):
		fmt.Fprintf(c.stderr, "store census rejudge: %v\n", err)
		return errUsage
	case err != nil:
		return err
	}
	cfg, err := shop.Load(*file)
	if err != nil {
		return err
	}
	asJSON := k.JSON
	k.JSON = true
	var out bytes.Buffer
	if err := k.Do(ctx, cfg, c.logger, &out); err != nil {
		return err
	}
	var r shop.Rejudgement
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return err
	}
	if asJSON {
		_, err = out.WriteTo(c.stdout)
	} else {
		_, err = fmt.Fprint(c.stdout, rejudgedText(r))
	}
	if err == nil && r.DryRun && r.Corrected > 0 {
		return errNo
	}
	return err
}

// rejudgedText says what moved and what did not.
func rejudgedText(r shop.Rejudgement) string {
	var text strings.Builder
	for _, m := range r.Moved {
		note := ""
		if m.Already {
			note = "\tcorrected before"
		}
		fmt.Fprintf(&text, "%s\t%s\t%s\t%s\t%s%s\n", m.Week, screen.Text(m.Host), m.Signed, m.Now, m.Cause, note)
	}
	fmt.Fprintf(&text, "battery %s: of %d verdicts by older ones %d are the same, %d false (%d corrected now, %d "+
		"before);\nof %d it asks for more, %d are seen otherwise elsewhere, of %d nothing is kept, of %d too "+
		"little\n%s\n",
		r.Battery, r.Rows, r.Same, r.False, r.Corrected, r.Already, r.More, r.Others, r.NotKept, r.Lacking, r.NextStep)
	return text.String()
}

// rehearsal walks the doors on this machine that the keeper listed, as store check -local does. A
// census walks none of them, whose addresses nobody else can reach.
func rehearsal(ctx context.Context, c *call, cfg *shop.Config, asJSON bool) error {
	doors, err := shop.DoorsHere(ctx, cfg)
	if err != nil {
		return err
	}
	c.args = append([]string{"-local"}, doors...)
	if asJSON {
		c.args = append([]string{"-json"}, c.args...)
	}
	return runCheck(ctx, c)
}

// elsewhere is where a walker at another place has its roster from, and what it leaves.
type elsewhere struct {
	roster string
	out    string
	asJSON bool
}

// walkElsewhere is the census of a walker at another place.
func walkElsewhere(ctx context.Context, c *call, cfg *shop.Config, o shop.CensusOptions, e elsewhere) error {
	report, err := shop.Elsewhere(ctx, cfg, e.roster, e.out, o)
	if err != nil {
		return err
	}
	if e.asJSON {
		return json.NewEncoder(c.stdout).Encode(report)
	}
	fmt.Fprintf(c.stdout, "%d doors have a verdict from here, %d walks to the control door: %s\nPut it into the "+
		"store's folder vantages, where the roster is from, before the round is sealed; store census -vantages says "+
		"there whether it will be taken.\n",
		report.Walks, report.Control, e.out)
	return nil
}

// vantagesText says what came of walkers at other places, before the seal or at it.
func vantagesText(all []census.VantageReport, sealed bool) (text string) {
	if len(all) == 0 && !sealed {
		return "nobody walks elsewhere: census.walkers names no key\n"
	}
	for _, v := range all {
		switch {
		case v.Problem != "":
			text += fmt.Sprintf("walker %s is not counted: %s\n", v.ID, v.Problem)
		case sealed:
			text += fmt.Sprintf("walker %s: %d of %d doors stand in rows\n", v.ID, v.Counted, v.Walks)
		default:
			text += fmt.Sprintf("walker %s: %d doors, %d walks to the control door, will be taken in\n", v.ID, v.Walks,
				v.Control)
		}
	}
	return text
}

// dryRunText lists what a census would make of each host.
func dryRunText(r census.Report) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %d hosts known by name, %d would be walked; nothing was written\n", r.Week, r.Listed, r.Due)
	for _, h := range r.Hosts {
		fmt.Fprintf(&text, "%s\t%s\n", screen.Text(h.Host), screen.Text(cmp.Or(h.URL, h.WhyNot)))
	}
	return text.String()
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
	text += vantagesText(r.Vantages, true)
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
