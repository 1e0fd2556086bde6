package evm

import (
	"bytes"
	"crypto/ecdsa"
	"encoding/json/v2"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"store.example/agentstore/dynamic/rail"
)

// fuzzed is a rail that asks nobody.
func fuzzed(tb testing.TB) *Rail {
	tb.Helper()
	cfg, ok := Preset("eip155:8453")
	if !ok {
		tb.Fatal("no preset")
	}
	key, err := crypto.ToECDSA(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		tb.Fatal(err)
	}
	cfg.RPC, cfg.PayTo, cfg.Relayer = []string{"http://127.0.0.1:1"}, "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", key
	r, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// permitOf writes a Permit2 payment as its payload.
func permitOf(p *rail.Payment) []byte {
	b, err := json.Marshal(map[string]any{
		"permit2Authorization": map[string]any{
			"from": p.Payer, "spender": proxyAddress.Hex(), "nonce": p.Nonce,
			"deadline":  big.NewInt(p.ValidBefore - 1).String(),
			"permitted": map[string]string{"token": p.Asset, "amount": p.Amount.String()},
			"witness":   map[string]string{"to": p.PayTo, "validAfter": big.NewInt(p.ValidAfter).String()},
		},
		"signature": hexutil.Encode(p.Signature),
	})
	if err != nil {
		panic(err)
	}
	return b
}

// signed is a Permit2 payment with the signature of a key.
func signed(tb testing.TB, r *Rail, key *ecdsa.PrivateKey) *rail.Payment {
	tb.Helper()
	p := &rail.Payment{Network: r.cfg.Network, Asset: r.cfg.Asset, Method: methodPermit2, Nonce: "12345",
		Payer: crypto.PubkeyToAddress(key.PublicKey).Hex(), PayTo: r.cfg.PayTo, Amount: big.NewInt(1000),
		ValidBefore: 2_000_000_001}
	hash := r.permitDigest(p)
	sig, err := crypto.Sign(hash[:], key)
	if err != nil {
		tb.Fatal(err)
	}
	sig[64] += 27
	p.Signature = sig
	return p
}

// A payload by Permit2 that is read is read the same again from its own spelling, and what it says
// is what its digest and the call that settles it say: two payloads with one digest are one payment
// with one claim key.
func FuzzPermit2Payload(f *testing.F) {
	r := fuzzed(f)
	good := signed(f, r, r.relayers[0].key)
	hash := r.permitDigest(good)
	f.Add(permitOf(good))
	wrappedSig := *good
	wrappedSig.Signature = envelope{common.HexToAddress("0x1"), []byte{1}, good.Signature}.bytes()
	f.Add(permitOf(&wrappedSig))
	another := wrappedSig
	another.Payer = common.HexToAddress("0x2").Hex()
	f.Add(permitOf(&another))
	f.Add([]byte(`{"permit2Authorization":{"from":"0x","permitted":{},"witness":{}},"signature":"0x00"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := r.Parse(data, r.Requirement(1000))
		if err != nil || p.Method != methodPermit2 {
			return
		}
		if p.ValidAfter != 1<<63-1 && p.ValidBefore != 1<<63-1 {
			again, err := r.Parse(permitOf(p), r.Requirement(1000))
			if err != nil || again.ClaimKey() != p.ClaimKey() || again.Amount.Cmp(p.Amount) != 0 ||
				!bytes.Equal(again.Signature, p.Signature) || again.ValidBefore != p.ValidBefore {
				t.Fatalf("%s is read as %+v, and that as %+v, %v", data, p, again, err)
			}
		}
		// The digest does not hold whose tokens they are: Permit2 asks him for the signature.
		if r.permitDigest(p) == hash && p.Payer == good.Payer && p.ClaimKey() != good.ClaimKey() {
			t.Fatalf("%s has the digest of another claim, %s", data, p.ClaimKey())
		}
		owner, nonce, ok := settled(settlePermitCall(p))
		if !ok || owner.Hex() != p.Payer || nonce != permitNonce(p.Nonce) {
			t.Fatalf("%s is settled for %s, %s", data, owner, nonce)
		}
	})
}

// A wrapped signature that is taken has one spelling: changed anywhere it is another wrapper, no
// wrapper, or refused.
func FuzzEnvelope(f *testing.F) {
	inner := bytes.Repeat([]byte{7}, 65)
	one := envelope{common.HexToAddress("0x1234"), []byte("calldata of no round length"), inner}.bytes()
	f.Add(one, 0, byte(0))
	f.Add(one, 11, byte(1))
	f.Add(append(bytes.Clone(one), wrapped...), 40, byte(1))
	f.Add(envelope{common.HexToAddress("0x1"), nil, one}.bytes(), 70, byte(128))
	f.Add(envelope{common.Address{}, nil, inner}.bytes(), 1, byte(1))
	f.Fuzz(func(t *testing.T, sig []byte, at int, flip byte) {
		e, is := unfold(sig)
		if !is || checkEnvelope(sig) != nil {
			return
		}
		if again, is := unfold(e.bytes()); !is || !bytes.Equal(e.bytes(), sig) || again.factory != e.factory ||
			!bytes.Equal(again.call, e.call) || !bytes.Equal(again.inner, e.inner) {
			t.Fatalf("%x is taken apart as %+v, and put together as %x", sig, e, e.bytes())
		}
		changed := bytes.Clone(sig)
		if flip == 0 || at < 0 {
			return
		}
		changed[at%len(changed)] ^= flip
		o, is := unfold(changed)
		if is && checkEnvelope(changed) == nil && o.factory == e.factory && bytes.Equal(o.call, e.call) &&
			bytes.Equal(o.inner, e.inner) {
			t.Fatalf("%x and %x are one wrapper", sig, changed)
		}
	})
}
