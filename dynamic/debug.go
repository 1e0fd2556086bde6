package dynamic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// serveReady answers 200 while buyers can be served, else 503 with the reasons.
func (s *Server) serveReady(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	w.Header().Set(HeaderStore, s.baseURL)
	err := errors.New("the server is stopping")
	if !s.stopping.Load() {
		err = nil
		for _, ready := range s.ready {
			err = errors.Join(err, ready(ctx))
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ready")
}

// HeaderStore is the field of /readyz that says which store it is, by its base URL.
const HeaderStore = "Store-Base-URL"

// Debug answers what only the machine's own people may see: /metrics, /healthz (the process
// answers), /readyz (buyers can be served), /debug/pprof/ and /debug/log-level (GET reads it, PUT
// with a body such as "debug" changes it).
func (s *Server) Debug() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.Registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", s.serveReady)
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /debug/log-level", func(w http.ResponseWriter, _ *http.Request) {
		if s.level == nil {
			http.Error(w, "the level of this process is fixed", http.StatusNotFound)
			return
		}
		fmt.Fprintln(w, s.level.Level())
	})
	mux.HandleFunc("PUT /debug/log-level", func(w http.ResponseWriter, r *http.Request) {
		if s.level == nil {
			http.Error(w, "the level of this process is fixed", http.StatusNotFound)
			return
		}
		var l slog.Level
		b, err := io.ReadAll(io.LimitReader(r.Body, 64))
		if err == nil {
			err = l.UnmarshalText(b)
		}
		if err != nil {
			http.Error(w, "want debug, info, warn or error", http.StatusBadRequest)
			return
		}
		s.level.Set(l)
		fmt.Fprintln(w, l)
	})
	// A page in a browser can name 127.0.0.1 under a host name of its own; only an address or
	// localhost is answered.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		if ip := net.ParseIP(strings.Trim(host, "[]")); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "unknown host", http.StatusMisdirectedRequest)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// ServeDebug serves Debug on ln until ctx ends. It refuses a listener that is not on a loopback
// address.
func (s *Server) ServeDebug(ctx context.Context, ln net.Listener) error {
	if a, ok := ln.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return fmt.Errorf("debug listener %s: not a loopback address", ln.Addr())
	}
	hs := &http.Server{Handler: s.Debug(), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { _ = hs.Close() })
	defer stop()
	if err := hs.Serve(ln); err != http.ErrServerClosed {
		return fmt.Errorf("serving debug: %w", err)
	}
	return nil
}
