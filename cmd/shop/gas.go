package shop

import (
	"context"
	"time"

	"agentstore/dynamic"
	"agentstore/dynamic/rail"
)

// gasEvery is how often a relayer's balance is looked at.
const gasEvery = time.Minute

// watchGas sounds the alarm when a relayer runs low, and says when it is filled again. A relayer without gas settles
// nothing: buyers are told "not known yet" until it has some.
func (s *Shop) watchGas(r rail.Rail, m *dynamic.Metrics) func(context.Context) error {
	return func(ctx context.Context) error {
		info := r.Info()
		tick := time.NewTicker(gasEvery)
		defer tick.Stop()
		wasLow := false
		for {
			amount, low, err := r.Fuel(ctx)
			switch {
			case err != nil && ctx.Err() == nil:
				s.Log.Warn("relayer balance not readable", "network", info.Network, "err", err)
			case err == nil:
				m.Gas(info.Network, amount, low)
				if low && !wasLow {
					s.Log.Error("relayer is low on gas: send it some, or payments stop settling", "network", info.Network, "wei", amount.String())
				} else if wasLow && !low {
					s.Log.Info("relayer has gas again", "network", info.Network, "wei", amount.String())
				}
				wasLow = low
			}
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
		}
	}
}
