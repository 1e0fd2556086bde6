package desk

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/stockclient"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/templates"
)

// tryLimit bounds the form: one URL, every byte of it escaped.
const tryLimit = 16 << 10

// try answers the form of the page /try: the same reading as preflight, as a page for people, in
// Markdown or as JSON. A refusal is a page too for who asks for one, with the status that an agent
// would get.
func (d *Desk) try(w http.ResponseWriter, r *http.Request) error {
	raw, battery, err := readForm(r)
	p := Preflight{}
	if err == nil {
		p, err = d.tryOne(w, r, raw, battery)
	}
	w.Header().Set("Vary", "Accept, Accept-Encoding, User-Agent")
	accept := strings.Join(r.Header.Values("Accept"), ",")
	mediaType := wanted(accept)
	if mediaType == api.JSON || err != nil && !strings.Contains(accept, "text/") {
		if err != nil {
			return err
		}
		return route.JSON(w, p)
	}
	status := http.StatusOK
	v := templates.TryView{Chrome: d.cfg.Chrome(), Page: templates.Page{Title: "A check", Path: "/try",
		NoIndex: true}, Asked: shownURL(raw), Battery: battery}
	for _, p := range practice.Shown() {
		v.Examples = append(v.Examples, templates.Pointer{Text: p.Title, Href: d.cfg.BaseURL + practicePath + p.ID,
			Note: p.Teaches})
	}
	if e, refused := errors.AsType[*problem.Error](err); refused {
		row, _ := problem.Lookup(e.Code)
		status = row.Status
		if e.Status != 0 {
			status = e.Status
		}
		if e.Retry > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(e.Retry/time.Second)))
		}
		v.Page.Title, v.Refusal = "Not checked", &templates.Refusal{Code: e.Code, Title: row.Title, Status: status,
			Says: e.Detail}
	} else if err != nil {
		return err
	} else {
		v.Reading = readingView(p)
		v.Page.Title = "A check of " + v.Reading.Host
	}
	render := templates.HTML
	if mediaType == api.Markdown {
		render = templates.Markdown
	}
	b, err := render(&v)
	if err != nil {
		return err
	}
	return route.Send(w, status, mediaType, b)
}

func (d *Desk) tryOne(w http.ResponseWriter, r *http.Request, raw, battery string) (Preflight, error) {
	if id, own := strings.CutPrefix(raw, d.cfg.BaseURL+practicePath); own {
		if p, ok := practice.Find(id); ok {
			rl, err := d.take(w, r, BudgetPreflight)
			if err != nil {
				return Preflight{}, err
			}
			l, err := practised(battery, raw, p)
			return d.served(l, false, rl), err
		}
	}
	door, rl, err := d.admit(w, r, raw, BudgetPreflight)
	if err != nil {
		return Preflight{}, err
	}
	l, shared, err := d.walk(r.Context(), battery, door)
	if err != nil {
		return Preflight{}, d.unread(w, r, rl, err)
	}
	return d.served(l, shared, rl), nil
}

// practised is a look at a practice door of this store's own: what it answers is known, so that it
// is judged as any other and nobody is asked. Nothing else of this store is read by itself.
func practised(battery, at string, p practice.Door) (look, error) {
	checker, err := probe.NewPreflight(battery, at, probe.Declaration{})
	if err != nil {
		return look{}, err
	}
	a := p.Answer(at)
	x := exchange.Exchange{Request: exchange.Request{Method: http.MethodGet, URL: at}, StartedAt: time.Now().UTC(),
		Response: exchange.Response{Status: a.Status, Proto: "HTTP/2.0", Header: a.Header, Body: a.Body}}
	recorded := []exchange.Exchange{x}
	report, next, err := checker.Step(recorded)
	for err == nil && next != nil && len(recorded) < checker.MaxRequests() {
		x.Request = next.Request
		recorded = append(recorded, x)
		report, next, err = checker.Step(recorded)
	}
	return look{report: report, checker: checker}, err
}

// readForm reads the two fields of the form. A person may leave out https://.
func readForm(r *http.Request) (raw, battery string, err error) {
	b, err := route.ReadBody(r)
	if err != nil {
		return "", probe.Current(), err
	}
	form, err := url.ParseQuery(string(b))
	if err != nil {
		return "", probe.Current(),
			&problem.Error{Code: "url_missing", Detail: "Nothing was read: the form is not well-formed."}
	}
	battery = form.Get("battery")
	if !slices.Contains(probe.Versions(), battery) {
		battery = probe.Current()
	}
	raw = strings.TrimSpace(form.Get("url"))
	if raw != "" && !strings.Contains(raw, "://") && strings.Contains(raw, ".") {
		raw = "https://" + raw
	}
	return raw, battery, nil
}

// forms are those in which /try answers, the first where nothing else is wanted.
var forms = []string{"text/html", "text/markdown", api.JSON}

// wanted picks the form by an Accept field, a page where the field refuses all.
func wanted(accept string) string {
	switch route.Negotiate(accept, forms) {
	case 1:
		return api.Markdown
	case 2:
		return api.JSON
	}
	return api.HTML
}

// readingView turns a report into what its page shows.
func readingView(p Preflight) *templates.Reading {
	host := p.URL
	if u, err := url.Parse(p.URL); err == nil {
		host = u.Hostname()
	}
	v := &templates.Reading{
		URL: p.URL, Host: host, Verdict: verdictWords(p.Verdict), Mark: verdictMark(p.Verdict), Battery: p.Version,
		Level: p.ReachedLevel, LevelMeaning: p.ReachedLevelMeaning, Fault: string(p.Fault),
		ObservedAt: p.Evidence.ObservedAt, AlsoUnder: fmt.Sprintf("%s under battery %s",
			verdictWords(p.AlsoUnder.Verdict), p.AlsoUnder.Version), Difference: p.AlsoUnder.Difference,
		Method: strings.Join(p.ProbeMethod.Attempted, ", then "), Protocols: strings.Join(p.ProtocolsSpoken, ", "),
		Note: p.SingleProbeNote, Cannot: p.CannotTell, Next: p.NextSteps, Digest: p.Evidence.Digest, Private: p.Private,
		Stakes: stakeFacts(p.Stakes),
	}
	for _, c := range p.ChecksVector {
		line := templates.CheckLine{Name: c.Name, State: "passed", Mark: "good", Detail: c.Detail}
		switch {
		case c.State == probe.Fail:
			line.State, line.Mark = "failed", "bad"
		case c.BlockedBy == probe.BlockedNotJudged:
			line.State, line.Mark = "not judged", "unknown"
		case c.State == probe.NotReached && c.BlockedBy != "":
			line.State, line.Mark, line.Detail = "not reached", "unknown", "because "+c.BlockedBy+" failed"
		case c.State == probe.NotReached:
			line.State, line.Mark = "not asked", "unknown"
		}
		if c.State == probe.Pass {
			v.Passed++
		}
		if c.State != probe.NotReached {
			v.Asked++
		}
		v.Checks = append(v.Checks, line)
	}
	for _, a := range p.Advisories {
		v.Advisories = append(v.Advisories, templates.Fact{Name: a.Name, Value: a.Detail})
	}
	for _, m := range p.Remediation {
		v.Remedies = append(v.Remedies, templates.Fact{Name: m.Check, Value: m.Fix})
	}
	status := "No response"
	if p.Evidence.Status != 0 {
		status = fmt.Sprintf("HTTP %d", p.Evidence.Status)
	}
	v.Evidence = templates.EvidenceView{Status: status, SHA256: p.Evidence.BodySHA256, Bytes: p.Evidence.BodyBytes}
	for _, h := range p.Evidence.Headers {
		v.Evidence.Headers = append(v.Evidence.Headers, templates.Fact{Name: h.Name, Value: h.Value})
	}
	if c := p.Evidence.Challenge; c != nil {
		v.Evidence.Raw, v.Evidence.RawIs = string(c.Value), "The terms that were judged, from the "+string(c.From)
	}
	return v
}

// stakeFacts are what vouchers and holds put at risk, an entry a line.
func stakeFacts(all []stockclient.Stake) (facts []templates.Fact) {
	for _, s := range all {
		facts = append(facts, templates.Fact{Name: fmt.Sprintf("accepts[%d], %s", s.Index, s.Scheme),
			Value: s.Says()})
	}
	return facts
}

func verdictMark(v probe.Verdict) string {
	switch v {
	case probe.Ready:
		return "good"
	case probe.NotReady, probe.Unreachable:
		return "bad"
	}
	return "unknown"
}

func (d *Desk) tryRow() route.Row {
	return instrument(api.Route{
		Name: "try_door", Method: http.MethodPost, Pattern: "/try", Serve: api.Metered, Budget: BudgetPreflight,
		Summary: "The reading of a door, as a page",
		Description: "What the form of /try posts: `url`, and perhaps `battery`. The same reading as POST " +
			"/api/preflight/v2 as a page, in Markdown or as JSON, by Accept.",
		Body: &api.Body{ContentType: "application/x-www-form-urlencoded", Limit: tryLimit,
			Description: "url=https%3A%2F%2F…&battery=v2"},
		Responses: append([]api.Response{
			{Status: http.StatusOK, ContentType: api.HTML, Description: "The report, for people"},
			{Status: http.StatusOK, ContentType: api.Markdown, Description: "The report in Markdown"},
			{Status: http.StatusOK, ContentType: api.JSON, Schema: api.SchemaFor[Preflight](),
				Description: "The report"},
		}, route.Problems(meteredProblems...)...),
	}, d.try)
}

// shownURL repeats what was asked for, no longer than a URL may be.
func shownURL(raw string) string {
	if s := []rune(raw); len(s) > maxURL {
		return string(s[:maxURL])
	}
	return raw
}
