package solana

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"

	sol "github.com/gagliardetto/solana-go"

	"store.example/agentstore/corpus/networks"
)

// FuzzOrder: whatever message a buyer signs, what is taken of it moves the amount asked for to the
// store's account, once, from the buyer's own, and costs the fee payer no more than it may, as
// another implementation reads it.
func FuzzOrder(f *testing.F) {
	person := func(name string) ed25519.PrivateKey {
		seed := sha256.Sum256([]byte("solana-test-" + name))
		return ed25519.NewKeyFromSeed(seed[:])
	}
	buyer, payTo := person("buyer-0"), key(person("payto").Public().(ed25519.PublicKey))
	cfg, _ := Preset(networks.Solana)
	cfg.RPC, cfg.PayTo, cfg.FeePayer = []string{"http://127.0.0.1:1"}, payTo.String(), person("feepayer")
	r, err := New(cfg)
	if err != nil {
		f.Fatal(err)
	}
	var good string // the stock buyer's
	for i, w := range wires(f) {
		t, err := parseTransaction(w)
		if err != nil {
			f.Fatal(err)
		}
		if f.Add(t.message); i == 0 {
			good = string(t.message)
		}
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		wire := append(make([]byte, 0, maxWire), 2)
		wire = append(append(wire, make([]byte, 64)...), ed25519.Sign(buyer, message)...)
		data, _ := json.Marshal(map[string]string{"transaction": base64.StdEncoding.EncodeToString(append(wire,
			message...))})
		want := r.Requirement(500_000)
		p, err := r.Parse(data, want)
		if err != nil {
			if string(message) == good {
				t.Errorf("a stock payment is refused: %v", err)
			}
			return
		}
		tr, o, ref := r.taken(p, false)
		if ref != nil {
			t.Fatalf("taken apart again it is refused: %v", ref)
		}
		if ref := r.check(tr, o, want); ref != nil {
			if string(message) == good {
				t.Errorf("a stock payment is refused: %v", ref)
			}
			return
		}
		tx, err := sol.TransactionFromBytes(p.Wire)
		if err != nil {
			t.Fatal(err)
		}
		m := tx.Message
		var moved, units, price uint64
		for _, ix := range m.Instructions {
			for _, a := range ix.Accounts {
				if a == 0 {
					t.Errorf("%x: the fee payer is in an instruction", message)
				}
			}
			switch program := key(m.AccountKeys[ix.ProgramIDIndex]); {
			case program == programToken:
				moved += binary.LittleEndian.Uint64(ix.Data[1:9])
				from, to := key(m.AccountKeys[ix.Accounts[0]]), key(m.AccountKeys[ix.Accounts[2]])
				if own := associated(key(buyer.Public().(ed25519.PublicKey)), r.mint); from != own || to != r.account ||
					ix.Data[0] != 12 {
					t.Errorf("%x: %s to %s", message, from, to)
				}
			case program == programBudget && ix.Data[0] == 2:
				units += uint64(binary.LittleEndian.Uint32(ix.Data[1:]))
			case program == programBudget && ix.Data[0] == 3:
				price += binary.LittleEndian.Uint64(ix.Data[1:])
			case program != programMemo && program != programGuard:
				t.Errorf("%x: runs %s", message, program)
			}
		}
		if moved != 500_000 || fee(uint32(units), price) > 15_000 || m.Header.NumRequiredSignatures != 2 ||
			key(m.AccountKeys[0]) != r.feePayer {
			t.Errorf("%x: moves %d, asks for %d units at %d", message, moved, units, price)
		}
	})
}
