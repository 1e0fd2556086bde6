// Package calendar asks OpenTimestamps calendars over the guarded client. It stands apart from ots
// so that who only checks proofs links no network code.
package calendar

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/ots"
)

// accept is the media type of a calendar's answers.
const accept = "application/vnd.opentimestamps.v1"

// Remote is a calendar at a base URL without a final slash. Submit works at a pool too, whose
// proofs name the calendars behind it: those are who is asked for upgrades, each a Remote of its
// own.
type Remote struct {
	client *fetch.Client
	base   string
}

var _ ots.Calendar = (*Remote)(nil)

// New returns the calendar at base.
func New(client *fetch.Client, base string) (*Remote, error) {
	if strings.HasSuffix(base, "/") {
		return nil, fmt.Errorf("reading calendar %q: it ends in a slash", base)
	}
	if _, err := client.Parse(base, fetch.Rule{}); err != nil {
		return nil, fmt.Errorf("reading calendar %q: %w", base, err)
	}
	return &Remote{client: client, base: base}, nil
}

// URI is the base URL.
func (r *Remote) URI() string { return r.base }

// Submit hands in a digest.
func (r *Remote) Submit(ctx context.Context, digest []byte) ([]byte, error) {
	return r.ask(ctx, exchange.Request{Method: http.MethodPost, URL: r.base + "/digest", Body: digest,
		Header: http.Header{"Accept": {accept}, "Content-Type": {"application/x-www-form-urlencoded"}}})
}

// Upgrade asks what became of a commitment. A calendar that does not know it, or not yet in a
// block, says 404.
func (r *Remote) Upgrade(ctx context.Context, commitment []byte) ([]byte, error) {
	return r.ask(ctx, exchange.Request{Method: http.MethodGet, URL: r.base + "/timestamp/" +
		hex.EncodeToString(commitment), Header: http.Header{"Accept": {accept}}})
}

func (r *Remote) ask(ctx context.Context, req exchange.Request) ([]byte, error) {
	x, err := r.client.Do(ctx, req, fetch.Rule{})
	switch {
	case err != nil:
		return nil, err
	case x.Error.Stage != "":
		return nil, fmt.Errorf("%s: %s", x.Error.Stage, x.Error.Text)
	case x.Response.Status == http.StatusNotFound && req.Method == http.MethodGet:
		return nil, ots.ErrNotYet
	case x.Response.Status != http.StatusOK:
		return nil, fmt.Errorf("answered with status %d", x.Response.Status)
	case len(x.Response.Body) > ots.MaxAnswer:
		return nil, fmt.Errorf("answered with %d bytes, more than %d", len(x.Response.Body), ots.MaxAnswer)
	}
	return x.Response.Body, nil
}

// Public are the calendars behind the public pools.
func Public() []string {
	return []string{
		"https://alice.btc.calendar.opentimestamps.org", "https://bob.btc.calendar.opentimestamps.org",
		"https://finney.calendar.eternitywall.com", "https://btc.calendar.catallaxy.com",
	}
}

// All are the calendars that digests are handed in at and, as asked, all that are asked what became
// of those: these and the further ones, the public ones where none are named.
func All(client *fetch.Client, handed, further []string) (calendars, asked []ots.Calendar, err error) {
	if len(further) == 0 {
		further = Public()
	}
	for i, raw := range slices.Concat(handed, further) {
		if i >= len(handed) && slices.Contains(handed, raw) {
			continue
		}
		r, err := New(client, raw)
		if err != nil {
			return nil, nil, err
		}
		asked = append(asked, r)
	}
	return asked[:len(handed):len(handed)], asked, nil
}
