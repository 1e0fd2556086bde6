package desk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/dynamic/budget"
	"store.example/agentstore/dynamic/problem"
)

// BudgetHost limits how often one host is asked for something, whoever wants it: a stranger's
// server is no instrument of those who have us ask. What is counted is what visitors and buyers can
// cause: instruments, readings that are sold, phantom checks and callbacks. The census is not: it
// asks a host once a week in turns of its own, and a refusal there would be a gap in the record
// that a stranger could cause.
const BudgetHost = "host"

// HostKept is how much of a host's limit is kept for what was paid for, so that nobody who looks
// for nothing can keep a host from being read for money: one reading has room in it.
func HostKept(limit int) int { return limit / 2 }

// paidKey marks the context of a reading that is sold, with a *paidFor.
type paidKey struct{}

// paidFor is what one reading that is sold asked so far: what two of its parts want to have read is
// asked for once.
type paidFor struct{ read []exchange.Exchange }

func (p *paidFor) again(req exchange.Request) (exchange.Exchange, bool) {
	for _, x := range p.read {
		if req.Method == http.MethodGet && x.Request.Method == req.Method && x.Request.URL == req.URL &&
			x.Request.Header.Get("Accept") == req.Header.Get("Accept") && x.Response.Status != 0 {
			return x, true
		}
	}
	return exchange.Exchange{}, false
}

// SpendHost takes one request to the host of a URL that was paid for.
func SpendHost(ctx context.Context, budgets *budget.Set, url string) (granted bool, reset time.Duration, err error) {
	host, err := hostOf(url)
	if err != nil {
		return false, 0, err
	}
	rd, err := budgets.SpendKept(ctx, BudgetHost, host)
	return rd.Granted, rd.Reset, err
}

// hostOf is the name by which the host of a URL is counted.
func hostOf(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", err
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	return host[:min(len(host), maxHost)], nil
}

// limited is a client that asks no host more often than BudgetHost allows, exactly over all
// replicas. Where that is spent, a request fails with hostSpent, and with it the walk that it is
// part of: half a walk is no reading.
type limited struct {
	Client
	budgets *budget.Set
}

// maxHost is the most bytes by which a host is told from others: no name that resolves has more.
const maxHost = 253

// hostSpent says that a host was asked as often as it may be for now. Nothing is known of it.
type hostSpent struct {
	host  string
	quota int
	reset time.Duration
}

func (e *hostSpent) Error() string { return e.host + " was asked as often as one host is asked" }

// Do spends a use for each request that the guard lets pass by its URL.
func (c *limited) Do(ctx context.Context, req exchange.Request, rule fetch.Rule) (exchange.Exchange, error) {
	host, err := hostOf(req.URL)
	if _, refused := c.Parse(req.URL, rule); refused != nil || err != nil {
		return c.Client.Do(ctx, req, rule) // which says why and sends nothing
	}
	spend := c.budgets.Spend
	paid, _ := ctx.Value(paidKey{}).(*paidFor)
	if paid != nil {
		if x, known := paid.again(req); known {
			return x, nil
		}
		spend = c.budgets.SpendKept
	}
	rd, err := spend(ctx, BudgetHost, host)
	if err != nil {
		return exchange.Exchange{}, ledgerDown(err)
	}
	if !rd.Granted {
		return exchange.Exchange{}, &hostSpent{host, rd.Counts[0].Quota, rd.Reset}
	}
	x, err := c.Client.Do(ctx, req, rule)
	if paid != nil && err == nil {
		paid.read = append(paid.read, x)
	}
	return x, err
}

// problem is how it is told.
func (e *hostSpent) problem() *problem.Error {
	return &problem.Error{Code: codeSpent, Retry: e.reset, Extra: map[string]any{"host": e.host},
		Detail: fmt.Sprintf("%s was asked %d times in this minute, by whoever reads doors here, and one host is asked "+
			"no more often. This is no reading of it. Try again after the time in Retry-After.", e.host, e.quota)}
}

// unread is the answer where a walk failed. One that the limit of its host ended spends nothing of
// the route's budget.
func (d *Desk) unread(w http.ResponseWriter, r *http.Request, rl *RateLimit, err error) error {
	if _, spent := errors.AsType[*hostSpent](err); spent {
		d.giveBack(w, r, rl)
	}
	return failed(err)
}
