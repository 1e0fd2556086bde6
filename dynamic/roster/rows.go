package roster

import (
	"context"
	"encoding/json/v2"
	"net/http"
	"strings"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
)

// Reasons answers why a host is walked or not. It may be used by many goroutines at once.
type Reasons struct {
	Store   *Store
	BaseURL string // without a slash at its end
	Now     func() time.Time
	// Record finds a host's last row in the signed record and when the round of it was taken, RFC
	// 3339: what the ledger does not know of a host, because the record is older than the ledger or
	// was brought here, the record does. Nil for a store without a record.
	Record func(host string) (row record.Row, takenAt string, ok bool, err error)
	// Refused says why the census never asks at a host, whoever names it: an address, the store
	// itself, what is no name. It returns "" for every other.
	Refused func(host string) string
	// Hourly says that this store fires the census at every full hour by itself.
	Hourly bool
}

// StateNeverWalked is a host that nobody named and that would not be walked if somebody did.
const StateNeverWalked = "never_walked"

// Answer is the body of /api/why/{host}.
type Answer struct {
	Version     string   `json:"version"` // v1
	Host        string   `json:"host"`
	Week        string   `json:"week"`  // the ISO week that it is now
	Known       bool     `json:"known"` // by name: some source named it at some time
	Sources     []Source `json:"sources"`
	ThisWeek    ThisWeek `json:"this_week"`
	LastRow     *LastRow `json:"last_row"`
	NextDue     string   `json:"next_due,omitzero"` // RFC 3339: from then on it is walked
	HowToWalked []string `json:"how_to_be_walked"`
	// PassedOn is what a door of the host passed on of what its facilitator said, at the newest
	// launch check with any; absent for nothing.
	PassedOn *PassedOn `json:"facilitator_said,omitzero"`
}

// PassedOn is what a door passed on of its facilitator's words.
type PassedOn struct {
	At    string      `json:"at"`
	Door  string      `json:"door"`
	Words []feed.Word `json:"words"`
	Note  string      `json:"note"`
}

// Source is one source's word about a host.
type Source struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`     // discovery, declared, well-known or revisit
	NamedAt string `json:"named_at"` // RFC 3339; the end of the round at the latest, where only the record knows
	URL     string `json:"url,omitzero"`
}

// ThisWeek says how far the host is in the week's round.
type ThisWeek struct {
	State    string `json:"state"` // census.State… or StateNeverWalked
	Meaning  string `json:"meaning"`
	Reason   string `json:"reason,omitzero"`
	WalkedAt string `json:"walked_at,omitzero"` // RFC 3339
}

// LastRow is the host's last row in the signed record.
type LastRow struct {
	Sequence int64  `json:"sequence"`
	Week     string `json:"week"`
	Verdict  string `json:"verdict"`
	Reason   string `json:"reason,omitzero"` // why it was not probed or not reached
	EntryURL string `json:"entry_url"`       // of the round
	RowsURL  string `json:"rows_url"`        // of all that the record has of the host
}

// meanings say each state in words.
var meanings = map[string]string{
	census.StateDue: "It is on this week's roster and was not walked yet.",
	census.StateWalking: "It is being walked, or the process that walked it was interrupted: then this week's " +
		"row will say so, and it is not walked again this week.",
	census.StateWalked:      "It was walked this week. The row is in this week's round once that is sealed.",
	census.StateNotWalked:   "It has a row this week that says why it was not probed.",
	census.StateNotOnRoster: "It is known by name and has no place on this week's roster.",
	census.StateDeclared: "It declared itself since this week's roster was read, and is put onto it and walked " +
		"when the census is fired by the hour.",
	census.StateOverQuota: "It declared itself, and this week's quota for hosts that no list names is used up: at " +
		"most 20 of a registrable domain, and a part of the roster for all of them.",
	census.StateNoRosterYet: "This week's sources were not read yet.",
	census.StateNeverNamed:  "No source ever named it.",
	StateNeverWalked:        "The census never asks there, whoever names it.",
}

// meaning says a state in words, with when this store's next walk is.
func (d *Reasons) meaning(state string) string {
	switch {
	case state == census.StateDeclared && d.Hourly:
		return meanings[state] + " That is the next hourly firing."
	case state == census.StateDeclared:
		return meanings[state] + " Hourly firings come when the keeper makes them; without one before the round is " +
			"sealed it is on the roster of the week after."
	case state == census.StateNoRosterYet && d.Hourly:
		return meanings[state] + " The next hourly firing reads them and walks."
	}
	return meanings[state]
}

var howToBeWalked = []string{
	"Serve your doors at /.well-known/x402 on the host itself and POST {\"host\": …} to /api/declare-door: a " +
		"declared host comes onto the roster within its quota.",
	"Or be listed by a discovery API that the rounds name under roster.sources.",
	"One door of a host is walked a week: the first that it declared, else the one a source names.",
}

// Rows are the routes that say why.
func (d *Reasons) Rows() []route.Row {
	return []route.Row{{
		Name: "why", Method: http.MethodGet, Pattern: "/api/why/{host}", Tag: "observatory",
		Serve: api.Ledger, Summary: "Why the weekly census walks a host, or does not",
		Description: "Which source named the host and when, how far it is this week, what stopped the walk, when " +
			"it is next due, how it comes to be walked, and what a door of it passed on of its facilitator's words " +
			"at the newest launch check. A host that nobody named is a 200 that says so. " +
			"Asking contacts nobody.",
		Params: []api.Param{{Name: "host", In: api.Path, Type: "string", Required: true, MinLength: 1,
			MaxLength: 253, Pattern: "^[A-Za-z0-9._-]+$",
			Description: "host name, in ASCII"}},
		Responses: []api.Response{
			{Status: http.StatusOK, ContentType: api.JSON, Schema: api.SchemaFor[Answer](),
				Description: "What is known"},
			{Status: http.StatusNotFound, ContentType: problem.ContentType, Description: "No host name"},
		},
		Handle: d.why,
	}}
}

// passedOn is what a door of a host passed on at the newest launch check with any, nil for nothing.
func (s *Store) passedOn(ctx context.Context, host string) (out *PassedOn, err error) {
	err = s.view(ctx, func(tx ledger.Tx) error {
		p, err := feed.PassedBy(tx, host)
		if p != nil {
			out = &PassedOn{At: p.At.UTC().Format(time.RFC3339), Door: p.Door, Words: p.Words, Note: "The door's " +
				"word for what its facilitator said: this store asked no facilitator, and nothing here is verified."}
		}
		return err
	})
	return out, err
}

func (d *Reasons) refused(host string) string {
	if d.Refused == nil {
		return ""
	}
	return d.Refused(host)
}

func (d *Reasons) why(w http.ResponseWriter, r *http.Request) error {
	host := strings.TrimSuffix(strings.ToLower(route.Inputs(r).String("host")), ".")
	now := d.Now().UTC().Truncate(time.Second)
	known, err := d.Store.Why(r.Context(), record.ISOWeek(now), host)
	if err != nil {
		return err
	}
	said, err := d.Store.passedOn(r.Context(), host)
	if err != nil {
		return err
	}
	if err := d.fromRecord(r.Context(), &known); err != nil {
		return err
	}
	out := Answer{Version: "v1", Host: host, Week: known.Week, Known: known.Known, Sources: []Source{},
		HowToWalked: howToBeWalked, PassedOn: said,
		ThisWeek: ThisWeek{State: known.ThisWeek.State, Meaning: d.meaning(known.ThisWeek.State),
			Reason: known.ThisWeek.Reason, WalkedAt: known.ThisWeek.WalkedAt}}
	for _, s := range known.Sources {
		out.Sources = append(out.Sources, Source{Name: s.Name, Kind: s.Kind, NamedAt: s.At.UTC().Format(time.RFC3339),
			URL: s.URL})
	}
	if l := known.LastRow; l != nil {
		out.LastRow = &LastRow{Sequence: l.Sequence, Week: l.Week, Verdict: l.Verdict, Reason: l.Reason,
			EntryURL: d.BaseURL + derive.RoundPath(l.Sequence),
			RowsURL:  d.BaseURL + derive.HostPath(host) + ".json"}
	}
	if reason := d.refused(host); reason != "" && !known.Known {
		out.ThisWeek, out.HowToWalked = ThisWeek{State: StateNeverWalked, Meaning: meanings[StateNeverWalked],
			Reason: reason}, []string{}
	}
	if due := d.nextDue(known, now); !due.IsZero() {
		out.NextDue = due.Format(time.RFC3339)
	}
	b, err := json.Marshal(out, json.Deterministic(true))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", api.JSON)
	w.Header().Set("Cache-Control", "no-store")
	if r.Method != http.MethodHead {
		_, _ = w.Write(b) // the client went away: nobody is left to tell
	}
	return nil
}
