package desk_test

import (
	"encoding/json/v2"
	"net/http"
	"net/http/httptest"
	"testing"

	"store.example/agentstore/corpus/attest"

	"store.example/agentstore/corpus/botauth"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/offerreceipt"

	"github.com/google/go-cmp/cmp"
)

func body(t *testing.T, h http.Handler, path string) ([]byte, http.Header) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", base+path, nil))
	if w.Code != 200 {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return w.Body.Bytes(), w.Header()
}

// TestFixturesAgreeWithTheDesk: the call of each fixture gets what the fixture expects, and spends
// nothing.
func TestFixturesAgreeWithTheDesk(t *testing.T) {
	h := openTest(t, street(t, http.NotFoundHandler()))
	raw, _ := body(t, h, "/api/conformance/v1/fixtures")
	var set offerreceipt.FixtureSet
	if err := json.Unmarshal(raw, &set); err != nil {
		t.Fatal(err)
	}
	if len(set.Fixtures) != 6 {
		t.Errorf("%d fixtures", len(set.Fixtures))
	}
	for _, f := range set.Fixtures {
		code, header, doc := post(t, h, "/api/conformance/v1", f.Call)
		if code != 200 || header.Get("RateLimit") != "" {
			t.Fatalf("%s: %d %v", f.ID, code, doc)
		}
		got := offerreceipt.Expect{Verdict: doc["verdict"].(string), Kind: doc["kind"].(string),
			KeyResolution: doc["key_resolution"].(string)}
		if live, known := doc["live"].(bool); known {
			got.Live = &live
		}
		if d := cmp.Diff(got, f.Expect); d != "" {
			t.Errorf("%s: got - want +\n%s", f.ID, d)
		}
	}
}

// TestKeysAreFetchedThroughTheGuard: a did:web is resolved at its host, and one that leads inwards
// is a key that cannot be found.
func TestKeysAreFetchedThroughTheGuard(t *testing.T) {
	ring := attest.SpecimenRing()
	h := openTest(t, street(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		doc, err := attest.DIDDocument(r.Host, ring)
		if err != nil || r.URL.Path != "/.well-known/did.json" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/did+json")
		w.Write(doc)
	})))
	offer := func(host string) string {
		k := attest.SpecimenKey()
		jws, err := attest.SignOffer(k, attest.DIDURL(host, k.KID()), attest.Offer{Version: 1, ResourceURL: "https://" +
			host + "/x", Scheme: "exact", Network: "eip155:8453",
			Asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", PayTo: "0x000000000000000000000000000000000000dEaD",
			Amount: "1", ValidUntil: 4102444800})
		if err != nil {
			t.Fatal(err)
		}
		return jws
	}
	for _, c := range []struct{ host, verdict, resolution, budget string }{
		{"store.test", "conforms", "did:web", ""}, // our own keys are at hand: we never read ourselves
		{"issuer.example.com", "conforms", "did:web", "29"},
		{"inside.example.com", "does_not_conform", "unresolved", ""}, // nothing was sent, and nothing is spent
		{"router.local", "does_not_conform", "unresolved", ""},
		{"issuer.example.com", "conforms", "did:web", "28"},
	} {
		code, header, doc := post(t, h, "/api/conformance/v1", map[string]string{"artifact": offer(c.host)})
		if code != 200 || doc["verdict"] != c.verdict || doc["key_resolution"] != c.resolution ||
			header.Get("RateLimit-Remaining") != c.budget {
			t.Errorf("%s: %d %v by %v, %s left: %v", c.host, code, doc["verdict"], doc["key_resolution"],
				header.Get("RateLimit-Remaining"), doc["checks"])
		}
	}
}

// TestOwnDirectoryPassesOwnCheck: what others find of the keys that sign our requests is what we
// ask of others.
func TestOwnDirectoryPassesOwnCheck(t *testing.T) {
	h := openTest(t, street(t, http.NotFoundHandler()))
	raw, header := body(t, h, botauth.Path)
	url := base + botauth.Path
	x := exchange.Exchange{Request: exchange.Request{Method: "GET", URL: url}, Response: exchange.Response{Status: 200,
		Proto: "HTTP/2.0", Header: header, Body: raw}}
	made, _, err := botauth.Checker{URL: url}.Step(nil)
	if err != nil || made.Verdict != "" {
		t.Fatal(err)
	}
	x.StartedAt = now()
	r, next, err := botauth.Checker{URL: url}.Step([]exchange.Exchange{x})
	if err != nil || next != nil || r.Verdict != botauth.Pass {
		t.Errorf("%v %v %v %+v", r.Verdict, next, err, r.Checks)
	}
}
