package shop

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/channels/manager"
)

// VouchersConfig is how purchases are paid out of payers' channels.
type VouchersConfig struct {
	Key        string   `toml:"key" doc:"File (0600) of 64 hex digits, as openssl rand -hex 32 makes: the key that claims. It moves money to pay_to and back to payers alone. Keep a copy. Empty takes none."`
	Delay      Duration `toml:"delay" doc:"How long a payer's own withdrawal takes, 15m to 720h. Every channel's id has it. 0s takes 336h."`
	MinDeposit string   `toml:"min_deposit" doc:"The least deposit, raised by itself to twenty times a channel's cost. Empty is 1."`
	Channel    string   `toml:"channel" doc:"What a channel may owe, in USDC. Empty is 5."`
	Day        string   `toml:"day" doc:"What is sold a day for deposits that are not final. Empty is 50."`
	Gas        string   `toml:"gas" doc:"What deposits and refunds may cost a day beyond what their channels brought. Empty is 1."`
	ClaimSum   string   `toml:"claim_sum" doc:"What is owed is claimed from this sum on, if it is worth it. Empty is a fifth of channel."`
	ClaimAge   Duration `toml:"claim_age" doc:"When less is claimed. 0s takes 24h."`
}

// voucherAmounts are the amounts of a VouchersConfig, in atomic units; 0 is the default.
type voucherAmounts struct {
	channels.Limits
	minDeposit, claimSum int64
}

func (c VouchersConfig) amounts() (a voucherAmounts, err error) {
	for _, k := range []struct {
		key, text string
		into      *int64
	}{{"min_deposit", c.MinDeposit, &a.minDeposit}, {"channel", c.Channel, &a.Channel}, {"day", c.Day, &a.Day},
		{"gas", c.Gas, &a.Gas}, {"claim_sum", c.ClaimSum, &a.claimSum}} {
		if k.text == "" {
			continue
		}
		v, parse := content.ParseUSDC(k.text)
		if parse == nil && v == 0 {
			parse = errors.New("it is nothing: leave it out for the default")
		}
		if parse != nil {
			err = errors.Join(err, fmt.Errorf("vouchers.%s: %w", k.key, parse))
		}
		*k.into = v
	}
	return a, err
}

// checkVouchers says what is wrong with how vouchers are taken. They are taken on the first network
// alone: a stock client that is told of two fails.
func (c *Config) checkVouchers() error {
	v := c.Vouchers
	_, err := v.amounts()
	errs := []error{err}
	if v.ClaimAge < 0 {
		errs = append(errs, errors.New("vouchers.claim_age is negative"))
	}
	if v.Key == "" || len(c.Networks) == 0 {
		return errors.Join(errs...)
	}
	switch n := c.Networks[0]; {
	case !strings.HasPrefix(n.ID, "eip155:"):
		errs = append(errs,
			fmt.Errorf("vouchers.key: vouchers are taken on the first network, and %s has no channels: "+
				"put a network of the EVM first", n.ID))
	case n.Facilitator != "":
		errs = append(errs,
			fmt.Errorf("vouchers.key: the facilitator of %s takes no vouchers for this store: give the "+
				"network a relayer_key", n.ID))
	}
	return errors.Join(errs...)
}

// voucherKey reads the key of the channels.
func (c VouchersConfig) voucherKey() (*ecdsa.PrivateKey, error) {
	b, err := ReadSecret(c.Key)
	if err != nil {
		return nil, fmt.Errorf("vouchers.key: %w; hint: put it back from its copy; for a first one, make it with "+
			"openssl rand -hex 32, and chmod 600 it", err)
	}
	key, err := crypto.HexToECDSA(strings.TrimPrefix(strings.TrimSpace(string(b)), "0x"))
	if err != nil {
		return nil, fmt.Errorf("vouchers.key: %s does not hold 32 bytes of hex", c.Key)
	}
	return key, nil
}

// limits are those of the till; nil where no vouchers are taken.
func (c VouchersConfig) limits() (*channels.Limits, error) {
	a, err := c.amounts()
	if c.Key == "" || err != nil {
		return nil, err
	}
	return &a.Limits, nil
}

// openVouchers has the channels looked after. Channels of a key that is configured no more are told
// of, because nobody claims them.
func (s *Shop) openVouchers(ctx context.Context) error {
	c := s.Config.Vouchers
	a, err := c.amounts()
	if c.Key == "" || err != nil {
		return err
	}
	m, err := manager.New(manager.Config{DB: s.DB, Rails: s.Rails[:1], Settles: s.Till.Settles(), Log: s.Log,
		Limits: a.Limits, Sum: a.claimSum, Age: time.Duration(c.ClaimAge)})
	if err != nil {
		return err
	}
	s.jobs = append(s.jobs, m.Job())
	return m.Start(ctx)
}
