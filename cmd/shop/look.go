package shop

import (
	"context"
	"errors"
	"time"

	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/desk"
	"store.example/agentstore/dynamic/look"
)

// lookClient reaches what is looked at later.
func (s *Shop) lookClient(o Options) (*fetch.Client, error) {
	return Outside{Log: s.Log, Reach: o.Reach}.client(&s.Config)
}

// openLooks makes the visits that were bought.
func (s *Shop) openLooks(client *fetch.Client, metrics *dynamic.Metrics) error {
	visitor, err := look.New(look.Config{DB: s.DB, Client: client, Sign: s.Till.SignCheck, Log: s.Log,
		Spend: func(ctx context.Context, url string) (bool, time.Duration, error) {
			rd, err := s.budgets.Spend(ctx, desk.BudgetPreflight, "")
			if err != nil || !rd.Granted {
				return false, rd.Reset, err
			}
			granted, reset, err := desk.SpendHost(ctx, s.budgets, url)
			if !granted {
				err = errors.Join(err, s.budgets.GiveBack(ctx, rd))
			}
			return granted, reset, err
		}})
	if err != nil {
		return err
	}
	return s.runJob(visitor.Row(), metrics)
}
