package shop

import (
	"errors"
	"log/slog"
	"net"
	"testing"

	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/ledger"
)

// ending is a ledger that stops when the test says so.
type ending struct {
	ledger.DB
	stopped chan struct{}
}

func (e *ending) Stopped() <-chan struct{} { return e.stopped }

// A store whose ledger has stopped ends with a failure, so that whoever watches over it starts it
// again: it would hand out terms that nobody can pay.
func TestAStoppedLedgerEndsTheStore(t *testing.T) {
	server, err := dynamic.New(dynamic.Config{BaseURL: "http://127.0.0.1", Metrics: dynamic.NewMetrics(),
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	db := &ending{ledger.NewMem(ledger.MemOptions{}), make(chan struct{})}
	s := &Shop{Server: server, DB: db, Log: slog.New(slog.DiscardHandler)}
	served := make(chan error, 1)
	go func() { served <- s.Serve(t.Context(), ln, nil) }()
	close(db.stopped)
	if err := <-served; !errors.Is(err, errLedgerStopped) {
		t.Errorf("Serve = %v, want that the ledger has stopped", err)
	}
}
