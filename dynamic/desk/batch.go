package desk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
)

// codeSpent is the problem of a budget that is spent.
const codeSpent = "budget_spent"

// maxBatch is how many doors one batch may name.
const maxBatch = 20

// BatchRequest names the doors of a batch.
type BatchRequest struct {
	URLs    []string `json:"urls" jsonschema:"1 to 20 https URLs, each at most 2048 characters"`
	Battery string   `json:"battery,omitempty" jsonschema:"v1 or v2; v2 when left out"`
}

// Batch is what a batch came to. Results stand in the order of the request; what could not be read
// has an error instead of a report, and the others are not worse for it.
type Batch struct {
	Version   string         `json:"version"`
	Asked     int            `json:"asked"`
	Read      int            `json:"read"`
	Counts    map[string]int `json:"counts"` // by verdict, and by error
	Results   []BatchResult  `json:"results"`
	RateLimit *RateLimit     `json:"rate_limit,omitzero"`
	NextSteps []string       `json:"next_steps"`
}

// BatchResult is one door of a batch.
type BatchResult struct {
	URL    string     `json:"url"` // as it was asked
	Report *Preflight `json:"report,omitzero"`
	Error  string     `json:"error,omitzero"` // a problem code
	Detail string     `json:"detail,omitzero"`
}

func (b *BatchResult) fail(err error) {
	e, ok := errors.AsType[*problem.Error](err)
	if !ok {
		e = &problem.Error{Code: "internal", Detail: "This one could not be read because of a fault here."}
	}
	b.Error, b.Detail = e.Code, e.Detail
	if e.Code == codeSpent && e.Extra == nil { // of a 200 there is no Retry-After to point to
		b.Detail = "The budget was spent before this one's turn. It was not read, and this says nothing about it. " +
			"Ask again after the minute in RateLimit."
	}
}

// batch reads up to twenty doors from one budget. Each door that is read spends one use; when the
// budget is spent, the rest is left unread and says so. A batch of which nothing could be granted
// is a 429.
func (d *Desk) batch(w http.ResponseWriter, r *http.Request) error {
	in, err := readBatch(r)
	if err != nil {
		return err
	}
	out := Batch{Version: in.Battery, Asked: len(in.URLs), Counts: map[string]int{},
		Results: make([]BatchResult, len(in.URLs)),
		NextSteps: []string{"A door with the error " + codeSpent +
			" was not read: ask again after the minute in RateLimit."}}
	doors := make([]string, len(in.URLs))
	var asked []int // those that wait for a use, in the order of the request
	for i, raw := range in.URLs {
		out.Results[i].URL = shownURL(raw)
		var err error
		if doors[i], err = d.door(raw); err != nil {
			out.Results[i].fail(err)
			continue
		}
		asked = append(asked, i)
	}
	spent := d.readDoors(w, r, &out, doors, asked)
	switch {
	case out.RateLimit != nil:
		out.RateLimit.reading.WriteTo(w.Header())
	case spent != nil:
		return spent
	}
	out.count()
	return writeJSON(w, out)
}

// readBatch reads and judges the request.
func readBatch(r *http.Request) (BatchRequest, error) {
	in, err := readWith[BatchRequest](r, "urls", '[', "the member urls, a list of texts")
	if err != nil {
		return in, err
	}
	in.Battery = cmp.Or(in.Battery, probe.Current())
	if !slices.Contains(probe.Versions(), in.Battery) {
		return in, route.Invalid(problem.Field{Field: "battery", Problem: "is none of " + strings.Join(probe.Versions(),
			", ")})
	}
	if len(in.URLs) == 0 {
		return in, &problem.Error{Code: "url_missing", Detail: "Nothing was read: urls holds no URL."}
	}
	if len(in.URLs) > maxBatch {
		return in, route.Invalid(problem.Field{Field: "urls", Problem: fmt.Sprintf("holds more than %d URLs",
			maxBatch)})
	}
	return in, nil
}

// readDoors reads the doors that were asked for, as far as the budget goes, and returns what a
// spent budget says.
func (d *Desk) readDoors(w http.ResponseWriter, r *http.Request, out *Batch, doors []string, asked []int) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	var spent error
	for len(asked) > 0 && spent == nil {
		var uses []*RateLimit
		for len(uses) < len(asked) && spent == nil {
			var rl *RateLimit
			if rl, spent = d.take(w, r, BudgetPreflight); spent == nil {
				uses = append(uses, rl)
			}
		}
		refusals := d.lookups(r.Context(), doors, asked[:len(uses)])
		back := 0
		for n, i := range asked[:len(uses)] {
			res := &out.Results[i]
			if refusals[n] != nil {
				res.fail(refusals[n])
				d.giveBack(w, r, uses[n])
				back++
				continue
			}
			wg.Go(func() { d.batchOne(r, out.Version, doors[i], res) })
		}
		if back < len(uses) {
			out.RateLimit = rateLimit(BudgetPreflight, uses[len(uses)-1].reading.More(back))
		}
		if asked = asked[len(uses):]; back > 0 {
			spent = nil // what was given back is for those that are left
		}
	}
	for _, i := range asked {
		out.Results[i].fail(spent)
	}
	return spent
}

// count counts the results by verdict and by error.
func (b *Batch) count() {
	for _, res := range b.Results {
		if res.Report == nil {
			b.Counts[res.Error]++
			continue
		}
		b.Read++
		b.Counts[string(res.Report.Verdict)]++
	}
}

// lookups looks up the names of some doors at once and returns the refusal of each, nil for none.
func (d *Desk) lookups(ctx context.Context, doors []string, some []int) []error {
	refusals := make([]error, len(some))
	var wg sync.WaitGroup
	for n, i := range some {
		wg.Go(func() { refusals[n] = d.lookup(ctx, doors[i]) })
	}
	wg.Wait()
	return refusals
}

func (d *Desk) batchOne(r *http.Request, battery, url string, into *BatchResult) {
	l, shared, err := d.walk(r.Context(), battery, url)
	if err != nil {
		into.fail(failed(err))
		return
	}
	p := d.served(l, shared, nil)
	into.Report = &p
}

// shownURL repeats what was asked for, no longer than a URL may be.
func shownURL(raw string) string {
	if s := []rune(raw); len(s) > maxURL {
		return string(s[:maxURL])
	}
	return raw
}
