package desk

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"store.example/agentstore/corpus/accounts"
	"store.example/agentstore/corpus/botauth"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"

	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
)

// URLRequest is the body of the instruments that read one address.
type URLRequest struct {
	URL string `json:"url" jsonschema:"https URL that a buyer would request expecting a 402; at most 2048 characters"`
}

// Preflight is a report as it is served: with its budget, and with what the next step is.
type Preflight struct {
	probe.Report
	Conflict  string     `json:"our_conflict_of_interest"`
	Identity  string     `json:"store_identity"` // whose signature the probe carried
	Shared    bool       `json:"shared"`         // somebody else had asked for the same URL within seconds
	Private   bool       `json:"private,omitzero"`
	RateLimit *RateLimit `json:"rate_limit,omitzero"`
}

const conflictNote = "This store sells goods, some of them readings of doors. It earns nothing by a verdict, and the " +
	"battery is public: GET /criteria."

// codeSpent is the problem of a budget that is spent.
const codeSpent = "budget_spent"

// look is one walk and what was made of it.
type look struct {
	report    probe.Report
	recording fetch.Recording
	checker   *probe.Preflight // that made the report
}

// walk looks at a door under a battery, or judges what somebody else's look at the same URL
// recorded within seconds, under whichever battery that was. url is in the client's form.
func (d *Desk) walk(ctx context.Context, version, url string) (look, bool, error) {
	declared, err := d.declaration(ctx, url)
	if err != nil {
		return look{}, false, err
	}
	checker, err := probe.NewPreflight(version, url, declared)
	if err != nil {
		return look{}, false, err
	}
	checker.ReadsAccounts(accounts.Reader{}, d.cfg.Nodes.Networks()...)
	live := func(ctx context.Context) (look, error) { return d.walkLive(ctx, checker, url) }
	l, shared, err := d.looks.do(ctx, url, live)
	if err != nil || l.report.Version == version {
		return l, shared, err
	}
	recorded := l.recording.Exchanges[:min(len(l.recording.Exchanges), checker.MaxRequests())]
	report, next, err := checker.Step(recorded)
	if err != nil {
		return look{}, false, err
	}
	if next != nil { // this battery asks for one request more than the other one made
		return d.looks.do(ctx, version+" "+url, live)
	}
	l.report, l.recording.Exchanges, l.checker = report, recorded, checker
	return l, true, nil
}

// declaration is how a door says that it is asked: in the file that its host declared here, or as
// the census observed it last. Without it a door that takes POST alone would be called broken here
// and ready in the record.
func (d *Desk) declaration(ctx context.Context, raw string) (probe.Declaration, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return probe.Declaration{}, err
	}
	var host *feed.Declared
	if err := d.cfg.DB.View(ctx,
		func(tx ledger.Tx) (err error) { host, err = feed.HostDeclared(tx, u.Hostname()); return err }); err != nil {
		return probe.Declaration{}, ledgerDown(err)
	}
	if host != nil && len(host.Methods) == len(host.Doors) {
		for i, door := range host.Doors {
			if door == raw {
				return probe.Declaration{Method: host.Methods[i], By: "well-known"}, nil
			}
		}
	}
	return d.cfg.Record.Declared(ctx, u.Hostname(), raw)
}

// walkLive makes the requests, in turn with other walks.
func (d *Desk) walkLive(ctx context.Context, checker *probe.Preflight, url string) (look, error) {
	report, recording, err := read(d, ctx, checker, fetch.WalkStart{URL: url, Time: d.lookTime, Nodes: d.cfg.Nodes})
	if err != nil {
		return look{}, err
	}
	if d.cfg.Keep != nil {
		if err := d.cfg.Keep.Put(url, report, recording); err != nil {
			d.cfg.Log.Error("recording not kept", "err", err)
		}
	}
	return look{report, recording, checker}, nil
}

// turn is how much longer a walk may take with the wait for its turn. With the default it is less
// than a handler's time.
const turn = 30 * time.Second

var errBusy = errors.New("no turn to walk within the time")

// admit judges the spelling of a URL, spends a use of the budget and looks the name up. Without a
// use nobody is asked for a name, and what is refused for its name has its use given back. It
// returns the URL in the client's form.
func (d *Desk) admit(w http.ResponseWriter, r *http.Request, raw, budget string) (string, *RateLimit, error) {
	url, err := d.door(raw)
	if err != nil {
		return "", nil, err
	}
	rl, err := d.take(w, r, budget)
	if err != nil {
		return "", nil, err
	}
	if err := d.lookup(r.Context(), url); err != nil {
		d.giveBack(w, r, rl)
		return "", nil, err
	}
	return url, rl, nil
}

// lookup asks the name service: a name that leads inwards is refused like an address. A name that
// cannot be looked up is a finding of the walk.
func (d *Desk) lookup(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	refusal, ok := errors.AsType[*problem.Error](refused(d.cfg.Client.Check(ctx, url, fetch.Rule{})))
	if !ok {
		return nil
	}
	return refusal
}

const lookupTime = 2 * time.Second

// failed turns the error of a walk into an answer.
func failed(err error) error {
	if errors.Is(err, errBusy) {
		return &problem.Error{Code: "request_timeout", Status: http.StatusServiceUnavailable, Retry: 10 * time.Second,
			Detail: "So many doors are being walked that yours had no turn. Nothing was read. Try again shortly."}
	}
	return refused(err)
}

// served makes the answer of a look.
func (d *Desk) served(l look, shared bool, rl *RateLimit) Preflight {
	return Preflight{Report: l.report, Conflict: conflictNote, Identity: d.cfg.BaseURL + botauth.Path, Shared: shared,
		Private: l.recording.Private, RateLimit: rl}
}

// preflight answers for one battery.
func (d *Desk) preflight(version string) route.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		in, err := readBody[URLRequest](r)
		if err != nil {
			return err
		}
		url, rl, err := d.admit(w, r, in.URL, BudgetPreflight)
		if err != nil {
			return err
		}
		l, shared, err := d.walk(r.Context(), version, url)
		if err != nil {
			return d.unread(w, r, rl, err)
		}
		return route.JSON(w, d.served(l, shared, rl))
	}
}
