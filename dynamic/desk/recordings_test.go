package desk_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/dynamic/desk"
)

// TestRecordingsAreShownToTheOwnerAlone reads back what a door answered, with its address, by a
// ticket whose digest the door shows, and tries without: without the file, with another ticket, and
// with what the file itself says.
func TestRecordingsAreShownToTheOwnerAlone(t *testing.T) {
	const ticket = "kept-to-myself-by-who-runs-the-door"
	sum := sha256.Sum256([]byte(ticket))
	digest, shown := hex.EncodeToString(sum[:]), ""
	paid := door(nil)
	o := street(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/.well-known/store-owner.txt":
			w.Header().Set("X-Only-The-Owner", "sees this")
			paid.ServeHTTP(w, r)
		case shown == "":
			http.NotFound(w, r)
		default:
			w.Write([]byte("# ours\r\n" + shown + "\r\n"))
		}
	}))
	var err error
	if o.drawer, err = desk.OpenDrawer(t.TempDir(), 0, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.drawer.Close() })
	h := openTest(t, o)
	const u = "https://mine.example.com/paid"
	if code, _, doc := post(t, h, "/api/preflight/v2", asked{u}); code != 200 {
		t.Fatalf("%d %v", code, doc)
	}
	ask := func(ticket string) (int, map[string]any) {
		t.Helper()
		code, header, doc := post(t, h, "/api/recordings", map[string]string{"url": u, "ticket": ticket})
		if !strings.Contains(header.Get("Cache-Control"), "no-store") {
			t.Errorf("Cache-Control %q", header.Get("Cache-Control"))
		}
		return code, doc
	}
	if code, doc := ask(ticket); code != 401 {
		t.Errorf("without the file: %d %v", code, doc)
	}
	shown = digest
	for _, other := range []string{strings.ToUpper(ticket), digest, ticket + " "} {
		if code, doc := ask(other); code != 401 || doc["recordings"] != nil {
			t.Errorf("with %q: %d %v", other, code, doc)
		}
	}
	code, doc := ask(ticket)
	if code != 200 {
		t.Fatalf("%d %v", code, doc)
	}
	list := doc["recordings"].([]any)
	if len(list) != 1 {
		t.Fatalf("%d recordings", len(list))
	}
	raw, err := base64.StdEncoding.DecodeString(list[0].(map[string]any)["recording"].(string))
	if err != nil {
		t.Fatal(err)
	}
	rec, err := fetch.DecodeRecording(raw)
	if err != nil || rec.Start != u || rec.Exchanges[0].Response.Header.Get("X-Only-The-Owner") == "" {
		t.Errorf("%+v %v", rec, err)
	}
	if code, _, doc := post(t, h, "/api/recordings", map[string]string{"url": "https://another.example.com/paid",
		"ticket": ticket}); code != 200 || len(doc["recordings"].([]any)) != 0 {
		t.Errorf("another door: %d %v", code, doc)
	}
}
