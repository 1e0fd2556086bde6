package keeper

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Row is a kind of what waits for the keeper. To have another kind on the desk, and in what store
// keeper today prints, is to add a row.
type Row struct {
	Name  string // permanent, one word: orders
	Title string
	// Actions are what can be done about an entry.
	Actions []Action
	// Read lists what waits, what is due first, or is oldest, first.
	Read func(context.Context, *Inbox) ([]Entry, error)
}

// Action is something that the keeper can do about an entry.
type Action struct {
	Verb string `json:"verb"` // as it is typed: store keeper answer ORDER
	// Page is that of the web desk, which the entry's id is added to; "" where it is of the command
	// line alone.
	Page string `json:"page,omitzero"`
}

// Link is the page about an entry.
func (a Action) Link(id string) string {
	if before, found := strings.CutSuffix(a.Page, "="); found {
		return before + "=" + url.QueryEscape(id)
	}
	return a.Page + url.PathEscape(id)
}

// Entry is one thing that waits. Says is shown as it is: what of it strangers wrote is made visible
// by who makes the entry.
type Entry struct {
	ID      string    `json:"id" doc:"What it is found by."`
	Says    string    `json:"says" wide:"true" doc:"What waits."`
	Since   time.Time `json:"since,omitzero" doc:"Since when, UTC."`
	Due     time.Time `json:"due,omitzero" doc:"When it is due, UTC."`
	USDC    string    `json:"usdc,omitzero" doc:"How much."`
	Network string    `json:"network,omitzero" doc:"The network."`
	Late    bool      `json:"late,omitzero" doc:"Its time is over."`
	// Times is how often, of an entry that stands for several.
	Times int `json:"times,omitzero" doc:"How often, of an entry that stands for several."`
}

// Waiting is what waits of a kind.
type Waiting struct {
	Name    string    `json:"name"`
	Title   string    `json:"title"`
	Count   int       `json:"count"`
	Late    int       `json:"late"` // of them, past their time
	Oldest  time.Time `json:"oldest,omitzero"`
	Entries []Entry   `json:"entries"` // the first of them
	Actions []Action  `json:"actions,omitzero"`
	// Error says why it could not be read. What is wrong with one kind hides no other.
	Error string `json:"error,omitzero"`
}

// Today is everything that waits.
type Today struct {
	At      time.Time `json:"at"` // by the ledger's clock
	Waiting []Waiting `json:"waiting"`
	Last    []Past    `json:"last,omitzero"` // what recurs, as far as it is known
}

// shown is how many entries of a kind are listed; the count is of all.
const shown = 100

// Today reads every row.
func (d *Inbox) Today(ctx context.Context) (Today, error) {
	now, err := d.now(ctx)
	if err != nil {
		return Today{}, err
	}
	today := Today{At: now}
	for _, row := range d.cfg.Rows {
		today.Waiting = append(today.Waiting, d.waiting(ctx, row))
	}
	today.Last = d.past(ctx)
	return today, nil
}

func (d *Inbox) waiting(ctx context.Context, row Row) Waiting {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	w := Waiting{Name: row.Name, Title: row.Title, Actions: row.Actions, Entries: []Entry{}}
	entries, err := row.Read(ctx, d)
	if err != nil {
		w.Error = err.Error()
	}
	for _, e := range entries {
		w.Count++
		if e.Late {
			w.Late++
		}
		if !e.Since.IsZero() && (w.Oldest.IsZero() || e.Since.Before(w.Oldest)) {
			w.Oldest = e.Since
		}
	}
	w.Entries = append(w.Entries, slices.Clip(entries[:min(len(entries), shown)])...)
	return w
}
