package wallet

// Where the contracts of the x402 schemes batch-settlement and auth-capture stand, the same on all
// networks that have them.
var (
	// BatchEscrow is x402BatchSettlement, which keeps channels.
	BatchEscrow = mustAddress("0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003")
	// BatchCollector fetches deposits into channels by EIP-3009.
	BatchCollector = mustAddress("0x4020806089470a89826cB9fB1f4059150b550004")
	// CaptureEscrow is AuthCaptureEscrow 1.1, which holds payments.
	CaptureEscrow = mustAddress("0xf96815976523E00e65Be8f34cA5e64b4f41EB19c")
	// CaptureCollector fetches payments that are held by EIP-3009.
	CaptureCollector = mustAddress("0x8612dfdc421f80336cd14E8EF9cb1E765dB5ab88")
)

func mustAddress(s string) Address {
	a, err := ParseChecksummed(s)
	if err != nil {
		panic("wallet: " + err.Error())
	}
	return a
}

const (
	channelType = "ChannelConfig(address payer,address payerAuthorizer,address receiver," +
		"address receiverAuthorizer,address token,uint40 withdrawDelay,bytes32 salt)"
	voucherType = "Voucher(bytes32 channelId,uint128 maxClaimableAmount)"
	receiveType = "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 " +
		"validBefore,bytes32 nonce)"
	holdType = "PaymentInfo(address operator,address payer,address receiver,address token,uint120 maxAmount," +
		"uint48 preApprovalExpiry,uint48 authorizationExpiry,uint48 refundExpiry,uint16 minFeeBps," +
		"uint16 maxFeeBps,address feeReceiver,uint256 salt)"
	saltType = "x402AuthCaptureSaltBinding(address receiverAuthorizer,address policy,uint256 saltNonce)"
)

// ReceiveDigest returns what the payer signs where To, a contract, fetches the money itself
// (receiveWithAuthorization).
func (a Authorization) ReceiveDigest(separator [32]byte) [32]byte {
	return typedDigest(separator, hashWords(receiveType,
		address(a.From), address(a.To), a.Value, a.ValidAfter, a.ValidBefore, a.Nonce))
}

// Channel is the configuration of a channel of the scheme batch-settlement.
type Channel struct {
	Payer, Signer, Receiver, Authorizer, Token Address
	Delay                                      uint64 // of a withdrawal, in seconds
	Salt                                       [32]byte
}

// Words are the words of the struct, as a contract's calldata has them.
func (c Channel) Words() [][32]byte {
	return [][32]byte{address(c.Payer), address(c.Signer), address(c.Receiver), address(c.Authorizer),
		address(c.Token), NewUint256(c.Delay), c.Salt}
}

// batchSeparator is that of the escrow of channels on a chain.
func batchSeparator(chainID uint64) [32]byte {
	return Domain{Name: "x402 Batch Settlement", Version: "1", ChainID: chainID,
		VerifyingContract: BatchEscrow}.Separator()
}

// ID names the channel on a chain.
func (c Channel) ID(chainID uint64) [32]byte {
	return typedDigest(batchSeparator(chainID), hashWords(channelType, c.Words()...))
}

// VoucherDigest returns what a channel's signer signs who says that it owes max in all.
func VoucherDigest(chainID uint64, channel [32]byte, max uint64) [32]byte {
	return typedDigest(batchSeparator(chainID), hashWords(voucherType, channel, NewUint256(max)))
}

// DepositNonce is the nonce of a deposit's authorization.
func DepositNonce(channel, salt [32]byte) [32]byte { return Keccak256(channel[:], salt[:]) }

// Hold is the payment information of the scheme auth-capture. Times are Unix seconds.
type Hold struct {
	Operator, Payer, Receiver, Token Address
	Amount                           uint64
	PreApproval, Capture, Refund     uint64 // when the authorization, the hold, a refund end
	MinFeeBps, MaxFeeBps             uint64
	FeeReceiver                      Address
	Salt                             [32]byte
}

// Words are the words of the struct, as a contract's calldata has them.
func (h Hold) Words() [][32]byte {
	n := NewUint256
	return [][32]byte{address(h.Operator), address(h.Payer), address(h.Receiver), address(h.Token), n(h.Amount),
		n(h.PreApproval), n(h.Capture), n(h.Refund), n(h.MinFeeBps), n(h.MaxFeeBps), address(h.FeeReceiver), h.Salt}
}

// Hash names the hold in the escrow of a chain.
func (h Hold) Hash(chainID uint64) [32]byte {
	id, escrow, info := NewUint256(chainID), address(CaptureEscrow), hashWords(holdType, h.Words()...)
	return Keccak256(id[:], escrow[:], info[:])
}

// Nonce is the nonce that the payer's authorization has: the hash without the payer.
func (h Hold) Nonce(chainID uint64) [32]byte {
	h.Payer = Address{}
	return h.Hash(chainID)
}

// BoundSalt is the salt of a hold whose terms name who signs for its receiver, or a policy.
func BoundSalt(authorizer, policy Address, nonce [32]byte) [32]byte {
	return hashWords(saltType, address(authorizer), address(policy), nonce)
}
