package solana_test

import (
	"encoding/base64"
	"testing"

	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/dynamic/rail/solana"
)

// What a wallet signed is settled if it is in a block, did not fail there and is that very
// transaction; its fee payer's signature, which the wallet does not know, makes no difference.
func TestLandedTellsWhatIsSettled(t *testing.T) {
	h := open(t)
	sign := func(amount int64) []byte { return h.pay(amount).wire(t) }
	before := sign(price)
	h.land(before)
	h.SealEmpty()
	l, err := solana.LandedSince(t.Context(), networks.Solana, h.pay(price).buyer.PublicKey().String(),
		[]string{h.srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	good, again, failed, unsent := sign(price), sign(price), sign(1<<40), sign(price)
	has := func(name string, wire []byte, want bool) {
		t.Helper()
		got, err := l.Has(t.Context(), base64.StdEncoding.EncodeToString(wire))
		if err != nil || got != want {
			t.Errorf("%s: settled %t, %v; want %t", name, got, err, want)
		}
	}
	has("before it is sent", good, false)
	h.land(good)
	h.land(failed)
	has("in a block", good, true)
	has("asked again", good, true)
	has("failed in a block", failed, false)
	has("never sent", unsent, false)
	has("signed before", before, false)
	h.land(again)
	has("the next one", again, true)
	if _, err := l.Has(t.Context(), "no transaction"); err == nil {
		t.Error("what is no transaction is answered")
	}
}
