package shop

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/mcp"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/till"
)

// Serve serves on ln, and metrics on debug where that is given, until ctx ends; then it finishes
// what is under way.
func (s *Shop) Serve(ctx context.Context, ln, debug net.Listener) error {
	// The background work outlives the listener: purchases under way need the chain's watchers to
	// the end.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	for _, run := range s.runs {
		wg.Go(func() {
			if err := run(background); err != nil && background.Err() == nil {
				s.Log.Error("background work ended", "err", err)
			}
		})
	}
	if debug != nil {
		wg.Go(func() {
			if err := s.Server.ServeDebug(background, debug); err != nil && background.Err() == nil {
				s.Log.Error("debug listener ended", "err", err)
			}
		})
	}
	serving, end := context.WithCancelCause(ctx)
	defer end(nil)
	if l, ok := s.DB.(stopping); ok {
		go func() {
			select {
			case <-l.Stopped():
				end(errLedgerStopped)
			case <-serving.Done():
			}
		}()
	}
	err := s.Server.Serve(serving, ln)
	stop()
	wg.Wait()
	if cause := context.Cause(serving); errors.Is(cause, errLedgerStopped) {
		err = errors.Join(cause, err)
	}
	return err
}

// stopping is a ledger that says when it has stopped for good.
type stopping interface{ Stopped() <-chan struct{} }

// errLedgerStopped ends a store whose ledger has stopped: started again it reads what the disk
// really has. One that stayed would hand out terms that nobody can pay.
var errLedgerStopped = errors.New("the ledger has stopped, as it does when its disk is full or fails: " +
	"see to the disk, and start the store again")

// contactNotice is how long before security.txt goes stale the log says so: who finds a weakness
// takes a stale file for none (RFC 9116, section 2.5.5).
const contactNotice = 30 * 24 * time.Hour

// watchContact warns once a day of a security.txt that goes stale soon or has, until ctx ends.
func (s *Shop) watchContact(ctx context.Context) error {
	return schedule.Every(ctx, 24*time.Hour, func(ctx context.Context) {
		expires := s.Site.Now().Config.SecurityExpires
		if left := time.Until(expires); left < contactNotice {
			level, says := slog.LevelWarn, "security.txt goes stale soon"
			if left <= 0 {
				level, says = slog.LevelError, "security.txt is stale"
			}
			s.Log.Log(ctx, level, says, "expires", expires.UTC().Format(time.DateOnly),
				"hint", "set security_expires in site.toml to at most a year from date, and build")
		}
	})
}

// openDoors opens the doors for agents that speak MCP, whose calls the server answers in process.
func (s *Shop) openDoors(sells *counter.Counter) (*mcp.Doors, error) {
	return mcp.New(mcp.Config{BaseURL: s.Config.BaseURL, Site: s.Site, Routes: API(), Documents: api.Documents,
		Serve: func(w http.ResponseWriter, r *http.Request) { s.Server.Again(w, r) },
		Buy:   sells.Buy, Away: sells.Away, Timeout: sells.BuyTime(), Log: s.Log,
		Pages: func(path string) (string, bool) {
			id, site := strings.TrimPrefix(path, "/"), s.Site.Now()
			_, ok := site.Issue(id)
			return id, ok || id == till.PorchLine && site.Porch.Open()
		}})
}

// Bounds of a key directory of a caller: fifty keys are 10 kB, and no request waits for longer.
const (
	directoryBytes = 64 << 10
	directoryTime  = 3 * time.Second
)

// openCallers tells callers apart by their keys, whose directories are read as strangers' doors
// are.
func (s *Shop) openCallers(cfg fetch.Config) (err error) {
	cfg.MaxBytes, cfg.Timeout, cfg.Spacing = directoryBytes, directoryTime, 0
	client, err := fetch.New(cfg)
	if err != nil {
		return err
	}
	s.callers, err = dynamic.NewCallers(dynamic.CallersConfig{BaseURL: s.Config.BaseURL,
		Read: func(ctx context.Context, url string) (exchange.Exchange, error) {
			return client.Do(ctx, exchange.Request{Method: http.MethodGet, URL: url, Header: http.Header{
				"Accept": {"application/http-message-signatures-directory+json, application/json"}}}, fetch.Rule{})
		},
		Refused: func(err error) bool {
			_, refused := errors.AsType[*fetch.Refusal](err)
			return refused
		}})
	return err
}
