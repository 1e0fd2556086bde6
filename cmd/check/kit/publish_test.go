package kit_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"store.example/agentstore/cmd/check/kit"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/buyer"
)

// TestWhatIsTold chooses the one purchase that is told of: one that was charged twice before one
// that was made again and charged once, and that before one that nothing was lost of.
func TestWhatIsTold(t *testing.T) {
	for twice, change := range map[string]func(*door){"no": func(*door) {}, "yes": func(d *door) { d.again = true },
		"": func(d *door) { d.forget = true }} {
		synctest.Test(t, func(t *testing.T) {
			d := newDoor(10_000)
			change(d)
			key, err := wallet.ParseKey(secret)
			if err != nil {
				t.Fatal(err)
			}
			var p *buyer.PurchaseReport
			cfg := kit.PurchaseConfig{URL: "https://door.example/paid?key=private", Wallet: key, Max: 500_000,
				Journal: t.TempDir(), Transport: d, Told: func(r *buyer.PurchaseReport) { p = r }}
			if _, err := kit.RunPurchases(t.Context(), cfg); err != nil || p == nil {
				t.Fatalf("%q: told of %v, %v", twice, p, err)
			}
			if p.By != "seller" || p.URL != "https://door.example/paid" || p.Status != 200 ||
				p.Bytes != int64(len(`{"sky":"rain"}`)) || p.ChargedTwice != twice ||
				(twice == "yes") != (p.SecondTx != "") || p.SecondTx == p.TxHash {
				t.Errorf("%q: told %+v", twice, p)
			}
		})
	}
}

// TestPublish tells a store of a purchase, signed by the wallet that paid and with nothing of the
// request but its bare address; that is said before anything is bought. Without the flag nothing is
// told. A store that waits for its network is told again, and one that refuses is not.
func TestPublish(t *testing.T) {
	d := newDoor(10_000)
	answers := []int{503, 200, 422}
	var told []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/purchase-report" {
			r.URL.Scheme, r.URL.Host = "http", r.Host
			resp, err := d.RoundTrip(r)
			if err != nil {
				t.Error(err)
				return
			}
			maps.Copy(w.Header(), resp.Header)
			w.WriteHeader(resp.StatusCode)
			io.Copy(w, resp.Body)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || len(told) == len(answers) {
			t.Errorf("told %d times, %v", len(told)+1, err)
			return
		}
		if told = append(told, string(body)); answers[len(told)-1] == 503 {
			w.Header().Set("Retry-After", "0")
		}
		w.WriteHeader(answers[len(told)-1])
		fmt.Fprint(w, "no such thing")
	}))
	defer server.Close()
	at, host := server.URL+"/paid?key=private", strings.TrimPrefix(server.URL, "http://")
	args := []string{"-local", "-pay", keyFile(t), "-max-usd", "0.01", "-header", "X-Token: staging"}
	for _, c := range []struct {
		flags, says string
		told        int
	}{{"", "", 0}, {"-publish " + server.URL, "-publish: taken", 2},
		{"-publish " + server.URL, "the store answered 422: no such thing", 3}} {
		_, _, errs := run(t, append(slices.Concat(args, strings.Fields(c.flags)), "-journal", t.TempDir(), at)...)
		if !strings.Contains(errs, c.says) || len(told) != c.told ||
			strings.Contains(errs, "No query, no header and no body is told") != (c.flags != "") {
			t.Errorf("%q: told %d times; it says %s", c.flags, len(told), errs)
		}
	}
	var p buyer.PurchaseReport
	if err := json.Unmarshal([]byte(told[0]), &p); err != nil || told[0] != told[1] {
		t.Fatalf("told %q, %v", told, err)
	}
	sig, err := wallet.ParseSignature(p.Signature, wallet.SignatureSize)
	if err != nil {
		t.Fatal(err)
	}
	by, err := wallet.Recover(wallet.PersonalHash(p.Text(host)), wallet.NormalizeV(sig))
	if all := strings.Join(told, ""); err != nil || by.String() != p.Payer || p.ChargedTwice != "" ||
		strings.Contains(all, "private") || strings.Contains(all, "staging") || strings.Contains(all, "rain") {
		t.Errorf("told %s, signed by %s, %v", all, by, err)
	}
}
