package desk

import (
	"context"
	"net/http"
	"sync"
	"time"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"
)

// The bounds of what is remembered of hosts' own files, so that many looks at the doors of a host
// read them once.
const (
	fileKept  = 10 * time.Minute
	filesHeld = 8 << 20 // bytes of bodies
	filesMost = 4096
)

// ownFiles is a client that reads the files in which a host declares its doors once in ten minutes.
type ownFiles struct {
	Client

	mu    sync.Mutex // guards what follows
	files map[string]exchange.Exchange
	bytes int // of bodies
}

func (f *ownFiles) Do(ctx context.Context, req exchange.Request, rule fetch.Rule) (exchange.Exchange, error) {
	if req.Method != http.MethodGet || !probe.IsOwnFile(req.URL) {
		return f.Client.Do(ctx, req, rule)
	}
	if x, ok := f.kept(req.URL); ok {
		return x, nil
	}
	x, err := f.Client.Do(ctx, req, rule)
	if err == nil && x.Response.Status != 0 {
		f.keep(req.URL, x)
	}
	return x, err
}

func (f *ownFiles) kept(url string) (exchange.Exchange, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	x, ok := f.files[url]
	if ok && time.Since(x.StartedAt) < fileKept {
		return x, true
	}
	return exchange.Exchange{}, false
}

// keep remembers a file, or does not where there is no room.
func (f *ownFiles) keep(url string, x exchange.Exchange) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for at, old := range f.files {
		if at == url || time.Since(old.StartedAt) >= fileKept {
			f.bytes -= len(old.Response.Body)
			delete(f.files, at)
		}
	}
	if f.bytes+len(x.Response.Body) > filesHeld || len(f.files) >= filesMost {
		return
	}
	if f.files == nil {
		f.files = map[string]exchange.Exchange{}
	}
	f.files[url], f.bytes = x, f.bytes+len(x.Response.Body)
}
