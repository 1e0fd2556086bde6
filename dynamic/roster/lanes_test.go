package roster_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/roster"
)

// crowd is a client of doors of which many names lead to one place: those below shared.com to one
// address, those below wild.com to one of their own each. Every answer takes a second, of the
// shared address ten.
type crowd struct {
	mu      sync.Mutex // guards what follows
	under   map[string]int
	most    map[string]int
	asked   map[string]int
	ended   map[string]time.Duration // since the beginning, by domain: when the last was asked
	began   time.Time
	refused int
}

func (c *crowd) Parse(raw string, _ fetch.Rule) (string, error) { return raw, nil }
func (c *crowd) Private() bool                                  { return false }

func (c *crowd) Do(_ context.Context, req exchange.Request, _ fetch.Rule) (exchange.Exchange, error) {
	u, err := url.Parse(req.URL)
	if err != nil {
		return exchange.Exchange{}, err
	}
	host := u.Hostname()
	domain := host[strings.IndexByte(host, '.')+1:]
	takes := time.Second
	if strings.Contains(host, "shared") {
		domain, takes = "shared", 10*time.Second
	}
	c.mu.Lock()
	if domain == "shared" && c.under[domain] > 0 {
		c.refused++
		c.mu.Unlock()
		return exchange.Exchange{Request: req}, &fetch.Busy{}
	}
	c.under[domain]++
	c.asked[host]++
	c.most[domain] = max(c.most[domain], c.under[domain])
	c.mu.Unlock()
	time.Sleep(takes)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.under[domain]--
	c.ended[domain] = time.Since(c.began)
	return exchange.Exchange{Request: req, StartedAt: time.Now(), Response: exchange.Response{Status: 410,
		Proto: "HTTP/1.1", Header: http.Header{}}}, nil
}

// TestManyNamesAimNoWorkersAtOnePlace walks 60 names of one domain, 40 names of one slow address,
// each of a domain of its own, and 200 honest hosts: one door of each place is asked at a time, and
// the honest ones wait for none of them.
func TestManyNamesAimNoWorkersAtOnePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var doors []string
		for i := range 60 {
			doors = append(doors, fmt.Sprintf("https://n%d.wild.com/", i))
		}
		for i := range 40 {
			doors = append(doors, fmt.Sprintf("https://a.shared%d.com/", i))
		}
		for i := range 200 {
			doors = append(doors, fmt.Sprintf("https://x.honest%d.com/", i))
		}
		c := &crowd{under: map[string]int{}, most: map[string]int{}, asked: map[string]int{},
			ended: map[string]time.Duration{}, began: time.Now()}
		store := roster.New(ledger.NewMem(ledger.MemOptions{}))
		report, err := census.Run(t.Context(), census.Config{Owner: "one", Store: store, Client: c, Workers: 16,
			Shard: 64, Batch: 16,
			Sources: []census.Source{{Name: "list", Kind: record.SourceList,
				Read: func(_ context.Context, _ census.Reading, put func(census.Named)) error {
					for _, d := range doors {
						put(census.Named{URL: d})
					}
					return nil
				}}}})
		if err != nil || report.Walked != 300 || report.Outcome != census.OutcomeWalked {
			t.Fatalf("%+v, %v", report, err)
		}
		var honest time.Duration
		for host, n := range c.asked {
			if n != 1 {
				t.Errorf("%s was asked %d times", host, n)
			}
		}
		for domain, at := range c.ended {
			if strings.HasPrefix(domain, "honest") {
				honest = max(honest, at)
			}
		}
		if c.most["wild.com"] != 1 || c.most["shared"] != 1 || c.refused == 0 || len(c.asked) != 300 {
			t.Errorf("at most %v at once, %d refused, %d asked", c.most, c.refused, len(c.asked))
		}
		// 200 answers of a second by 16 workers take 13 s, and the slow address 400 s.
		if honest > 60*time.Second {
			t.Errorf("the last honest host was walked after %s", honest)
		}
		for name := range c.asked {
			why, err := store.Why(t.Context(), report.Week, name)
			if err != nil || why.ThisWeek.State != census.StateWalked {
				t.Errorf("%s: %+v, %v", name, why.ThisWeek, err)
			}
		}
	})
}

// TestStoppedWhileHostsWait ends a census while hosts wait for their lanes: they are walked by the
// next process.
func TestStoppedWhileHostsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{under: map[string]int{}, most: map[string]int{}, asked: map[string]int{},
			ended: map[string]time.Duration{}, began: time.Now()}
		store := roster.New(ledger.NewMem(ledger.MemOptions{}))
		cfg := census.Config{Owner: "one", Store: store, Client: c, Workers: 8, Shard: 16, Batch: 16,
			Sources: []census.Source{{Name: "list", Kind: record.SourceList,
				Read: func(_ context.Context, _ census.Reading, put func(census.Named)) error {
					for i := range 20 {
						put(census.Named{URL: fmt.Sprintf("https://n%d.wild.com/", i)})
						put(census.Named{URL: fmt.Sprintf("https://a.shared%d.com/", i)})
					}
					return nil
				}}}}
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		if _, err := census.Run(ctx, cfg); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		walked := len(c.asked)
		cfg.Owner = "two"
		report, err := census.Run(t.Context(), cfg)
		if err != nil || walked == 0 || walked+int(report.Walked) != 40 || len(c.asked) != 40 {
			t.Errorf("%d walked before, then %+v: %v", walked, report, err)
		}
	})
}
