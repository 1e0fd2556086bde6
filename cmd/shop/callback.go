package shop

import (
	"context"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/visible"
	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/callback"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/desk"
	"store.example/agentstore/dynamic/keeper"
	"store.example/agentstore/dynamic/ledger"
)

// openCallbacks has word sent of completed orders, where there is a key for it; nil otherwise.
func (s *Shop) openCallbacks(o Options, metrics *dynamic.Metrics) (counter.Callbacks, error) {
	c := &s.Config
	if c.Keys.Webhook == "" {
		return nil, nil
	}
	key, err := inForce(c.Keys.Webhook, attest.PurposeWebhook, s.Ring)
	if err != nil {
		return nil, err
	}
	client, err := Outside{Log: s.Log, Reach: func(f *fetch.Config) {
		f.Timeout, f.MaxBytes = callback.Timeout, callback.MaxBytes
		if o.Reach != nil {
			o.Reach(f)
		}
	}}.client(c)
	if err != nil {
		return nil, err
	}
	sender, err := callback.New(callback.Config{DB: s.DB, Client: client, Key: key, Log: s.Log,
		Token: func(purchase string) string { return s.Till.Recovery(purchase).StatusToken },
		Spend: func(ctx context.Context, url string) (bool, time.Duration, error) {
			return desk.SpendHost(ctx, s.budgets, url)
		}})
	if err != nil {
		return nil, err
	}
	return sender, s.runJob(sender.Row(), metrics)
}

// callbackRow tells the keeper which buyers could not be told that their orders are completed.
func (s *Shop) callbackRow() keeper.Row {
	return keeper.Row{Name: "callbacks", Title: "Failed callbacks",
		Actions: []keeper.Action{{Verb: "store keeper find ORDER", Page: "find?q="}},
		Read: func(ctx context.Context, _ *keeper.Desk) (list []keeper.Entry, err error) {
			err = s.DB.View(ctx, func(tx ledger.Tx) error {
				list = nil
				failed, err := callback.ListGivenUp(tx)
				for _, rec := range failed {
					says := visible.Count(rec.Made, "attempt") + " at " + rec.Host() +
						": the buyer was not told, reads it in the order, and may ask for it again."
					list = append(list, keeper.Entry{ID: rec.Order, Since: rec.Last(), Says: says})
				}
				return err
			})
			return list, err
		}}
}
