package main

import (
	"bytes"
	"encoding/json/v2"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"store.example/agentstore/cmd/check/kit"
	"store.example/agentstore/cmd/devnet/street"
	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/budget"
	"store.example/agentstore/dynamic/desk"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/templates"

	"golang.org/x/sync/errgroup"
)

// deskBefore is the site's desk, whose client walks a street, and which limits nobody.
func deskBefore(t *testing.T, client *fetch.Client) http.Handler {
	t.Helper()
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	db, table := ledger.NewMem(ledger.MemOptions{}), dynamic.Budgets()
	for i := range table {
		for _, n := range []*int{&table[i].Client, &table[i].Process, &table[i].Shared, &table[i].Each} {
			if *n > 0 {
				*n = 1 << 20
			}
		}
		table[i].Fair = false
	}
	budgets, err := budget.New(db, table)
	if err != nil {
		t.Fatal(err)
	}
	chrome, err := templates.NewChrome(templates.Chrome{Title: "Store", BaseURL: "https://store.test"})
	if err != nil {
		t.Fatal(err)
	}
	d, err := desk.New(desk.Config{BaseURL: "https://store.test", Site: site, DB: db, Budgets: budgets, Client: client,
		Secret: bytes.Repeat([]byte("s"), 32), Key: attest.SpecimenKey(),
		Ring:   attest.SpecimenRing(),
		Chrome: func() *templates.Chrome { return chrome }, Record: desk.Rounds{},
		Walks: 16, Time: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	h, err := dynamic.New(dynamic.Config{Rows: d.Rows(), BaseURL: "https://store.test", Budgets: budgets,
		Limits: dynamic.Limits{Handle: 15 * time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// moment is when a door that says the time was asked, which is another one each time.
var moment = regexp.MustCompile(`\d\d:\d\d:\d\dZ`)

// TestSiteAndCheckAgree has the site's desk read every door of the street, and check judge what
// it recorded there itself: they say the same by the same instrument.
func TestSiteAndCheckAgree(t *testing.T) {
	s, err := street.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	at := time.Now().UTC().Truncate(time.Second)
	const long = 5 * time.Minute // a slow machine must not change what a walk comes to
	client := func(c fetch.Config) *fetch.Client {
		c.Now, c.Timeout = func() time.Time { return at }, long
		out, err := fetch.New(s.Config(c))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	site := deskBefore(t, client(fetch.Config{UserAgent: "store/1 (+https://store.test/criteria)",
		Key: attest.SpecimenKey(), Agent: "https://store.test", OwnHosts: []string{"store.test"}}))
	walker := client(fetch.Config{UserAgent: "store-check/1 (+https://store.test/check)", Unsigned: true})
	dir, doors := t.TempDir(), laboratoryDoors(s)
	var g errgroup.Group
	g.SetLimit(16)
	for _, d := range doors {
		g.Go(func() error {
			checker, err := probe.NewPreflight(probe.Current(), d.URL(), probe.Declaration{})
			if err != nil {
				return err
			}
			_, recording, err := fetch.Walk(t.Context(), walker, checker, fetch.WalkStart{URL: d.URL(), Time: long})
			if err != nil {
				return err
			}
			raw, err := recording.Encode()
			file := filepath.Join(dir, d.Name)
			if err == nil {
				err = os.WriteFile(file, raw, 0o600)
			}
			if err != nil {
				return err
			}
			var out, errs bytes.Buffer
			kit.Run(t.Context(), "check", []string{"-json", "-fail-on", "never", "-exchange", file}, &out, &errs)
			body, err := json.Marshal(map[string]string{"url": d.URL()})
			if err != nil {
				return err
			}
			r := httptest.NewRequest(http.MethodPost, "https://store.test/api/preflight/v2", bytes.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			site.ServeHTTP(w, r)
			var theirs, ours map[string]any
			if err := json.Unmarshal(w.Body.Bytes(), &theirs); err != nil {
				return fmt.Errorf("%s: %w", d.Name, err)
			}
			if err := json.Unmarshal(out.Bytes(), &ours); err != nil {
				return fmt.Errorf("%s: %w: %s", d.Name, err, errs.Bytes())
			}
			for _, name := range []string{"instrument", "verdict", "reason", "fault", "reached_level", "checks",
				"clients", "protocols"} {
				a := moment.ReplaceAllString(fmt.Sprint(theirs[name]), "")
				b := moment.ReplaceAllString(fmt.Sprint(ours[name]), "")
				if a != b || theirs["instrument"] == nil {
					t.Errorf("%s: %s is %s on the site, and %s by check", d.Name, name, a, b)
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d doors", len(doors))
}
