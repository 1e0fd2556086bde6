package derive

import (
	"cmp"
	"slices"
	"strings"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tier"
)

// NotShown stands among causes for a correction that is no instrument_error: nothing shows why.
const NotShown = "not_shown"

// Errors counts how often the verdicts of a week were false, as far as is known. A row counts once,
// however often it is corrected, and Verdicts are of what was signed, so that no correction makes
// its own denominator smaller.
type Errors struct {
	Verdicts int64 `json:"verdicts"` // rows signed as an observation
	// Corrected are those of them whose last erratum says another verdict, or that were shown to be
	// an error of the instrument by any.
	Corrected int64  `json:"corrected"`
	Rate      *int64 `json:"per_10000"` // Corrected of Verdicts, rounded down; null without a verdict
	// Changes, ByCause and CheckErrors are of Corrected.
	Changes tier.Counts  `json:"changes"`  // such as not_ready_to_ready
	ByCause tier.Counts  `json:"by_cause"` // of record.Causes, or NotShown
	ByCheck []CheckError `json:"by_check"` // by name
	// NoVerdict counts corrections of rows that were signed without a verdict: they were no errors.
	NoVerdict int64 `json:"corrected_without_verdict"`
}

// CheckError says how often a check was told falsely.
type CheckError struct {
	Check  string `json:"check"`
	Failed int64  `json:"failed"`       // verdicts that say it failed
	False  int64  `json:"failed_false"` // of them, those where an instrument_error says it did not
	Missed int64  `json:"missed"`       // ready verdicts of which an instrument_error says it did
}

// Mistake is a correction with its row.
type Mistake struct {
	Observation int64    `json:"observation"`
	At          string   `json:"at"`
	Leaf        int64    `json:"leaf"` // of the row
	Host        string   `json:"host"`
	Week        string   `json:"week"`
	Signed      string   `json:"verdict_signed"`
	Now         string   `json:"verdict_now"`
	Cause       string   `json:"cause"`
	Checks      []string `json:"checks"`
	Reason      string   `json:"reason"`
	Evidence    string   `json:"evidence_digest,omitzero"`
}

// MistakesLimit is how many corrections the series names, the newest; it counts all of them.
const MistakesLimit = 500

// newErrors counts nothing.
func newErrors() Errors {
	return Errors{Changes: tier.Counts{}, ByCause: tier.Counts{}, ByCheck: []CheckError{}}
}

// check finds the count of a check.
func (e *Errors) check(name string) *CheckError {
	i, ok := slices.BinarySearchFunc(e.ByCheck, name, func(c CheckError, name string) int {
		return strings.Compare(c.Check, name)
	})
	if !ok {
		e.ByCheck = slices.Insert(e.ByCheck, i, CheckError{Check: strings.Clone(name)})
	}
	return &e.ByCheck[i]
}

// add takes a row as it counts, and returns its correction, if there is one.
func (e *Errors) add(r *record.StoredRow) (m Mistake, corrected bool, err error) {
	signed, c := r.Row, r.Corrected
	if c != nil {
		if signed, err = record.ParseRow(r.Raw); err != nil {
			return m, false, err
		}
	}
	verdict := tier.Observed(&signed)
	if verdict {
		e.Verdicts++
		for i, name := range signed.Failed {
			if !slices.Contains(signed.Failed[:i], name) {
				e.check(name).Failed++
			}
		}
	}
	if c == nil || c.Cause == "" && c.Now == signed.Verdict {
		return m, false, nil
	}
	m = Mistake{Observation: c.Observation, At: c.At, Leaf: r.Leaf, Host: strings.Clone(r.Host), Week: signed.Week,
		Signed: signed.Verdict, Now: c.Now, Cause: cmp.Or(c.Cause, NotShown), Checks: append([]string{}, c.Checks...),
		Reason: c.Reason, Evidence: c.Evidence}
	if !verdict {
		e.NoVerdict++
		return m, true, nil
	}
	e.Corrected++
	e.Changes = e.Changes.Add(m.Signed + "_to_" + m.Now)
	e.ByCause = e.ByCause.Add(m.Cause)
	for _, name := range m.Checks {
		if slices.Contains(signed.Failed, name) {
			e.check(name).False++
		} else {
			e.check(name).Missed++
		}
	}
	return m, true, nil
}

// rated is with the rate.
func (e Errors) rated() Errors {
	if e.Rate = nil; e.Verdicts > 0 {
		e.Rate = new(e.Corrected * 10_000 / e.Verdicts)
	}
	return e
}

// plus is the sum of two weeks.
func (e Errors) plus(o Errors) Errors {
	out := newErrors()
	out.Verdicts, out.Corrected, out.NoVerdict = e.Verdicts+o.Verdicts, e.Corrected+o.Corrected, e.NoVerdict+o.NoVerdict
	out.Changes, out.ByCause = sum(e.Changes, o.Changes), sum(e.ByCause, o.ByCause)
	for _, c := range slices.Concat(e.ByCheck, o.ByCheck) {
		all := out.check(c.Check)
		all.Failed, all.False, all.Missed = all.Failed+c.Failed, all.False+c.False, all.Missed+c.Missed
	}
	return out
}

// sum adds up two lists of counts.
func sum(a, b tier.Counts) tier.Counts {
	out := tier.Counts{}
	for _, n := range slices.Concat(a, b) {
		for range n.Count {
			out = out.Add(n.Name)
		}
	}
	return out
}

// mistakes keeps the newest corrections of all.
type mistakes struct {
	newest []Mistake
	all    int64
}

func (m *mistakes) add(one Mistake) {
	m.all++
	if m.newest = append(m.newest, one); len(m.newest) >= 2*MistakesLimit {
		m.cut()
	}
}

func (m *mistakes) cut() {
	slices.SortFunc(m.newest, func(a, b Mistake) int { return cmp.Compare(b.Observation, a.Observation) })
	m.newest = m.newest[:min(len(m.newest), MistakesLimit)]
}

// ErrorsView is /corpus/errors.json.
type ErrorsView struct {
	Format      string         `json:"format"`
	Explanation string         `json:"explanation"`
	Weeks       []ErrorWeek    `json:"weeks"` // oldest first
	All         Errors         `json:"all"`   // their sum
	Causes      []record.Cause `json:"causes"`
	Corrections []Mistake      `json:"corrections"` // the newest first
	LeftOut     int64          `json:"corrections_left_out"`
	From        Source         `json:"derived_from"`
}

// ErrorWeek is the errors of one week's verdicts.
type ErrorWeek struct {
	Cited
	Errors
}

// Errors is how often the record was wrong, by the week of its verdicts, as far as is known now.
func (b *Book) Errors() ErrorsView {
	v := ErrorsView{Format: "store-errors/v1", Weeks: []ErrorWeek{}, All: newErrors(), Causes: record.Causes(),
		Corrections: []Mistake{}, From: b.source(), Explanation: NoRounds}
	for i, f := range b.Figures {
		v.Weeks = append(v.Weeks, ErrorWeek{cite(b.Rounds[i]), f.Week.Errors})
		v.All = v.All.plus(f.Week.Errors)
	}
	v.All = v.All.rated()
	if b.Roll != nil {
		v.Corrections = append(v.Corrections, b.Roll.mistakes.newest...)
		v.LeftOut = b.Roll.mistakes.all - int64(len(v.Corrections))
	}
	if len(v.Weeks) > 0 {
		v.Explanation = "By the week of the verdict, not of its correction. verdicts are the rows that were signed " +
			"as ready, not_ready or unreachable, but for those not reached through the store's own fault, which " +
			"name no verdict; a correction takes none away. corrected are those of them whose last erratum says " +
			"another verdict, or of which any erratum is an instrument_error, each once. per_10000 is corrected of " +
			"verdicts, rounded down. changes and by_cause are of corrected; by_cause has the cause of the row's " +
			"last instrument_error, and not_shown where there is none, as of a verdict that was taken back and " +
			"that nothing kept can show. by_check: failed are verdicts whose row says that the check failed, " +
			"failed_false those of them of which the instrument_error says that it did not, missed are ready " +
			"verdicts of which it says that it did. corrected_without_verdict are no errors. What nobody found is " +
			"not here."
	}
	return v
}
