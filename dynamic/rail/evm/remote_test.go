package evm_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/evm"
	"store.example/agentstore/dynamic/rail/facilitator"
	"store.example/agentstore/dynamic/settle"
)

// remoteHarness is a rail without a relayer: a facilitator with a relayer of its own settles, over
// HTTP.
type remoteHarness struct {
	*harness
	cfg  evm.Config
	rail rail.Rail
}

func openRemote(t testing.TB) railtest.Harness {
	h := openOn(t, 8453)
	db, rails := ledger.NewMem(ledger.MemOptions{}), []rail.Rail{h.rail}
	g, err := settle.NewGasGuard(settle.GasConfig{DB: db, Rails: rails})
	if err != nil {
		t.Fatal(err)
	}
	d, err := settle.New(settle.Config{DB: db, Rails: rails, Gas: g, Pause: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	third, err := facilitator.NewHandler(facilitator.HandlerConfig{
		Rails: rails, Gas: g, Settles: d, PayTo: []string{h.PayTo.Hex()}, Wait: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(third)
	t.Cleanup(func() {
		server.Close()
		if err := third.Close(); err != nil {
			t.Error(err)
		}
	})
	client, err := facilitator.New(facilitator.Config{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	cfg := h.cfg
	cfg.Relayer, cfg.Settler, cfg.Factories = nil, client, nil
	return &remoteHarness{harness: h, cfg: cfg, rail: newRail(t, cfg)}
}

func (h *remoteHarness) Rail() rail.Rail    { return h.rail }
func (h *remoteHarness) Restart() rail.Rail { return newRail(h.t, h.cfg) }
func (h *remoteHarness) Remote() bool       { return true }

func TestRailThroughFacilitator(t *testing.T) { railtest.Run(t, openRemote) }
