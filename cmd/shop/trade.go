package shop

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/account"
	"store.example/agentstore/dynamic/budget"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/trade"
)

// TradeConfig is an account at the trade counter.
type TradeConfig struct {
	Account string   `toml:"account" doc:"Its id in addresses: lower-case letters, digits and hyphens, at most 40. It is for ever: what was delivered to it is found by it."`
	Partner string   `toml:"partner" doc:"Its name, which stands on certificates as trade_partner."`
	Secret  string   `toml:"secret" doc:"File (0600) with its secret, whsec_ and base64 of 24 to 64 bytes, a line each: the one in use and, while it is changed, the next. Replicas share it. Without the file the account is listed, and refused as not provisioned."`
	Credit  string   `toml:"credit" doc:"What it may owe at once, in US dollars, with what is under way. Empty is 250."`
	Daily   string   `toml:"daily" doc:"What it may be billed in a day of UTC, in US dollars. Empty is its credit."`
	Items   []string `toml:"items" doc:"The goods that are sold to it. Empty is all that are at the counter."`
}

// defaultCredit is what an account may owe.
const defaultCredit = "250"

// limits are how far the account is trusted.
func (c TradeConfig) limits() (l account.Limits, err error) {
	credit := c.Credit
	if credit == "" {
		credit = defaultCredit
	}
	if l.Credit, err = content.ParseUSDC(credit); err != nil {
		return l, fmt.Errorf("trade %s: credit: %w", c.Account, err)
	}
	daily := c.Daily
	if daily == "" {
		daily = credit
	}
	if l.Daily, err = content.ParseUSDC(daily); err != nil {
		return l, fmt.Errorf("trade %s: daily: %w", c.Account, err)
	}
	return l, nil
}

func (c *Config) checkTrade() error {
	var errs []error
	seen := map[string]bool{trade.Sandbox: true}
	for i, t := range c.Trade {
		switch {
		case !trade.IDForm.MatchString(t.Account):
			errs = append(errs, fmt.Errorf("trade %d: account must be lower-case letters, digits and hyphens, at most "+
				"40", i+1))
		case seen[t.Account]:
			errs = append(errs, fmt.Errorf("trade: account %s is there twice, or is the sandbox's: give each a "+
				"name of its own", t.Account))
		case t.Partner == "" || t.Secret == "":
			errs = append(errs, fmt.Errorf("trade %s: partner and secret are needed: name the marketplace, "+
				"and the file of its secret", t.Account))
		}
		seen[t.Account] = true
		_, err := t.limits()
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// openTrade makes the trade counter. An account whose secret cannot be read takes no orders, and
// the log says why.
func (s *Shop) openTrade(sells *counter.Counter, budgets *budget.Set) error {
	specimen, err := LoadSpecimen()
	if err != nil {
		return err
	}
	cfg := trade.Config{BaseURL: s.Config.BaseURL, DB: s.DB, Site: s.Site, Till: s.Till, Counter: sells,
		Budgets:  budgets,
		Specimen: specimen}
	for _, t := range s.Config.Trade {
		limits, err := t.limits()
		if err != nil {
			return err
		}
		secrets, err := tradeSecrets(t.Secret)
		if err != nil {
			s.Log.Error("an account at the trade counter has no secret and takes no orders", "account", t.Account,
				"err",
				err)
		}
		cfg.Accounts = append(cfg.Accounts, trade.Account{ID: t.Account, Partner: t.Partner, Secrets: secrets,
			Limits: limits, Items: t.Items})
	}
	s.Trade, err = trade.New(cfg)
	return err
}

// tradeSecrets reads the secrets of an account.
func tradeSecrets(file string) (secrets [][]byte, err error) {
	raw, err := ReadSecret(file)
	if err != nil {
		return nil, err
	}
	lines := strings.Fields(string(raw))
	if len(lines) == 0 || len(lines) > 2 {
		return nil, fmt.Errorf("%s has %d lines, and a secret's file has one or two", file, len(lines))
	}
	for i, line := range lines {
		secret, err := trade.ParseSecret(line)
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", file, i+1, err)
		}
		secrets = append(secrets, secret)
	}
	return secrets, nil
}

// KeeperAccount is how an account stands, as the keeper reads it. Amounts are US dollars.
type KeeperAccount struct {
	Account     string `json:"account" doc:"Its id."`
	Partner     string `json:"partner" doc:"Its name."`
	Provisioned bool   `json:"provisioned" doc:"Whether it has a secret."`
	OwedUSD     string `json:"owed_usd" doc:"What it owes, with what is under way."`
	CreditUSD   string `json:"credit_ceiling_usd" doc:"What it may owe."`
	TodayUSD    string `json:"billed_today_usd" doc:"What it was billed today."`
	DailyUSD    string `json:"daily_cap_usd" doc:"What it may be billed in a day."`
	Orders      int    `json:"orders_this_month" doc:"Orders of this month."`
	Before      int    `json:"orders_last_month" doc:"Orders of the month before."`
	ShareBPS    int    `json:"share_bps"`
}

func keeperAccount(a trade.Account, b account.Book) KeeperAccount {
	return KeeperAccount{a.ID, a.Partner, len(a.Secrets) > 0, content.FormatUSDC(b.Owed),
		content.FormatUSDC(a.Limits.Credit), content.FormatUSDC(b.Today), content.FormatUSDC(a.Limits.Daily), b.Orders,
		b.Before, b.Share()}
}

// accounts lists the accounts at the trade counter.
func (s *Shop) accounts(ctx context.Context, _ nothing) (list []KeeperAccount, err error) {
	err = s.DB.View(ctx, func(tx ledger.Tx) error {
		list = nil
		for _, a := range s.Trade.Accounts() {
			b, err := account.ReadBook(tx, a.ID)
			if err != nil {
				return err
			}
			list = append(list, keeperAccount(a, b))
		}
		return nil
	})
	return list, err
}

type statementIn struct {
	Month   string `flag:"month" doc:"which, such as 2026-11"`
	Account string `arg:"ACCOUNT" form:"^[a-z0-9-]{1,40}$" doc:"the account: store keeper accounts lists them"`
}

func (in *statementIn) check() error {
	if at, err := time.Parse("2006-01", in.Month); err != nil || at.Format("2006-01") != in.Month {
		return errors.New("say of which month with -month, such as 2026-11")
	}
	return nil
}

// statement gives how an account stands, and then its lines in a month.
func (s *Shop) statement(ctx context.Context, in statementIn) (iter.Seq2[any, error], error) {
	a, err := s.tradeAccount(in.Account)
	if err != nil {
		return nil, err
	}
	return func(yield func(any, error) bool) {
		for after, more := "", true; more; more = after != "" {
			var page trade.Statement
			err := s.DB.View(ctx, func(tx ledger.Tx) (err error) {
				page, err = s.Trade.Statement(tx, &a, in.Month, after)
				return err
			})
			if err != nil {
				yield(nil, err)
				return
			}
			lines := page.Lines
			if page.Lines = nil; after == "" && !yield(page, nil) {
				return
			}
			for _, l := range lines {
				if !yield(l, nil) {
					return
				}
			}
			after = page.Next
		}
	}, nil
}

func (s *Shop) tradeAccount(id string) (trade.Account, error) {
	for _, a := range s.Trade.Accounts() {
		if a.ID == id {
			return a, nil
		}
	}
	return trade.Account{}, fmt.Errorf("no account %.40q is configured: store keeper accounts lists them", id)
}

type receivedIn struct {
	Account string  `arg:"ACCOUNT" form:"^[a-z0-9-]{1,40}$" doc:"the account: store keeper accounts lists them"`
	USD     dollars `flag:"usd" doc:"how many dollars came, such as 12.50" need:"say how many dollars came with -usd, such as 12.50"`
	Name    string  `flag:"name" doc:"your name of the payment, such as a bank's reference; one is noted once"`
}

// maxReceiptName is how long the name of a payment may be.
const maxReceiptName = 80

var errDryRun = errors.New("dry run")

// received notes that an account paid, and gives how it stands then.
func (s *Shop) received(ctx context.Context, in receivedIn, dry bool) (KeeperAccount, error) {
	a, err := s.tradeAccount(in.Account)
	if err != nil {
		return KeeperAccount{}, err
	}
	switch n := utf8.RuneCountInString(in.Name); {
	case in.USD <= 0 || in.USD%account.Cent != 0:
		return KeeperAccount{}, errors.New("say how many dollars came, in whole cents")
	case n == 0 || n > maxReceiptName || strings.ContainsFunc(in.Name,
		func(r rune) bool { return !unicode.IsPrint(r) }):
		return KeeperAccount{}, fmt.Errorf("name the payment, by at most %d characters that can be seen",
			maxReceiptName)
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	var b account.Book
	err = s.DB.Update(ctx, func(tx ledger.Tx) (err error) {
		if b, err = account.Receive(tx, in.Account, in.Name, int64(in.USD)); err == nil && dry {
			return errDryRun
		}
		return err
	})
	if err != nil && !errors.Is(err, errDryRun) {
		return KeeperAccount{}, err
	}
	return keeperAccount(a, b), nil
}
