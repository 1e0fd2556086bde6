package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"syscall"

	"agentstore/cmd/shop"
)

// runServe serves the store until it is told to stop, then finishes the purchases under way.
func runServe(ctx context.Context, c *call) error {
	file := c.flags.String("config", "store.toml", "configuration file")
	listen := c.flags.String("listen", "", "serve on this address instead of the configured one")
	ledger := c.flags.String("ledger", "", "use this ledger instead of the configured one: bolt:FILE or postgres://…")
	if err := c.parse(0, 0); err != nil {
		return err
	}
	cfg, err := shop.Load(*file)
	if err != nil {
		return err
	}
	if *listen != "" {
		cfg.Listen = *listen
	}
	if *ledger != "" {
		cfg.Ledger, cfg.LedgerFile = *ledger, ""
	}
	if cfg.Listen == "" {
		return errors.New("listen is empty, which would be any port of every address: name one in the configuration or with -listen")
	}
	if cfg.Server.LogLevel != "" {
		if err := c.level.UnmarshalText([]byte(cfg.Server.LogLevel)); err != nil {
			return fmt.Errorf("server.log_level: %w", err)
		}
	}
	c.logger = newLogger(c.stderr, &c.level, cfg.Server.LogJSON)
	if os.Getenv("GOGC") == "" {
		// What a store holds is small and what it allocates is short-lived, so collecting at twice the size is collecting
		// all the time: at five times it takes a tenth less of the processor, for some ten megabytes.
		debug.SetGCPercent(400)
	}
	s, err := shop.Open(ctx, cfg, shop.Options{Log: c.logger, Level: &c.level})
	if err != nil {
		return err
	}
	ln, err := listenOn("listen", cfg.Listen)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	var debugListener net.Listener
	if cfg.DebugListen != "" {
		if debugListener, err = listenOn("debug_listen", cfg.DebugListen); err != nil {
			return errors.Join(err, ln.Close(), s.Close())
		}
	}
	defer context.AfterFunc(ctx, func() {
		c.logger.Info("a second signal ends the store at once; what is under way then is taken up at the next start")
	})()
	c.logger.Info("store open", "base_url", cfg.BaseURL, "listen", ln.Addr().String(), "networks", len(s.Rails))
	return errors.Join(s.Serve(ctx, ln, debugListener), s.Close())
}

// listenOn listens on the address of a key of the configuration, which its error names.
func listenOn(key, address string) (net.Listener, error) {
	ln, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s = %q: another program has that port, maybe this store already; stop it, or name another port in the configuration", key, address)
	case err != nil:
		return nil, fmt.Errorf("%s = %q: %w; want an address and a port, such as 127.0.0.1:4020", key, address, err)
	}
	return ln, nil
}
