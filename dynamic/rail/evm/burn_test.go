package evm_test

import (
	"errors"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/evm"
)

// endless is code that never ends: it takes all the gas that a call is given.
var endless = []byte{0x5b, 0x60, 0x00, 0x56}

// A contract that takes all gas to say nothing is a payment that is refused, and no outage: it gets
// no more of the node than the row of its purpose (package till, M15).
func TestACallIntoAContractHasItsGas(t *testing.T) {
	if evm.SignatureGas != railtest.MostRead {
		t.Errorf("a contract has %d to read a signature, stated is %d", evm.SignatureGas, railtest.MostRead)
	}
	n := chaintest.New(t, chaintest.Options{Manual: true, Code: [][]byte{endless}})
	r := newRail(t, config(t, n))
	pay := n.SignTransfer(n.Buyers[0], n.PayTo, 500_000)
	pay.From = n.Coded[0].Address
	want := r.Requirement(500_000)
	p, err := r.Parse(payload(pay), want)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Verify(t.Context(), p, want, time.Now())
	if ref, ok := errors.AsType[*rail.Refusal](err); !ok || ref.Reason != "invalid_exact_evm_signature" {
		t.Errorf("Verify = %v, want a refusal of the signature", err)
	}
	err = r.ProveSigner(t.Context(), pay.From.Hex(), []byte("text"), pay.Signature)
	if _, ok := errors.AsType[*rail.Refusal](err); !ok {
		t.Errorf("ProveSigner = %v, want a refusal", err)
	}
}

// A signature that is not its payer's costs one look for code, and the next one none.
func TestAWrongSignatureCostsOneQuestion(t *testing.T) {
	n := chaintest.New(t, chaintest.Options{Manual: true, Permit2: true})
	for _, transfer := range []string{"eip3009", "permit2"} {
		cfg := config(t, n)
		asked := 0
		cfg.Asked = func(rail.Asked) { asked++ }
		cfg.Transfer = transfer
		r := newRail(t, cfg)
		h := &harness{Net: n, t: t, cfg: cfg, rail: r}
		var data []byte
		if transfer == "permit2" {
			data = (&permits{h}).Sign(terms(500_000))
		} else {
			data = h.Sign(terms(500_000))
		}
		p, err := r.Parse(data, r.Requirement(500_000))
		if err != nil {
			t.Fatal(err)
		}
		if !r.Signed(p) {
			t.Errorf("%s: a good signature is not taken for its payer's", transfer)
		}
		p.Signature[5] ^= 1
		if r.Signed(p) {
			t.Errorf("%s: a bad signature is taken for its payer's", transfer)
		}
		for i, most := range []int{2, 1} { // the head too, where nobody watches
			asked = 0
			_, err := r.Verify(t.Context(), p, r.Requirement(500_000), time.Now())
			if _, ok := errors.AsType[*rail.Refusal](err); !ok || asked > most {
				t.Errorf("%s: look %d asks %d questions: %v", transfer, i, asked, err)
			}
		}
	}
}
