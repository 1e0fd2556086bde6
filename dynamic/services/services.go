// Package services sells what is completed later, without anybody's doing: visits, terms of
// readings, purchases at strangers' doors and proofs of time, and the word that is sent of orders.
//
// A product is a file or two: its row among the kinds of goods, which the till is given, its work,
// which the scheduler is given, and how it stands, which the counter's routes say. What was bought
// is written down in the transaction that promises or delivers it, and a task is due with it
// (package schedule); everything else happens after the money. A product whose parts a store lacks
// is not sold there, and what was sold before lies until it has them.
package services

import (
	"context"
	"log/slog"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/till"
)

// Config is what services stand on. BaseURL, DB and Log are required; of the others a product whose
// own are missing is not sold.
type Config struct {
	BaseURL string // of the store
	DB      ledger.DB
	Log     *slog.Logger
	// Readings reads strangers' doors, for readings that are sold, watches and launch checks.
	Readings goods.Readings
	// Addresses are looked up in the record.
	Addresses goods.Addresses
	// Visits reaches what is visited for a phantom check.
	Visits *fetch.Client
	// Spend takes one visit from the budget that all instruments share, and a request from that of
	// the URL's host; false says that one is spent, and after how long there is more.
	Spend     func(ctx context.Context, url string) (granted bool, reset time.Duration, err error)
	Anchors   AnchorConfig
	Launches  LaunchConfig
	Callbacks CallbackConfig
}

// Till is what services ask of a till; *till.Till is one.
type Till interface {
	// SignCheck signs what a visit found that a purchase paid for, SignReport a report that is made
	// for one after its delivery. They store nothing.
	SignCheck(ctx context.Context, purchase string, c attest.Look, at time.Time) (*till.SignedArtifact, error)
	SignReport(ctx context.Context, purchase string, a attest.Audit, at time.Time) (*till.SignedArtifact, error)
	// Complete completes an order with what became of its promise.
	Complete(ctx context.Context, purchase string, with func(promise *goods.Made) (*goods.Made, error)) error
	// Recovery has the status token of a purchase.
	Recovery(purchase string) till.Recovery
}

// Services are what a store completes later.
type Services struct {
	cfg     Config
	reader  goods.Reader
	words   sending
	till    Till
	counter *counter.Counter
}

// New makes services. Their kinds are had at once, Jobs needs their till and Rows their counter.
func New(cfg Config) *Services {
	return &Services{cfg: cfg, reader: goods.Reader{Readings: cfg.Readings, DB: cfg.DB},
		words: sending{lookups: make(chan struct{}, lookups), busy: map[string]bool{}, asking: map[string]int{}}}
}

// Kinds are the rows of everything that a store sells: those of package goods, and of services.
func (s *Services) Kinds() []goods.Kind {
	return append(goods.Kinds(s.reader, s.cfg.Addresses), s.phantom(), s.anchor(), s.launch(),
		s.watch(content.KindDays, 24, 7, 6*60), s.watch(content.KindHours, 1, 168, 30))
}

// Jobs are the rows of what services do for a till that they were sold at, of what there is a
// configuration for.
func (s *Services) Jobs(t Till) (jobs []schedule.Job) {
	s.till = t
	if s.cfg.Visits != nil {
		jobs = append(jobs, visits.row(8, 30*time.Second, s.visit))
	}
	if s.cfg.Readings != nil {
		jobs = append(jobs, watches.row(8, goods.ReadingTime+2*noteFor, s.keep))
	}
	if s.cfg.Launches.Purse != nil {
		jobs = append(jobs, launches.row(4, buyFor+30*time.Second, s.walk))
	}
	if len(s.cfg.Anchors.Calendars) > 0 {
		job := timestamps.row(4, 2*time.Minute, s.stampDigest)
		job.Pause = 10 * time.Minute
		jobs = append(jobs, job)
	}
	if s.cfg.Callbacks.Key != nil {
		job := messages.row(wordWorkers, 2*WordTimeout, s.tell)
		job.Skip = s.skipWord
		jobs = append(jobs, job)
	}
	return jobs
}
