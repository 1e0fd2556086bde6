package shop

import (
	"context"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/dynamic/desk"
	"store.example/agentstore/dynamic/keeper"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/services"
)

// callbackConfig is what word is sent with, nothing where there is no key for it.
func (s *Shop) callbackConfig(o Options) (cfg services.CallbackConfig, err error) {
	c := &s.Config
	if c.Keys.Webhook == "" {
		return cfg, nil
	}
	if cfg.Key, err = InForce(c.Keys.Webhook, attest.PurposeWebhook, s.Ring); err != nil {
		return cfg, err
	}
	cfg.Spend = s.spendHost
	cfg.Client, err = Outside{Log: s.Log, Reach: func(f *fetch.Config) {
		f.Timeout, f.MaxBytes = services.WordTimeout, services.WordMaxBytes
		if o.Reach != nil {
			o.Reach(f)
		}
	}}.client(c)
	return cfg, err
}

// spendHost takes a request from the budget of a URL's host.
func (s *Shop) spendHost(ctx context.Context, url string) (bool, time.Duration, error) {
	return desk.SpendHost(ctx, s.budgets, url)
}

// callbackRow tells the keeper which buyers could not be told that their orders are completed.
func (s *Shop) callbackRow() keeper.Row {
	return keeper.Row{Name: "callbacks", Title: "Failed callbacks",
		Actions: []keeper.Action{{Verb: "store keeper find ORDER", Page: "find?q="}},
		Read: func(ctx context.Context, _ *keeper.Desk) (list []keeper.Entry, err error) {
			err = s.DB.View(ctx, func(tx ledger.Tx) error {
				list = nil
				failed, err := services.ListGivenUp(tx)
				for _, rec := range failed {
					says := screen.Count(rec.Made, "attempt") + " at " + rec.Host() +
						": the buyer was not told, reads it in the order, and may ask for it again."
					list = append(list, keeper.Entry{ID: rec.Order, Since: rec.Last(), Says: says})
				}
				return err
			})
			return list, err
		}}
}
