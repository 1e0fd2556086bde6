package main

import (
	"context"
	"fmt"

	"store.example/agentstore/cmd/shop"
)

// runConfig prints the annotated example.
func runConfig(ctx context.Context, c *call) error {
	if err := c.parse(0, 0); err != nil {
		return err
	}
	fmt.Fprint(c.stdout, "# The configuration of a store. Every key is here with its meaning; unknown keys are "+
		"refused.\n"+
		"# Relative paths are relative to this file. Secrets are paths to files of mode 0600.\n\n"+
		shop.Annotated(shop.Example()))
	return nil
}
