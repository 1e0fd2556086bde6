package chaintest

import (
	"crypto/rand"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/token"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/holiman/uint256"
)

// Node is any node that speaks JSON-RPC for one of the networks: a chain of this process, or anvil.
type Node struct {
	T testing.TB
	chain.Network
	URL string            // JSON-RPC over HTTP
	RPC *ethclient.Client // to the same node
}

// A Payment is a signed EIP-3009 authorization.
type Payment struct {
	token.Authorization
	Signature []byte // 65 bytes r, s, v with v 27 or 28, unless a test changed it
}

// Call returns the calldata of transferWithAuthorization: (v, r, s) for 65 bytes of signature,
// bytes for others.
func (p Payment) Call() []byte { return token.TransferCall(p.Authorization, p.Signature) }

// DomainSeparator returns the token's EIP-712 domain separator, computed here, not read from the
// chain.
func (n *Node) DomainSeparator() common.Hash {
	return token.Domain(chain.TokenName, chain.TokenVersion, n.ChainID, n.Asset)
}

// Authorize returns an unsigned authorization of value atomic units, valid from 0 until five
// minutes, which is what stores advertise, after the later of the wall clock and the head's time,
// with a random nonce.
func (n *Node) Authorize(from, to common.Address, value int64) token.Authorization {
	n.T.Helper()
	a := token.Authorization{From: from, To: to, Value: big.NewInt(value)}
	a.ValidBefore = max(n.HeadTime(), uint64(time.Now().Unix())) + 300
	rand.Read(a.Nonce[:])
	return a
}

// Sign signs an authorization as TransferWithAuthorization with the given key, whoever a.From is.
func (n *Node) Sign(k Key, a token.Authorization) Payment {
	n.T.Helper()
	return Payment{a, n.SignDigest(k, a.Digest(token.TransferKind, n.DomainSeparator()))}
}

// SignDigest signs a digest: r, s, then v as 27 or 28.
func (n *Node) SignDigest(k Key, digest common.Hash) []byte {
	n.T.Helper()
	sig, err := crypto.Sign(digest[:], k.Private)
	if err != nil {
		n.T.Fatal(err)
	}
	sig[64] += 27
	return sig
}

// SignTransfer authorizes and signs in one step: value atomic units from the buyer to to.
func (n *Node) SignTransfer(from Key, to common.Address, value int64) Payment {
	n.T.Helper()
	return n.Sign(from, n.Authorize(from.Address, to, value))
}

// SignWallet is SignTransfer for a contract wallet: the owner's key signs, the wallet pays.
func (n *Node) SignWallet(w Wallet, to common.Address, value int64) Payment {
	n.T.Helper()
	return n.Sign(w.Owner, n.Authorize(w.Address, to, value))
}

// HeadTime returns the time of the latest block in Unix seconds.
func (n *Node) HeadTime() uint64 {
	n.T.Helper()
	h, err := n.RPC.HeaderByNumber(n.T.Context(), nil)
	if err != nil {
		n.T.Fatal(err)
	}
	return h.Time
}

// Balance returns the dollars of an account in atomic units at the latest block.
func (n *Node) Balance(owner common.Address) int64 {
	n.T.Helper()
	return n.word(token.BalanceCall(owner)).Int64()
}

// Used reports whether the authorization (authorizer, nonce) is spent or cancelled at the latest
// block.
func (n *Node) Used(authorizer common.Address, nonce common.Hash) bool {
	n.T.Helper()
	return n.word(token.StateCall(authorizer, nonce)).Sign() != 0
}

func (n *Node) word(data []byte) *big.Int {
	n.T.Helper()
	out, err := n.RPC.CallContract(n.T.Context(), ethereum.CallMsg{To: &n.Asset, Data: data}, nil)
	if err != nil || len(out) != 32 {
		n.T.Fatalf("asking the token: %x, %v", out, err)
	}
	return new(big.Int).SetBytes(out)
}

// Transaction returns a signed transaction to to with the key's next nonce and a generous fee, not
// sent anywhere.
func (n *Node) Transaction(k Key, to common.Address, data []byte) *types.Transaction {
	n.T.Helper()
	nonce, err := n.RPC.PendingNonceAt(n.T.Context(), k.Address)
	if err != nil {
		n.T.Fatal(err)
	}
	return n.sign(k, &types.DynamicFeeTx{
		ChainID:   new(big.Int).SetUint64(n.ChainID),
		Nonce:     nonce,
		GasTipCap: big.NewInt(1_000_000_000),
		GasFeeCap: big.NewInt(20_000_000_000),
		Gas:       3_000_000,
		To:        &to,
		Data:      data,
	})
}

func (n *Node) sign(k Key, data types.TxData) *types.Transaction {
	n.T.Helper()
	tx, err := types.SignNewTx(k.Private, types.LatestSignerForChainID(new(big.Int).SetUint64(n.ChainID)), data)
	if err != nil {
		n.T.Fatal(err)
	}
	return tx
}

// Send signs and broadcasts a call of to, and returns the transaction; it does not wait for a
// block.
func (n *Node) Send(k Key, to common.Address, data []byte) *types.Transaction {
	n.T.Helper()
	tx := n.Transaction(k, to, data)
	n.broadcast(k, tx)
	return tx
}

// broadcast sends a transaction and waits until the node counts its nonce: go-ethereum takes a
// transaction first and puts it among the pending ones a little later.
func (n *Node) broadcast(k Key, tx *types.Transaction) {
	n.T.Helper()
	if err := n.RPC.SendTransaction(n.T.Context(), tx); err != nil {
		n.T.Fatal(err)
	}
	n.counted(k, tx)
}

// counted waits until the node counts a transaction's nonce.
func (n *Node) counted(k Key, tx *types.Transaction) {
	n.T.Helper()
	n.until("the sender's nonce", func() bool {
		nonce, err := n.RPC.PendingNonceAt(n.T.Context(), k.Address)
		return err == nil && nonce > tx.Nonce()
	})
}

// until asks again and again, and ends the test when what it waits for does not come within ten
// seconds. patience turns a hang into a failure. No machine is so slow that a node takes as long.
const patience = 5 * time.Minute

func (n *Node) until(what string, done func() bool) {
	n.T.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			n.T.Fatalf("waited %s for %s", patience, what)
		}
	}
}

// Receipt returns the receipt of a transaction, or nil if it is in no block of the canonical chain.
func (n *Node) Receipt(hash common.Hash) *types.Receipt {
	n.T.Helper()
	r, err := n.RPC.TransactionReceipt(n.T.Context(), hash)
	if indexing := err != nil && strings.Contains(err.Error(), "indexing is in progress"); indexing ||
		errors.Is(err, ethereum.NotFound) {
		return nil
	}
	if err != nil {
		n.T.Fatal(err)
	}
	return r
}

// Await returns the receipt of a transaction as soon as the latest block shows what it did, and
// ends the test where that never happens. It is for nodes that seal by themselves. A receipt of
// go-ethereum can be read a moment before the block that holds it is the latest.
func (n *Node) Await(hash common.Hash) *types.Receipt {
	n.T.Helper()
	var r *types.Receipt
	n.until("transaction "+hash.Hex(), func() bool { r = n.Receipt(hash); return r != nil })
	n.until("block "+r.BlockNumber.String(), func() bool {
		head, err := n.RPC.BlockNumber(n.T.Context())
		return err == nil && head >= r.BlockNumber.Uint64()
	})
	return r
}

// Revert calls to at the latest block and returns the text it reverts with, decoded from the
// error's data; "" if the call succeeds, "?" and the error if it fails without a text.
func (n *Node) Revert(from, to common.Address, data []byte) string {
	n.T.Helper()
	_, err := n.RPC.CallContract(n.T.Context(), ethereum.CallMsg{From: from, To: &to, Data: data}, nil)
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[rpc.DataError](err); ok {
		if s, ok := e.ErrorData().(string); ok {
			if text, err := abi.UnpackRevert(hexutil.MustDecode(s)); err == nil {
				return text
			}
		}
	}
	return "? " + err.Error()
}

// Delegate broadcasts the transaction with which an account that has gas delegates its code to
// target (EIP-7702); the zero address takes the delegation back. A target without isValidSignature,
// such as chain.Multicall, makes an account whose own signatures the token refuses.
func (n *Node) Delegate(k Key, target common.Address) *types.Transaction {
	n.T.Helper()
	id := uint256.NewInt(n.ChainID)
	var tx *types.Transaction
	// The pool follows a new head a little later, and refuses by what stood before it.
	n.until("the pool to take a delegation", func() bool {
		nonce, err := n.RPC.PendingNonceAt(n.T.Context(), k.Address)
		if err != nil {
			n.T.Fatal(err)
		}
		auth, err := types.SignSetCode(k.Private, types.SetCodeAuthorization{ChainID: *id, Address: target,
			Nonce: nonce + 1})
		if err != nil {
			n.T.Fatal(err)
		}
		tx = n.sign(k, &types.SetCodeTx{
			ChainID:   id,
			Nonce:     nonce,
			GasTipCap: uint256.NewInt(1_000_000_000),
			GasFeeCap: uint256.NewInt(20_000_000_000),
			Gas:       300_000, // To stays the zero address: calling the account itself would run what it delegates to
			AuthList:  []types.SetCodeAuthorization{auth},
		})
		err = n.RPC.SendTransaction(n.T.Context(), tx)
		if err != nil && !strings.Contains(err.Error(), "nonce too low") &&
			!strings.Contains(err.Error(), "in-flight transaction limit") {
			n.T.Fatal(err)
		}
		return err == nil
	})
	n.counted(k, tx)
	return tx
}

// Undelegate returns the transaction with which a sponsor takes back the delegation of k in the
// block that it was made in, not broadcast: a pool holds one transaction of a delegated account at
// a time.
func (n *Node) Undelegate(sponsor, k Key) *types.Transaction {
	n.T.Helper()
	has, err := n.RPC.NonceAt(n.T.Context(), k.Address, nil)
	if err != nil {
		n.T.Fatal(err)
	}
	nonce, err := n.RPC.PendingNonceAt(n.T.Context(), sponsor.Address)
	if err != nil {
		n.T.Fatal(err)
	}
	id := uint256.NewInt(n.ChainID)
	auth, err := types.SignSetCode(k.Private, types.SetCodeAuthorization{ChainID: *id, Nonce: has + 2})
	if err != nil {
		n.T.Fatal(err)
	}
	return n.sign(sponsor, &types.SetCodeTx{
		ChainID: id, Nonce: nonce, GasTipCap: uint256.NewInt(1_000_000_000), GasFeeCap: uint256.NewInt(20_000_000_000),
		Gas: 300_000, AuthList: []types.SetCodeAuthorization{auth},
	})
}

// CounterfactualWallet returns the address at which chain.Factory deploys the wallet of owner under
// salt.
func (n *Node) CounterfactualWallet(owner common.Address, salt common.Hash) common.Address {
	n.T.Helper()
	out, err := n.RPC.CallContract(n.T.Context(),
		ethereum.CallMsg{To: &chain.Factory, Data: token.WalletAddressCall(owner, salt)}, nil)
	if err != nil || len(out) != 32 {
		n.T.Fatalf("asking the factory: %x, %v", out, err)
	}
	return common.BytesToAddress(out)
}
