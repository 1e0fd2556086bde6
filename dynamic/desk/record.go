package desk

import (
	"context"

	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/archive"
)

// Record is what the signed record holds, as the desk reads it. It may be asked by many goroutines
// at once. An error means that it could not be read, never that there is nothing.
type Record interface {
	// Host returns what is held about a host in the record's spelling: lower case, ASCII form, no
	// trailing dot. For a host that no round ever named, NeverMet is set.
	Host(ctx context.Context, host string) (HostHistory, error)
	// Row returns the signed row of a host in a week, nil if there is none, and the weeks for which
	// there are rounds, the oldest first. An empty week asks for the last row in which the host was
	// probed.
	Row(ctx context.Context, host, week string) (row *Cited, known []string, err error)
	// Address returns where an address was advertised, asked by the digests that the record holds
	// of it.
	Address(ctx context.Context, address string) (archive.AddressReading, error)
	// Reading returns the last signed reading of a host, for badges; nil if there is none.
	Reading(ctx context.Context, host string) (*LastReading, error)
	// Lists returns the week of the newest round and the sources that were read for its roster; ""
	// and none before the first.
	Lists(ctx context.Context) (week string, sources []record.RosterSource, err error)
	// Declared returns how the door at a URL says that it is asked, as its last observation found;
	// the zero value where it was answered to GET, or is not in the record.
	Declared(ctx context.Context, host, url string) (probe.Declaration, error)
}

// HostHistory is what the record holds about one host.
type HostHistory struct {
	NeverMet         bool `json:"never_met"`
	RoundsInChain    int  `json:"rounds_in_chain"`
	RoundsSinceFirst int  `json:"rounds_since_first_sighting"`
	RoundsProbed     int  `json:"rounds_probed"`
	RoundsGapped     int  `json:"rounds_gapped"`
	RoundsTurnedAway int  `json:"rounds_turned_away"` // at the door: no gap of the store
	// NotExercised counts rounds in which the door was not asked as it wants: no gap either.
	NotExercised      int                   `json:"rounds_not_exercised"`
	FirstObserved     string                `json:"first_observed,omitzero"`
	LastObserved      string                `json:"last_observed,omitzero"`
	GapsByReason      map[string]int        `json:"gaps_by_reason"`
	Tier              *Tier                 `json:"tier"`
	Passport          *Passport             `json:"passport"`
	LastProbed        *Cited                `json:"last_probed_round"`
	VerdictChanges    []VerdictChange       `json:"verdict_changes"`
	PaymentAddress    *PaymentAddress       `json:"payment_address"`
	StandingNote      *archive.StandingNote `json:"standing_note"`
	WhatThisCannotSee []string              `json:"what_this_cannot_see"`
	RowsURL           string                `json:"rows_url,omitzero"`
	DerivedAt         string                `json:"derived_at,omitzero"`
	HeldForSeconds    int                   `json:"held_for_seconds"`
}

// Tier is a host's tier with its fraction: "established — 4 of 4, W33–W36".
type Tier struct {
	Name     string   `json:"tier"`
	Line     string   `json:"line"`
	Fraction Fraction `json:"fraction"`
}

// Fraction is a count of count.
type Fraction struct {
	Ready     int    `json:"ready"`
	Rounds    int    `json:"rounds"`
	FirstWeek string `json:"first_week,omitzero"`
	LastWeek  string `json:"last_week,omitzero"`
}

// Passport is the newest signed observation of a host, from a round or a paid refresh, and what its
// age is worth.
type Passport struct {
	Decision   string        `json:"decision"`
	Freshness  string        `json:"freshness"`
	ObservedAt string        `json:"observed_at"`
	Verdict    probe.Verdict `json:"verdict"`
	Source     string        `json:"source"`
	URL        string        `json:"url"`
}

// Cited is one signed row of a round, as a comparison and a citation need it.
type Cited struct {
	Week       string        `json:"week"`
	Sequence   int64         `json:"sequence"`
	TakenAt    string        `json:"taken_at"`
	ObservedAt string        `json:"observed_at"`
	URL        string        `json:"url"`
	EntryURL   string        `json:"entry_url"`
	Digest     string        `json:"digest"` // of the round
	RowSHA256  string        `json:"row_sha256"`
	Leaf       int64         `json:"leaf"` // of the row in the log
	Verdict    probe.Verdict `json:"verdict"`
	Failed     []string      `json:"failed"`
	Advisories []string      `json:"advisories"`
	Catalog    string        `json:"catalog,omitzero"`
	Battery    string        `json:"battery"`
	// Corrected is the erratum that Verdict follows in place of the signed row.
	Corrected *record.Correction `json:"corrected,omitzero"`
	// Inclusion is the text of c2sp.org/tlog-proof: the row under the checkpoint that was signed
	// with its round. It is there for the row that Row returns.
	Inclusion string `json:"-"`
	License   string `json:"-"` // of the round
}

// reading is what a comparison knows of a row.
func (c *Cited) reading() probe.Reading {
	return probe.Reading{Verdict: c.Verdict, Failed: c.Failed, Battery: c.Battery}
}

// VerdictChange is a week in which a host's verdict was another than before.
type VerdictChange struct {
	Week string        `json:"week"`
	At   string        `json:"at"`
	From probe.Verdict `json:"from"`
	To   probe.Verdict `json:"to"`
	// Battery says that the battery differs as well: then the instrument moved, and perhaps not the
	// door.
	Battery bool `json:"battery_changed,omitzero"`
}

// PaymentAddress is the last captured address of a host, by its digest.
type PaymentAddress struct {
	Week         string  `json:"week"`
	Sequence     int64   `json:"sequence"`
	Digest       *string `json:"digest"` // null where none was captured
	Captured     bool    `json:"captured"`
	WhyNot       string  `json:"not_captured_reason,omitzero"`
	AtOtherDoors *int64  `json:"also_receives_at_other_doors,omitzero"` // in the same round; when captured
	Caveat       string  `json:"shared_wallet_caveat,omitzero"`
}

// LastReading is the newest signed reading of a host.
type LastReading struct {
	Verdict    probe.Verdict `json:"verdict"`
	ObservedAt string        `json:"observed_at"` // RFC 3339
	Battery    string        `json:"battery"`
	Source     string        `json:"source"`
}
