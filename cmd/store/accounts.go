package main

import (
	"context"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/trade"
)

// accountFlags are those of the verbs about who buys on account.
type accountFlags struct{ month, usd, name string }

func (k *keeperCall) declareAccounts() {
	k.flags.StringVar(&k.month, "month", "", "statement: which, such as 2026-11")
	k.flags.StringVar(&k.usd, "usd", "", "received: how many dollars came, such as 12.50")
	k.flags.StringVar(&k.name, "name", "", "received: your name of the payment, such as a bank's reference; one is "+
		"noted once")
}

const accountAsked = "name the account: store keeper accounts lists them"

// accountVerbs are what the keeper does about who buys on account.
func accountVerbs() []keeperVerb {
	return []keeperVerb{
		{name: "accounts", short: "list who buys on account and what they owe",
			run: func(ctx context.Context, k *keeperCall) error {
				return shop.Accounts(ctx, k.cfg, k.logger,
					k.stdout)
			}},
		{name: "statement", about: "ACCOUNT", short: "list what was delivered to an account and received, of a month",
			form: func(k *keeperCall) string {
				if !monthForm.MatchString(k.month) {
					return "say of which month with -month, such as 2026-11"
				}
				return ofForm(trade.IDForm, accountAsked)(k)
			},
			run: func(ctx context.Context, k *keeperCall) error {
				return shop.Statement(ctx, k.cfg, k.about, k.month, k.logger, k.stdout)
			}},
		{name: "received", about: "ACCOUNT", short: "note what an account paid", form: func(k *keeperCall) string {
			if _, err := content.ParseUSDC(k.usd); err != nil {
				return "say how many dollars came with -usd, such as 12.50: " + err.Error()
			}
			return ofForm(trade.IDForm, accountAsked)(k)
		}, run: func(ctx context.Context, k *keeperCall) error {
			usd, err := content.ParseUSDC(k.usd)
			if err != nil {
				return err
			}
			return shop.Received(ctx, k.cfg, shop.AccountReceipt{Account: k.about, USD: usd, Name: k.name}, k.dry,
				k.logger, k.stdout)
		}},
	}
}
