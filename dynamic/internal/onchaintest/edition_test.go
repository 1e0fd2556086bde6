package onchaintest_test

import (
	"bytes"
	"io/fs"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/till"
)

// editions is a keeper's site before and after the goods of it were taken off the shelf.
type editions struct {
	now    atomic.Pointer[content.Site]
	before *content.Site
}

func (e *editions) Now() *content.Site { return e.now.Load() }

func (e *editions) Of(digest string) *content.Site {
	if digest == e.before.Digest {
		return e.before
	}
	return e.now.Load()
}

// A good that is taken off the shelf while it is being paid for is delivered as it was sold,
// whichever step the purchase has come to, and another price is asked of the next buyer only.
func TestPurchasesKeepToWhatTheyWereClaimedUnder(t *testing.T) {
	t.Parallel()
	sources := fstest.MapFS{}
	err := fs.WalkDir(content.Specimen, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == "shelf/the_drawer.md" || name == "pools/drawer.toml" {
			return err
		}
		b, err := fs.ReadFile(content.Specimen, name)
		sources[name] = &fstest.MapFile{Data: b}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	hello := sources["shelf/hello.md"]
	hello.Data = bytes.Replace(hello.Data, []byte(`price = "0.5"`), []byte(`price = "0.75"`), 1)
	gone, err := content.Load(content.Sources{Content: sources})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{"claimed", "settling", "settled"} {
		site, err := content.Load(content.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		e := &editions{before: site}
		e.now.Store(site)
		s := newShop(t, shopOptions{config: func(c *till.Config) {
			c.Site = e
			c.AfterStep = func(at string) {
				if at == step {
					e.now.Store(gone)
				}
			}
		}})
		const path = "/api/buy/the_drawer"
		p := s.sign(s.challenge(path), 0, s.net.Buyers[0], nil)
		cheap := s.sign(s.challenge("/api/buy/hello"), 0, s.net.Buyers[1], nil)
		if r := s.present(path, p); r.Status != 200 || r.Body["deliverable"] == nil {
			t.Errorf("taken off the shelf after %s: %d %s", step, r.Status, r.Raw)
		}
		if r := s.present("/api/buy/hello", cheap); r.Status != 402 || r.Str("billed") != "no" {
			t.Errorf("the price before is taken: %d %s", r.Status, r.Raw)
		}
		accepts := s.challenge("/api/buy/hello")["accepts"].([]any)
		if price, _ := accepts[0].(map[string]any)["amount"].(string); price != "750000" {
			t.Errorf("the price of the same minute: %s", price)
		}
		if r := s.do("GET", path, nil); r.Status != 404 {
			t.Errorf("the next buyer of it: %d %s", r.Status, r.Raw)
		}
	}
}
