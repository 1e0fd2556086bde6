package chaintest

import (
	"math/big"
	"slices"
	"testing"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/token"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

// eachNode runs a test on a chain of ours and on anvil, both sealing by themselves, with the same
// people.
func eachNode(t *testing.T, test func(t *testing.T, p People, n *Node)) {
	net := New(t, Options{Lead: 60})
	t.Run("geth", func(t *testing.T) {
		n := net.Node
		n.T = t
		test(t, net.People, &n)
	})
	t.Run("anvil", func(t *testing.T) { test(t, net.People, Anvil(t, net.Chain)) })
}

// mined sends a call and returns its receipt, which must be of the given status.
func mined(n *Node, k Key, to common.Address, data []byte, status uint64) *types.Receipt {
	n.T.Helper()
	r := n.Await(n.Send(k, to, data).Hash())
	if r.Status != status {
		n.T.Fatalf("status %d, want %d; call says %q", r.Status, status, n.Revert(k.Address, to, data))
	}
	return r
}

func highS(sig []byte) []byte {
	s := new(big.Int).Sub(crypto.S256().Params().N, new(big.Int).SetBytes(sig[32:64]))
	out := slices.Clone(sig)
	s.FillBytes(out[32:64])
	out[64] = 27 + 28 - out[64]
	return out
}

// The token refuses with the texts that the real one is known to refuse with, and pays where the
// real one pays.
func TestOutcomesAndTexts(t *testing.T) {
	const price = 10_000
	eachNode(t, func(t *testing.T, p People, n *Node) {
		buyer := p.Buyers[0]
		fresh := func() token.Authorization { return n.Authorize(buyer.Address, p.PayTo, price) }
		other := func(domain common.Hash) Payment {
			a := fresh()
			return Payment{a, n.SignDigest(buyer, a.Digest(token.TransferKind, domain))}
		}
		spent := n.SignTransfer(buyer, p.PayTo, price)
		mined(n, p.Relayer, n.Asset, spent.Call(), types.ReceiptStatusSuccessful)
		cancelled := n.SignTransfer(buyer, p.PayTo, price)
		mined(n, p.Relayer, n.Asset, token.CancelCall(buyer.Address, cancelled.Nonce,
			n.SignDigest(buyer, token.CancelDigest(buyer.Address, cancelled.Nonce, n.DomainSeparator()))),
			types.ReceiptStatusSuccessful)
		expired := fresh()
		expired.ValidBefore = n.HeadTime() - 1
		early := fresh()
		early.ValidAfter = early.ValidBefore - 1
		ok := n.SignTransfer(buyer, p.PayTo, price)
		v0 := slices.Clone(ok.Signature)
		v0[64] -= 27
		wallet := n.SignWallet(p.Wallet, p.PayTo, price)
		long := Payment{wallet.Authorization, append(p.Wallet.Owner.Address.Bytes(), wallet.Signature...)}
		short := slices.Clone(ok.Signature)[:64]

		for _, tt := range []struct {
			name string
			data []byte
			want string
		}{
			{"v, r, s", ok.Call(), ""},
			{"bytes", token.TransferBytesCall(ok.Authorization, ok.Signature), ""},
			{"v as 0 or 1", token.TransferCall(ok.Authorization, v0), "ECRecover: invalid signature 'v' value"},
			{"high s", token.TransferCall(ok.Authorization, highS(ok.Signature)),
				"ECRecover: invalid signature 's' value"},
			{"64 bytes", token.TransferCall(ok.Authorization, short), "ECRecover: invalid signature length"},
			{"no point", token.TransferCall(ok.Authorization, append(make([]byte, 64), 27)),
				"ECRecover: invalid signature"},
			{"replay", spent.Call(), "FiatTokenV2: authorization is used or canceled"},
			{"cancelled", cancelled.Call(), "FiatTokenV2: authorization is used or canceled"},
			{"expired", n.Sign(buyer, expired).Call(), "FiatTokenV2: authorization is expired"},
			{"not yet", n.Sign(buyer, early).Call(), "FiatTokenV2: authorization is not yet valid"},
			{"wrong signer", n.Sign(p.Poor, fresh()).Call(), "FiatTokenV2: invalid signature"},
			{"wrong name", other(token.Domain("USDC", "2", n.ChainID, n.Asset)).Call(),
				"FiatTokenV2: invalid signature"},
			{"wrong chain", other(token.Domain("USD Coin", "2", 1, n.Asset)).Call(), "FiatTokenV2: invalid signature"},
			{"too much", n.SignTransfer(buyer, p.PayTo, BuyerFunds+1).Call(), "ERC20: transfer amount exceeds balance"},
			{"no dollars", n.SignTransfer(p.Poor, p.PayTo, 1).Call(), "ERC20: transfer amount exceeds balance"},
			{"to nobody", n.SignTransfer(buyer, common.Address{}, 1).Call(), "ERC20: transfer to the zero address"},
			{"wallet, v, r, s", wallet.Call(), ""},
			{"wallet, bytes", token.TransferBytesCall(wallet.Authorization, wallet.Signature), ""},
			{"wallet, 85 bytes", long.Call(), ""},
			{"wallet, another key", n.Sign(buyer, wallet.Authorization).Call(), "FiatTokenV2: invalid signature"},
			{"payee alone", token.ReceiveCall(ok.Authorization, ok.Signature), "FiatTokenV2: caller must be the payee"},
			{"permit", permit(n, buyer, p.Relayer.Address, n.HeadTime()+60), ""},
			{"permit, late", permit(n, buyer, p.Relayer.Address, n.HeadTime()-1), "FiatTokenV2: permit is expired"},
			{"minter alone", token.MintCall(p.PayTo, big.NewInt(1)), "FiatToken: caller is not a minter"},
			{"pauser alone", token.PauseCall(), "Pausable: caller is not the pauser"},
			{"blacklister alone", token.BlacklistCall(p.PayTo), "Blacklistable: caller is not the blacklister"},
		} {
			if got := n.Revert(p.Relayer.Address, n.Asset, tt.data); got != tt.want {
				t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
			}
		}

		mined(n, p.Minter, n.Asset, token.BlacklistCall(p.Buyers[1].Address), types.ReceiptStatusSuccessful)
		if got, want := n.Revert(p.Relayer.Address, n.Asset, n.SignTransfer(p.Buyers[1], p.PayTo, 1).Call()),
			"Blacklistable: account is blacklisted"; got != want {
			t.Errorf("blacklisted payer: %q, want %q", got, want)
		}
		mined(n, p.Minter, n.Asset, token.PauseCall(), types.ReceiptStatusSuccessful)
		if got, want := n.Revert(p.Relayer.Address, n.Asset, ok.Call()), "Pausable: paused"; got != want {
			t.Errorf("paused: %q, want %q", got, want)
		}
		mined(n, p.Minter, n.Asset, token.UnpauseCall(), types.ReceiptStatusSuccessful)
		mined(n, p.Relayer, n.Asset, ok.Call(), types.ReceiptStatusSuccessful)
		mined(n, p.Relayer, n.Asset, long.Call(), types.ReceiptStatusSuccessful)
		mined(n, p.Relayer, n.Asset, spent.Call(), types.ReceiptStatusFailed)
		if got := n.Balance(p.PayTo); got != 3*price {
			t.Errorf("payTo has %d, want %d", got, 3*price)
		}
	})
}

func permit(n *Node, owner Key, spender common.Address, deadline uint64) []byte {
	sig := n.SignDigest(owner, token.PermitDigest(token.Allowance{Owner: owner.Address, Spender: spender,
		Value: big.NewInt(7), Deadline: deadline},
		n.DomainSeparator()))
	return token.PermitCall(owner.Address, spender, big.NewInt(7), deadline, sig)
}

// usedThenPaid lists the payments a receipt proves: each AuthorizationUsed whose very next log is
// its Transfer.
func usedThenPaid(asset common.Address, r *types.Receipt) (out []common.Hash) {
	used := crypto.Keccak256Hash([]byte("AuthorizationUsed(address,bytes32)"))
	paid := crypto.Keccak256Hash([]byte("Transfer(address,address,uint256)"))
	for i := 0; i+1 < len(r.Logs); i++ {
		a, b := r.Logs[i], r.Logs[i+1]
		if a.Address == asset && b.Address == asset && a.Topics[0] == used && b.Topics[0] == paid &&
			a.Topics[1] == b.Topics[1] && a.Index+1 == b.Index {
			out = append(out, a.Topics[2])
		}
	}
	return out
}

// A transfer's gas is what a store pays for: near the real token's, whatever the node.
func TestTransferLogsAndGas(t *testing.T) {
	eachNode(t, func(t *testing.T, p People, n *Node) {
		for i, limit := range []uint64{100_000, 83_000} { // the first fills payTo's empty slot
			pay := n.SignTransfer(p.Buyers[0], p.PayTo, 5)
			r := mined(n, p.Relayer, n.Asset, pay.Call(), types.ReceiptStatusSuccessful)
			if r.GasUsed > limit || r.GasUsed < limit-10_000 {
				t.Errorf("transfer %d used %d gas, want a little under %d", i, r.GasUsed, limit)
			}
			if got := usedThenPaid(n.Asset, r); len(r.Logs) != 2 || len(got) != 1 || got[0] != pay.Nonce {
				t.Errorf("logs %v prove %v, want %v alone", r.Logs, got, pay.Nonce)
			}
		}
	})
}

// A contract of the buyer's own spends many authorizations in one transaction; each is proved by
// its own two logs, and events that the contract forges prove nothing.
func TestManyAuthorizationsInOneTransaction(t *testing.T) {
	eachNode(t, func(t *testing.T, p People, n *Node) {
		var calls [][]byte
		var want []common.Hash
		for i := range 7 {
			pay := n.SignTransfer(p.Buyers[i%3], p.PayTo, 1000)
			calls, want = append(calls, pay.Call()), append(want, pay.Nonce)
		}
		r := mined(n, p.Buyers[0], chain.Spender, token.SpendCall(n.Asset, calls...), types.ReceiptStatusSuccessful)
		if got := usedThenPaid(n.Asset, r); !slices.Equal(got, want) {
			t.Errorf("proved %v, want %v", got, want)
		}
		if got := n.Balance(p.PayTo); got != 7000 {
			t.Errorf("payTo has %d, want 7000", got)
		}
		r = mined(n, p.Buyers[0], chain.Spender, token.ForgeCall(n.Authorize(p.Buyers[0].Address, p.PayTo, 9)),
			types.ReceiptStatusSuccessful)
		if got := usedThenPaid(n.Asset, r); len(r.Logs) != 2 || got != nil {
			t.Errorf("%d forged logs prove %v, want nothing", len(r.Logs), got)
		}
		one := n.SignTransfer(p.Buyers[0], p.PayTo, 1).Call()
		mined(n, p.Buyers[0], chain.Spender, token.SpendCall(n.Asset, one, one), types.ReceiptStatusFailed)
	})
}

// A delegated account (EIP-7702) is asked for its signature: a delegate that answers pays, one that
// cannot does not, although the signature recovers to the account.
func TestDelegatedAccounts(t *testing.T) {
	eachNode(t, func(t *testing.T, p People, n *Node) {
		for i, tt := range []struct {
			target common.Address
			want   string
		}{
			{chain.Delegate, ""},
			{chain.Multicall, "FiatTokenV2: invalid signature"},
			{common.Address{}, ""},
		} {
			buyer := p.Buyers[0]
			if r := n.Await(n.Delegate(buyer, tt.target).Hash()); r.Status != types.ReceiptStatusSuccessful {
				t.Fatalf("delegating failed")
			}
			code, err := n.RPC.CodeAt(t.Context(), buyer.Address, nil)
			if err != nil || (len(code) == 23) != (tt.target != common.Address{}) {
				t.Fatalf("case %d: code = %x, %v", i, code, err)
			}
			if got := n.Revert(p.Relayer.Address, n.Asset, n.SignTransfer(buyer, p.PayTo, 1).Call()); got != tt.want {
				t.Errorf("case %d: %q, want %q", i, got, tt.want)
			}
		}
	})
}

// The factory deploys a wallet where it said it would, and that wallet pays.
func TestWalletFromTheFactory(t *testing.T) {
	eachNode(t, func(t *testing.T, p People, n *Node) {
		w := Wallet{n.CounterfactualWallet(p.Buyers[2].Address, common.Hash{1}), p.Buyers[2]}
		mined(n, p.Buyers[0], n.Asset, token.PayCall(w.Address, big.NewInt(100)), types.ReceiptStatusSuccessful)
		pay := n.SignWallet(w, p.PayTo, 60)
		if got, want := n.Revert(p.Relayer.Address, n.Asset, pay.Call()),
			"FiatTokenV2: invalid signature"; got != want {
			t.Errorf("before it has code: %q, want %q", got, want)
		}
		for range 2 { // deploying again is harmless
			mined(n, p.Relayer, chain.Factory, token.DeployCall(w.Owner.Address, common.Hash{1}),
				types.ReceiptStatusSuccessful)
		}
		mined(n, p.Relayer, n.Asset, pay.Call(), types.ReceiptStatusSuccessful)
		if got := n.Balance(w.Address); got != 40 {
			t.Errorf("the wallet has %d, want 40", got)
		}
		mined(n, w.Owner, w.Address, token.ExecuteCall(n.Asset, new(big.Int), token.PayCall(p.PayTo, big.NewInt(40))),
			types.ReceiptStatusSuccessful)
		if got := n.Balance(p.PayTo); got != 100 {
			t.Errorf("payTo has %d, want 100", got)
		}
	})
}
