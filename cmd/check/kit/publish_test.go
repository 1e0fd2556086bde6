package kit_test

import (
	"encoding/json"
	"errors"
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

// stores answers for a store, one after the other: a status, and how long to wait; 0 is no answer.
type stores struct {
	answers []int
	retry   string
	told    []string // host and body
}

func (s *stores) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	status := s.answers[min(len(s.told), len(s.answers)-1)]
	if s.told = append(s.told, r.URL.Host+" "+string(body)); status == 0 {
		return nil, errors.New("no route to host")
	}
	h := http.Header{}
	if s.retry != "" {
		h.Set("Retry-After", s.retry)
	}
	says := io.NopCloser(strings.NewReader("so\x1b[2J it is\n"))
	return &http.Response{StatusCode: status, Header: h, Body: says}, nil
}

// TestAStoreThatIsAway: a purchase that was paid for can still be told of, whatever the store did
// meanwhile, and what is signed names the store as it names itself.
func TestAStoreThatIsAway(t *testing.T) {
	key, err := wallet.ParseKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		stores
		at, says string
		times    int
		later    bool
	}{
		"back":        {stores{answers: []int{0, 0, 200}}, "https://store.example", "", 3, false},
		"spelled":     {stores{answers: []int{200}}, "https://Store.Example:443/", "", 1, false},
		"gone":        {stores{answers: []int{0}}, "https://store.example", "no route to host", 5, true},
		"out":         {stores{answers: []int{502}}, "https://store.example", "answered 502", 1, true},
		"full":        {stores{answers: []int{429}, retry: "300"}, "https://store.example", "300 seconds", 1, true},
		"not final":   {stores{answers: []int{409}, retry: "60"}, "https://store.example", "in time", 100, true},
		"not willing": {stores{answers: []int{422}}, "https://store.example", `so\x1b[2J it is`, 1, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := buyer.PurchaseReport{URL: "https://door.example/paid", By: "seller", Network: "eip155:8453",
				TxHash: "0x" + strings.Repeat("ab", 32), Payer: key.Address().String(), Status: 200}
			_, err := kit.Program{Transport: &c.stores}.Tell(t.Context(), c.at, key, &p)
			if (err == nil) != (c.says == "") || err != nil && (!strings.Contains(err.Error(), c.says) ||
				strings.Contains(err.Error(), "\x1b")) || len(c.told) != c.times {
				t.Fatalf("%s: told %d times, %v", name, len(c.told), err)
			}
			body := c.told[0][len("store.example "):]
			want := p
			if want.Sign("store.example", key, nil); !strings.HasPrefix(c.told[0], "store.example ") ||
				!strings.Contains(body, want.Signature) {
				t.Errorf("%s: told %s", name, c.told[0])
			}
			if err != nil && strings.Contains(err.Error(), body) != c.later {
				t.Errorf("%s: what to tell later: %v", name, err)
			}
		})
	}
}
