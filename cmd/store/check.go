package main

import (
	"context"

	"store.example/agentstore/cmd/check/kit"
)

// runCheck is the seller's kit, as the binary check has it.
func runCheck(ctx context.Context, c *call) error {
	switch code := kit.Run(ctx, "store check", c.args, c.stdout, c.stderr); code {
	case kit.ExitFine:
		return nil
	case kit.ExitUsage:
		return errUsage
	case kit.ExitFound, kit.ExitDrift:
		return errNo
	default:
		return errFailed
	}
}
