package probe

import (
	"net/http"
	"testing"

	"store.example/agentstore/corpus/exchange"
)

// TestWhoDeclaresNothingIsSaidOfWhatAnswered: a report says that the host's own files declare
// nothing only where the host answered for both, and asks for no other method where one was tried.
func TestWhoDeclaresNothingIsSaidOfWhatAnswered(t *testing.T) {
	const none, post = `{}`, `{"version":1,"resources":["POST /weather"]}`
	request := func(method, path string, status int, body string) exchange.Exchange {
		x := answer(status, nil, []byte(body))
		x.Request.Method, x.Request.URL = method, "https://door.example"+path
		if method == http.MethodPost {
			x.Request.Body = []byte("{}")
		}
		if status == 0 {
			x.Response, x.Error = exchange.Response{}, exchange.Error{Stage: exchange.StageConnect, Text: "reset"}
		}
		return x
	}
	door := request("GET", "/weather", 404, "")
	list, api := "/.well-known/x402", "/openapi.json"
	for name, c := range map[string]struct {
		follow []exchange.Exchange
		want   string
	}{
		"both answer": {[]exchange.Exchange{request("GET", list, 404, ""), request("GET", api, 200, none)},
			"404, and neither /.well-known/x402 nor /openapi.json declares POST"},
		"one is silent": {[]exchange.Exchange{request("GET", list, 200, none), request("GET", api, 0, "")},
			"404, and no method is declared"},
		"both are silent": {[]exchange.Exchange{request("GET", list, 0, ""), request("GET", api, 0, "")},
			"404, and no method is declared"},
		"none is recorded": {nil, "404, and no method is declared"},
		"a declared POST is not found": {[]exchange.Exchange{request("GET", list, 200, post),
			request("POST", "/weather", 404, "")}, ""},
	} {
		r := look(t, V2, append([]exchange.Exchange{door}, c.follow...), Declaration{})
		said := ""
		for _, a := range r.Advisories {
			if a.Name == "maybe-other-method" {
				said = a.Detail
			}
		}
		if said != c.want {
			t.Errorf("%s: %q, want %q", name, said, c.want)
		}
	}
}
