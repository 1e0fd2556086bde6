package census

import (
	"context"
	"log/slog"
	"time"

	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/record"
)

// A Source is one feed of names of hosts. What it reads may be read by several goroutines at once,
// never twice for one roster.
type Source struct {
	Name string // as rounds and answers name it
	Kind string // record.Source…
	// Read hands over what the source names, in its order. An error says what kept it from being
	// read to its end; what was handed over before that counts.
	Read func(ctx context.Context, on Reading, name func(Named)) error
}

// Named is one door that a source names.
type Named struct {
	URL string // as the source spells it
	// Host is needed only where there is no URL: a host that is known by name, and why no door of
	// it is.
	Host, Reason string
	// Method is what the source says the door is asked with, "" when it does not say, and By where
	// it says so.
	Method, By string
	// Offer is what a list says that the door asks for, nil where it does not say; Cut says that it
	// is not all of it.
	Offer *record.RowOffer
	Cut   bool
}

// Reading is what a source reads with.
type Reading struct {
	Client fetch.Asker
	Record *record.Record // as it stands, nil for none
	Week   string
	Now    func() time.Time
	Sleep  func(ctx context.Context, d time.Duration) error
	Log    *slog.Logger
}
