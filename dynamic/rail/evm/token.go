package evm

import (
	"bytes"
	"encoding/json/v2"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/rail"
)

// Selectors and topics of ERC-20, EIP-3009, EIP-712 and EIP-1271.
var (
	selTransferVRS = selector(
		"transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)")
	selTransferBytes = selector("transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)")
	selAuthState     = selector("authorizationState(address,bytes32)")
	selBalanceOf     = selector("balanceOf(address)")
	selName          = selector("name()")
	selVersion       = selector("version()")
	selSeparator     = selector("DOMAIN_SEPARATOR()")
	selPaused        = selector("paused()")
	selBlocked       = selector("isBlacklisted(address)")
	selDataFee       = selector("getL1FeeUpperBound(uint256)")
	selValidSig      = selector("isValidSignature(bytes32,bytes)") // its own return value too (EIP-1271)

	topicTransfer = crypto.Keccak256Hash([]byte("Transfer(address,address,uint256)"))
	topicUsed     = crypto.Keccak256Hash([]byte("AuthorizationUsed(address,bytes32)"))
	topicCanceled = crypto.Keccak256Hash([]byte("AuthorizationCanceled(address,bytes32)"))

	// wrapped ends an ERC-6492 signature.
	wrapped = bytes.Repeat([]byte{0x64, 0x92}, 16)
	// halfOrder is the largest s of a signature in the form that tokens accept (EIP-2).
	halfOrder = new(big.Int).Rsh(crypto.S256().Params().N, 1)
)

func selector(sig string) []byte { return crypto.Keccak256([]byte(sig))[:4] }

// word left-pads to 32 bytes.
func word(n *big.Int) []byte { return common.BigToHash(n).Bytes() }

func addressWord(a common.Address) []byte { return common.LeftPadBytes(a.Bytes(), 32) }

// domainSeparator is the EIP-712 separator of a token.
func domainSeparator(name, version string, chainID uint64, asset common.Address) common.Hash {
	d := wallet.Domain{Name: name, Version: version, ChainID: chainID, VerifyingContract: wallet.Address(asset)}
	return d.Separator()
}

// digest is what the payer signed.
func digest(separator common.Hash, p *rail.Payment) common.Hash {
	a := wallet.Authorization{
		From: wallet.Address(common.HexToAddress(p.Payer)), To: wallet.Address(common.HexToAddress(p.PayTo)),
		ValidAfter: wallet.NewUint256(uint64(p.ValidAfter)), ValidBefore: wallet.NewUint256(uint64(p.ValidBefore)),
		Nonce: common.HexToHash(p.Nonce),
	}
	p.Amount.FillBytes(a.Value[:])
	return a.Digest(separator)
}

// recover65 is the account that made a 65-byte signature over a hash, v being 0, 1, 27 or 28.
// Unlike wallet.Recover it takes s in either half, as the stock facilitator does before its
// simulation fails, and is four times as fast with cgo.
func recover65(hash common.Hash, sig []byte) (common.Address, bool) {
	sig, ok := normal(sig)
	if !ok {
		return common.Address{}, false
	}
	sig[64] -= 27
	pub, err := crypto.SigToPub(hash[:], sig)
	if err != nil {
		return common.Address{}, false
	}
	return crypto.PubkeyToAddress(*pub), true
}

// normal copies a 65-byte signature with v made 27 or 28, as token contracts want it.
func normal(sig []byte) ([]byte, bool) {
	if len(sig) != 65 {
		return nil, false
	}
	sig = bytes.Clone(sig)
	if sig[64] < 2 {
		sig[64] += 27
	}
	return sig, sig[64] == 27 || sig[64] == 28
}

// highS reports a 65-byte signature in its malleable form, which the token refuses.
func highS(sig []byte) bool {
	return len(sig) == 65 && new(big.Int).SetBytes(sig[32:64]).Cmp(halfOrder) > 0
}

// transferCall is the calldata that settles p: the v, r, s form for 65-byte signatures and the
// bytes form for others.
func transferCall(p *rail.Payment) []byte {
	sig, _ := unwrap(p.Signature)
	b := make([]byte, 0, 4+9*32)
	b = append(b, selTransferVRS...)
	b = append(b, addressWord(common.HexToAddress(p.Payer))...)
	b = append(b, addressWord(common.HexToAddress(p.PayTo))...)
	b = append(b, word(p.Amount)...)
	b = append(b, word(big.NewInt(p.ValidAfter))...)
	b = append(b, word(big.NewInt(p.ValidBefore))...)
	b = append(b, common.HexToHash(p.Nonce).Bytes()...)
	if vrs, ok := normal(sig); ok {
		b = append(b, common.LeftPadBytes(vrs[64:], 32)...)
		return append(b, vrs[:64]...)
	}
	copy(b, selTransferBytes)
	return append(b, tail(7, sig)...)
}

// plainCall is the call that settles p, where its payer needs no deployment.
func (r *Rail) plainCall(p *rail.Payment) (to common.Address, data []byte) {
	if isHold(p) || endsHold(p) {
		return captureAddress, p.Wire
	}
	if isOwn(p) || isDeposit(p) {
		return escrowAddress, p.Wire
	}
	if p.Method == methodPermit2 {
		return proxyAddress, settlePermitCall(p)
	}
	return r.asset, transferCall(p)
}

// tail encodes a dynamic bytes argument that is the last of n arguments.
func tail(n int, data []byte) []byte {
	b := append([]byte{}, word(big.NewInt(int64(n*32)))...)
	b = append(b, word(big.NewInt(int64(len(data))))...)
	b = append(b, data...)
	return append(b, make([]byte, (32-len(data)%32)%32)...)
}

// validSignatureCall is EIP-1271's isValidSignature(hash, signature).
func validSignatureCall(hash common.Hash, sig []byte) []byte {
	return append(append(bytes.Clone(selValidSig), hash[:]...), tail(2, sig)...)
}

// ethCall is the transaction object of eth_call and eth_estimateGas.
func ethCall(from, to common.Address, data []byte) map[string]string {
	m := map[string]string{"to": to.Hex(), "input": hexutil.Encode(data)}
	if from != (common.Address{}) {
		m["from"] = from.Hex()
	}
	return m
}

// text decodes a string that a contract returned, as ABI string or as bytes32.
func text(b []byte) (string, bool) {
	if len(b) == 32 {
		return string(bytes.TrimRight(b, "\x00")), true
	}
	vs, err := abi.Arguments{{Type: mustType("string")}}.Unpack(b)
	if err != nil {
		return "", false
	}
	return vs[0].(string), true
}

// reverted reports whether an answer says that the EVM refused the call, as against a node that
// could not make it, and with which text. The text comes from the ABI data where there is any:
// nodes word their messages differently.
func reverted(err error) (reason string, is bool) {
	e, ok := err.(*rail.NodeError)
	if !ok {
		return "", false
	}
	if data := revertData(e.Data); len(data) > 0 {
		return revertText(data), true
	}
	m := strings.ToLower(e.Message)
	if e.Code == 3 || strings.Contains(m, "revert") || strings.Contains(m, "invalid opcode") ||
		strings.Contains(m, "invalid jump") {
		return rail.Printable(e.Message, 200), true
	}
	return "", false
}

// exhausted reports that a call, or an estimate, took all the gas that it named.
func exhausted(err error) bool {
	e, ok := errors.AsType[*rail.NodeError](err)
	if !ok {
		return false
	}
	m := strings.ToLower(strings.ReplaceAll(e.Message, " ", ""))
	return strings.Contains(m, "outofgas") || strings.Contains(m, "gasrequiredexceeds")
}

// revertText is the text of a revert's ABI data, or the name of its error.
func revertText(data []byte) string {
	if s, err := abi.UnpackRevert(data); err == nil {
		return rail.Printable(s, 200)
	}
	if len(data) == 0 {
		return "reverted without a reason"
	}
	return "custom error " + hexutil.Encode(data[:min(4, len(data))])
}

// revertData finds the ABI data of a revert in the error's data, which is a hex string or an object
// that holds one.
func revertData(raw []byte) []byte {
	if len(raw) == 0 {
		return nil
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		var o struct {
			Data string `json:"data"`
		}
		if json.Unmarshal(raw, &o) != nil {
			return nil
		}
		s = o.Data
	}
	b, _ := unhex(s, 64<<10)
	return b
}

// refuseRevert turns the revert of a settlement into a refusal. The texts are those of Circle's
// FiatToken, by which the stock facilitator goes too (x402 2.4).
func refuseRevert(reason string) *rail.Refusal {
	m := strings.ToLower(reason)
	ref := &rail.Refusal{Reason: reasonFailed, Message: reason}
	switch {
	case strings.Contains(m, "is expired"):
		ref.Reason = reasonValidBefore
	case strings.Contains(m, "not yet valid"):
		ref.Reason = reasonValidAfter
	case strings.Contains(m, "used or canceled"):
		ref.Reason, ref.Err = reasonUsed, rail.ErrUsed
	case strings.HasPrefix(m, "custom error ") && permitErrors[strings.TrimPrefix(m, "custom error ")] != "":
		ref.Reason = permitErrors[strings.TrimPrefix(m, "custom error ")]
		switch ref.Reason {
		case reasonPermitNonce:
			ref.Err = rail.ErrUsed
		case reasonPermitSignature:
			ref.Payer = true
		}
	case strings.Contains(m, "exceeds balance"):
		ref.Reason, ref.Payer = reasonBalance, true
	case strings.Contains(m, "invalid signature"):
		ref.Reason, ref.Payer = reasonSignature, true
	}
	return ref
}

// The stock facilitator's reason codes (x402 2.3).
const (
	reasonScheme       = "invalid_exact_evm_scheme"
	reasonNoDomain     = "invalid_exact_evm_missing_eip712_domain"
	reasonNetwork      = "invalid_exact_evm_network_mismatch"
	reasonFactory      = "eip6492_factory_not_allowed"
	reasonDeployment   = "smart_wallet_deployment_failed"
	reasonSignature    = "invalid_exact_evm_signature"
	reasonRecipient    = "invalid_exact_evm_recipient_mismatch"
	reasonValidBefore  = "invalid_exact_evm_payload_authorization_valid_before"
	reasonValidAfter   = "invalid_exact_evm_payload_authorization_valid_after"
	reasonValue        = "invalid_exact_evm_payload_authorization_value_mismatch"
	reasonNoAsset      = "asset_not_deployed_contract"
	reasonNot3009      = "invalid_exact_evm_eip3009_not_supported"
	reasonUsed         = "invalid_exact_evm_nonce_already_used"
	reasonTokenName    = "invalid_exact_evm_token_name_mismatch"
	reasonTokenVersion = "invalid_exact_evm_token_version_mismatch"
	reasonBalance      = "invalid_exact_evm_insufficient_balance"
	reasonFailed       = "invalid_exact_evm_transaction_failed"
	reasonSimulation   = "invalid_exact_evm_transaction_simulation_failed"
)

func refuse(reason, format string, args ...any) *rail.Refusal {
	return &rail.Refusal{Reason: reason, Message: fmt.Sprintf(format, args...)}
}
