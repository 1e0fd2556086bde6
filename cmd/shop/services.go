package shop

import (
	"context"
	"errors"
	"time"

	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/desk"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/services"
)

// goodsKinds describe all kinds of goods, whatever a store is configured for.
func goodsKinds() []goods.Kind { return services.New(services.Config{}).Kinds() }

// openServices makes what completes later what is sold, of what is configured for it.
func (s *Shop) openServices(o Options, metrics *dynamic.Metrics) error {
	visits, err := Outside{Log: s.Log, Reach: o.Reach}.client(&s.Config)
	if err != nil {
		return err
	}
	anchors, err := s.anchorConfig(o)
	if err != nil {
		return err
	}
	callbacks, err := s.callbackConfig(o)
	if err != nil {
		return err
	}
	s.services = services.New(services.Config{BaseURL: s.Config.BaseURL, DB: s.DB, Log: s.Log,
		Readings: s.Desk.Sold(), Addresses: s.Desk.Sold(), Visits: visits, Spend: s.spendVisit, Anchors: anchors,
		Launches: s.launchConfig(metrics.Launch), Callbacks: callbacks})
	return nil
}

// spendVisit takes a visit from the budget of the instruments, and a request from its host's.
func (s *Shop) spendVisit(ctx context.Context, url string) (bool, time.Duration, error) {
	rd, err := s.budgets.Spend(ctx, desk.BudgetPreflight, "")
	if err != nil || !rd.Granted {
		return false, rd.Reset, err
	}
	granted, reset, err := s.spendHost(ctx, url)
	if !granted {
		err = errors.Join(err, s.budgets.GiveBack(ctx, rd))
	}
	return granted, reset, err
}
