package token

import (
	"crypto/ecdsa"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
)

// The escrow of auth-capture and one by other hands do and say the same to whatever is called in
// whatever order, but for the words of a token and the addresses of stores.
func TestCaptureEscrowBehavesAsAnother(t *testing.T) {
	other := otherCode(t, "testdata/capture.json")
	said := map[string]int{}
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 11))
		keys := make([]*ecdsa.PrivateKey, 5)
		who := make([]common.Address, len(keys))
		for i := range keys {
			key := make([]byte, 32)
			key[0], key[31] = byte(i+1), byte(seed+1)
			keys[i], _ = crypto.ToECDSA(key)
			who[i] = crypto.PubkeyToAddress(keys[i].PublicKey)
		}
		// Payers 0 and 1, receiver 2, operators 3 and 4.
		worlds := []*escrowWorld{newEscrowWorld(t, Code, who[0], who[1], who[3]),
			newEscrowWorld(t, other, who[0], who[1], who[3])}
		start := worlds[0].time
		for _, w := range worlds {
			var own []string
			for i, operator := range who[3:] {
				answer, _, _ := strings.Cut(w.call(who[0], CaptureAddress, StoreCall(operator)), " ")
				own = append(own, answer[24:], fmt.Sprintf("store %d", i))
			}
			w.own = strings.NewReplacer(own...)
			w.call(who[3], dollar, ApproveCall(CaptureRefundAddress, big.NewInt(1e9)))
		}
		for range 120 {
			// A payment is one of a few, which differ in all that a contract looks at.
			n := r.Uint64N(6)
			p := PaymentInfo{Operator: who[3+n%2], Payer: who[n/3], Receiver: who[2], Token: dollar,
				MaxAmount: big.NewInt(300), PreApproval: start + 3000*(n+1), Capture: start + 3000*(n+2),
				Refund: start + 3000*(n+3), MinFeeBps: 100 * (n % 3), MaxFeeBps: 300 * (n % 3),
				Salt: big.NewInt(int64(n))}
			if n == 5 {
				p.FeeReceiver = who[4]
			}
			switch r.IntN(60) {
			case 0:
				p.Capture = p.PreApproval - 1
			case 1:
				p.Refund = p.Capture - 1
			case 2:
				p.MaxFeeBps = 10_001
			case 3:
				p.MinFeeBps = p.MaxFeeBps + 1
			}
			amount := big.NewInt(r.Int64N(320))
			fee := Fee{big.NewInt(r.Int64N(12)), []common.Address{{}, who[2], who[4]}[r.IntN(3)]}
			if r.IntN(40) == 0 {
				amount = new(big.Int).Lsh(common.Big1, 120)
			}
			if n%3 == 0 && r.IntN(4) > 0 {
				fee.Amount = common.Big0
			}
			a := Authorization{From: p.Payer, To: CapturePayAddress, Value: p.MaxAmount, ValidBefore: p.PreApproval,
				Nonce: p.Nonce(1)}
			digest, collector := a.Digest(ReceiveKind, Domain("USD Coin", "2", 1, dollar)), CapturePayAddress
			switch r.IntN(8) {
			case 0:
				digest, collector = p.PermitDigest(1), CapturePermit2Address
			case 1:
				collector = CaptureRefundAddress
			}
			sig, err := crypto.Sign(digest[:], keys[n/3])
			if err != nil {
				t.Fatal(err)
			}
			if sig[64] += 27; r.IntN(20) == 0 {
				sig[r.IntN(65)] ^= 1
			}
			from := p.Operator
			if r.IntN(10) == 0 {
				from = who[r.IntN(len(who))]
			}
			var data []byte
			switch r.IntN(10) {
			case 0, 1, 2, 3:
				data = AuthorizeCall(p, amount, collector, sig)
			case 4:
				data = ChargeCall(p, amount, collector, sig, fee)
			case 5, 6:
				data = CaptureCall(p, amount, fee)
			case 7:
				data = VoidCall(p)
			case 8:
				data = ReclaimCall(p)
				if r.IntN(4) > 0 {
					from = p.Payer
				}
			case 9:
				collectors := []common.Address{CaptureRefundAddress, CapturePayAddress}
				data = CaptureRefundCall(p, amount, collectors[r.IntN(8)/7], nil)
			}
			hash := worlds[0].call(from, CaptureAddress, HashCall(p))
			if !strings.HasPrefix(hash, p.Hash(1).Hex()[2:]) {
				t.Fatalf("the contract hashes %+v as %s, and not as %s", p, hash, p.Hash(1))
			}
			for i, c := range []struct {
				to   common.Address
				data []byte
			}{{CaptureAddress, data}, {CaptureAddress, PaymentStateCall(p.Hash(1))}, {dollar, BalanceCall(p.Payer)},
				{dollar, BalanceCall(p.Receiver)}, {dollar, BalanceCall(who[4])}} {
				got, want := worlds[0].call(from, c.to, c.data), worlds[1].call(from, c.to, c.data)
				if got != want {
					t.Fatalf("seed %d, call %d, %x: ours %s\ntheirs %s", seed, i, c.data[:4], got, want)
				}
				if i == 0 {
					said[hex.EncodeToString(data[:4])+" "+got[:min(8, len(got))]]++
				}
			}
			if r.IntN(4) == 0 {
				for _, w := range worlds {
					w.time += 700
				}
			}
		}
	}
	if len(said) < 40 { // successes and errors, by method
		t.Errorf("only %d outcomes were seen: %v", len(said), said)
	}
}

// What the stock client of x402 2.27 signed for known terms is what is hashed here.
func TestKnownHold(t *testing.T) {
	var v struct {
		Keys    map[string]string
		Hash    common.Hash
		Orders  struct{ Capture, Void common.Hash } // 100000 captured of all, and all voided
		Payload struct {
			Authorization struct {
				From, To           common.Address
				Value, ValidBefore string
				Nonce              common.Hash
			}
			Signature, Salt string
			SaltNonce       common.Hash
		}
		Accepted struct {
			Asset, PayTo common.Address
			Extra        struct {
				CaptureAuthorizer               common.Address
				ReceiverAuthorizer              common.Address
				CaptureDeadline, RefundDeadline uint64
			}
		}
	}
	b, err := os.ReadFile("testdata/authcapture.json")
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	a, x := v.Payload.Authorization, v.Accepted.Extra
	before, err := strconv.ParseUint(a.ValidBefore, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	p := PaymentInfo{Operator: x.CaptureAuthorizer, Payer: a.From, Receiver: v.Accepted.PayTo, Token: v.Accepted.Asset,
		MaxAmount: big.NewInt(250_000), PreApproval: before, Capture: x.CaptureDeadline, Refund: x.RefundDeadline,
		Salt: common.HexToHash(v.Payload.Salt).Big()}
	if p.Nonce(8453) != a.Nonce || p.Hash(8453) != v.Hash {
		t.Errorf("the nonce is %s and the hash %s", p.Nonce(8453), p.Hash(8453))
	}
	if got := p.CaptureDigest(8453, big.NewInt(100_000), p.MaxAmount, new(big.Int)); got != v.Orders.Capture ||
		p.VoidDigest(8453) != v.Orders.Void || BoundSalt(x.ReceiverAuthorizer, v.Payload.SaltNonce).Cmp(p.Salt) != 0 {
		t.Errorf("a capture is %s, a void %s", got, p.VoidDigest(8453))
	}
	key, err := crypto.HexToECDSA(v.Keys["payer"][2:])
	if err != nil {
		t.Fatal(err)
	}
	signed := Authorization{From: a.From, To: a.To, Value: p.MaxAmount, ValidBefore: before, Nonce: a.Nonce}
	digest := signed.Digest(ReceiveKind, Domain("USD Coin", "2", 8453, dollar))
	sig, err := crypto.Sign(digest[:], key)
	if err != nil {
		t.Fatal(err)
	}
	if sig[64] += 27; a.Value != "250000" || a.To != CapturePayAddress || hexutil.Encode(sig) != v.Payload.Signature {
		t.Errorf("the signature is %x", sig)
	}
}
