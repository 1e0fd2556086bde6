package shop

import (
	"context"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"
)

// controlDoor reports whether our own control door can be read and is well, for readings that are
// sold: while it is not, nothing is called unreachable. It is nil where none is configured.
func (s *Shop) controlDoor(key *attest.Key, o Options) (func(context.Context) bool, error) {
	at := s.Config.Census.Control
	if at == "" {
		return nil, nil
	}
	cfg, err := s.Config.fetchConfig(key)
	if err != nil {
		return nil, err
	}
	// The control door is our own, and this client is handed no other URL.
	cfg.OwnHosts, cfg.OwnAddresses = nil, nil
	if o.Reach != nil {
		o.Reach(&cfg)
	}
	client, err := fetch.New(cfg)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) bool {
		checker, err := probe.NewPreflight(probe.Current(), at, probe.Declaration{})
		if err != nil {
			return false
		}
		report, _, err := fetch.Walk(ctx, client, checker, fetch.WalkStart{URL: at, Time: probe.MaxTime})
		return err == nil && report.Verdict == probe.Ready
	}, nil
}
