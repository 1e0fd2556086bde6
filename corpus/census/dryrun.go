package census

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// OutcomeDryRun is that of DryRun.
const OutcomeDryRun = "dry_run"

// ErrNobody is returned where a round would be sealed in which no host has a row. It would stand
// for ever, and say nothing of anybody: Config.SealEmpty seals it all the same.
var ErrNobody = errors.New("no host would be walked, and a round of no rows stands for ever")

// Host is what a census makes of a host that a source names.
type Host struct {
	Host string `json:"host"`
	// URL is of the door that is walked, "" for none; WhyNot says why, in words or by the reason
	// of a refusal.
	URL    string `json:"url,omitzero"`
	WhyNot string `json:"why_not,omitzero"`
}

// DryRun reads the sources of a week and says what a census that began now would make of each host
// that they name. It walks nobody and writes nothing. Of a week whose roster is closed it does not
// speak: it is what another run would find.
func DryRun(ctx context.Context, cfg Config) (Report, error) {
	r, err := newRun(cfg)
	if err != nil {
		return Report{}, err
	}
	rec, err := r.record()
	if err != nil {
		return r.report, err
	}
	roster, err := r.readSources(ctx, r.Sources, rec, r.Week)
	if err != nil {
		return r.report, err
	}
	salt, err := r.ownValue()
	if err != nil {
		return r.report, err
	}
	known, placed := roster.known(salt, newQuota(r.Cap, false, 0), false)
	r.report.Outcome, r.report.Listed, r.report.Due = OutcomeDryRun, int64(len(roster.places)), int64(len(placed))
	for k := range known {
		h := Host{Host: k.Host, WhyNot: k.Reason}
		if k.Entry != nil {
			h.URL = k.Entry.URL
		}
		r.report.Hosts = append(r.report.Hosts, h)
	}
	return r.report, nil
}

// mostTold is how many hosts an error names.
const mostTold = 10

// nobody is the error where no host has a place, with what is known of those that were named.
func (r *run) nobody(known func(func(Known) bool)) error {
	var b strings.Builder
	n := 0
	for k := range known {
		if n++; n <= mostTold {
			fmt.Fprintf(&b, "\n%s: %s", k.Host, k.Reason)
		}
	}
	if n > mostTold {
		fmt.Fprintf(&b, "\nand %d more", n-mostTold)
	}
	if n == 0 {
		b.WriteString("\nno source names any host: census.list is a file of doors, and discovery names catalogues")
	}
	return fmt.Errorf("%w%s\nhint: store census -dry-run shows what the sources name; -seal-empty seals it", ErrNobody,
		&b)
}
