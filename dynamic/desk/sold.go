package desk

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/accounts"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/signable"

	"store.example/agentstore/corpus/declarations"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/screen"

	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
)

// What is sold are the readings of the free instruments, made for the buyer alone: the same
// checkers, client, budgets and private drawer. Sold is what goods know of them.

// Sold makes readings that are sold. It implements goods.Readings.
type Sold struct{ d *Desk }

// Sold is the desk as goods know it.
func (d *Desk) Sold() Sold { return Sold{d} }

// maxFinding bounds what one checker says in a report, in bytes: a report has at most four, and the
// evidence beside them.
const maxFinding = 48 << 10

// A sale is how one battery is read.
type sale struct {
	battery string
	budget  string
	// asks is how often its host is mostly asked at most: see Room.
	asks int
	// host says that a host may be named in place of a URL, only that it must.
	host, only bool
	asked      bool                                 // a host that opted out of the census is not read
	check      func(inputs map[string]string) error // of the other inputs; nil: there are none
	read       func(d *Desk, ctx context.Context, a ask) (*goods.Reading, error)
}

// sales is every battery that is sold.
var sales = []sale{
	{battery: content.KindSpot, budget: BudgetPreflight, asks: 4, host: true, asked: true,
		read: (*Desk).soldSpot},
	{battery: content.KindAudit, budget: BudgetPreflight, asks: 5, read: (*Desk).soldAudit},
	{battery: content.KindOnpage, budget: BudgetReadings, asks: 1, read: (*Desk).soldPage},
	{battery: content.KindBuyer, budget: BudgetPreflight, asks: 4, read: (*Desk).soldBuyer,
		check: func(inputs map[string]string) error { _, err := soldProfile(inputs); return err }},
	{battery: content.KindCard, budget: BudgetReadings, asks: 2, read: (*Desk).soldCard},
	{battery: content.KindRepair, budget: BudgetA2A, asks: 2, read: (*Desk).soldRepair},
	{battery: content.KindLaunch, budget: BudgetPreflight, asks: 4, host: true, asked: true,
		read: (*Desk).soldLaunch},
	{battery: content.KindRefresh, budget: BudgetPreflight, asks: 4, host: true, only: true, asked: true,
		read: (*Desk).soldRefresh},
}

// ask is what a buyer asks to have read.
type ask struct {
	target string // as the report names it
	host   string
	url    string // "" until the host's door is known
	inputs map[string]string
	// declared is how the host's own file says that the door is asked, where that named it.
	declared probe.Declaration
}

// parse brings an order into its one spelling. It sends nothing.
func (d *Desk) parse(battery string, inputs map[string]string) (sale, ask, error) {
	i := slices.IndexFunc(sales, func(s sale) bool { return s.battery == battery })
	if i < 0 || d.cfg.Client.Private() { // what is read in a private network is never published
		return sale{}, ask{}, &goods.Away{Item: battery}
	}
	s, a := sales[i], ask{inputs: inputs}
	raw, host := inputs["url"], inputs["host"]
	switch {
	case s.only && host == "":
		return s, a, &goods.BadInput{Field: "host", Problem: "is required"}
	case s.host && (raw == "") == (host == ""):
		return s, a, &goods.BadInput{Field: "url", Problem: "or host: name one of the two"}
	case !s.host && raw == "":
		return s, a, &goods.BadInput{Field: "url", Problem: "is required"}
	case host != "" && strings.ContainsAny(host, "/:?#@\\"):
		return s, a, &goods.BadInput{Field: "host", Problem: "is not a bare host name"}
	case host != "":
		raw = "https://" + host + "/"
	}
	if s.check != nil {
		if err := s.check(inputs); err != nil {
			return s, a, err
		}
	}
	canonical, err := d.door(raw)
	if err != nil {
		return s, a, unreadTarget(err)
	}
	u, err := url.Parse(canonical)
	if err != nil {
		return s, a, err
	}
	a.host, a.target = u.Hostname(), u.Hostname()
	if host == "" {
		a.url, a.target = canonical, canonical
	}
	return s, a, nil
}

// unreadTarget is a refusal of the instruments as goods say it.
func unreadTarget(err error) error {
	e, ok := errors.AsType[*problem.Error](err)
	switch {
	case errors.Is(err, errBusy):
		return &goods.Unread{Code: goods.CodeBudget, Until: time.Now().Add(turn),
			Detail: "So many doors are being read that this one had no turn. It was not begun."}
	case !ok:
		return err
	case e.Code == fetch.CodeTarget || e.Code == fetch.CodeOwnHost:
		return &goods.Unread{Code: e.Code, Detail: e.Detail}
	case e.Code == codeSpent:
		return &goods.Unread{Code: goods.CodeBudget, Until: time.Now().Add(e.Retry), Detail: e.Detail}
	case e.Code == fetch.CodeMissing || e.Code == fetch.CodeUnparseable:
		return &goods.BadInput{Field: "url", Problem: "is not a URL that can be read. " + e.Detail}
	}
	return err
}

// Target implements goods.Readings.
func (s Sold) Target(battery string, inputs map[string]string) (target, host string, err error) {
	_, a, err := s.d.parse(battery, inputs)
	return a.target, a.host, err
}

// Room implements goods.Readings.
func (s Sold) Room(tx ledger.Tx, battery, host string) error {
	i := slices.IndexFunc(sales, func(s sale) bool { return s.battery == battery })
	if i < 0 {
		return &goods.Away{Item: battery}
	}
	counted, err := hostOf("https://" + host + "/")
	if err != nil {
		return err
	}
	room, next, err := s.d.cfg.Budgets.Room(tx, BudgetHost, counted, sales[i].asks)
	if err != nil || room {
		return err
	}
	return &goods.Unread{Code: goods.CodeBudget, Until: next, Detail: "This host was asked as often in this minute " +
		"as one host is asked. It has not been read for this order."}
}

// Read implements goods.Readings.
func (s Sold) Read(ctx context.Context, battery string, inputs map[string]string) (*goods.Reading, error) {
	d := s.d
	row, a, err := d.parse(battery, inputs)
	if err != nil {
		return nil, err
	}
	ctx = context.WithValue(ctx, paidKey{}, &paidFor{})
	rd, err := d.cfg.Budgets.Spend(ctx, row.budget, "")
	if err != nil {
		return nil, err
	}
	if !rd.Granted {
		return nil, &goods.Unread{Code: goods.CodeBudget, Until: time.Now().Add(rd.Reset),
			Detail: "So much is being read at the moment that this had no place. It was not begun."}
	}
	if err := d.lookup(ctx, "https://"+a.host+"/"); err != nil {
		return nil, errors.Join(unreadTarget(err), d.cfg.Budgets.GiveBack(ctx, rd))
	}
	if row.asked {
		if err := d.mayRead(ctx, a.host); err != nil {
			return nil, err
		}
	}
	if a.url == "" {
		if a.url, a.declared, err = d.doorOf(ctx, a.host); err != nil {
			return nil, err
		}
	}
	r, err := row.read(d, ctx, a)
	if err != nil {
		return nil, unreadTarget(err)
	}
	if r.Evidence[0].Status == 0 && (d.cfg.Control == nil || !d.cfg.Control(ctx)) {
		return nil, &goods.Unread{Code: goods.CodeNotRead, Sent: true,
			Detail: "Nothing answered, and the store could not show that this is not its own side's fault."}
	}
	return r, nil
}

// MayRead demands that a host did not opt out in its own file, which is read.
func (s Sold) MayRead(ctx context.Context, host string) error { return s.d.mayRead(ctx, host) }

// mayRead demands that a host did not opt out in its own file.
func (d *Desk) mayRead(ctx context.Context, host string) error {
	x, err := d.cfg.Client.Do(ctx, exchange.Request{Method: http.MethodGet, URL: declarations.Start(host),
		Header: http.Header{"Accept": {"application/json"}}}, fetch.Rule{})
	if err != nil {
		return unreadTarget(refused(err))
	}
	if declarations.OptsOut(x) {
		return &goods.Unread{Code: goods.CodeOptedOut, Sent: true, Detail: "The host's own file " +
			declarations.FilePath +
			" says that it is not to be read."}
	}
	return nil
}

// doorOf is the door that stands for a host and how it is asked, where that is known: the one that
// the census walked last, else the first that the host's own file declares now, else the first
// that it declared here, else its front page.
func (d *Desk) doorOf(ctx context.Context, host string) (string, probe.Declaration, error) {
	var none probe.Declaration
	held, err := d.cfg.Record.Host(ctx, host)
	if err != nil {
		return "", none, err
	}
	if held.LastProbed != nil && held.LastProbed.URL != "" {
		return held.LastProbed.URL, none, nil
	}
	file, _, err := read(d, ctx, declarations.Checker{Host: host},
		fetch.WalkStart{URL: declarations.Start(host), Kinds: []string{"get"}})
	if err != nil {
		return "", none, unreadTarget(refused(err))
	}
	if own := d.ownDoors(file, host); len(own.Doors) > 0 {
		return own.Doors[0].URL, probe.Declaration{Method: own.Doors[0].Method, By: "well-known"}, nil
	}
	var declared *feed.Declared
	if err := d.cfg.DB.View(ctx, func(tx ledger.Tx) (err error) {
		declared, err = feed.HostDeclared(tx, host)
		return err
	}); err != nil {
		return "", none, err
	}
	if declared != nil && len(declared.Doors) > 0 {
		return declared.Doors[0], none, nil
	}
	return "https://" + host + "/", none, nil
}

// ownDoors are the doors on the host itself that its own file lists.
func (d *Desk) ownDoors(file declarations.Report, host string) declarations.Own {
	return file.File.On(host, func(raw string) (string, error) { return d.cfg.Client.Parse(raw, fetch.Rule{}) })
}

// reported is what one checker said, with what it rests on.
type reported struct {
	checker string
	verdict string
	report  any
	cannot  []string
	rests   []exchange.Exchange
	limit   int // of bytes; 0 is maxFinding
}

// reading makes the reading of what checkers said, the first of which has the verdict.
func (a ask) reading(said ...reported) (*goods.Reading, error) {
	r := &goods.Reading{Target: a.target, Host: a.host, Verdict: said[0].verdict}
	for _, s := range said {
		raw, err := signable.Of(s.report, cmp.Or(s.limit, maxFinding), screen.Text)
		if err != nil {
			return nil, fmt.Errorf("reporting %s: %w", s.checker, err)
		}
		r.Findings = append(r.Findings, attest.Finding{Checker: s.checker, Verdict: s.verdict, Report: raw})
		for _, line := range s.cannot {
			if !slices.Contains(r.Cannot, line) {
				r.Cannot = append(r.Cannot, line)
			}
		}
		for _, x := range s.rests {
			r.Evidence = append(r.Evidence, seen(x))
		}
	}
	r.ReadAt = r.Evidence[0].At // of the target; a file of its host may have been read minutes before
	r.Says = fmt.Sprintf("Read once, at %s: %s.", r.ReadAt, strings.ReplaceAll(r.Verdict, "_", " "))
	return r, nil
}

// maxSeenURL is how much of a URL stands in evidence.
const maxSeenURL = 2048

// seen is an answer as a report names it. head_sha256 is of its fields in lower case, sorted by
// name, each a line "name: value" that ends with a line feed.
func seen(x exchange.Exchange) attest.Seen {
	s := attest.Seen{Method: x.Request.Method, URL: screen.Text(x.Request.URL),
		At: x.StartedAt.UTC().Format(time.RFC3339), Status: x.Response.Status, Failed: x.Error.Stage}
	if len(s.URL) > maxSeenURL {
		s.URL = strings.ToValidUTF8(s.URL[:maxSeenURL], "") + "…"
	}
	if x.Response.Status == 0 {
		return s
	}
	head := sha256.New()
	for _, name := range slices.SortedFunc(maps.Keys(x.Response.Header), func(a, b string) int {
		return cmp.Compare(strings.ToLower(a), strings.ToLower(b))
	}) {
		for _, value := range x.Response.Header[name] {
			fmt.Fprintf(head, "%s: %s\n", strings.ToLower(name), value)
		}
	}
	s.HeadSHA256 = attest.Digest(head.Sum(nil)).String()
	s.BodySHA256 = attest.Digest(sha256.Sum256(x.Response.Body)).String()
	s.BodyBytes = len(x.Response.Body)
	return s
}

// soldProbe looks at a door under the battery in force. What says nothing of the door is not sold.
func (d *Desk) soldProbe(ctx context.Context, a ask) (look, *probe.Preflight, error) {
	declared := a.declared
	if declared.Method == "" {
		var err error
		if declared, err = d.declaration(ctx, a.url); err != nil {
			return look{}, nil, err
		}
	}
	checker, err := probe.NewPreflight(probe.Current(), a.url, declared)
	if err != nil {
		return look{}, nil, err
	}
	checker.ReadsAccounts(accounts.Reader{}, d.cfg.Nodes.Networks()...)
	l, err := d.walkLive(ctx, checker, a.url)
	if err != nil {
		return l, checker, refused(err)
	}
	if l.report.Verdict == probe.NotProbed || l.report.Fault == probe.FaultInstrument {
		return l, checker, &goods.Unread{Code: goods.CodeNotRead, Sent: true,
			Detail: "Something in front of the door answered in its place, so the door could not be judged."}
	}
	return l, checker, nil
}

func (l look) reported() reported {
	return reported{checker: "preflight/" + l.report.Version, verdict: string(l.report.Verdict), report: l.report,
		cannot: l.report.CannotTell, rests: l.recording.Exchanges}
}

// soldSpot runs the battery once.
func (d *Desk) soldSpot(ctx context.Context, a ask) (*goods.Reading, error) {
	l, _, err := d.soldProbe(ctx, a)
	if err != nil {
		return nil, err
	}
	return a.reading(l.reported())
}

// run reads with a checker.
func run[R any](ctx context.Context, d *Desk, c probe.Checker[R], from fetch.WalkStart) (R, []exchange.Exchange,
	error) {
	report, recording, err := read(d, ctx, c, from)
	return report, recording.Exchanges, refused(err)
}
