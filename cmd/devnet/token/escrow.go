package token

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// Where the contracts of the scheme batch-settlement stand on all networks that have them.
var (
	EscrowAddress         = common.HexToAddress("0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003")
	DepositAddress        = common.HexToAddress("0x4020806089470a89826cB9fB1f4059150b550004")
	DepositPermit2Address = common.HexToAddress("0x4020425FAf3B746C082C2f942b4E5159887B0005")
)

// A Channel is the configuration of a channel in the escrow. A zero PayerAuthorizer has the payer's
// own contract asked about vouchers.
type Channel struct {
	Payer, PayerAuthorizer, Receiver, ReceiverAuthorizer, Token common.Address
	Delay                                                       uint64 // seconds
	Salt                                                        common.Hash
}

func (c Channel) words() []byte {
	return words(c.Payer, c.PayerAuthorizer, c.Receiver, c.ReceiverAuthorizer, c.Token, c.Delay, c.Salt)
}

// A Claim is a row of a claim: Total of at most Max, which the channel's voucher is for.
type Claim struct {
	Channel
	Max, Total *big.Int
	Signature  []byte // of the voucher
}

// An Escrow signs for the escrow of a chain.
type Escrow struct{ ChainID uint64 }

func (e Escrow) typed(kind string, parts ...any) common.Hash {
	domain := Domain("x402 Batch Settlement", "1", e.ChainID, EscrowAddress)
	return typed(domain, crypto.Keccak256(words(append([]any{crypto.Keccak256Hash([]byte(kind))}, parts...)...)))
}

// ID returns the id of a channel.
func (e Escrow) ID(c Channel) common.Hash {
	return e.typed("ChannelConfig(address payer,address payerAuthorizer,address receiver,address receiverAuthorizer,"+
		"address token,uint40 withdrawDelay,bytes32 salt)", c.Payer, c.PayerAuthorizer, c.Receiver,
		c.ReceiverAuthorizer, c.Token, c.Delay, c.Salt)
}

// Voucher returns what is signed to let max in all be claimed of a channel.
func (e Escrow) Voucher(id common.Hash, max *big.Int) common.Hash {
	return e.typed("Voucher(bytes32 channelId,uint128 maxClaimableAmount)", id, max)
}

// Refund returns what a receiver's authorizer signs to give back amount.
func (e Escrow) Refund(id common.Hash, nonce, amount *big.Int) common.Hash {
	return e.typed("Refund(bytes32 channelId,uint256 nonce,uint128 amount)", id, nonce, amount)
}

// Claims returns what a receiver's authorizer signs to claim rows.
func (e Escrow) Claims(rows []Claim) common.Hash {
	const entry = "ClaimEntry(bytes32 channelId,uint128 maxClaimableAmount,uint128 totalClaimed)"
	var entries []byte
	for _, r := range rows {
		entries = append(entries, crypto.Keccak256(words(crypto.Keccak256Hash([]byte(entry)), e.ID(r.Channel), r.Max,
			r.Total))...)
	}
	return e.typed("ClaimBatch(ClaimEntry[] claims)"+entry, crypto.Keccak256Hash(entries))
}

// DepositNonce returns the nonce of the authorization by which a deposit into a channel is paid.
func DepositNonce(id, salt common.Hash) common.Hash { return crypto.Keccak256Hash(words(id, salt)) }

const configType = "(address,address,address,address,address,uint40,bytes32)"

// DepositCall returns the calldata that puts amount into a channel. data is for the collector.
func DepositCall(c Channel, amount *big.Int, collector common.Address, data []byte) []byte {
	return call("deposit("+configType+",uint128,address,bytes)", c.words(), words(amount, collector, uint64(10*32)),
		tail(data))
}

// CollectorData returns what DepositAddress is given: an authorization whose nonce is the
// DepositNonce of salt.
func CollectorData(validAfter, validBefore uint64, salt common.Hash, signature []byte) []byte {
	return append(words(validAfter, validBefore, salt, uint64(4*32)), tail(signature)...)
}

// CollectorPermitData returns what DepositPermit2Address is given: a permit for Permit2, and
// perhaps one of the token's own before it.
func CollectorPermitData(nonce *big.Int, deadline uint64, signature, permit []byte) []byte {
	first := tail(signature)
	return append(append(words(nonce, deadline, uint64(4*32), uint64(4*32+len(first))), first...), tail(permit)...)
}

// DepositPermitDigest returns what a payer signs under Permit2 to have DepositPermit2Address fetch
// a deposit into a channel.
func (e Escrow) DepositPermitDigest(c Channel, amount, nonce *big.Int, deadline uint64) common.Hash {
	kind := func(text string) common.Hash { return crypto.Keccak256Hash([]byte(text)) }
	const parts = "DepositWitness(bytes32 channelId)TokenPermissions(address token,uint256 amount)"
	domain := crypto.Keccak256Hash(words(kind("EIP712Domain(string name,uint256 chainId,address verifyingContract)"),
		kind("Permit2"), e.ChainID, Permit2Address))
	permitted := crypto.Keccak256Hash(words(kind("TokenPermissions(address token,uint256 amount)"), c.Token, amount))
	witness := crypto.Keccak256Hash(words(kind("DepositWitness(bytes32 channelId)"), e.ID(c)))
	return typed(domain, crypto.Keccak256(words(kind("PermitWitnessTransferFrom(TokenPermissions permitted,"+
		"address spender,uint256 nonce,uint256 deadline,DepositWitness witness)"+parts), permitted,
		DepositPermit2Address, nonce, deadline, witness)))
}

const claimsType = "((" + configType + ",uint128),bytes,uint128)[]"

func claimTuples(rows []Claim) []byte {
	var bodies [][]byte
	for _, r := range rows {
		head := append(r.words(), words(r.Max, uint64(10*32), r.Total)...)
		bodies = append(bodies, append(head, tail(r.Signature)...))
	}
	return tuples(bodies)
}

// ClaimCall returns the calldata by which a receiver claims.
func ClaimCall(rows []Claim) []byte {
	return call("claim("+claimsType+")", words(uint64(32)), claimTuples(rows))
}

// ClaimSignedCall returns the calldata by which anybody claims what a receiver's authorizer signed.
func ClaimSignedCall(rows []Claim, signature []byte) []byte {
	list := claimTuples(rows)
	return call("claimWithSignature("+claimsType+",bytes)", words(uint64(2*32), uint64(2*32+len(list))), list,
		tail(signature))
}

// SweepCall returns the calldata that pays a receiver what was claimed for it.
func SweepCall(receiver, token common.Address) []byte {
	return call("settle(address,address)", words(receiver, token))
}

// WithdrawCall returns the calldata by which a payer begins to withdraw, and FinishCall the one by
// which it ends that when the delay is over.
func WithdrawCall(c Channel, amount *big.Int) []byte {
	return call("initiateWithdraw("+configType+",uint128)", c.words(), words(amount))
}

// FinishCall: see WithdrawCall.
func FinishCall(c Channel) []byte { return call("finalizeWithdraw("+configType+")", c.words()) }

// RefundCall returns the calldata by which a receiver gives back.
func RefundCall(c Channel, amount *big.Int) []byte {
	return call("refund("+configType+",uint128)", c.words(), words(amount))
}

// RefundSignedCall returns the calldata by which anybody gives back what a receiver's authorizer
// signed.
func RefundSignedCall(c Channel, amount, nonce *big.Int, signature []byte) []byte {
	return call("refundWithSignature("+configType+",uint128,uint256,bytes)", c.words(),
		words(amount, nonce, uint64(10*32)), tail(signature))
}

// EscrowCalls returns the calldata of several calls of the escrow in one.
func EscrowCalls(calls ...[]byte) []byte {
	return call("multicall(bytes[])", words(uint64(32)), byteSlices(calls))
}

// ChannelCall returns the calldata that asks for a channel's balance and what was claimed of it,
// two words.
func ChannelCall(id common.Hash) []byte { return call("channels(bytes32)", words(id)) }

// WithdrawalCall returns the calldata that asks for a pending withdrawal, amount and time: two
// words.
func WithdrawalCall(id common.Hash) []byte { return call("pendingWithdrawals(bytes32)", words(id)) }

// RefundNonceCall returns the calldata that asks for the nonce of a channel's next signed refund.
func RefundNonceCall(id common.Hash) []byte { return call("refundNonce(bytes32)", words(id)) }

// ReceiverCall returns the calldata that asks what was claimed for a receiver and paid to it, two
// words.
func ReceiverCall(receiver, token common.Address) []byte {
	return call("receivers(address,address)", words(receiver, token))
}
