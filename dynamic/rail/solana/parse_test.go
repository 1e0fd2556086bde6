package solana

import (
	"crypto/ed25519"
	"encoding/json"
	"testing"

	"store.example/agentstore/cmd/devnet/svm"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/dynamic/rail"
)

// A payment's signature is checked and its account derived once: what Parse read is what later
// steps find, without whatever stood in the fee payer's slot.
func TestParsedPaymentIsNotReadAgain(t *testing.T) {
	of := func(seed byte) ed25519.PrivateKey {
		return ed25519.NewKeyFromSeed(append(make([]byte, 31), seed))
	}
	name := func(k ed25519.PrivateKey) string { return key(k.Public().(ed25519.PublicKey)).String() }
	cfg, _ := Preset(networks.Solana)
	cfg.RPC, cfg.PayTo, cfg.FeePayer = []string{"http://127.0.0.1:1"}, name(of(1)), of(2)
	r, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	from, err := TokenAccount(name(of(3)), cfg.Asset)
	if err != nil {
		t.Fatal(err)
	}
	wire, err := svm.Payment{Payer: of(3), From: from, To: r.account.String(), Mint: cfg.Asset, FeePayer: name(of(2)),
		Amount: 500_000, Memo: "a memo", Blockhash: name(of(4))}.Sign()
	if err != nil {
		t.Fatal(err)
	}
	wire[1] = 7 // in the fee payer's slot
	var payload json.RawMessage = svm.Payload(wire)
	p, err := r.Parse(payload, rail.Requirement{Network: cfg.Network, Asset: cfg.Asset})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.readings) != 1 {
		t.Fatalf("%d transactions remembered, want 1", len(r.readings))
	}
	tx, o, ref := r.taken(p, false)
	if ref != nil || len(r.readings) != 1 {
		t.Fatalf("read again: %v, %d remembered", ref, len(r.readings))
	}
	if tx.signatures[0] != [64]byte{} || o.name != p.Payer || string(tx.wire()) != string(p.Wire) {
		t.Error("what is remembered is not the payment")
	}
}
