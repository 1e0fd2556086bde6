package token

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// Where Permit2 and the contract that x402 settles by stand on all networks that have them.
var (
	Permit2Address = common.HexToAddress("0x000000000022D473030F116dDEE9F6B43aC78BA3")
	ProxyAddress   = common.HexToAddress("0x402085c248EeA27D92E8b30b2C58ed07f9E20001")
)

// A Permit is what a payer signs under Permit2 with the witness of x402: Amount atomic units of
// Token for To, moved by Spender from ValidAfter on and until Deadline, both included.
type Permit struct {
	Owner, Token, Spender, To common.Address
	Amount, Nonce             *big.Int
	Deadline, ValidAfter      uint64
}

// Digest returns the EIP-712 digest of the permit on a chain.
func (p Permit) Digest(chainID uint64) common.Hash {
	kind := func(text string) common.Hash { return crypto.Keccak256Hash([]byte(text)) }
	const parts = "TokenPermissions(address token,uint256 amount)Witness(address to,uint256 validAfter)"
	domain := crypto.Keccak256Hash(words(kind("EIP712Domain(string name,uint256 chainId,address verifyingContract)"),
		kind("Permit2"), chainID, Permit2Address))
	permitted := crypto.Keccak256Hash(words(kind("TokenPermissions(address token,uint256 amount)"), p.Token, p.Amount))
	witness := crypto.Keccak256Hash(words(kind("Witness(address to,uint256 validAfter)"), p.To, p.ValidAfter))
	return typed(domain, crypto.Keccak256(words(kind("PermitWitnessTransferFrom(TokenPermissions permitted,"+
		"address spender,uint256 nonce,uint256 deadline,Witness witness)"+parts), permitted, p.Spender, p.Nonce,
		p.Deadline, witness)))
}

// SettleCall returns the calldata with which the proxy settles a permit.
func SettleCall(p Permit, signature []byte) []byte {
	return call("settle(((address,uint256),uint256,uint256),address,(address,uint256),bytes)",
		words(p.Token, p.Amount, p.Nonce, p.Deadline, p.Owner, p.To, p.ValidAfter, uint64(8*32)), tail(signature))
}

// ApproveCall returns the calldata of the token's approve.
func ApproveCall(spender common.Address, amount *big.Int) []byte {
	return call("approve(address,uint256)", words(spender, amount))
}

// InvalidateCall returns the calldata with which an account makes a nonce of its own unusable at
// Permit2.
func InvalidateCall(nonce *big.Int) []byte {
	word, bit := new(big.Int).Rsh(nonce, 8), new(big.Int).And(nonce, big.NewInt(0xff))
	return call("invalidateUnorderedNonces(uint256,uint256)", words(word, new(big.Int).Lsh(common.Big1,
		uint(bit.Uint64()))))
}
