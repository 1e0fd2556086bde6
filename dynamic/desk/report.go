package desk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/dynamic/budget"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
)

// A reading gets an address only when it is asked for. What is kept is the published form of what
// the door answered, from which any battery judges again, without the query of the door's URL.

// BudgetReports limits the readings that are given an address.
const BudgetReports = "shared_reports"

// A kept report has at most MaxReport bytes, and the table of budgets grants at most reportsADay of
// them a day: together they hold less than a gibibyte in the month for which each is kept, and none
// has to make room for another.
const (
	MaxReport   = 64 << 10
	reportsADay = 500
	ReportsKept = 30 * 24 * time.Hour
)

// Kept says where a reading is kept, or why it is not; empty where nobody asked for it.
type Kept struct {
	ReportURL string `json:"report_url,omitzero"`
	KeptUntil string `json:"report_kept_until,omitzero"` // RFC 3339
	NotKept   string `json:"report_not_kept,omitzero"`   // the reading itself stands beside
}

// place is a use of the budget of kept reports; nil where no address was asked for.
type place struct {
	d    *Desk
	rd   budget.Reading
	done bool // the use is spent
}

// reserve takes a use for whoever wants an address, before anything is read: what could not be kept
// is not read for it either. free undoes it unless a report was kept.
func (d *Desk) reserve(r *http.Request, share bool) (*place, error) {
	if !share {
		return nil, nil
	}
	rd, err := d.cfg.Budgets.Spend(r.Context(), BudgetReports, route.Address(r))
	if err != nil {
		return nil, ledgerDown(err)
	}
	if !rd.Granted {
		whose := "for this client"
		if slices.ContainsFunc(rd.Counts, func(c budget.Count) bool {
			return c.Name == BudgetReports && c.Remaining == 0
		}) {
			whose = "for everybody together"
		}
		return nil, &problem.Error{Code: codeSpent, Retry: rd.Reset,
			Detail: "No more reports are kept " + whose + " today, and none is dropped to make room. Nothing was " +
				"read. Without share, or after the time in Retry-After, the door is read."}
	}
	return &place{d: d, rd: rd}, nil
}

func (p *place) free(r *http.Request) {
	if p == nil || p.done {
		return
	}
	if err := p.d.cfg.Budgets.GiveBack(context.WithoutCancel(r.Context()), p.rd); err != nil {
		p.d.cfg.Log.Error("use of a budget not given back", "budget", BudgetReports, "err", err)
	}
}

// keep gives a look an address. A look that cannot have one is answered like any other, and says
// why.
func (p *place) keep(ctx context.Context, l look) Kept {
	if p == nil {
		return Kept{}
	}
	kept, err := publishable(l)
	if why, ok := errors.AsType[notKept](err); ok {
		return Kept{NotKept: string(why)}
	}
	id, until := "", time.Time{}
	if err == nil {
		id, until, err = p.d.keepReport(ctx, kept)
	}
	if err != nil {
		p.d.cfg.Log.Error("report not kept", "err", err)
		return Kept{NotKept: "It could not be written down because of a fault here. Ask again shortly."}
	}
	p.done = true
	return Kept{ReportURL: p.d.cfg.BaseURL + "/r/" + id, KeptUntil: until.Format(time.RFC3339)}
}

// notKept is why a look has no address.
type notKept string

func (n notKept) Error() string { return "not kept: " + string(n) }

// publishable is a look as it is kept: judged from its published form alone, without the query of
// its URL, and with the same result as the caller was told.
func publishable(l look) (keptReport, error) {
	if l.recording.Private {
		return keptReport{}, notKept("It was read inside a private corpus, of which nothing is published.")
	}
	salt, err := probe.NewSalt(nil)
	if err != nil {
		return keptReport{}, err
	}
	j, err := l.checker.Judgement(l.recording.Exchanges, salt)
	if err != nil {
		return keptReport{}, notKept("Its evidence has no published form.")
	}
	j = withoutQuery(j)
	encoded, err := j.Encode()
	switch {
	case err != nil:
		return keptReport{}, notKept("Its evidence has no published form without the query of its URL.")
	case len(encoded) > MaxReport:
		return keptReport{}, notKept(fmt.Sprintf("Its evidence has %d bytes, and a report has at most %d.",
			len(encoded), MaxReport))
	}
	r, err := j.Judge()
	if err != nil {
		return keptReport{}, fmt.Errorf("judging what is kept: %w", err)
	}
	told, again := l.report.Reading(), r.Reading()
	if told.Verdict != again.Verdict || !slices.Equal(told.Failed, again.Failed) {
		return keptReport{}, notKept("Without the query of its URL, which is not kept, it would be another reading.")
	}
	if _, err := readable(r); err != nil {
		return keptReport{}, fmt.Errorf("showing what is kept: %w", err)
	}
	return keptReport{Told: told, Judgement: string(encoded)}, nil
}
