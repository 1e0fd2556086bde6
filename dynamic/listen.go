package dynamic

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

// Serve answers requests on ln until ctx ends. Then it takes no new connection, lets the requests
// and drains under way finish for at most Limits.Stop, and returns: nil after an orderly stop.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	hs := &http.Server{
		Handler:           s,
		ConnState:         connState,
		ReadHeaderTimeout: s.limits.ReadHeader,
		ReadTimeout:       s.limits.Read,
		WriteTimeout:      s.limits.Write,
		IdleTimeout:       s.limits.Idle,
		// Twice our own limit, so that a header somewhat too large is answered with a problem
		// document; beyond this net/http answers 431 in its own words.
		MaxHeaderBytes: 2 * s.limits.Header,
		ErrorLog:       slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	var g errgroup.Group
	stopped := make(chan struct{})
	g.Go(func() error {
		defer close(stopped)
		if err := hs.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serving %s: %w", ln.Addr(), err)
		}
		return nil
	})
	if s.site != nil {
		watching, stop := context.WithCancel(ctx)
		g.Go(func() error {
			<-stopped
			stop()
			return nil
		})
		g.Go(func() error {
			s.site.watch(watching, time.Second)
			return nil
		})
	}
	g.Go(func() error {
		select {
		case <-ctx.Done():
		case <-stopped:
			return nil
		}
		return s.stop(ctx, hs)
	})
	return g.Wait()
}

// stop finishes what is under way. The requests come first: they may begin work that the drains
// then wait for.
func (s *Server) stop(ctx context.Context, hs *http.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.limits.Stop)
	defer cancel()
	s.stopping.Store(true)
	s.log.Info("stopping: finishing what is under way")
	var errs []error
	if err := hs.Shutdown(ctx); err != nil {
		errs = append(errs, fmt.Errorf("finishing requests: %w", err), hs.Close())
	}
	for _, d := range s.drains {
		if err := d.Drain(ctx); err != nil {
			errs = append(errs, fmt.Errorf("finishing work: %w", err))
		}
	}
	return errors.Join(errs...)
}
