package counter

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/dynamic/till"
)

// Door is a paid door as a person in a browser finds it, who has not paid.
type Door struct {
	// Status is that of the answer, and Refusal why it is not 402; nil where it is.
	Status  int
	Refusal *problem.Error
	Offer   *till.Offer       // nil: nothing is sold here any more
	Asked   bool              // inputs came along
	Given   map[string]string // those that the offer has, as they came, right or wrong
	// Accepts are the terms, also beside a refusal; none where no network takes a payment now.
	Accepts []rail.Requirement
	LeftOut []Absent
	// Held is where the same is sold with the payment held, "" for nowhere.
	Held string
}

// Absent is a network on which something is not sold at present, and why.
type Absent struct{ Name, Reason string }

// varies are what the answers of a paid door depend on beside its address.
var varies = []string{"Accept"}

// wantsDoor reports whether a request is a person's in a browser: it would see a page, and pays
// nothing. Who would rather have Markdown is an agent and gets JSON, as with */*.
func (c *Counter) wantsDoor(r *http.Request) bool {
	return c.cfg.Door != nil && r.Method != http.MethodPost && !Paying(r.Header) &&
		route.Prefer(r, api.JSON, "text/markdown", "text/html") == 2
}

// showDoor answers with the page of a door whose terms, or refusal, stand in the header already.
func (c *Counter) showDoor(w http.ResponseWriter, d Door, from *Inputs) error {
	h := w.Header()
	if d.Offer = from.offer; d.Offer != nil {
		if q, err := c.till.Quote(d.Offer); q != nil && (err == nil || d.Refusal != nil) {
			for _, o := range leftOuts(q.LeftOut) {
				d.LeftOut = append(d.LeftOut, Absent{o.Name, o.Reason})
			}
			d.Accepts = c.till.Accepts(q)
		}
		d.Held = c.till.HoldPath(d.Offer)
		d.Asked, d.Given = from.Query != "", given(d.Offer, from.Query)
	}
	page, err := c.cfg.Door(d)
	if err != nil {
		return err
	}
	h["Cache-Control"] = privateNoStore
	return route.Send(w, d.Status, api.HTML, page)
}

// refuseAt answers with a page that says why there are no terms. What the page could not say, or
// what is a fault of ours, stays an error.
func (c *Counter) refuseAt(w http.ResponseWriter, err error, from *Inputs) error {
	p, ok := errors.AsType[*problem.Error](err)
	if !ok || p.Err != nil || from.offer == nil && p.Code != "gone" {
		return err
	}
	row, _ := problem.Lookup(p.Code)
	p.Head(w.Header())
	return c.showDoor(w, Door{Status: cmp.Or(p.Status, row.Status), Refusal: p}, from)
}

// given are the inputs of an offer as a query has them.
func given(o *till.Offer, query string) map[string]string {
	all, err := parseQuery(query)
	if err != nil {
		return nil
	}
	out := make(map[string]string)
	for _, in := range o.Inputs {
		if v := all.Get(in.Name); v != "" {
			out[in.Name] = strings.ToValidUTF8(v, "\uFFFD")
		}
	}
	return out
}
