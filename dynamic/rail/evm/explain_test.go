package evm_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/rail"
)

func call(method string, words ...[]byte) []byte {
	b := crypto.Keccak256([]byte(method))[:4]
	for _, w := range words {
		b = append(b, common.LeftPadBytes(w, 32)...)
	}
	return b
}

// settlement is a payment, since when it was good, and the settlement that was signed for it.
func (h *harness) settlement(payload []byte) (*rail.Payment, rail.Verified, rail.Signed, *types.Transaction) {
	h.t.Helper()
	want := h.rail.Requirement(500_000)
	p, err := h.rail.Parse(payload, want)
	if err != nil {
		h.t.Fatal(err)
	}
	seen, err := h.rail.Verify(h.t.Context(), p, want, time.Now())
	if err != nil {
		h.t.Fatal(err)
	}
	d, err := h.rail.Draft(h.t.Context(), []*rail.Payment{p})
	if err != nil {
		h.t.Fatal(err)
	}
	signed, err := d.Sign(railtest.NewSequence())
	if err != nil {
		h.t.Fatal(err)
	}
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(signed.Raw); err != nil {
		h.t.Fatal(err)
	}
	return p, seen, signed, tx
}

// A plain payer whose money is gone when our settlement's turn comes, and back when the block ends,
// is shown to be the cause by the transfers before it: else three such payers take the network out
// for everybody.
func TestMoneyThatIsBackAtTheEndOfTheBlock(t *testing.T) {
	all := big.NewInt(chaintest.BuyerFunds).Bytes()
	for name, leaves := range map[string]bool{"left in the same block": true, "left in the block before": false} {
		t.Run(name, func(t *testing.T) {
			h := openOn(t, 8453)
			payer, friend := h.Buyers[0], h.Buyers[1]
			h.Node.Send(payer, h.Asset, call("approve(address,uint256)", h.Minter.Address[:], all))
			h.Seal()
			p, seen, signed, ours := h.settlement(h.Sign(terms(500_000)))
			out := h.Transaction(h.Minter, h.Asset, call("transferFrom(address,address,uint256)", payer.Address[:],
				friend.Address[:], all))
			back := h.Transaction(friend, h.Asset, call("transfer(address,uint256)", payer.Address[:], all))
			if leaves {
				h.MustSealTxs(out, ours, back)
			} else {
				h.MustSealTxs(out)
				h.MustSealTxs(ours, back)
			}
			f, err := h.rail.Status(t.Context(), p, []rail.Signed{signed}, seen, time.Now())
			if err != nil || len(f.Reverts) != 1 {
				t.Fatalf("Status = %+v, %v; want a revert", f, err)
			}
			if c, err := h.rail.Explain(t.Context(), p, f.Reverts[0]); err != nil || !c.Payer {
				t.Errorf("Explain = %+v, %v; want that it is the payer's doing", c, err)
			}
		})
	}
}

// Whoever sends a payer money does not make a revert the payer's doing, nor hide that it is the
// network's.
func TestMoneyFromStrangersBlamesNobody(t *testing.T) {
	h := openOn(t, 8453)
	payer, friend := h.Buyers[0], h.Buyers[1]
	p, err := h.rail.Parse(h.Sign(terms(500_000)), h.rail.Requirement(500_000))
	if err != nil {
		t.Fatal(err)
	}
	gift := h.Transaction(friend, h.Asset, call("transfer(address,uint256)", payer.Address[:], big.NewInt(1).Bytes()))
	h.MustSealTxs(gift) // its place is that of a settlement that reverted
	v := rail.Revert{Tx: gift.Hash().Hex(), Block: h.Head().Number.Uint64()}
	if c, err := h.rail.Explain(t.Context(), p, v); err != nil || c.Payer || c.Reason == "" {
		t.Errorf("Explain = %+v, %v; want a revert that is not the payer's doing", c, err)
	}
}

// Where somebody else has settled or cancelled the authorization before our turn, our revert is
// nobody's doing: three payers who have theirs cancelled by others would take the network out for
// everybody.
func TestAnAuthorizationThatIsUsedUpBlamesNobody(t *testing.T) {
	for name, first := range map[string]func(*harness, chaintest.Payment) []byte{
		"settled by another": func(_ *harness, pay chaintest.Payment) []byte { return pay.Call() },
		"cancelled by another": func(h *harness, pay chaintest.Payment) []byte {
			digest := token.CancelDigest(pay.From, pay.Nonce, h.DomainSeparator())
			return token.CancelCall(pay.From, pay.Nonce, h.SignDigest(h.Buyers[0], digest))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := openOn(t, 8453)
			pay := h.SignTransfer(h.Buyers[0], h.PayTo, 500_000)
			p, _, _, ours := h.settlement(payload(pay))
			h.MustSealTxs(h.Transaction(h.Minter, h.Asset, first(h, pay)), ours)
			v := rail.Revert{Tx: ours.Hash().Hex(), Block: h.Head().Number.Uint64()}
			if c, err := h.rail.Explain(t.Context(), p, v); err != nil || c != (rail.Cause{}) {
				t.Errorf("Explain = %+v, %v; want nobody's doing", c, err)
			}
		})
	}
}
