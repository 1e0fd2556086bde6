package desk

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"store.example/agentstore/corpus/agentcard"
	"store.example/agentstore/corpus/botauth"
	"store.example/agentstore/corpus/declarations"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/pagecheck"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/stockclient"
	"store.example/agentstore/dynamic/goods"
)

// The time of each reading beside the door's own: all of a service audit end before
// goods.ReadingTime.
const besideTime = 10 * time.Second

// cardPath is where A2A 0.3.0 has an agent's card (section 5.3).
const cardPath = "/.well-known/agent-card.json"

// soldAudit reads the door, and at its host the agent card, what it declares of its doors, and its
// front page.
func (d *Desk) soldAudit(ctx context.Context, a ask) (*goods.Reading, error) {
	l, _, err := d.soldProbe(ctx, a)
	if err != nil {
		return nil, err
	}
	card, rests, err := run(ctx, d, agentcard.Checker{URL: "https://" + a.host + cardPath}, fetch.WalkStart{
		URL: "https://" + a.host + cardPath, Time: besideTime, Kinds: []string{"get", "did", "key"}})
	if err != nil {
		return nil, err
	}
	said := []reported{l.reported(), carded(card, rests)}
	own, rests, err := run(ctx, d, declarations.Checker{Host: a.host}, fetch.WalkStart{
		URL: declarations.Start(a.host), Time: besideTime, Kinds: []string{"get"}})
	if err != nil {
		return nil, err
	}
	said = append(said, d.declares(own, a.host, rests))
	front, rests, err := run(ctx, d, pagecheck.Checker{URL: "https://" + a.host + "/"}, fetch.WalkStart{
		URL: "https://" + a.host + "/", Time: besideTime})
	if err != nil {
		return nil, err
	}
	return a.reading(append(said, paged(front, rests))...)
}

func carded(r agentcard.Report, rests []exchange.Exchange) reported {
	return reported{checker: "a2a/" + r.Version, verdict: string(r.Verdict), report: r, cannot: r.CannotTell,
		rests: rests}
}

func paged(r pagecheck.Report, rests []exchange.Exchange) reported {
	return reported{checker: "onpage/" + r.Version, verdict: string(r.Verdict), report: r, cannot: r.CannotTell,
		rests: rests}
}

// maxRepair bounds a repaired card in a report: its text has quotes, each of which takes a byte
// more there.
const maxRepair = 3 * agentcard.MaxRepaired / 2

// soldRepair judges an agent card and makes one of it that the official schema accepts. An origin
// alone means its well-known path.
func (d *Desk) soldRepair(ctx context.Context, a ask) (*goods.Reading, error) {
	u, err := url.Parse(a.url)
	if err != nil {
		return nil, err
	}
	if (u.Path == "" || u.Path == "/") && u.RawQuery == "" {
		u.Path = cardPath
	}
	report, rests, err := run(ctx, d, agentcard.Checker{URL: u.String()}, fetch.WalkStart{URL: u.String(),
		Kinds: []string{"get", "did", "key"}})
	if err != nil {
		return nil, err
	}
	card, ok := agentcard.NewRepair(rests[0].Response.Body, a.host)
	if !ok || len(strconv.Quote(card.Card)) > maxRepair-8<<10 {
		return nil, &goods.Unread{Code: goods.CodeNotRead, Sent: true,
			Detail: "The card is longer than what is repaired, which is 64 KiB."}
	}
	return a.reading(carded(report, rests), reported{checker: "a2a-repair/v1", verdict: "valid", limit: maxRepair,
		report: struct {
			agentcard.Repair
			ServeAt     string `json:"serve_at"`
			ContentType string `json:"content_type"`
		}{card, "https://" + a.host + cardPath, "application/json"},
		cannot: []string{"whether what stands in the repaired card is true: members that were missing are filled in " +
			"so that the schema takes them, and changed names each"}})
}

// declares is what a host says of its own doors, as a report has it.
func (d *Desk) declares(own declarations.Report, host string, rests []exchange.Exchange) reported {
	list := own.File.On(host, func(raw string) (string, error) { return d.cfg.Client.Parse(raw, fetch.Rule{}) })
	said := struct {
		Kind    string   `json:"kind"`
		Reason  string   `json:"reason,omitzero"`
		Via     string   `json:"via,omitzero"`
		URL     string   `json:"url,omitzero"`
		Shape   string   `json:"shape,omitzero"`
		Doors   []string `json:"doors"` // on its own host
		Foreign int64    `json:"foreign"`
	}{own.Kind, own.Reason, own.Via, own.URL, own.File.Shape, []string{}, list.Foreign}
	for _, door := range list.Doors {
		said.Doors = append(said.Doors, door.URL)
	}
	return reported{checker: "declaration/v1", verdict: own.Kind, report: said, rests: rests}
}

// soldPage judges a page.
func (d *Desk) soldPage(ctx context.Context, a ask) (*goods.Reading, error) {
	report, rests, err := run(ctx, d, pagecheck.Checker{URL: a.url}, fetch.WalkStart{URL: a.url})
	if err != nil {
		return nil, err
	}
	return a.reading(paged(report, rests))
}

// soldCard judges a signature directory or card. An origin alone means its well-known path.
func (d *Desk) soldCard(ctx context.Context, a ask) (*goods.Reading, error) {
	u, err := url.Parse(a.url)
	if err != nil {
		return nil, err
	}
	if (u.Path == "" || u.Path == "/") && u.RawQuery == "" {
		u.Path = botauth.Path
	}
	report, rests, err := run(ctx, d, botauth.Checker{URL: u.String()}, fetch.WalkStart{URL: u.String()})
	if err != nil {
		return nil, err
	}
	return a.reading(reported{checker: "bot-auth/" + report.Version, verdict: string(report.Verdict), report: report,
		cannot: report.CannotTell, rests: rests})
}

// soldBuyer looks at a door and replays a stock client there, as before-you-pay does. Its verdict
// is what the client would do.
func (d *Desk) soldBuyer(ctx context.Context, a ask) (*goods.Reading, error) {
	profile, err := soldProfile(a.inputs)
	if err != nil {
		return nil, err
	}
	l, _, err := d.soldProbe(ctx, a)
	if err != nil {
		return nil, err
	}
	rep, err := stockclient.Read(judged(l)).Judge(profile)
	if err != nil {
		return nil, err
	}
	warned(&rep.YourClient, l.report)
	return a.reading(reported{checker: "before-you-pay/v1", verdict: rep.YourClient.Outcome, report: rep,
		cannot: rep.YourClient.CannotSee}, l.reported())
}

// soldProfile is the client that the inputs describe.
func soldProfile(inputs map[string]string) (stockclient.Profile, error) {
	p := stockclient.Profile{SpendControlsDisabled: inputs["no_spend_controls"] == "true"}
	if raw := inputs["max_usd"]; raw != "" {
		usd, err := strconv.ParseFloat(raw, 64)
		if err != nil || usd < 0 {
			return p, &goods.BadInput{Field: "max_usd", Problem: "is no amount of dollars"}
		}
		p.MaxAmountPerPaymentUSD = &usd
	}
	return p, nil
}

// soldRefresh is a spot check that the record is told of, with what it was judged by, once it is
// paid for.
func (d *Desk) soldRefresh(ctx context.Context, a ask) (*goods.Reading, error) {
	l, checker, err := d.soldProbe(ctx, a)
	if err != nil {
		return nil, err
	}
	notKept := &goods.Unread{Code: goods.CodeNotRead, Sent: true,
		Detail: "What was answered cannot stand in the record, so there is no refresh to sell."}
	judgement, err := checker.Judgement(l.recording.Exchanges, probe.NewSalt())
	if err != nil {
		d.cfg.Log.Error("door not judged for the record", "err", err)
		return nil, notKept
	}
	o, err := rejudge.RefreshFrom(a.host, l.report, judgement)
	if err != nil || len(o.Judgement) > probe.MaxJudgement {
		return nil, notKept
	}
	r, err := a.reading(l.reported())
	if err == nil {
		r.Observation = &o
	}
	return r, err
}
