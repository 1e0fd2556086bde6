package main

import (
	"context"
	"encoding/json/v2"
	"fmt"
	"path/filepath"
	"text/tabwriter"
	"time"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/cmd/shop/doctor"
)

// runDoctor looks at everything a configured store stands on, and says what mends what is wrong.
func runDoctor(ctx context.Context, c *call) error {
	file := c.flags.String("config", "store.toml", "configuration file")
	backups := c.flags.String("backups", "",
		"folder of the backups, files named backup-…; empty is that of the configuration file")
	asJSON := c.flags.Bool("json", false, "print JSON")
	if err := c.parse(0, 0); err != nil {
		return err
	}
	cfg, err := shop.Load(*file)
	if err != nil {
		return err
	}
	if *backups == "" {
		*backups = filepath.Dir(*file)
	}
	d := doctor.Doctor{Config: cfg, Backups: *backups, Now: time.Now}
	findings := d.Examine(ctx)
	count := make(map[doctor.State]int)
	for _, f := range findings {
		count[f.State]++
	}
	if *asJSON {
		err = json.MarshalWrite(c.stdout, map[string]any{"findings": findings, "faults": count[doctor.Fault],
			"warnings": count[doctor.Warning]}, json.Deterministic(true))
	} else {
		err = printFindings(c, findings, count)
	}
	if err == nil && count[doctor.Fault] > 0 {
		return errNo
	}
	return err
}

func printFindings(c *call, findings []doctor.Finding, count map[doctor.State]int) error {
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	for _, f := range findings {
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.State, f.Check, f.Found)
		if f.Do != "" {
			fmt.Fprintf(w, "\t\t→ %s\n", f.Do)
		}
	}
	fmt.Fprintf(w, "\n%d fine, %d warnings, %d faults\n", count[doctor.Fine], count[doctor.Warning],
		count[doctor.Fault])
	return w.Flush()
}
