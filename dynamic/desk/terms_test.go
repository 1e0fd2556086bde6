package desk_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"store.example/agentstore/dynamic/desk"
	"store.example/agentstore/dynamic/goods"
)

// The terms of a door are what a stock buyer would sign; what cannot be bought, or asks not to be
// read, has none.
func TestTerms(t *testing.T) {
	t.Parallel()
	got, err := openSold(t, street(t, door(nil))).Terms(t.Context(), "https://DOOR.example.com/paid?x=1")
	want := desk.Terms{URL: "https://door.example.com/paid?x=1", Host: "door.example.com", Network: "eip155:8453",
		Asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", PayTo: "0x000000000000000000000000000000000000dEaD",
		Amount: 1}
	if err != nil || got != want {
		t.Errorf("terms %+v, %v, want %+v", got, err, want)
	}
	answers := func(path, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if path != "" && r.URL.Path != path {
				door(nil)(w, r)
				return
			}
			fmt.Fprint(w, body)
		})
	}
	for name, c := range map[string]struct {
		door http.Handler
		url  string
		code string
	}{
		"a page":        {answers("", "hello"), "https://door.example.com/", goods.CodeNotRead},
		"who opted out": {answers("/.well-known/x402", `{"census":"no"}`), "https://door.example.com/", goods.CodeOptedOut},
		"our own":       {door(nil), base + "/api/buy/hello", goods.CodeOwnHost},
		"one inside":    {door(nil), "https://inside.example.com/", goods.CodeTargetRefused},
	} {
		_, err := openSold(t, street(t, c.door)).Terms(t.Context(), c.url)
		if u, ok := errors.AsType[*goods.Unread](err); !ok || u.Code != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
}
