package kit

import (
	"encoding/json/v2"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"store.example/agentstore/corpus/probe"
)

// findings are what -fail-on names of a report: verdicts, checks and advisories, by their names.
type findings func(probe.Report) []string

// worst are the verdicts from the best to the worst, for those who ask what got worse.
var worst = []probe.Verdict{probe.Ready, probe.NotProbed, probe.MethodUnresolved, probe.NotReady, probe.Unreachable}

// advisory stands in -fail-on for every advisory.
const advisory = "advisory"

// failOn reads the list of what makes a build fail.
func failOn(list string) ([]string, error) {
	var named []string
	for w := range words(list) {
		if w != "never" {
			named = append(named, w)
		}
	}
	known := []string{advisory, anyPurchase, anyDrift}
	for _, c := range Checks() {
		known = append(known, c.Name)
	}
	for _, v := range worst {
		known = append(known, string(v))
	}
	for _, b := range probe.Batteries() {
		for _, c := range b.Checks {
			known = append(known, c.Name)
		}
	}
	for _, a := range probe.Advisories() {
		known = append(known, a.Name)
	}
	for _, w := range named {
		if !slices.Contains(known, w) {
			return nil, fmt.Errorf("-fail-on %s: no verdict, check or advisory has this name", w)
		}
	}
	return named, nil
}

// match returns what of a report has one of the names. A check that was asked for and not reached,
// because one before it failed, is found as much as one that failed: nobody knows that it holds.
func match(r probe.Report, named []string) []string {
	var found []string
	said := string(r.Verdict)
	if r.Reason == probe.ReasonInputs {
		said = string(probe.MethodUnresolved) // it was not asked as its buyers ask either
	}
	if slices.Contains(named, said) {
		found = append(found, said)
	}
	for _, c := range r.ChecksVector {
		if slices.Contains(named, c.Name) && (c.State == probe.Fail || c.State == probe.NotReached &&
			c.BlockedBy != "") {
			found = append(found, c.Name)
		}
	}
	for _, n := range r.Advisories {
		if slices.Contains(named, n.Name) || slices.Contains(named, advisory) {
			found = append(found, n.Name)
		}
	}
	return found
}

// MaxBaseline bounds the file that -baseline names, in bytes.
const MaxBaseline = 16 << 20

// baseline reads reports that -json wrote before, by URL.
func baseline(file string) (map[string]paidReport, error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("-baseline %s: there is no such file; make it with -json, once", file)
	}
	if err != nil {
		return nil, fmt.Errorf("-baseline: %w", err)
	}
	if info.Size() > MaxBaseline {
		return nil, fmt.Errorf("-baseline %s: it is larger than %d bytes", file, MaxBaseline)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("-baseline: %w", err)
	}
	var all []paidReport
	if json.Unmarshal(raw, &all) != nil {
		all = make([]paidReport, 1)
		if err := json.Unmarshal(raw, &all[0]); err != nil {
			return nil, fmt.Errorf("-baseline %s: it is not what -json writes: %w", file, err)
		}
	}
	by := make(map[string]paidReport, len(all))
	for _, r := range all {
		if r.URL == "" || r.Version == "" {
			return nil, fmt.Errorf("-baseline %s: it is not what -json writes: a report names no door", file)
		}
		by[r.URL] = r
	}
	return by, nil
}

// worseRows returns the names of rows that are bad now and were not in the baseline.
func worseRows(now, before []Row, named []string) []string {
	was := badRows(before, named)
	return slices.DeleteFunc(badRows(now, named), func(name string) bool { return slices.Contains(was, name) })
}

// worse returns what was found of a door now and was better in the baseline. A door that the
// baseline does not know is all new, and so is one that another battery judged.
func worse(now, before probe.Report, find findings) []string {
	found := find(now)
	if before.Version != now.Version {
		return found
	}
	was := find(before)
	return slices.DeleteFunc(found, func(name string) bool {
		if name != string(now.Verdict) {
			return slices.Contains(was, name)
		}
		// The same word is worse all the same where a check fails that did not.
		return rank(now.Verdict) < rank(before.Verdict) || now.Verdict == before.Verdict && !newly(now, before)
	})
}

func rank(v probe.Verdict) int { return slices.Index(worst, v) }

// newly says that a check fails now that did not fail before.
func newly(now, before probe.Report) bool {
	return slices.ContainsFunc(now.ChecksVector, func(c probe.VectorEntry) bool {
		return c.State == probe.Fail && state(before, c.Name) != probe.Fail
	})
}

func state(r probe.Report, check string) probe.State {
	for _, c := range r.ChecksVector {
		if c.Name == check {
			return c.State
		}
	}
	return probe.NotReached
}
