package token

import (
	"bytes"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// An Authorization is what a payer signs under EIP-3009: Value atomic units from From to To, valid
// strictly between the two Unix times.
type Authorization struct {
	From, To                common.Address
	Value                   *big.Int
	ValidAfter, ValidBefore uint64
	Nonce                   common.Hash
}

// Kinds of EIP-712 messages over an Authorization.
const (
	TransferKind = "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 " +
		"validBefore,bytes32 nonce)"
	ReceiveKind = "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 " +
		"validBefore,bytes32 nonce)"
)

// Digest returns the EIP-712 digest of the authorization as a message of the given kind under a
// domain separator.
func (a Authorization) Digest(kind string, domain common.Hash) common.Hash {
	message := crypto.Keccak256(append(crypto.Keccak256([]byte(kind)), a.words()...))
	return typed(domain, message)
}

func (a Authorization) words() []byte {
	return words(a.From, a.To, a.Value, a.ValidAfter, a.ValidBefore, a.Nonce)
}

// CancelDigest returns the EIP-712 digest that cancels the authorization (authorizer, nonce).
func CancelDigest(authorizer common.Address, nonce, domain common.Hash) common.Hash {
	kind := crypto.Keccak256Hash([]byte("CancelAuthorization(address authorizer,bytes32 nonce)"))
	return typed(domain, crypto.Keccak256(words(kind, authorizer, nonce)))
}

// Allowance is what an owner signs for a spender (EIP-2612).
type Allowance struct {
	Owner    common.Address
	Spender  common.Address
	Value    *big.Int
	Nonce    uint64
	Deadline uint64
}

// PermitDigest returns the EIP-712 digest of an EIP-2612 permit.
func PermitDigest(p Allowance, domain common.Hash) common.Hash {
	kind := crypto.Keccak256Hash([]byte("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 " +
		"deadline)"))
	return typed(domain, crypto.Keccak256(words(kind, p.Owner, p.Spender, p.Value, p.Nonce, p.Deadline)))
}

// Domain returns the EIP-712 domain separator of a token.
func Domain(name, version string, chainID uint64, token common.Address) common.Hash {
	kind := crypto.Keccak256Hash([]byte("EIP712Domain(string name,string version,uint256 chainId,address " +
		"verifyingContract)"))
	return crypto.Keccak256Hash(words(kind, crypto.Keccak256Hash([]byte(name)), crypto.Keccak256Hash([]byte(version)),
		chainID, token))
}

func typed(domain common.Hash, message []byte) common.Hash {
	return crypto.Keccak256Hash([]byte{0x19, 0x01}, domain[:], message)
}

// TransferCall returns the calldata of transferWithAuthorization: the (v, r, s) form for a
// signature of 65 bytes, the bytes form for any other.
func TransferCall(a Authorization, signature []byte) []byte {
	if len(signature) != 65 {
		return TransferBytesCall(a, signature)
	}
	return call("transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)",
		a.words(), vrs(signature))
}

// TransferBytesCall returns the calldata of transferWithAuthorization in its bytes form, whatever
// the signature's length.
func TransferBytesCall(a Authorization, signature []byte) []byte {
	return call("transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)",
		a.words(), words(uint64(7*32)), tail(signature))
}

// ReceiveCall returns the calldata of receiveWithAuthorization in its bytes form. Only a.To may
// send it.
func ReceiveCall(a Authorization, signature []byte) []byte {
	return call("receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)",
		a.words(), words(uint64(7*32)), tail(signature))
}

// CancelCall returns the calldata of cancelAuthorization in its bytes form.
func CancelCall(authorizer common.Address, nonce common.Hash, signature []byte) []byte {
	return call("cancelAuthorization(address,bytes32,bytes)", words(authorizer, nonce, uint64(3*32)), tail(signature))
}

// PermitCall returns the calldata of permit in its (v, r, s) form. The signature has 65 bytes.
func PermitCall(owner, spender common.Address, value *big.Int, deadline uint64, signature []byte) []byte {
	return call("permit(address,address,uint256,uint256,uint8,bytes32,bytes32)", words(owner, spender, value, deadline),
		vrs(signature))
}

// StateCall returns the calldata of authorizationState, which answers one word: 1 if used or
// cancelled.
func StateCall(authorizer common.Address, nonce common.Hash) []byte {
	return call("authorizationState(address,bytes32)", words(authorizer, nonce))
}

// BalanceCall returns the calldata of balanceOf, which answers one word.
func BalanceCall(owner common.Address) []byte { return call("balanceOf(address)", words(owner)) }

// PayCall returns the calldata of the plain ERC-20 transfer.
func PayCall(to common.Address, value *big.Int) []byte {
	return call("transfer(address,uint256)", words(to, value))
}

// MintCall returns the calldata of mint, for the minter alone.
func MintCall(to common.Address, value *big.Int) []byte {
	return call("mint(address,uint256)", words(to, value))
}

// PauseCall and UnpauseCall return the calldata of pause and unpause, for the minter alone.
func PauseCall() []byte { return call("pause()") }

// UnpauseCall returns the calldata of unpause, for the minter alone.
func UnpauseCall() []byte { return call("unpause()") }

// BlacklistCall returns the calldata of blacklist, for the minter alone.
func BlacklistCall(account common.Address) []byte { return call("blacklist(address)", words(account)) }

// DomainCall returns the calldata of DOMAIN_SEPARATOR, which answers one word.
func DomainCall() []byte { return call("DOMAIN_SEPARATOR()") }

// SpendCall returns the calldata with which a Spender makes several calls to one token in a single
// transaction.
func SpendCall(token common.Address, calls ...[]byte) []byte {
	return call("spend(address,bytes[])", words(token, uint64(2*32)), byteSlices(calls))
}

// ForgeCall returns the calldata with which a Spender emits AuthorizationUsed and Transfer in its
// own name.
func ForgeCall(a Authorization) []byte {
	return call("forge(address,address,uint256,bytes32)", words(a.From, a.To, a.Value, a.Nonce))
}

// DeployCall returns the calldata with which a WalletFactory deploys the wallet of owner under
// salt.
func DeployCall(owner common.Address, salt common.Hash) []byte {
	return call("deploy(address,bytes32)", words(owner, salt))
}

// WalletAddressCall returns the calldata that asks a WalletFactory for the address of such a
// wallet.
func WalletAddressCall(owner common.Address, salt common.Hash) []byte {
	return call("addressOf(address,bytes32)", words(owner, salt))
}

// ExecuteCall returns the calldata with which its owner makes a wallet or a delegated account call
// target.
func ExecuteCall(target common.Address, value *big.Int, data []byte) []byte {
	return call("execute(address,uint256,bytes)", words(target, value, uint64(3*32)), tail(data))
}

// Wrap6492 wraps a signature as ERC-6492 does for a wallet that may not be deployed yet: the ABI
// encoding of (factory, factory calldata, signature), then 32 bytes of 0x6492.
func Wrap6492(factory common.Address, factoryCalldata, signature []byte) []byte {
	first := tail(factoryCalldata)
	out := append(words(factory, uint64(3*32), uint64(3*32+len(first))), first...)
	out = append(out, tail(signature)...)
	return append(out, bytes.Repeat([]byte{0x64, 0x92}, 16)...)
}

// call is a selector followed by encoded arguments.
func call(method string, args ...[]byte) []byte {
	out := crypto.Keccak256([]byte(method))[:4]
	for _, a := range args {
		out = append(out, a...)
	}
	return out
}

// words encodes static values as 32-byte words.
func words(values ...any) []byte {
	out := make([]byte, 0, 32*len(values))
	for _, v := range values {
		switch v := v.(type) {
		case common.Address:
			out = append(out, common.LeftPadBytes(v[:], 32)...)
		case common.Hash:
			out = append(out, v[:]...)
		case uint64:
			h := slot(v)
			out = append(out, h[:]...)
		case *big.Int:
			h := common.BigToHash(v)
			out = append(out, h[:]...)
		default:
			panic("token: not a static value")
		}
	}
	return out
}

// vrs encodes a 65-byte signature as its words v, r, s.
func vrs(signature []byte) []byte {
	out := words(uint64(signature[64]))
	return append(out, signature[:64]...)
}

// tail encodes a dynamic byte string: its length, then the bytes padded to whole words.
func tail(b []byte) []byte {
	out := append(words(uint64(len(b))), b...)
	return append(out, make([]byte, (32-len(b)%32)%32)...)
}

// byteSlices encodes a dynamic array of dynamic byte strings: its length, the offsets, the strings.
func byteSlices(list [][]byte) []byte {
	out := words(uint64(len(list)))
	at := uint64(32 * len(list))
	var bodies []byte
	for _, b := range list {
		t := tail(b)
		out = append(out, words(at)...)
		at += uint64(len(t))
		bodies = append(bodies, t...)
	}
	return append(out, bodies...)
}

// tuples encodes an array of dynamic tuples.
func tuples(bodies [][]byte) []byte {
	out := words(uint64(len(bodies)))
	at := uint64(32 * len(bodies))
	for _, b := range bodies {
		out = append(out, words(at)...)
		at += uint64(len(b))
	}
	return append(out, bytes.Join(bodies, nil)...)
}
