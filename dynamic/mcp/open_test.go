package mcp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/mcp"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
)

// A thousand paid calls that wait for the chain at once take little memory each, their clients and
// connections in this process included, and every one of them is answered.
func TestManyOpenCalls(t *testing.T) {
	const calls, most = 1000, 96 << 10 // bytes a call
	waiting, settle := make(chan struct{}, calls), make(chan struct{})
	s := open(t, func(c *mcp.Config) {
		c.Buy = func(context.Context, counter.Request) (*counter.Answer, error) {
			waiting <- struct{}{}
			<-settle
			return nil, &problem.Error{Code: "payment_unknown", Payment: &problem.Payment{Billed: "unknown"}}
		}
	})
	handle := s.Rows()[0].Handle
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := handle(w, r.WithContext(route.With(r.Context(), &route.Request{}))); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: calls}}
	defer client.CloseIdleConnections()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"buy_hello","arguments":{"agent_name":"Ada"},` +
		`"_meta":{"x402/payment":{"payload":"` + strings.Repeat("0", 6<<10) + `"}}}}`
	used := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	before := used()
	var wg sync.WaitGroup
	for range calls {
		wg.Go(func() {
			req, err := http.NewRequest(http.MethodPost, server.URL+"/mcp", strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if b, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(b), `"error":{"code":-32000`) {
				t.Errorf("%s, %v", b, err)
			}
		})
	}
	for range calls {
		<-waiting
	}
	each := (used() - before) / calls
	close(settle)
	wg.Wait()
	t.Logf("%d open calls take %d bytes each", calls, each)
	if each > most {
		t.Errorf("an open call takes %d bytes, want at most %d", each, most)
	}
}
