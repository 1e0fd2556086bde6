package services

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/till"
)

var quiet = slog.New(slog.DiscardHandler)

// signs is a till that signs and completes as a test does.
type signs struct {
	check  func(ctx context.Context, purchase string, c attest.Look, at time.Time) (*till.SignedArtifact, error)
	report func(ctx context.Context, purchase string, a attest.Audit, at time.Time) (*till.SignedArtifact, error)
	closed func(*goods.Made)
}

func (s *signs) SignCheck(ctx context.Context, purchase string, c attest.Look, at time.Time) (*till.SignedArtifact,
	error) {
	return s.check(ctx, purchase, c, at)
}

func (s *signs) SignReport(ctx context.Context, purchase string, a attest.Audit, at time.Time) (*till.SignedArtifact,
	error) {
	return s.report(ctx, purchase, a, at)
}

func (s *signs) Complete(_ context.Context, _ string, with func(*goods.Made) (*goods.Made, error)) error {
	made, err := with(&goods.Made{Deliverable: []byte(`{"kind":"x"}`)})
	if err == nil {
		s.closed(made)
	}
	return err
}

func (*signs) Recovery(string) till.Recovery { return till.Recovery{StatusToken: token} }

// run runs processes of services until the returned function is called.
func run(t *testing.T, db ledger.DB, poll time.Duration, by Till, processes ...*Services) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	for _, s := range processes {
		work, err := schedule.New(schedule.Config{DB: db, Jobs: s.Jobs(by), Log: quiet, Poll: poll})
		if err != nil {
			t.Fatal(err)
		}
		done.Go(func() {
			if err := work.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	return func() { cancel(); done.Wait() }
}

// several are so many processes of the same services.
func several(n int, cfg Config) (list []*Services) {
	for range n {
		list = append(list, New(cfg))
	}
	return list
}
