package fetch

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"store.example/agentstore/corpus/exchange"
)

// A host that nobody uses is forgotten at once where nothing has to be spaced, and not before the
// last has left it.
func TestAnIdleHostIsForgottenAtOnce(t *testing.T) {
	var l lanes
	leave, err := l.enter(t.Context(), "a.com")
	if err != nil {
		t.Fatal(err)
	}
	if len(l.lanes) != 1 {
		t.Error("a host in use is forgotten")
	}
	leave()
	if len(l.lanes) != 0 {
		t.Errorf("%d idle hosts are kept", len(l.lanes))
	}
}

// Addresses are taken one at a time only where that is asked for.
func TestAddressesAreSharedUnlessAlone(t *testing.T) {
	a := netip.MustParseAddr("8.8.8.8")
	for _, alone := range []bool{false, true} {
		w := ways{alone: alone}
		leave, free := w.enter(a, "a.com")
		if !free {
			t.Fatal("a free address is not free")
		}
		if _, free := w.enter(a, "a.com"); free == alone {
			t.Errorf("alone %v: a second request may go: %v", alone, free)
		}
		leave()
		if _, free := w.enter(a, "a.com"); !free {
			t.Errorf("alone %v: an address that was left is not free", alone)
		}
	}
}

// A header is kept whole up to its bounds, to the value and to the byte.
func TestHeaderBounds(t *testing.T) {
	values := func(n int) http.Header {
		h := http.Header{}
		for i := range n {
			name := fmt.Sprint("X-", i%7)
			h[name] = append(h[name], "v")
		}
		return h
	}
	size := func(n int) http.Header { return http.Header{"X-A": {strings.Repeat("v", n-len("X-A"))}} }
	for _, c := range []struct {
		in    http.Header
		whole bool
	}{
		{values(exchange.MaxHeaders), true}, {values(exchange.MaxHeaders + 1), false},
		{size(exchange.MaxHeader), true}, {size(exchange.MaxHeader + 1), false},
	} {
		out, whole := boundHeader(c.in)
		if whole != c.whole {
			t.Errorf("%d values: whole %v, want %v", len(c.in), whole, c.whole)
		}
		n := 0
		for _, v := range out {
			n += len(v)
		}
		if n > exchange.MaxHeaders {
			t.Errorf("%d values are kept", n)
		}
	}
}

// A refusal says why. No network holds an address with a zone, so what is allowed by its network is
// not allowed with one.
func TestARefusedAddressIsToldWhy(t *testing.T) {
	g, err := newGuard(Config{OwnAddresses: []netip.Addr{netip.MustParseAddr("2606:4700::2")},
		Refuse: []netip.Prefix{netip.MustParsePrefix("9.9.9.0/24")},
		Allow:  &Allow{Networks: []netip.Prefix{netip.MustParsePrefix("fd00::/8")}}})
	if err != nil {
		t.Fatal(err)
	}
	for address, why := range map[string]string{
		"8.8.4.4": "", "fd00::1": "",
		"fe80::1%eth0":      "target_refused: an address with a zone is link-local",
		"fd00::1%eth0":      "target_refused: an address with a zone is link-local",
		"2606:4700::1%eth0": "target_refused: an address with a zone is link-local",
		"2606:4700::2":      "own_host_refused: the address is this service's own",
		"10.0.0.1":          "target_refused: 10.0.0.1 is not a public address (private)",
		"9.9.9.9":           "target_refused: 9.9.9.9 lies in a network that this service does not contact",
	} {
		got := ""
		if err := g.address(netip.MustParseAddr(address)); err != nil {
			got = err.Error()
		}
		if got != why {
			t.Errorf("%s: %q, want %q", address, got, why)
		}
	}
}

// Our own name is known under whatever a careless reader takes for it.
func TestLooseHost(t *testing.T) {
	for raw, want := range map[string]string{
		"https://Store.Example:443/x": "store.example", "http:store.example": "store.example", "https:": "",
		"http:": "", "https://[2606:4700::1111]:443/": "2606:4700::1111", "[::1]": "::1",
		"//a@store.example.#x": "store.example", "https:\\\\store.example\\x": "store.example",
		"store%2eexample": "store.example", "ｓtore。example": "store.example",
	} {
		if got := looseHost(raw); got != want {
			t.Errorf("looseHost(%q) = %q, want %q", raw, got, want)
		}
	}
}

// What speaks net/http through the guarded client sends what the rule lets through, follows
// nothing, reads so much and no more, and goes nowhere that the client would not.
func TestTransport(t *testing.T) {
	c, _ := door(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/there":
			http.Redirect(w, r, "https://127.0.0.1/", http.StatusFound)
		case "/long":
			w.Write(make([]byte, 2*DefaultMaxBytes))
		default:
			body, err := io.ReadAll(r.Body)
			fmt.Fprint(w, r.Method, r.Header.Get("Payment-Signature"), r.Header.Get("Cookie"), string(body), err)
		}
	}, nil)
	client := &http.Client{Transport: c.Transport(Rule{Headers: []string{"PAYMENT-SIGNATURE"}}),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	get := func(method, url, body string) (int, string, error) {
		r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("PAYMENT-SIGNATURE", "signed")
		r.Header.Set("Cookie", "a=b")
		resp, err := client.Do(r)
		if err != nil {
			return 0, "", err
		}
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		return resp.StatusCode, string(raw), err
	}
	if code, body, err := get("POST", "https://example.com/", "{}"); code != 200 || err != nil ||
		body != "POSTsigned{}<nil>" {
		t.Errorf("%d %q %v", code, body, err)
	}
	if code, _, err := get("GET", "https://example.com/there", ""); code != http.StatusFound || err != nil {
		t.Errorf("a redirect: %d %v", code, err)
	}
	if _, body, err := get("GET", "https://example.com/long", ""); len(body) != DefaultMaxBytes || err != nil {
		t.Errorf("%d bytes are read, %v", len(body), err)
	}
	for _, url := range []string{"https://127.0.0.1/", "http://example.com/", "https://store.test/"} {
		var refusal *Refusal
		if _, _, err := get("GET", url, ""); !errors.As(err, &refusal) {
			t.Errorf("%s: %v", url, err)
		}
	}
}
