package shop

import (
	"context"
	"errors"
	"net/http"
	"time"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/dynamic"
)

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
