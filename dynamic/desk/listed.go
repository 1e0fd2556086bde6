package desk

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
)

// The words of ListWord.Agreement.
const (
	ListAgrees    = "agrees"     // it names this door, and what it states of it is what the door asks now
	ListDiffers   = "differs"    // it names this door and states something else
	ListNotListed = "not_listed" // it was read for the week and does not name this door
)

// maxLists bounds the lists of an answer.
const maxLists = 32

// CatalogAgreement is what each discovery list says of a door beside what the door asks now.
type CatalogAgreement struct {
	Week  string     `json:"week,omitzero"` // of the roster for which the lists were read last
	Lists []ListWord `json:"lists"`
	Note  string     `json:"note"`
}

// ListWord is one list's word about a door.
type ListWord struct {
	List      string `json:"list"`
	Agreement string `json:"agreement"` // agrees, differs or not_listed
	NamedAt   string `json:"named_at,omitzero"`
	// Complete says that the list was read to its end: of one that was not, not_listed says little.
	Complete    bool             `json:"read_to_its_end"`
	Says        *ListSays        `json:"says"` // null where it does not name the door
	Differences []ListDifference `json:"differences"`
	OtherDoors  int64            `json:"other_doors_of_the_host"`
	Detail      string           `json:"detail"`
}

// ListSays is what a list states of the door. What it does not state is absent. Addresses stand
// there by digest.
type ListSays struct {
	URL      string         `json:"url"`
	Method   string         `json:"method,omitzero"`
	Networks []string       `json:"networks,omitzero"`
	Schemes  []string       `json:"schemes,omitzero"`
	MinUSDC  string         `json:"min_usdc,omitzero"`
	MaxUSDC  string         `json:"max_usdc,omitzero"`
	PayTo    []record.PayTo `json:"pay_to,omitzero"`
	Cut      bool           `json:"more_was_stated,omitzero"`
}

// ListDifference is one term of which a list says another thing than the door.
type ListDifference struct {
	Term string `json:"term"` // method, terms, networks, schemes, min_usdc, max_usdc or pay_to
	List string `json:"list"`
	Now  string `json:"now"`
}

// listed is what is known of the lists before the door is asked.
type listed struct {
	week    string
	sources []record.RosterSource // lists alone
	named   []census.Naming
	// record says that only the signed row is known, which holds the first list that named the host
	// and the door that was walked.
	record bool
}

// listings reads what the lists said when they were read last: for this week's roster if it stands,
// else for the newest round.
func (d *Desk) listings(ctx context.Context, host string) (listed, error) {
	week, sources, err := d.cfg.Record.Lists(ctx)
	if err != nil {
		return listed{}, err
	}
	out := listed{week: week}
	var why census.Why
	if d.cfg.Roster != nil {
		this := record.ISOWeek(time.Now().UTC())
		w, err := d.cfg.Roster.Week(ctx, this)
		if err != nil {
			return out, ledgerDown(err)
		}
		if w.Phase != census.PhaseNone && w.Phase != census.PhaseListed {
			out.week, sources = this, w.Sources
		}
		if out.week != "" {
			if why, err = d.cfg.Roster.Why(ctx, out.week, host); err != nil {
				return out, ledgerDown(err)
			}
		}
	}
	for _, s := range sources {
		if s.Kind == record.SourceDiscovery && len(out.sources) < maxLists {
			out.sources = append(out.sources, s)
		}
	}
	switch {
	case out.week != "" && why.Listed == out.week:
		out.named = why.Sources
	case out.week != "" && out.week == week:
		// The ledger may be younger than the record, and then the row is all there is.
		row, _, err := d.cfg.Record.Row(ctx, host, week)
		if err != nil {
			return out, err
		}
		if row != nil && row.Catalog != "" {
			out.record, out.named = true,
				[]census.Naming{{Name: row.Catalog, Kind: record.SourceDiscovery,
					Doors: []census.ListedDoor{{URL: row.URL}}}}
		}
	}
	return out, nil
}

// agreement sets what the lists said beside what the door asks now.
func (l listed) agreement(door string, report probe.Report) CatalogAgreement {
	out := CatalogAgreement{Week: l.week, Lists: []ListWord{},
		Note: "What a list says is from when it was read for the week's roster; what the door asks is from the probe " +
			"in this answer. Neither says which of them is right."}
	switch {
	case len(l.sources) == 0:
		out.Note = "No discovery list was read yet, so that there is nothing to compare with."
		return out
	case report.Fault == probe.FaultInstrument:
		out.Note = "The probe failed on the store's own side, so that nothing could be compared."
		return out
	case l.record:
		out.Note += " Of this host only the signed row is at hand: it holds the first list that named the host and " +
			"the door that was walked, and no terms. The other lists are left out."
	}
	for _, s := range l.sources {
		i := slices.IndexFunc(l.named, func(n census.Naming) bool { return n.Name == s.Name })
		if l.record && i < 0 {
			continue
		}
		word := ListWord{List: s.Name, Agreement: ListNotListed, Complete: s.Complete, Differences: []ListDifference{},
			Detail: "It does not name this host."}
		if i >= 0 {
			word.name(l.named[i], door, report)
		}
		out.Lists = append(out.Lists, word)
	}
	return out
}

// name sets down what a list says of a host that it names.
func (w *ListWord) name(n census.Naming, door string, report probe.Report) {
	if !n.At.IsZero() {
		w.NamedAt = n.At.UTC().Format(time.RFC3339)
	}
	w.OtherDoors = int64(len(n.Doors)) + n.DoorsLeftOut
	i := slices.IndexFunc(n.Doors, func(d census.ListedDoor) bool { return d.URL == door })
	if i < 0 {
		w.Detail = fmt.Sprintf("It names %d other doors of this host and not this one.", w.OtherDoors)
		if n.DoorsLeftOut > 0 {
			w.Detail = fmt.Sprintf("Of the %d doors of this host that it names %d are kept, and this one is not "+
				"among them.", w.OtherDoors, len(n.Doors))
		}
		return
	}
	w.OtherDoors--
	says := n.Doors[i]
	w.Says = &ListSays{URL: says.URL, Method: says.Method, Cut: says.Cut}
	if o := says.Offer; o != nil {
		w.Says.Networks, w.Says.Schemes, w.Says.MinUSDC, w.Says.MaxUSDC, w.Says.PayTo = o.Networks, o.Schemes,
			o.MinUSDC, o.MaxUSDC, o.PayTo
	}
	w.Differences = differences(says, report)
	if w.Agreement, w.Detail = ListAgrees, "What it states of this door is what the door asks now."; says.Offer == nil {
		w.Detail = "It names this door and states no terms that could be read."
	}
	if len(w.Differences) > 0 {
		var terms []string
		for _, d := range w.Differences {
			terms = append(terms, d.Term)
		}
		w.Agreement, w.Detail = ListDiffers, "It says another thing than the door of: "+strings.Join(terms, ", ")+"."
	}
}

// differences compares what a list states with what the door asks, term by term. What it does not
// state is no difference.
func differences(says census.ListedDoor, report probe.Report) []ListDifference {
	out := []ListDifference{}
	differ := func(term, list, now string) {
		if list != "" && list != now {
			out = append(out, ListDifference{term, list, cmp.Or(now, "none")})
		}
	}
	if used := report.ProbeMethod.Used; used != "" {
		differ("method", says.Method, used)
	}
	o := says.Offer
	if o == nil {
		return out
	}
	now, _ := rejudge.OfferOf(report.Terms)
	if now == nil {
		differ("terms", "stated", "none that could be read; the door is "+strings.ReplaceAll(string(report.Verdict),
			"_", " "))
		return out
	}
	if !says.Cut {
		differ("networks", strings.Join(o.Networks, ", "), strings.Join(now.Networks, ", "))
		differ("schemes", strings.Join(o.Schemes, ", "), strings.Join(now.Schemes, ", "))
		differ("pay_to", digests(o.PayTo), digests(now.PayTo))
	}
	differ("min_usdc", o.MinUSDC, now.MinUSDC)
	differ("max_usdc", o.MaxUSDC, now.MaxUSDC)
	return out
}

// digests lists addresses in an order of their own.
func digests(list []record.PayTo) string {
	var all []string
	for _, p := range list {
		all = append(all, p.Network+" "+p.Digest)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
