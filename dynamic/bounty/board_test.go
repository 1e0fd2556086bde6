package bounty_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/bounty"
	"store.example/agentstore/dynamic/ledger"
)

// get reads a path of the board.
func (w *town) get(path, accept string, status int) []byte {
	w.t.Helper()
	r, rec := httptest.NewRequest(http.MethodGet, base+path, nil), httptest.NewRecorder()
	r.Header.Set("Accept", accept)
	for _, row := range w.desk.Rows() {
		if row.Pattern == path {
			if err := row.Handle(rec, r); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	if rec.Code != status {
		w.t.Fatalf("%s: %d", path, rec.Code)
	}
	return rec.Body.Bytes()
}

// The keeper posts what can be judged, paid and recorded, and no more; everybody reads it.
func TestPosting(t *testing.T) {
	t.Parallel()
	w := open(t, ledger.NewMem(ledger.MemOptions{}))
	ctx := t.Context()
	w.MustSealTxs()
	if page := string(w.get("/bounties", "text/html", 200)); !strings.Contains(page, "No bounty is posted") {
		t.Error("an empty board does not say so")
	}
	for name, p := range map[string]bounty.Posting{
		"nothing":      {URL: "https://shop.example/", Reward: 0},
		"one too much": {URL: "https://shop.example/", Reward: bounty.MaxReward + 1},
		"a long note":  {URL: "https://shop.example/", Reward: 1, Note: strings.Repeat("x", bounty.MaxNote+1)},
		"opted out":    {URL: "https://closed.example/", Reward: 1},
		"no record":    {URL: "https://shop.example/" + strings.Repeat("x", 4000), Reward: 1},
	} {
		if _, err := w.desk.Post(ctx, p, false); err == nil {
			t.Errorf("%s was posted", name)
		}
	}
	read := w.cfg.Read
	for name, change := range map[string]func(*bounty.Door){
		"another network": func(d *bounty.Door) { d.Network = "eip155:1" },
		"another token":   func(d *bounty.Door) { d.Asset = "0x" + strings.Repeat("1", 40) },
		"no price":        func(d *bounty.Door) { d.Amount = 0 },
	} {
		cfg := w.cfg
		cfg.Read = func(ctx context.Context, url string) (bounty.Door, error) {
			d, err := read(ctx, url)
			change(&d)
			return d, err
		}
		if _, err := w.replica(cfg).Post(ctx, bounty.Posting{URL: "https://shop.example/", Reward: 1},
			false); err == nil {
			t.Errorf("%s was posted", name)
		}
	}
	most := bounty.Posting{URL: "https://a.shop.example/", Reward: bounty.MaxReward, Note: "<script>=1+1"}
	if _, err := w.desk.Post(ctx, most, true); err != nil {
		t.Error(err)
	}
	if all, _, err := w.desk.All(ctx); err != nil || len(all) != 0 {
		t.Errorf("a rehearsal posted %v, %v", all, err)
	}
	b, err := w.desk.Post(ctx, most, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.desk.Post(ctx, bounty.Posting{URL: "https://b.shop.example/", Reward: 1}, false); err == nil {
		t.Error("a second one is open for a domain")
	}
	var board bounty.Board
	if err := json.Unmarshal(w.get("/api/bounties", "*/*", 200), &board); err != nil || len(board.Bounties) != 1 ||
		board.OpenCount != 1 || !board.Enabled || board.Budget != 10 || board.Screen.Addresses != 1 {
		t.Fatalf("the board: %+v, %v", board, err)
	}
	v := board.Bounties[0]
	if v.ID != b.ID || v.RewardUSD != 0.25 || v.Amount != "10000" || v.AmountUSD != 0.01 ||
		v.OpenedBlock != w.Head().Number.Uint64() ||
		v.Status != "open" || v.Domain != "shop.example" || v.PayTo != w.seller.Address.Hex() {
		t.Errorf("the bounty: %+v", v)
	}
	for accept, want := range map[string]string{"text/html": "Open until", "text/markdown": "- Open until: "} {
		page := string(w.get("/bounties", accept, 200))
		if !strings.Contains(page, want) || !strings.Contains(page, "a.shop.example") ||
			!strings.Contains(page, map[string]string{"text/html": "<li>Wait until its block is final.</li>",
				"text/markdown": "\n2. Wait until its block is final.\n3. POST "}[accept]) ||
			strings.Contains(page, "<script>=") {
			t.Errorf("%s: %s", accept, page)
		}
	}
}

// The screen is closed from the first list that cannot be read on, and when nobody has read it for
// long.
func TestTheScreenFailsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var held sync.Map // what the lists hold, by name
		held.Store("a", "0xABcdefabcdefabcdefabcdefabcdefabcdefabcd\n")
		fine := "# none\n\n7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU\r\n"
		held.Store("b", fine)
		s := &bounty.Screen{Sources: []string{"a", "b"}, Log: slog.New(slog.DiscardHandler),
			Load: func(_ context.Context, name string) ([]byte, error) {
				if text, ok := held.Load(name); ok {
					return []byte(text.(string)), nil
				}
				return nil, errors.New("no such file")
			}}
		ask := func(address string) string {
			listed, err := s.Listed("0x"+strings.Repeat("1", 40), address)
			st, why := s.State()
			if (err == nil) != st.Readable || (why == nil) != st.Readable {
				t.Errorf("asked it says %v, told %+v", err, st)
			}
			switch {
			case err != nil:
				return "closed"
			case listed:
				return "listed"
			}
			return "free"
		}
		const bad = "0xabcdefabcdefABCDEFabcdefabcdefabcdefabcd"
		want := func(when, answer string) {
			t.Helper()
			if got := ask(bad); got != answer {
				t.Errorf("%s: %s, want %s", when, got, answer)
			}
		}
		want("before it is read", "closed")
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		want("read", "listed")
		if ask("7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU") != "listed" || ask("0x"+strings.Repeat("2",
			40)) != "free" {
			t.Error("the second list counts for nothing, or everybody is on it")
		}
		for name, text := range map[string]string{"an error page": "<html>404</html>", "empty": "# nothing\n",
			"large": strings.Repeat(bad+"\n", bounty.MaxScreen/len(bad)+1)} {
			held.Store("b", text)
			time.Sleep(bounty.ScreenEvery)
			synctest.Wait()
			want(name, "closed")
			held.Store("b", fine)
			time.Sleep(time.Minute)
			synctest.Wait()
			want("mended after "+name, "listed")
		}
		held.Delete("a")
		time.Sleep(bounty.ScreenEvery)
		synctest.Wait()
		want("without a file", "closed")
		held.Store("a", bad)
		time.Sleep(time.Minute)
		synctest.Wait()
		want("with it", "listed")
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		time.Sleep(3 * bounty.ScreenEvery)
		want("at its age", "listed")
		time.Sleep(time.Second)
		want("past its age", "closed")
		var none *bounty.Screen
		if _, err := none.Listed(bad); err == nil {
			t.Error("no screen is open")
		}
	})
}
