package shop

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/settle"
)

// PriceAge is the age of a coin's price that is warned of.
const PriceAge = 90 * 24 * time.Hour

// checkCost says what is wrong with the keys that say what settling costs.
func (n NetworkConfig) checkCost() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("network %s: "+format, append([]any{n.ID}, args...)...)
	}
	date, err := time.Parse(time.DateOnly, n.PriceDate)
	switch {
	case (n.CoinPrice == "") != (n.PriceDate == ""):
		return fail("give coin_price and coin_price_date together")
	case n.PriceDate != "" && err != nil:
		return fail("coin_price_date %q is not a day such as 2026-11-20", n.PriceDate)
	case date.After(time.Now().Add(24 * time.Hour)):
		return fail("coin_price_date %s is in the future", n.PriceDate)
	case n.SettleCost != "" && n.Facilitator == "":
		return fail("settle_cost is what a facilitator takes; with relayer_key give coin_price and coin_price_date, " +
			"from which the cost follows")
	case n.CoinPrice != "" && n.Facilitator != "":
		return fail("coin_price is of no use with a facilitator; give what it takes as settle_cost")
	}
	_, err = n.costs()
	return err
}

// costs are what the configuration says of what settling costs.
type costs struct {
	coinPrice, settleCost int64    // atomic units; 0 for none
	alarm, maxFee         *big.Int // smallest units of the coin; nil for none
}

// costs reads what settling costs.
func (n NetworkConfig) costs() (c costs, err error) {
	for _, a := range []struct {
		key, text string
		into      *int64
	}{{"coin_price", n.CoinPrice, &c.coinPrice}, {"settle_cost", n.SettleCost, &c.settleCost}} {
		if a.text == "" {
			continue
		}
		v, err := content.ParseUSDC(a.text)
		if err != nil {
			return c, fmt.Errorf("network %s: %s: %w", n.ID, a.key, err)
		}
		*a.into = v
	}
	if n.CoinPrice != "" && c.coinPrice == 0 {
		return c, fmt.Errorf("network %s: coin_price is nothing: give its price, such as 3000, or leave it out "+
			"and sell nothing here", n.ID)
	}
	for _, a := range []struct {
		key, text string
		into      **big.Int
	}{{"gas_alarm_wei", n.GasAlarm, &c.alarm}, {"max_fee_wei", n.MaxFee, &c.maxFee}} {
		if a.text == "" {
			continue
		}
		wei, ok := new(big.Int).SetString(a.text, 10)
		if !ok || wei.Sign() < 0 || a.key == "max_fee_wei" && wei.Sign() == 0 {
			return c, fmt.Errorf("network %s: %s %q is not a number of wei, or of lamports, such as "+
				"2000000000000000", n.ID, a.key, a.text)
		}
		*a.into = wei
	}
	return c, nil
}

// amounts are the limits of a day in atomic units, as package settle has them: 0 is the default.
func (c GasConfig) amounts() (a struct{ subsidy, reverts int64 }, err error) {
	for _, k := range []struct {
		key, text string
		into      *int64
	}{{"gas.subsidy", c.Subsidy, &a.subsidy}, {"gas.reverts", c.Reverts, &a.reverts}} {
		if k.text == "" {
			continue
		}
		if strings.Trim(k.text, "0.") == "" {
			*k.into = -1
			continue
		}
		v, parse := content.ParseUSDC(k.text)
		if parse != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", k.key, parse))
		}
		*k.into = v
	}
	return a, err
}

// guard decides what may be spent on settling. It has every network read once, so that what cannot
// settle is left out of the first terms, and is taken in when it can: no network stops the start,
// not even one whose node is on another chain, which is refused, with an error in the log, until
// its node is on the right one.
func (s *Shop) guard(ctx context.Context, db ledger.DB) (*settle.GasGuard, error) {
	limits, err := s.Config.Gas.amounts()
	if err != nil {
		return nil, err
	}
	g, err := settle.NewGasGuard(settle.GasConfig{DB: db, Rails: s.Rails, Subsidy: limits.subsidy,
		Reverts: limits.reverts, Log: s.Log})
	if err != nil {
		return nil, err
	}
	for _, n := range s.Config.Networks {
		if date, err := time.Parse(time.DateOnly, n.PriceDate); err == nil && time.Since(date) > PriceAge {
			s.Log.Warn("the price of a network's coin is old: what settling costs may be wrong", "network", n.ID,
				"coin_price_date", n.PriceDate)
		}
	}
	if out := g.Read(ctx); len(out) == len(s.Rails) {
		s.Log.Error("no network can settle: paid doors answer 503 until one can")
	}
	return g, nil
}

// gasEvery is how often a relayer's balance is looked at.
const gasEvery = time.Minute

// watchGas sounds the alarm when a relayer runs low, and says when it is filled again. That a
// relayer cannot pay for a settlement at all is the guard's alarm.
func (s *Shop) watchGas(r rail.Rail, m *dynamic.Metrics) func(context.Context) error {
	return func(ctx context.Context) error {
		info := r.Info()
		wasLow := false
		return schedule.Every(ctx, gasEvery, func(ctx context.Context) {
			amount, low, err := r.Fuel(ctx)
			switch {
			case err != nil && ctx.Err() == nil:
				s.Log.Warn("relayer balance not readable", "network", info.Network, "err", err)
			case err == nil:
				m.Gas(info.Network, amount, low)
				if low && !wasLow {
					s.Log.Error("relayer is low on gas: fund it, or nothing will be sold on this network", "network",
						info.Network, "fund", strings.Join(info.Accounts, ", "),
						info.Unit+"_held", amount.String(), info.Unit+"_needed", s.alarm(info.Network))
				} else if wasLow && !low {
					s.Log.Info("relayer has gas again", "network", info.Network, info.Unit+"_held", amount.String())
				}
				wasLow = low
			}
		})
	}
}

// alarm is the configured balance below which the alarm sounds: to be funded up to at least.
// Without one the guard's alarm says what is needed.
func (s *Shop) alarm(network string) string {
	for _, n := range s.Config.Networks {
		if n.ID == network && n.GasAlarm != "" {
			return n.GasAlarm
		}
	}
	return "what ten settlements take"
}
