package wallet

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"strings"
)

// Uint256 is an unsigned integer of the EVM, big-endian.
type Uint256 [32]byte

// NewUint256 returns n.
func NewUint256(n uint64) (u Uint256) {
	binary.BigEndian.PutUint64(u[24:], n)
	return u
}

// ParseUint256 reads a decimal number without sign, spaces or leading zeros.
func ParseUint256(s string) (u Uint256, err error) {
	if s == "" || len(s) > 78 || strings.Trim(s, "0123456789") != "" || s[0] == '0' && s != "0" {
		return Uint256{}, fmt.Errorf("parsing uint256: %.80q is not a plain decimal", s)
	}
	n, _ := new(big.Int).SetString(s, 10)
	if n.BitLen() > 256 {
		return Uint256{}, fmt.Errorf("parsing uint256: %s is too large", s)
	}
	n.FillBytes(u[:])
	return u, nil
}

// Big returns u as a new big.Int.
func (u Uint256) Big() *big.Int { return new(big.Int).SetBytes(u[:]) }

// Uint64 returns u and whether it fits.
func (u Uint256) Uint64() (uint64, bool) {
	for _, b := range u[:24] {
		if b != 0 {
			return 0, false
		}
	}
	return binary.BigEndian.Uint64(u[24:]), true
}

// Int64 returns u and whether it fits, for amounts in atomic units and times.
func (u Uint256) Int64() (int64, bool) {
	n, ok := u.Uint64()
	return int64(n), ok && n <= 1<<63-1
}

// String returns u in decimal.
func (u Uint256) String() string { return u.Big().String() }

// The type strings of EIP-712 that are signed here.
const (
	domainType        = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
	bareDomainType    = "EIP712Domain(string name,string version,uint256 chainId)"
	authorizationType = "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 " +
		"validBefore,bytes32 nonce)"
	offerType = "Offer(uint256 version,string resourceUrl,string scheme,string network,string asset,string " +
		"payTo,string amount,uint256 validUntil)"
	receiptType = "Receipt(uint256 version,string network,string resourceUrl,string payer,uint256 " +
		"issuedAt,string transaction)"
)

// Domain is the EIP-712 domain of a token.
type Domain struct {
	Name, Version     string
	ChainID           uint64
	VerifyingContract Address
}

// Separator returns the domain separator, which a token contract shows as
// DOMAIN_SEPARATOR. It does not change: compute it once per token.
func (d Domain) Separator() [32]byte {
	return hashWords(domainType, text(d.Name), text(d.Version), NewUint256(d.ChainID), address(d.VerifyingContract))
}

// Authorization is a payment of EIP-3009 as it is signed.
type Authorization struct {
	From, To    Address
	Value       Uint256 // atomic units
	ValidAfter  Uint256 // Unix seconds
	ValidBefore Uint256 // Unix seconds
	Nonce       [32]byte
}

// Digest returns what the payer signs under a token's domain separator.
func (a Authorization) Digest(separator [32]byte) [32]byte {
	return typedDigest(separator, hashWords(authorizationType,
		address(a.From), address(a.To), a.Value, a.ValidAfter, a.ValidBefore, a.Nonce))
}

// Offer is the payload of an x402 offer signed with EIP-712. An absent
// ValidUntil is 0.
type Offer struct {
	Version                                            uint64
	ResourceURL, Scheme, Network, Asset, PayTo, Amount string
	ValidUntil                                         uint64
}

// Digest returns what the seller signs.
func (o Offer) Digest() [32]byte {
	return typedDigest(bareSeparator("x402 offer"), hashWords(offerType,
		NewUint256(o.Version), text(o.ResourceURL), text(o.Scheme), text(o.Network), text(o.Asset), text(o.PayTo),
		text(o.Amount), NewUint256(o.ValidUntil)))
}

// Receipt is the payload of an x402 receipt signed with EIP-712. An absent
// Transaction is "".
type Receipt struct {
	Version                     uint64
	Network, ResourceURL, Payer string
	IssuedAt                    uint64
	Transaction                 string
}

// Digest returns what the seller signs.
func (r Receipt) Digest() [32]byte {
	return typedDigest(bareSeparator("x402 receipt"), hashWords(receiptType,
		NewUint256(r.Version), text(r.Network), text(r.ResourceURL), text(r.Payer), NewUint256(r.IssuedAt),
		text(r.Transaction)))
}

// bareSeparator is that of the offer-receipt extension: chain 1 whatever the
// network, and no contract.
func bareSeparator(name string) [32]byte {
	return hashWords(bareDomainType, text(name), text("1"), NewUint256(1))
}

func typedDigest(separator, structHash [32]byte) [32]byte {
	return Keccak256([]byte("\x19\x01"), separator[:], structHash[:])
}

// hashWords is hashStruct of EIP-712 over encoded members.
func hashWords(typeString string, words ...[32]byte) [32]byte {
	buf := make([]byte, 0, 32*9)
	t := Keccak256([]byte(typeString))
	buf = append(buf, t[:]...)
	for _, w := range words {
		buf = append(buf, w[:]...)
	}
	return Keccak256(buf)
}

func text(s string) [32]byte { return Keccak256([]byte(s)) }

func address(a Address) (word [32]byte) {
	copy(word[12:], a[:])
	return word
}
