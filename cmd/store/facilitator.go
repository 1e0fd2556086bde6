package main

import (
	"context"

	"store.example/agentstore/cmd/shop"
)

// runFacilitator settles other sellers' payments until it is told to stop. What is under way then
// is in the ledger, and the next start takes it up.
func runFacilitator(ctx context.Context, c *call) error {
	file := c.flags.String("config", "store.toml",
		"configuration file, of which [facilitator], the ledger and the networks are read")
	listen := c.flags.String("listen", "", "serve on this address instead of the configured one")
	if err := c.parse(0, 0); err != nil {
		return err
	}
	cfg, err := shop.Load(*file)
	if err != nil {
		return err
	}
	if *listen != "" {
		cfg.Facilitator.Listen = *listen
	}
	if err := c.logTo(cfg); err != nil {
		return err
	}
	s, err := shop.OpenFacilitator(ctx, cfg, shop.Options{Log: c.logger, Level: &c.level})
	if err != nil {
		return err
	}
	return c.serve(ctx, s, "facilitator.listen", cfg.Facilitator.Listen)
}
