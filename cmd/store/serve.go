package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"store.example/agentstore/cmd/shop"
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
		return errors.New("listen is empty, which would be any port of every address: name one in the configuration " +
			"or with -listen")
	}
	if err := c.logTo(cfg); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		// What a store holds is small and what it allocates is short-lived, so collecting at twice
		// the size is collecting all the time: at five times it takes a tenth less of the
		// processor, for some ten megabytes.
		debug.SetGCPercent(400)
	}
	s, err := shop.Open(ctx, cfg, shop.Options{Log: c.logger, Level: &c.level})
	if err != nil {
		return err
	}
	stop := c.reloads(*file, s.Reload)
	defer stop()
	c.openDesk(s)
	return c.serve(ctx, s, "listen", cfg.Listen)
}

// openDesk has a shop serve its keeper's desk. A store sells without one.
func (c *call) openDesk(s *shop.Shop) {
	address := s.Config.Desk.Address()
	if address == "" {
		return
	}
	var link string
	ln, err := listenOn("desk.listen", address)
	if err == nil {
		link, err = s.ServeDesk(ln)
	}
	switch {
	case err != nil:
		c.logger.Warn("the keeper's desk is shut, and the store sells: name another address as desk.listen, or off",
			"err", err)
	case link != "":
		fmt.Fprintf(c.stdout, "The keeper's desk: %s\nThis link opens it once, within fifteen minutes; store keeper "+
			"token prints what opens it later.\n", link)
	default:
		c.logger.Info("the keeper's desk is open: store keeper token prints what opens it", "address",
			"http://"+ln.Addr().String())
	}
}

// reloads reads the configuration again at each SIGHUP, until stop is called, and takes up what can
// be changed while a store serves: how much is logged, and the files that renew reads. The
// published tree is followed without being told; everything else is for the next start, which is
// said. A configuration with a fault changes nothing.
func (c *call) reloads(file string, renew func() error) (stop func()) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGHUP)
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case <-told:
			case <-ended:
				return
			}
			cfg, err := shop.Load(file)
			var level slog.Level
			if err == nil && cfg.Server.LogLevel != "" {
				err = level.UnmarshalText([]byte(cfg.Server.LogLevel))
			}
			if err == nil {
				err = renew()
			}
			if err != nil {
				c.logger.Error("the configuration was not read again", "err", err)
				continue
			}
			c.level.Set(level)
			c.logger.Info("the configuration was read again: the log level and the files of tls.certificate hold "+
				"from now on, the rest from the next start", "log_level", level)
		}
	}()
	return func() { signal.Stop(told); close(ended) }
}

// logTo makes the logger that a configuration asks for.
func (c *call) logTo(cfg *shop.Config) error {
	if cfg.Server.LogLevel != "" {
		if err := c.level.UnmarshalText([]byte(cfg.Server.LogLevel)); err != nil {
			return fmt.Errorf("server.log_level: %w", err)
		}
	}
	c.logger = newLogger(c.stderr, &c.level, cfg.Server.LogJSON)
	return nil
}

// serve serves a shop on the address of a key of its configuration until ctx ends, and closes it.
func (c *call) serve(ctx context.Context, s *shop.Shop, key, address string) error {
	ln, err := listenOn(key, address)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	cfg := &s.Config
	var plain, debugListener net.Listener
	if cfg.TLS.Redirect != "" {
		if plain, err = listenOn("tls.redirect", cfg.TLS.Redirect); err != nil {
			return errors.Join(err, ln.Close(), s.Close())
		}
		plain = s.Server.Bound(plain)
	}
	if ln, err = s.Secure(s.Server.Bound(ln), plain); err != nil {
		return errors.Join(err, s.Close())
	}
	if cfg.DebugListen != "" {
		if debugListener, err = listenOn("debug_listen", cfg.DebugListen); err != nil {
			return errors.Join(err, ln.Close(), s.Close())
		}
	}
	defer context.AfterFunc(ctx, func() {
		c.logger.Info("a second signal ends the store at once; what is under way then is taken up at the next start")
	})()
	c.logger.Info("store open", "base_url", cfg.BaseURL, "listen", ln.Addr().String(), "networks", len(s.Rails))
	began := time.Now()
	err = errors.Join(s.Serve(ctx, ln, debugListener), s.Close())
	if err == nil {
		c.logger.Info("store closed", "open_for", time.Since(began).Round(time.Second))
	}
	return err
}

// listenAt listens on the address of a flag, which its error names.
func listenAt(name, address string) (net.Listener, error) {
	ln, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s %s: another program has that port; stop it, or name another one with %[1]s", name,
			address)
	}
	return ln, err
}

// listenOn listens on the address of a key of the configuration, which its error names.
func listenOn(key, address string) (net.Listener, error) {
	ln, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s = %q: another program has that port, maybe this store already; stop it, or name "+
			"another port in the configuration", key, address)
	case err != nil:
		return nil, fmt.Errorf("%s = %q: %w; want an address and a port, such as 127.0.0.1:4020", key, address, err)
	}
	return ln, nil
}
