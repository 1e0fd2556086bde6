package buyer

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"time"
)

// TestIntentHoldsNoSignature cuts a purchase short between its intent and its signature: the
// journal knows what was going to be paid, holds nothing worth money, and Resume sends nothing for
// it.
func TestIntentHoldsNoSignature(t *testing.T) {
	b, err := New(Config{Wallet: testKey(t), Journal: Folder(t.TempDir())})
	if err != nil {
		t.Fatal(err)
	}
	u, err := parseURL("https://door.example/api/buy/hello")
	if err != nil {
		t.Fatal(err)
	}
	terms := &Terms{Entries: []Entry{{Scheme: schemeExact,
		Network: "eip155:8453", Atomic: 500_000, asset: assets[0]}}, ValidSeconds: 300}
	p, err := b.intend(t.Context(), terms, request{Method: "GET"}, u)
	if err != nil {
		t.Fatal(err)
	}
	h, err := b.open(t.Context(), p.Request.digest())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(h.create(t.Context(), p), h.keep(t.Context(), time.Minute), h.release()); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(b.cfg.Journal.place(p.ID))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(bytes.ToLower(raw), []byte("payment-signature")) || !bytes.Contains(raw, []byte(p.Nonce)) {
		t.Errorf("the intent is %s", raw)
	}
	results, err := b.Resume(t.Context())
	if err != nil || len(results) != 0 {
		t.Errorf("Resume = %v, %v, want nothing", results, err)
	}
}
