package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"store.example/agentstore/cmd/shop"
)

// demoURL is where a shop on the chains of a demo is reached unless it is told another address. Its
// debug listener is the port above; no other verb listens on either by default.
const demoURL = "https://127.0.0.1:4050"

// demoConfig is the configuration of the store of a running demo, whose chains a new shop shares.
func demoConfig(dir string, said answers) (*shop.Config, error) {
	cfg, err := shop.Load(filepath.Join(dir, "store.toml"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, because(errUsage, "-demo %s: no demo runs there: start store demo -dir %s first, and leave it "+
			"running", dir, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the demo: %w", err)
	}
	*said["base-url"] = cmp.Or(*said["base-url"], demoURL)
	for _, flag := range []string{"networks", "rpc", "coin-price"} {
		if *said[flag] != "" {
			return nil, because(errUsage, "-%s does not go with -demo, which has it from the demo", flag)
		}
	}
	return cfg, nil
}

// wire makes what a shop on a demo's chains needs beside its site: keys, a certificate that vouches
// for itself, and copies of the demo's relayers.
func (c *call) wire(dir string, demo *shop.Config) error {
	keys := filepath.Join(dir, "var", "keys")
	if _, err := shop.MakeKeys(keys, time.Now().UTC().Format(time.DateOnly)); err != nil {
		return err
	}
	for _, n := range demo.Networks {
		to := filepath.Join(keys, filepath.Base(n.RelayerKey))
		b, err := os.ReadFile(n.RelayerKey)
		if err != nil {
			return fmt.Errorf("copying the relayer of the demo: %w", err)
		}
		if err := shop.WriteNew(to, b, 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	cfg, err := shop.Load(filepath.Join(dir, "store.toml"))
	if err != nil {
		return err
	}
	buy := "store buy"
	if u, err := url.Parse(cfg.BaseURL); err == nil && u.Scheme == "https" {
		if _, err := shop.MakeCertificate(keys, u.Hostname()); err != nil {
			return err
		}
		buy += " -ca var/keys/tls.pem"
	}
	buyer, err := filepath.Abs(filepath.Join(filepath.Dir(filepath.Dir(demo.Networks[0].RelayerKey)), "buyer.key"))
	if err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, `%s is a shop on the chains of the demo. Next:
  1. cd %s && store build && store serve
  2. in another terminal, buy in it: %s -wallet %s %s/api/buy/example
  3. write your own goods: store new good ID makes a file
`, dir, dir, buy, buyer, cfg.BaseURL)
	return nil
}
