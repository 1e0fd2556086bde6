package token

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// Where the contracts of the scheme auth-capture, version 1.1, stand on all networks that have
// them.
var (
	CaptureAddress        = common.HexToAddress("0xf96815976523E00e65Be8f34cA5e64b4f41EB19c")
	CapturePayAddress     = common.HexToAddress("0x8612dfdc421f80336cd14E8EF9cb1E765dB5ab88")
	CapturePermit2Address = common.HexToAddress("0xD69831Aed5bfe262067ec4c751f4F830EcdD446e")
	CaptureRefundAddress  = common.HexToAddress("0x7a03443724d14798c4AB4622F1DAAcA761Fea486")
)

// A PaymentInfo is what a payer lets an operator do with MaxAmount of a token: fetch it before
// PreApproval, pay it to the receiver before Capture, refund it before Refund (Unix times). Its
// hash is the payment's name.
type PaymentInfo struct {
	Operator, Payer, Receiver, Token common.Address
	MaxAmount                        *big.Int
	PreApproval, Capture, Refund     uint64
	MinFeeBps, MaxFeeBps             uint64
	FeeReceiver                      common.Address
	Salt                             *big.Int
}

const infoType = "(address,address,address,address,uint120,uint48,uint48,uint48,uint16,uint16,address,uint256)"

func (p PaymentInfo) words() []byte {
	return words(p.Operator, p.Payer, p.Receiver, p.Token, p.MaxAmount, p.PreApproval, p.Capture, p.Refund, p.MinFeeBps,
		p.MaxFeeBps, p.FeeReceiver, p.Salt)
}

// Hash returns the name of a payment on a chain, which is no EIP-712 hash.
func (p PaymentInfo) Hash(chainID uint64) common.Hash {
	kind := crypto.Keccak256Hash([]byte("PaymentInfo(address operator,address payer,address receiver,address token," +
		"uint120 maxAmount,uint48 preApprovalExpiry,uint48 authorizationExpiry,uint48 refundExpiry,uint16 minFeeBps," +
		"uint16 maxFeeBps,address feeReceiver,uint256 salt)"))
	inner := crypto.Keccak256Hash(kind[:], p.words())
	return crypto.Keccak256Hash(words(chainID, CaptureAddress, inner))
}

// Nonce returns the nonce of the authorization or permit by which a payment is fetched.
func (p PaymentInfo) Nonce(chainID uint64) common.Hash {
	p.Payer = common.Address{}
	return p.Hash(chainID)
}

// PermitDigest returns what a payer signs under Permit2 to have CapturePermit2Address fetch a
// payment.
func (p PaymentInfo) PermitDigest(chainID uint64) common.Hash {
	kind := func(text string) common.Hash { return crypto.Keccak256Hash([]byte(text)) }
	const parts = "TokenPermissions(address token,uint256 amount)"
	domain := crypto.Keccak256Hash(words(kind("EIP712Domain(string name,uint256 chainId,address verifyingContract)"),
		kind("Permit2"), chainID, Permit2Address))
	permitted := crypto.Keccak256Hash(words(kind(parts), p.Token, p.MaxAmount))
	return typed(domain, crypto.Keccak256(words(kind("PermitTransferFrom(TokenPermissions permitted,address spender,"+
		"uint256 nonce,uint256 deadline)"+parts), permitted, CapturePermit2Address, p.Nonce(chainID), p.PreApproval)))
}

// BoundSalt returns the salt by which a payer agrees to who orders captures and voids.
func BoundSalt(receiverAuthorizer common.Address, nonce common.Hash) *big.Int {
	kind := crypto.Keccak256Hash([]byte("x402AuthCaptureSaltBinding(address receiverAuthorizer,address policy," +
		"uint256 saltNonce)"))
	return crypto.Keccak256Hash(words(kind, receiverAuthorizer, common.Address{}, nonce)).Big()
}

// CaptureDigest returns what a receiverAuthorizer signs to have amount captured, without a fee, of
// a payment of which so much can be captured and so much refunded.
func (p PaymentInfo) CaptureDigest(chainID uint64, amount, capturable, refundable *big.Int) common.Hash {
	return p.ordered(chainID, "Capture(bytes32 paymentInfoHash,uint256 amount,uint256 feeAmount,address feeReceiver,"+
		"uint256 expectedCapturableAmount,uint256 expectedRefundableAmount)", amount, uint64(0), common.Address{},
		capturable, refundable)
}

// VoidDigest returns what a receiverAuthorizer signs to have a payment voided.
func (p PaymentInfo) VoidDigest(chainID uint64) common.Hash {
	return p.ordered(chainID, "Void(bytes32 paymentInfoHash)")
}

func (p PaymentInfo) ordered(chainID uint64, kind string, parts ...any) common.Hash {
	domain := Domain("x402 Auth Capture Operator", "1", chainID, p.Operator)
	all := append([]any{crypto.Keccak256Hash([]byte(kind)), p.Hash(chainID)}, parts...)
	return typed(domain, crypto.Keccak256(words(all...)))
}

// AuthorizeCall returns the calldata by which an operator has amount fetched and held. data is for
// the collector: the payer's signature.
func AuthorizeCall(p PaymentInfo, amount *big.Int, collector common.Address, data []byte) []byte {
	return call("authorize("+infoType+",uint256,address,bytes)", p.words(), words(amount, collector, uint64(15*32)),
		tail(data))
}

// A Fee is what of a payment goes to somebody else than its receiver.
type Fee struct {
	Amount   *big.Int
	Receiver common.Address
}

// ChargeCall returns the calldata by which an operator has amount fetched and paid at once.
func ChargeCall(p PaymentInfo, amount *big.Int, collector common.Address, data []byte, fee Fee) []byte {
	return call("charge("+infoType+",uint256,address,bytes,uint256,address)", p.words(), words(amount, collector,
		uint64(17*32), fee.Amount, fee.Receiver), tail(data))
}

// CaptureCall returns the calldata by which an operator pays amount of what is held.
func CaptureCall(p PaymentInfo, amount *big.Int, fee Fee) []byte {
	return call("capture("+infoType+",uint256,uint256,address)", p.words(), words(amount, fee.Amount, fee.Receiver))
}

// VoidCall returns the calldata by which an operator gives back what is held, and ReclaimCall the
// one by which the payer takes it back after Capture.
func VoidCall(p PaymentInfo) []byte { return call("void("+infoType+")", p.words()) }

// ReclaimCall: see VoidCall.
func ReclaimCall(p PaymentInfo) []byte { return call("reclaim("+infoType+")", p.words()) }

// CaptureRefundCall returns the calldata by which an operator refunds amount of what was captured.
func CaptureRefundCall(p PaymentInfo, amount *big.Int, collector common.Address, data []byte) []byte {
	return call("refund("+infoType+",uint256,address,bytes)", p.words(), words(amount, collector, uint64(15*32)),
		tail(data))
}

// PaymentStateCall returns the calldata that asks of a payment whether it was fetched, and what of
// it can be captured and refunded: three words.
func PaymentStateCall(hash common.Hash) []byte { return call("paymentState(bytes32)", words(hash)) }

// HashCall returns the calldata that asks for a payment's name.
func HashCall(p PaymentInfo) []byte { return call("getHash("+infoType+")", p.words()) }

// StoreCall returns the calldata that asks where what an operator authorized is held.
func StoreCall(operator common.Address) []byte {
	return call("getTokenStore(address)", words(operator))
}
