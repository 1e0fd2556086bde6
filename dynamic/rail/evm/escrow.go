package evm

import (
	"bytes"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/rail"
)

// Channels of the scheme batch-settlement are kept by one contract, x402BatchSettlement, which
// stands at the same address on all networks that have it. It fetches a deposit through a collector
// by EIP-3009 or by Permit2, pays claims to payTo when it is told to settle, and gives the payer
// back what is not claimed. This file has what is signed and called; reading and checking are
// beside it.

// Escrow is how channels are taken; the zero value takes none.
type Escrow struct {
	// Authorizer claims and refunds by its signature, and cannot move money anywhere else than to
	// payTo and back to its payer. It is part of the id of every channel: with another key all of
	// them end.
	Authorizer *ecdsa.PrivateKey
	// Delay is how long a payer's withdrawal takes; default 14 days, and at least 15 minutes.
	Delay time.Duration
	// MinDeposit is the least deposit, in atomic units; default one unit of the asset.
	MinDeposit int64
}

var _ rail.Channels = (*Rail)(nil)

// Where the contracts stand, and limits of theirs.
var (
	escrowAddress        = common.HexToAddress("0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003")
	depositAddress       = common.HexToAddress("0x4020806089470a89826cB9fB1f4059150b550004")
	depositPermitAddress = common.HexToAddress("0x4020425FAf3B746C082C2f942b4E5159887B0005")
)

const (
	reasonsOfBatch = "invalid_batch_settlement_evm_"
	minDelay       = 15 * time.Minute
	maxDelay       = 30 * 24 * time.Hour
	defaultDelay   = 14 * 24 * time.Hour
	configType     = "(address,address,address,address,address,uint40,bytes32)"
	claimsType     = "((" + configType + ",uint128),bytes,uint128)[]"
	claimEntryKind = "ClaimEntry(bytes32 channelId,uint128 maxClaimableAmount,uint128 totalClaimed)"
	maxClaims      = 100     // rows of one claim
	gasOfClaims    = 100_000 // of a claim, beside that of its rows
	gasOfClaim     = 60_000  // of a row whose voucher a key signed
)

// Selectors and topics of the escrow.
var (
	selDeposit    = selector("deposit(" + configType + ",uint128,address,bytes)")
	selClaims     = selector("claimWithSignature(" + claimsType + ",bytes)")
	selSweep      = selector("settle(address,address)")
	selRefund     = selector("refundWithSignature(" + configType + ",uint128,uint256,bytes)")
	selCalls      = selector("multicall(bytes[])")
	selChannel    = selector("channels(bytes32)")
	selWithdrawal = selector("pendingWithdrawals(bytes32)")
	selRefunds    = selector("refundNonce(bytes32)")
	selReceiver   = selector("receivers(address,address)")

	topicsOfEscrow = map[rail.EventKind]common.Hash{
		rail.ChannelFunded:    crypto.Keccak256Hash([]byte("ChannelCreated(bytes32," + configType + ")")),
		rail.ChannelClaimed:   crypto.Keccak256Hash([]byte("Claimed(bytes32,address,uint128,uint128)")),
		rail.ChannelWithdrawn: crypto.Keccak256Hash([]byte("WithdrawInitiated(bytes32,uint128,uint40)")),
	}
)

// EIP-712 types.
var (
	kindChannel = crypto.Keccak256([]byte("ChannelConfig(address payer,address payerAuthorizer,address receiver," +
		"address receiverAuthorizer,address token,uint40 withdrawDelay,bytes32 salt)"))
	kindVoucher    = crypto.Keccak256([]byte("Voucher(bytes32 channelId,uint128 maxClaimableAmount)"))
	kindRefund     = crypto.Keccak256([]byte("Refund(bytes32 channelId,uint256 nonce,uint128 amount)"))
	kindClaimEntry = crypto.Keccak256([]byte(claimEntryKind))
	kindClaims     = crypto.Keccak256([]byte("ClaimBatch(ClaimEntry[] claims)" + claimEntryKind))
	kindReceive    = crypto.Keccak256([]byte("ReceiveWithAuthorization(address from,address to,uint256 value," +
		"uint256 validAfter,uint256 validBefore,bytes32 nonce)"))
	kindDepositWitness = crypto.Keccak256([]byte("DepositWitness(bytes32 channelId)"))
	kindDepositPermit  = crypto.Keccak256([]byte("PermitWitnessTransferFrom(TokenPermissions permitted," +
		"address spender,uint256 nonce,uint256 deadline,DepositWitness witness)DepositWitness(bytes32 channelId)" +
		"TokenPermissions(address token,uint256 amount)"))
)

// escrowDefaults checks how channels are taken.
func escrowDefaults(c *Config) error {
	if c.Authorizer == nil {
		return nil
	}
	if c.Delay == 0 {
		c.Delay = defaultDelay
	}
	if c.MinDeposit == 0 {
		c.MinDeposit = int64(1)
		for range c.Decimals {
			c.MinDeposit *= 10
		}
	}
	switch a := crypto.PubkeyToAddress(c.Authorizer.PublicKey); {
	case c.Settler != nil:
		return errors.New("a settler takes no vouchers for this store")
	case c.Delay < minDelay || c.Delay > maxDelay || c.Delay%time.Second != 0:
		return fmt.Errorf("the delay of a withdrawal is %s to %s, in whole seconds", minDelay, maxDelay)
	case c.MinDeposit < 0:
		return errors.New("the least deposit is negative")
	case a == common.HexToAddress(c.PayTo):
		return errors.New("the authorizer of channels and payTo must be different accounts")
	}
	return nil
}

// ChannelTerms implements rail.Channels.
func (r *Rail) ChannelTerms() (rail.ChannelTerms, bool) {
	if r.cfg.Authorizer == nil || !r.escrow.Load() {
		return rail.ChannelTerms{}, false
	}
	return rail.ChannelTerms{Receiver: r.cfg.PayTo, Authorizer: r.authorizer(), Token: r.cfg.Asset,
		Escrow: escrowAddress.Hex(), Delay: r.cfg.Delay, MinDeposit: r.cfg.MinDeposit, Reasons: reasonsOfBatch}, true
}

func (r *Rail) authorizer() string { return crypto.PubkeyToAddress(r.cfg.Authorizer.PublicKey).Hex() }

// VoucherRequirement implements rail.Channels.
func (r *Rail) VoucherRequirement(amount, deposit int64) rail.Requirement {
	q := r.Requirement(amount)
	q.Scheme = rail.SchemeVouchers
	q.Extra["minDeposit"] = strconv.FormatInt(max(amount, deposit, r.cfg.MinDeposit), 10)
	q.Extra["receiverAuthorizer"] = r.authorizer()
	q.Extra["withdrawDelay"] = int64(r.cfg.Delay / time.Second) // a number: text would be read as 900
	return q
}

// escrowDigest is what is signed for the escrow of a chain.
func (r *Rail) escrowDigest(kind []byte, parts ...[]byte) common.Hash {
	d := wallet.Domain{Name: "x402 Batch Settlement", Version: "1", ChainID: r.cfg.ChainID,
		VerifyingContract: wallet.Address(escrowAddress)}
	separator := d.Separator()
	message := crypto.Keccak256(append([][]byte{kind}, parts...)...)
	return crypto.Keccak256Hash([]byte{0x19, 0x01}, separator[:], message)
}

// configWords is a channel's configuration as the ABI encodes it, and as its id hashes it.
func configWords(c *rail.Channel) []byte {
	a := func(s string) []byte { return addressWord(common.HexToAddress(s)) }
	salt := common.HexToHash(c.Salt)
	return bytes.Join([][]byte{a(c.Payer), a(c.Signer), a(c.Receiver), a(c.Authorizer), a(c.Token),
		word(big.NewInt(c.Delay)), salt[:]}, nil)
}

// channelID is the id of a channel on this network.
func (r *Rail) channelID(c *rail.Channel) common.Hash {
	return r.escrowDigest(kindChannel, configWords(c))
}

// voucherDigest is what a channel's signer signs.
func (r *Rail) voucherDigest(c *rail.Channel, max int64) common.Hash {
	id := common.HexToHash(c.ID)
	return r.escrowDigest(kindVoucher, id[:], word(big.NewInt(max)))
}

// depositDigest is what the payer of a deposit signs.
func (r *Rail) depositDigest(p *rail.Payment, channel string) common.Hash {
	id, before := common.HexToHash(channel), big.NewInt(p.ValidBefore)
	if p.Method == rail.MethodDepositPermit {
		hash := func(parts ...[]byte) []byte { return crypto.Keccak256(parts...) }
		nonce := permitNonce(p.Nonce)
		domain := hash(kindDomain, hash([]byte("Permit2")), word(r.chainID), addressWord(permit2Address))
		permitted := hash(kindPermitted, addressWord(r.asset), word(p.Amount))
		message := hash(kindDepositPermit, permitted, addressWord(depositPermitAddress), nonce[:],
			word(before.Sub(before, common.Big1)), hash(kindDepositWitness, id[:]))
		return common.BytesToHash(hash([]byte{0x19, 0x01}, domain, message))
	}
	nonce := common.HexToHash(p.Nonce)
	message := crypto.Keccak256(kindReceive, addressWord(common.HexToAddress(p.Payer)), addressWord(depositAddress),
		word(p.Amount), word(big.NewInt(p.ValidAfter)), word(before), nonce[:])
	return crypto.Keccak256Hash([]byte{0x19, 0x01}, r.separator[:], message)
}

// bytesTail is a dynamic bytes value without its offset.
func bytesTail(data []byte) []byte { return tail(1, data)[32:] }

// depositCall is the calldata that puts a deposit into a channel. data is for the collector.
func depositCall(c *rail.Channel, amount *big.Int, collector common.Address, data []byte) []byte {
	return bytes.Join([][]byte{selDeposit, configWords(c), word(amount), addressWord(collector), tail(10, data)}, nil)
}

// claimsCall is the calldata that claims rows. signature is the authorizer's.
func claimsCall(rows []rail.VoucherClaim, signature []byte) []byte {
	number := func(i int) []byte { return word(big.NewInt(int64(i))) }
	offsets, bodies := []byte{}, []byte{}
	for i := range rows {
		c := &rows[i]
		offsets = append(offsets, number(32*len(rows)+len(bodies))...)
		bodies = append(bodies, bytes.Join([][]byte{configWords(&c.Channel), word(big.NewInt(c.Voucher.Max)),
			number(10 * 32), word(big.NewInt(c.Total)), bytesTail(c.Voucher.Signature)}, nil)...)
	}
	list := bytes.Join([][]byte{number(len(rows)), offsets, bodies}, nil)
	return bytes.Join([][]byte{selClaims, number(2 * 32), number(2*32 + len(list)), list, bytesTail(signature)}, nil)
}

// claims is the calldata that claims rows, signed.
func (r *Rail) claims(rows []rail.VoucherClaim) ([]byte, error) {
	var entries []byte
	for i := range rows {
		c := &rows[i]
		id := common.HexToHash(c.Channel.ID)
		entries = append(entries, crypto.Keccak256(kindClaimEntry, id[:], word(big.NewInt(c.Voucher.Max)),
			word(big.NewInt(c.Total)))...)
	}
	sig, err := r.authorize(r.escrowDigest(kindClaims, crypto.Keccak256(entries)))
	return claimsCall(rows, sig), err
}

// collector is the one that buyers are asked to deposit through.
func (r *Rail) collector() common.Address {
	if r.cfg.Transfer == methodPermit2 {
		return depositPermitAddress
	}
	return depositAddress
}

// authorize signs as the authorizer of channels.
func (r *Rail) authorize(digest common.Hash) ([]byte, error) {
	if r.cfg.Authorizer == nil {
		return nil, errors.New("no key for channels is configured")
	}
	sig, err := crypto.Sign(digest[:], r.cfg.Authorizer)
	if err != nil {
		return nil, fmt.Errorf("signing for channels: %w", err)
	}
	sig[64] += 27
	return sig, nil
}

// escrowPayment is a payment that nobody signed but the store: a call of the escrow.
func (r *Rail) escrowPayment(method, nonce string, amount int64, call []byte) *rail.Payment {
	return &rail.Payment{Network: r.cfg.Network, Asset: r.cfg.Asset, Method: method, Payer: r.authorizer(),
		Nonce: nonce, PayTo: escrowAddress.Hex(), Amount: big.NewInt(amount), ValidBefore: 1<<63 - 1, Wire: call}
}

// Claims implements rail.Channels.
func (r *Rail) Claims(rows []rail.VoucherClaim, brings int64) (*rail.Payment, error) {
	if len(rows) == 0 || len(rows) > maxClaims {
		return nil, fmt.Errorf("%d rows are not 1 to %d", len(rows), maxClaims)
	}
	call, err := r.claims(rows)
	if err != nil {
		return nil, err
	}
	return r.escrowPayment(rail.MethodClaims, crypto.Keccak256Hash(call).Hex(), brings, call), nil
}

// Sweep implements rail.Channels.
func (r *Rail) Sweep(serial string, due int64) *rail.Payment {
	call := bytes.Join([][]byte{selSweep, addressWord(r.payTo), addressWord(r.asset)}, nil)
	return r.escrowPayment(rail.MethodSweep, serial, due, call)
}

// Refund implements rail.Channels.
func (r *Rail) Refund(row rail.VoucherClaim, amount int64, nonce uint64) (*rail.Payment, error) {
	id := common.HexToHash(row.Channel.ID)
	number, value := word(new(big.Int).SetUint64(nonce)), word(big.NewInt(amount))
	sig, err := r.authorize(r.escrowDigest(kindRefund, id[:], number, value))
	if err != nil {
		return nil, err
	}
	call := bytes.Join([][]byte{selRefund, configWords(&row.Channel), value, number, tail(10, sig)}, nil)
	if row.Total > 0 {
		claims, err := r.claims([]rail.VoucherClaim{row})
		if err != nil {
			return nil, err
		}
		first := bytesTail(claims)
		call = bytes.Join([][]byte{selCalls, word(big.NewInt(32)), word(big.NewInt(2)), word(big.NewInt(64)),
			word(big.NewInt(int64(64 + len(first)))), first, bytesTail(call)}, nil)
	}
	return r.escrowPayment(rail.MethodRefund, fmt.Sprintf("%s/%d", row.Channel.ID, nonce), amount, call), nil
}

// Methods of the store's own.
func isOwn(p *rail.Payment) bool {
	return p.Method == rail.MethodClaims || p.Method == rail.MethodSweep || p.Method == rail.MethodRefund || endsHold(p)
}

// byPermit reports a payment that Permit2 moves.
func byPermit(p *rail.Payment) bool {
	return p.Method == methodPermit2 || p.Method == rail.MethodDepositPermit || p.Method == rail.MethodHoldPermit
}

// isDeposit reports a payment into a channel.
func isDeposit(p *rail.Payment) bool {
	return p.Method == rail.MethodDeposit || p.Method == rail.MethodDepositPermit
}

// claimsGas is what a call of the escrow may take.
func claimsGas(p *rail.Payment) uint64 {
	if p.Method != rail.MethodClaims || len(p.Wire) < 4+3*32 {
		return gasCaps[0].gas
	}
	rows := new(big.Int).SetBytes(p.Wire[4+2*32 : 4+3*32])
	return gasOfClaims + gasOfClaim*min(rows.Uint64(), maxClaims)
}
