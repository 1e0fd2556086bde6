package buyer

import (
	"bytes"
	"os"
	"testing"
)

// TestIntentHoldsNoSignature cuts a purchase short between its intent and its signature: the journal knows what was
// going to be paid, holds nothing worth money, and Resume sends nothing for it.
func TestIntentHoldsNoSignature(t *testing.T) {
	dir := t.TempDir()
	b, err := New(Config{Wallet: testKey(t), Journal: dir})
	if err != nil {
		t.Fatal(err)
	}
	u, err := parseURL("https://door.example/api/buy/hello")
	if err != nil {
		t.Fatal(err)
	}
	terms := &Terms{Entries: []Entry{{Network: "eip155:8453", Atomic: 500_000, asset: assets[0]}}, ValidSeconds: 300}
	j, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := b.intend(terms, request{Method: "GET"}, u)
	if err := j.create(p); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(j.file(p))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(bytes.ToLower(raw), []byte("payment-signature")) || !bytes.Contains(raw, []byte(p.Nonce)) {
		t.Errorf("the intent is %s", raw)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	results, err := b.Resume(t.Context())
	if err != nil || len(results) != 0 {
		t.Errorf("Resume = %v, %v, want nothing", results, err)
	}
}
