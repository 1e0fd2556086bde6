package shop

import (
	"context"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/buyer"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/keeper"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/services"
)

// LaunchConfig is the wallet that buys at strangers' doors.
type LaunchConfig struct {
	Key   string `toml:"key" doc:"File (0600) with the hex key of the account that buys. Its own: neither relayer, pay_to nor payout account. It holds a few USDC on each network that you sell on, and no coin for gas: a door settles what it is paid. Empty sells no launch checks."`
	Daily string `toml:"daily" doc:"What it may spend within 24 hours, in USDC, over all processes of this ledger; each purchase counts as 0.05, the most that one costs. Empty is 1."`
}

// defaultLaunch is what may be spent within 24 hours unless another amount is configured.
const defaultLaunch = content.USDC

// limit is what may be spent within 24 hours, in atomic USDC.
func (c LaunchConfig) limit() (int64, error) {
	if c.Daily == "" {
		return defaultLaunch, nil
	}
	n, err := content.ParseUSDC(c.Daily)
	if err == nil && n < services.LaunchCap {
		err = fmt.Errorf("less than the %s that one purchase may cost", content.FormatUSDC(services.LaunchCap))
	}
	if err != nil {
		return 0, fmt.Errorf("launch.daily: %w", err)
	}
	return n, nil
}

func (c LaunchConfig) check() error {
	_, err := c.limit()
	return err
}

// launchWallet is the wallet of launch checks with what it buys through; the zero value where none
// is configured.
type launchWallet struct {
	key   *wallet.Key
	purse *services.Purse
	limit int64
	reach *fetch.Client
}

// openLaunchWallet reads the wallet of launch checks.
func (s *Shop) openLaunchWallet(o Options) (err error) {
	c := s.Config.Launch
	if c.Key == "" {
		s.Log.Info("no launch checks are sold: launch.key names no wallet")
		return nil
	}
	raw, err := ReadSecret(c.Key)
	if err != nil {
		return missingKey("launch.key", err)
	}
	w := &s.launch
	if w.key, err = wallet.ParseKey(strings.TrimSpace(string(raw))); err != nil {
		return fmt.Errorf("launch.key: %w", err)
	}
	if w.limit, err = c.limit(); err != nil {
		return err
	}
	w.purse = &services.Purse{Account: w.key.Address().String(), Rails: s.Rails}
	for _, r := range s.Rails {
		if info := r.Info(); strings.EqualFold(info.PayTo, w.purse.Account) || holds(info.Accounts, w.purse.Account) {
			return fmt.Errorf("launch.key is the key of another account of the store on %s: give it one of its own",
				info.Name)
		}
	}
	w.reach, err = Outside{Log: s.Log, Reach: func(f *fetch.Config) {
		f.Timeout = services.AskFor
		if o.Reach != nil {
			o.Reach(f)
		}
	}}.client(&s.Config)
	return err
}

func holds(list []string, account string) bool {
	for _, a := range list {
		if strings.EqualFold(a, account) {
			return true
		}
	}
	return false
}

// launchBuyer is the buyer of launch checks, in some tokens.
func (s *Shop) launchBuyer(tokens []buyer.Token, timeout time.Duration) (*buyer.Buyer, error) {
	return buyer.New(buyer.Config{Wallet: s.launch.key, Journal: buyer.InLedger(s.DB, services.LaunchJob),
		Ceiling: services.LaunchCap, MaxValidity: services.MaxValidity, Timeout: timeout, Log: s.Log, Tokens: tokens,
		Client: &http.Client{Transport: s.launch.reach.Transport(services.DoorHeaders)}})
}

// payable says why nothing could be bought at a door; nil where no wallet is configured.
func (s *Shop) payable() func(ctx context.Context, url, method string) string {
	if s.launch.key == nil {
		return nil
	}
	return func(ctx context.Context, url, method string) string {
		marks, err := s.launch.purse.Open(ctx)
		if len(marks) == 0 {
			s.Log.Warn("the wallet of launch checks can pay on no network", "err", err)
			return "the store's wallet can pay on no network at present"
		}
		b, err := s.launchBuyer(services.Tokens(marks), fetch.DefaultTimeout)
		if err != nil {
			s.Log.Error("no buyer for launch checks", "err", err)
			return "the store cannot buy at present"
		}
		t, err := b.Terms(ctx, url, services.LaunchOptions(services.Launch{Method: method}))
		switch {
		case err != nil:
			s.Log.Info("a door cannot be bought at", "err", err)
			return services.WhyUnsigned(err)
		case t.Free:
			return "it delivers without asking for a payment"
		case t.Err() != nil:
			return services.WhyUnsigned(t.Err())
		}
		return ""
	}
}

// launchConfig is what is bought with at doors, nothing where no wallet is configured.
func (s *Shop) launchConfig(ended func(verdict string)) services.LaunchConfig {
	if s.launch.key == nil {
		return services.LaunchConfig{}
	}
	return services.LaunchConfig{Purse: s.launch.purse, Daily: s.launch.limit, Observe: feed.Observe, Ended: ended,
		Buyer: func(tokens []buyer.Token) (services.Buyer, error) {
			return s.launchBuyer(tokens, services.AskFor)
		}}
}

// launchEvery is how often the wallet of launch checks is looked at.
const launchEvery = time.Minute

// watchLaunchWallet keeps what is known of the wallet up to date, so that nothing is offered which
// it cannot pay for.
func (s *Shop) watchLaunchWallet(m *dynamic.Metrics) func(context.Context) error {
	return func(ctx context.Context) error {
		return schedule.Every(ctx, launchEvery, func(ctx context.Context) {
			if _, err := s.launch.purse.Open(ctx); err != nil && ctx.Err() == nil {
				s.Log.Warn("the wallet of launch checks could not be read", "err", err)
			}
			list, _ := s.launch.purse.Balances(ctx) // the error was told
			for _, b := range list {
				m.LaunchWallet(b.Network, b.Atomic)
			}
		})
	}
}

// launchRows tell the keeper that the wallet of launch checks runs low.
func (s *Shop) launchRows() []keeper.Row {
	if s.launch.key == nil {
		return nil
	}
	return []keeper.Row{{Name: "launch_wallet", Title: "Wallet of launch checks",
		Read: func(ctx context.Context, _ *keeper.Inbox) (list []keeper.Entry, err error) {
			all, err := s.launch.purse.Balances(ctx)
			for _, b := range all {
				if b.Atomic.Cmp(big.NewInt(services.PurseLow)) >= 0 {
					continue
				}
				list = append(list, keeper.Entry{ID: b.Network, Network: b.Network,
					Late: b.Atomic.Cmp(big.NewInt(services.LaunchCap)) < 0, USDC: content.FormatUSDC(b.Atomic.Int64()),
					Says: "The account that buys for launch checks has so much on " + b.Name + ". Send USDC to " +
						s.launch.purse.Account + "."})
			}
			return list, err
		}}}
}
