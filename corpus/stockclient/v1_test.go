package stockclient

import (
	"encoding/json"
	"net/http"
	"os"
	"testing"

	"store.example/agentstore/corpus/exchange"
)

// TestAxiosV1 compares the row of x402-axios 0.7.2 with what the package itself did on 25 November
// 2026, with x402 0.7.3, axios 1.21.1 and an account of viem 2.57.20: it was served each body with
// 402, and the file keeps what its X-PAYMENT then held, if it sent one.
func TestAxiosV1(t *testing.T) {
	raw, err := os.ReadFile("testdata/x402-axios-0.7.2.json")
	if err != nil {
		t.Fatal(err)
	}
	var kept map[string]struct {
		Body, Network, Value string
		Signed               bool
	}
	if err := json.Unmarshal(raw, &kept); err != nil {
		t.Fatal(err)
	}
	if len(kept) < 25 {
		t.Fatalf("%d answers", len(kept))
	}
	for _, m := range models {
		if m.Name != "x402-axios/0.7.2" {
			continue
		}
		for name, did := range kept {
			var x exchange.Exchange
			x.Response.Status = http.StatusPaymentRequired
			x.Response.Header = http.Header{"Content-Type": {"application/json"}}
			x.Response.Body = []byte(did.Body)
			a, err := m.Judge(Read(x))
			if err != nil || (a.Outcome == WouldSign) != did.Signed {
				t.Errorf("%s: %s at %s, %v; the client signed: %t", name, a.Outcome, a.Stage, err, did.Signed)
			} else if c := a.Chosen; did.Signed && (c.Network != did.Network || c.AmountAtomic != did.Value) {
				t.Errorf("%s: %+v, the client %s on %s", name, c, did.Value, did.Network)
			}
		}
		return
	}
	t.Error("no such row")
}

// TestFetchV1 compares the rows of x402-fetch 1.2.0 with what the package itself did on 25 November
// 2026, with x402 1.2.0 and an account of viem 2.57.1: it was served each body with 402, once with
// its own limit and once with one of 2^300.
func TestFetchV1(t *testing.T) {
	raw, err := os.ReadFile("testdata/x402-fetch-1.2.0.json")
	if err != nil {
		t.Fatal(err)
	}
	var kept map[string]struct {
		Body, Network, Value string
		Signed, Limited      bool
	}
	if err := json.Unmarshal(raw, &kept); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, m := range models {
		if m.Name != "x402-fetch/1.2.0" {
			continue
		}
		rows++
		for name, did := range kept {
			signed := did.Signed
			if m.Configured == ConfiguredDefault {
				signed = did.Limited
			}
			var x exchange.Exchange
			x.Response.Status = http.StatusPaymentRequired
			x.Response.Header = http.Header{"Content-Type": {"application/json"}}
			x.Response.Body = []byte(did.Body)
			a, err := m.Judge(Read(x))
			if err != nil || (a.Outcome == WouldSign) != signed {
				t.Errorf("%s, %s: %s at %s, %v; the client signed: %t", name, m.Configured, a.Outcome, a.Stage, err,
					signed)
			} else if c := a.Chosen; signed && (c.Network != did.Network || c.AmountAtomic != did.Value) {
				t.Errorf("%s, %s: %+v, the client %s on %s", name, m.Configured, c, did.Value, did.Network)
			}
		}
	}
	if rows != 2 || len(kept) < 50 {
		t.Errorf("%d rows, %d answers", rows, len(kept))
	}
}
