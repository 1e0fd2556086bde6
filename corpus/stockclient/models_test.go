package stockclient

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/exchange"
)

// A client of another language is said to sign what it was read to sign, and nothing is said of it
// where an offer is not formed as its types demand.
func TestForeignClients(t *testing.T) {
	const entry = `{"scheme":"exact","network":"eip155:8453","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",` +
		`"amount":"9000000","payTo":"0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC","maxTimeoutSeconds":60,` +
		`"extra":{"name":"USD Coin","version":"2"}}`
	for _, c := range []struct{ name, old, new, outcome, stage string }{
		{"beyond the stock limit", "", "", WouldSign, ""},
		{"an unknown chain alone", "eip155:8453", "near:mainnet", WouldThrow, StageScheme},
		{"an amount that is a number", `"9000000"`, `9000000`, CannotSimulate, ""},
		{"an amount in hexadecimal", `"9000000"`, `"0x10"`, CannotSimulate, ""},
		{"half a second", `:60`, `:60.5`, CannotSimulate, ""},
		{"extra is null", `{"name":"USD Coin","version":"2"}`, "null", CannotSimulate, ""},
		{"no name of the domain", `"name":"USD Coin",`, "", CannotSimulate, ""},
		{"no padding", "60", "600", CannotSimulate, ""},
	} {
		offer := `{"x402Version":2,"resource":{"url":"https://x.example/"},"accepts":[` +
			strings.Replace(entry, c.old, c.new, 1) + `]}`
		for len(offer)%3 != 0 {
			offer += " "
		}
		header := base64.StdEncoding.EncodeToString([]byte(offer))
		if c.name == "no padding" {
			header = base64.RawStdEncoding.EncodeToString([]byte(offer + " "))
		}
		door := Read(exchange.Exchange{StartedAt: time.Unix(1_790_000_000, 0), Response: exchange.Response{Status: 402,
			Header: http.Header{"Payment-Required": {header}}}})
		for _, m := range Models() {
			if !m.Foreign {
				continue
			}
			if a, err := m.Judge(door); err != nil || a.Outcome != c.outcome || a.Stage != c.stage {
				t.Errorf("%s at %s: %s at %q %s, %v", m.Name, c.name, a.Outcome, a.Stage, a.ThrowsWith, err)
			}
		}
	}
}
