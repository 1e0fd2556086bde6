package main

import (
	"context"

	"store.example/agentstore/cmd/verify/kit"
	"store.example/agentstore/corpus/judge"
)

// runVerify checks a clone or a bundle, or makes one, as the binary verify does.
func runVerify(ctx context.Context, c *call) error {
	switch code := kit.Run(ctx, "store verify", judge.Batteries{}, c.args, c.stdout, c.stderr); code {
	case kit.ExitVerified:
		return nil
	case kit.ExitUsage:
		return errUsage
	case kit.ExitRefused:
		return errNo
	case kit.ExitUnproven:
		return errUnproven
	default:
		return errFailed
	}
}
