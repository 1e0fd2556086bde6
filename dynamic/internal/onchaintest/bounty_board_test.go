package onchaintest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"store.example/agentstore/dynamic/bounty"
	"store.example/agentstore/dynamic/ledger"
)

// get reads a path of the board.
func (w *town) get(path, accept string, status int) []byte {
	w.t.Helper()
	r, rec := httptest.NewRequest(http.MethodGet, townURL+path, nil), httptest.NewRecorder()
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
func TestABountyIsPosted(t *testing.T) {
	t.Parallel()
	w := openTown(t, ledger.NewMem(ledger.MemOptions{}))
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
