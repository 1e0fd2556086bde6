package desk

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"time"

	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
)

// LookRequest names a door, and perhaps the week to set it against.
type LookRequest struct {
	URL   string `json:"url" jsonschema:"https URL of the door, at most 2048 characters"`
	Since string `json:"since,omitempty" jsonschema:"ISO week YYYY-Www of the round to compare with; the last round in which the host was probed when left out"`
}

// Look is one live probe folded with what the record holds.
type Look struct {
	Version  string      `json:"version"` // v1
	URL      string      `json:"url"`
	Host     string      `json:"host"`
	AskedAt  string      `json:"asked_at"`
	Headline string      `json:"headline"`
	Now      LookNow     `json:"now"`
	Held     HostHistory `json:"held"`
	Against  Against     `json:"now_against_held"`
	// Catalog is what each discovery list says of the door beside what it asks now.
	Catalog   CatalogAgreement `json:"catalog_agreement"`
	Reproduce Reproduce        `json:"reproduce"`
	IsNot     []string         `json:"what_this_is_not"`
	Ladder    []probe.Level    `json:"the_ladder"`
	RateLimit *RateLimit       `json:"rate_limit,omitzero"`
	NextSteps []string         `json:"next_steps"`
}

// LookNow is the live half.
type LookNow struct {
	Battery    string        `json:"battery"`
	Verdict    probe.Verdict `json:"verdict"`
	ObservedAt string        `json:"observed_at"`
	Failed     []string      `json:"failed"`
	Advisories []string      `json:"advisories"`
	Door       Preflight     `json:"the_door"`
}

// The lines of Against.
const (
	LineSame          = "same"
	LineChanged       = "changed"
	LineNoPrior       = "no_prior"
	LineNotComparable = "not_comparable"
)

// Against says in one word how the live probe compares with the last signed round.
type Against struct {
	Line   string `json:"line"`
	Detail string `json:"detail"`
}

// ClassNoSuchRound is the class of a comparison with a week of which the record has no row of this
// host.
const ClassNoSuchRound = "no_such_round"

// Reproduce cites one signed row and sets it beside the live probe, so that anybody can check the
// comparison. Its class depends on the six values alone: verdict, failed checks and battery, twice.
type Reproduce struct {
	RuleURL         string        `json:"rule_url"`
	Dated           string        `json:"dated"` // since when the rule has been in force
	AskedFor        string        `json:"asked_for"`
	ComparedWith    *Cited        `json:"compared_with"`
	Live            probe.Reading `json:"live"`
	Class           string        `json:"class"`
	Detail          string        `json:"detail"`
	VerdictSame     bool          `json:"verdict_same"`
	FailedAdded     []string      `json:"failed_added"`
	FailedCleared   []string      `json:"failed_cleared"`
	BatterySame     bool          `json:"battery_same"`
	BatteryRecorded string        `json:"battery_recorded"`
	Cite            *Citation     `json:"cite"`
	KnownWeeks      []string      `json:"known_weeks"`
}

// Citation is how a row is cited.
type Citation struct {
	Cites      string `json:"cites"`
	Host       string `json:"host"`
	Week       string `json:"week"`
	Sequence   int64  `json:"sequence"`
	ObservedAt string `json:"observed_at"`
	Digest     string `json:"digest"` // of the round
	RowSHA256  string `json:"row_sha256"`
	Leaf       int64  `json:"leaf"`
	Entry      string `json:"entry"`
	Inclusion  string `json:"inclusion_proof,omitzero"` // the text of c2sp.org/tlog-proof
	License    string `json:"license"`
	How        string `json:"how"`
}

const ruleDated = "2026-09-06"

var weekForm = regexp.MustCompile(`^([0-9]{4})-W([0-9]{2})$`)

// goodWeek reports whether a text is an ISO week that exists (ISO 8601: the last week is that of 28
// December).
func goodWeek(s string) bool {
	m := weekForm.FindStringSubmatch(s)
	if m == nil {
		return false
	}
	year, _ := strconv.Atoi(m[1])
	week, _ := strconv.Atoi(m[2])
	_, last := time.Date(year, time.December, 28, 0, 0, 0, 0, time.UTC).ISOWeek()
	return week >= 1 && week <= last
}

func (d *Desk) look(w http.ResponseWriter, r *http.Request) error {
	badSince := &problem.Error{Code: "bad_since",
		Detail: "Nothing was read: since must be an ISO week that exists, written as in 2026-W34.",
		Fields: []problem.Field{{Field: "since", Problem: "is not an ISO week of the form YYYY-Www"}}}
	in, err := readBody[LookRequest](r)
	if e, ok := errors.AsType[*problem.Error](err); ok && len(e.Fields) == 1 && e.Fields[0].Field == "since" &&
		e.Code == "invalid_input" {
		return badSince // of another type than a text
	}
	if err != nil {
		return err
	}
	if in.Since != "" && !goodWeek(in.Since) {
		return badSince
	}
	door, rl, err := d.admit(w, r, in.URL, BudgetPreflight)
	if err != nil {
		return err
	}
	u, err := url.Parse(door)
	if err != nil {
		return err
	}
	host := u.Hostname()
	// The record is read first: a record that cannot be read costs no probe.
	held, err := d.cfg.Record.Host(r.Context(), host)
	if err != nil {
		return err
	}
	row, known, err := d.cfg.Record.Row(r.Context(), host, in.Since)
	if err != nil {
		return err
	}
	lists, err := d.listings(r.Context(), host)
	if err != nil {
		return err
	}
	l, shared, err := d.walk(r.Context(), probe.Current(), door)
	if err != nil {
		return d.unread(w, r, rl, err)
	}
	live := l.report.Reading()
	now := LookNow{Battery: l.report.Version, Verdict: l.report.Verdict, ObservedAt: l.report.Evidence.ObservedAt,
		Failed:     live.Failed,
		Advisories: advisoryNames(l.report), Door: d.served(l, shared, rl)}
	rep := reproduce(looked{d.cfg.BaseURL, door, host, in.Since}, live, row, known)
	return route.JSON(w, Look{
		Version: "v1", URL: door, Host: host, AskedAt: time.Now().UTC().Format(time.RFC3339), Now: now, Held: held,
		Against: against(held, door, live), Catalog: lists.agreement(door, l.report), Reproduce: rep,
		Headline: headline(now, held), IsNot: []string{
			"a rating: there is no score of a door or of whoever runs it",
			"a promise: one look says nothing of the next minute",
			"a purchase: nothing was paid, so delivery was not seen",
		},
		Ladder: probe.Levels(), RateLimit: rl,
		NextSteps: d.lookSteps(l.report.NextSteps, host, held),
	})
}

// lookSteps are the probe's next steps and those that lead on from the record.
func (d *Desk) lookSteps(steps []string, host string, held HostHistory) []string {
	steps = append(slices.Clone(steps), "GET "+d.cfg.BaseURL+"/criteria says how verdicts, tiers and gaps are counted.")
	if held.NeverMet {
		return append(steps, "GET "+d.cfg.BaseURL+"/api/why/"+host+
			" says whether the host is on the roster and what stopped a walk.",
			"POST {host} to "+d.cfg.BaseURL+"/api/declare-door has the host's own list of doors read, for the next "+
				"round.")
	}
	return append(steps, "GET "+held.RowsURL+" has the host's history, round by round.")
}

func advisoryNames(r probe.Report) []string {
	names := []string{}
	for _, a := range r.Advisories {
		names = append(names, a.Name)
	}
	return names
}

// against compares the live probe with the last round in which the host was probed.
func against(held HostHistory, door string, live probe.Reading) Against {
	if held.NeverMet || held.LastProbed == nil {
		return Against{LineNoPrior, "No signed round holds a reading of this host, so there is nothing to compare " +
			"with."}
	}
	if held.LastProbed.URL != door {
		return Against{LineNotComparable, fmt.Sprintf("Against %s: the census walks another door of this host, %s.",
			held.LastProbed.Week, held.LastProbed.URL)}
	}
	c := probe.Compare(held.LastProbed.reading(), live)
	detail := fmt.Sprintf("Against %s: %s", held.LastProbed.Week, c.Detail)
	switch c.Class {
	case probe.ClassSame:
		return Against{LineSame, detail}
	case probe.ClassMoved:
		return Against{LineChanged, detail}
	}
	return Against{LineNotComparable, detail}
}

// looked is what was looked at, for whom a host's row is cited.
type looked struct {
	base  string
	door  string
	host  string
	asked string
}

// reproduce makes the block that cites a row.
func reproduce(q looked, live probe.Reading, row *Cited, known []string) Reproduce {
	out := Reproduce{RuleURL: q.base + "/criteria#result-class", Dated: ruleDated, AskedFor: q.asked, Live: live,
		ComparedWith: row,
		FailedAdded:  []string{}, FailedCleared: []string{}, KnownWeeks: known, Class: ClassNoSuchRound,
		Detail: "The record has no row of this host to compare with."}
	if q.asked == "" {
		out.AskedFor = "the last round in which the host was probed"
	}
	if row == nil {
		if q.asked != "" && len(known) > 0 {
			out.Detail = "The record has no row of this host in " + q.asked + "; it has rows of it in known_weeks."
		}
		return out
	}
	c := probe.Compare(row.reading(), live)
	out.Class, out.Detail, out.VerdictSame, out.BatterySame = c.Class, c.Detail, c.VerdictSame, c.BatterySame
	if row.URL != q.door {
		out.Detail += " The row is of another door of the host: " + row.URL + "."
	}
	out.FailedAdded, out.FailedCleared, out.BatteryRecorded = c.FailedAdded, c.FailedCleared, row.Battery
	out.Cite = &Citation{Cites: "one signed row of a weekly round", Host: q.host, Week: row.Week,
		Sequence:   row.Sequence,
		ObservedAt: row.ObservedAt,
		Digest:     row.Digest, RowSHA256: row.RowSHA256, Leaf: row.Leaf, Entry: row.EntryURL, Inclusion: row.Inclusion,
		License: row.License, How: "Name host, week, sequence and digest. The row carries its own signature and " +
			"hashes to row_sha256; inclusion_proof shows it at its leaf of the log; the digest of its round stands " +
			"in the chain at " + q.base + "/corpus.json."}
	return out
}

func headline(now LookNow, held HostHistory) string {
	said := "Now " + string(now.Verdict) + " under " + now.Battery
	switch {
	case held.NeverMet:
		return said + "; never met in a round."
	case held.Tier != nil:
		return said + "; on record " + held.Tier.Line + "."
	}
	return fmt.Sprintf("%s; probed in %d of %d rounds since it was first seen.", said, held.RoundsProbed,
		held.RoundsSinceFirst)
}
