package census

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
)

// The bounds of reading one discovery API.
const (
	pageLimit    = 100    // items that are asked for at once, the most that the stock API gives
	maxPages     = 40_000 // of one API
	maxTries     = 6      // of one page
	longestPause = 5 * time.Minute
)

// Discovery reads a Bazaar-style discovery API: GET {base}/discovery/resources by limit and offset.
// base is the facilitator's, such as https://x402.example/platform/v2/x402. Items that are no http
// doors are left out. A page that is not whole is asked for again with fewer items, one that fails
// for the moment with growing pauses.
func Discovery(name, base string) Source {
	return Source{Name: name, Kind: record.SourceDiscovery, Read: func(ctx context.Context, on Reading,
		put func(Named)) error {
		d := &discovery{base: base, by: name, on: on}
		return d.read(ctx, put)
	}}
}

type discovery struct {
	base string
	by   string
	on   Reading
}

// page is an answer, as far as it is read; catalogues add members of their own.
type page struct {
	Items      []jsontext.Value `json:"items"`
	Pagination *struct {
		Offset *int64 `json:"offset"`
		Total  *int64 `json:"total"`
	} `json:"pagination"`
}

var errPageTooLong = errors.New("the page is longer than is read")

func (d *discovery) read(ctx context.Context, put func(Named)) error {
	offset, limit := int64(0), int64(pageLimit)
	var before []jsontext.Value
	for range maxPages {
		p, err := d.page(ctx, offset, limit)
		if errors.Is(err, errPageTooLong) && limit > 1 {
			limit /= 2
			continue
		}
		if err != nil {
			return fmt.Errorf("at offset %d: %w", offset, err)
		}
		if p.Pagination != nil && p.Pagination.Offset != nil && *p.Pagination.Offset != offset {
			return fmt.Errorf("at offset %d: it answered with offset %d", offset, *p.Pagination.Offset)
		}
		if len(p.Items) > 0 && len(before) > 0 && bytes.Equal(p.Items[0], before[0]) && len(p.Items) == len(before) {
			return fmt.Errorf("at offset %d: the same page came again", offset)
		}
		for _, item := range p.Items {
			d.item(item, put)
		}
		offset += int64(len(p.Items))
		switch {
		case p.Pagination != nil && p.Pagination.Total != nil:
			total := *p.Pagination.Total
			if offset >= total {
				return nil
			}
			if len(p.Items) == 0 {
				return fmt.Errorf("it ended after %d of %d", offset, total)
			}
		case int64(len(p.Items)) < limit:
			return nil
		}
		before = p.Items
	}
	return fmt.Errorf("it has more than %d pages", maxPages)
}

// item hands over one door of a catalogue. What is spoilt is left out: the catalogue was read all
// the same.
func (d *discovery) item(item jsontext.Value, put func(Named)) {
	var head struct {
		Type string `json:"type"`
		// A list of what some record saw of doors, such as this store's own, is nobody's catalogue.
		TermsAtDoor bool `json:"terms_at_door"`
	}
	if json.Unmarshal(item, &head) != nil || head.Type != "" && head.Type != "http" || head.TermsAtDoor {
		return
	}
	door, ok := probe.ListedDoor(item, d.base)
	if !ok {
		return
	}
	offer, whole := rejudge.OfferOf(probe.ListedTerms(item))
	put(Named{URL: door.URL, Method: door.Method, By: "catalog", Offer: offer, Cut: !whole})
}

// page asks for one page until it comes or the tries are used up.
func (d *discovery) page(ctx context.Context, offset, limit int64) (page, error) {
	// No randomness: there is one census a week, and a scripted one must be the same again.
	pauses := &backoff.ExponentialBackOff{InitialInterval: time.Second, Multiplier: 2, MaxInterval: time.Minute}
	pauses.Reset()
	for try := 1; ; try++ {
		p, wait, err := d.ask(ctx, offset, limit)
		if err == nil || wait < 0 || try == maxTries {
			return p, err
		}
		pause := max(wait, pauses.NextBackOff())
		d.on.Log.Warn("discovery page not read", "source", d.by, "offset", offset, "try", try, "err", err, "again_in",
			pause)
		if err := d.on.Sleep(ctx, pause); err != nil {
			return page{}, err
		}
	}
}

// ask makes one request. wait says after which pause at least another may help, -1 that none does.
func (d *discovery) ask(ctx context.Context, offset, limit int64) (p page, wait time.Duration, err error) {
	at := fmt.Sprintf("%s/discovery/resources?type=http&limit=%d&offset=%d", d.base, limit, offset)
	x, err := d.on.Client.Do(ctx, exchange.Request{Method: http.MethodGet, URL: at,
		Header: http.Header{"Accept": {"application/json"}}}, fetch.Rule{})
	if err != nil {
		return page{}, -1, err
	}
	if err := ctx.Err(); err != nil {
		return page{}, -1, err
	}
	switch status := x.Response.Status; {
	case x.Error.Stage != "":
		return page{}, 0, errors.New(x.Error.Text)
	case status == http.StatusTooManyRequests || status >= 500:
		return page{}, retryAfter(x.Response.Header, d.on.Now()), fmt.Errorf("it answered %d", status)
	case status != http.StatusOK:
		return page{}, -1, fmt.Errorf("it answered %d", status)
	case x.Response.Truncated:
		return page{}, -1, errPageTooLong
	}
	if err := json.Unmarshal(x.Response.Body, &p); err != nil {
		return page{}, -1, errors.New("its answer is not JSON of the shape of a discovery list")
	}
	switch {
	case p.Items == nil:
		return page{}, -1, errors.New("its answer has no items")
	case int64(len(p.Items)) > max(limit, pageLimit):
		return page{}, -1, fmt.Errorf("it answered with %d items where %d were asked for", len(p.Items), limit)
	}
	return p, 0, nil
}

// retryAfter reads RFC 9110, section 10.2.3, within bounds.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if n, err := strconv.ParseInt(v, 10, 32); err == nil && n >= 0 {
		return min(time.Duration(n)*time.Second, longestPause)
	}
	if at, err := http.ParseTime(v); err == nil {
		return min(max(0, at.Sub(now)), longestPause)
	}
	return 0
}
