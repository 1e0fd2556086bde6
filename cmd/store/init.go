package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"agentstore/cmd/shop"
	"agentstore/generator"
)

// runInit makes a keeper's site: sources copied from the specimen as a start, a private stock, a configuration.
func runInit(ctx context.Context, c *call) error {
	if err := c.parse(1, 1); err != nil {
		return err
	}
	dir := c.flags.Arg(0)
	if err := generator.Init(dir); err != nil {
		return err
	}
	config := filepath.Join(dir, "store.toml")
	if err := shop.WriteNew(config, []byte(shop.Annotated(shop.Example())), 0o644); err != nil {
		return err
	}
	for _, d := range []string{"corpus/rounds", "corpus/observations", "corpus/proofs"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	if err := generator.InitTrees(filepath.Join(dir, "public")); err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, `%s is a site. Next:
  1. cd %s && store key init
  2. edit store.toml (address, networks, pay_to) and content/site.toml
  3. write your own texts into var/stock: the ones there are the specimen's and public, and a store that is not on
     loopback refuses to sell them
  4. store build -config store.toml && store serve -config store.toml
`, dir, dir)
	return nil
}
