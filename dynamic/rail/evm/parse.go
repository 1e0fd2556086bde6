package evm

import (
	"encoding/hex"
	"encoding/json/v2"
	"math"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"store.example/agentstore/dynamic/rail"
)

const (
	maxPayload   = 32 << 10 // bytes of a scheme payload
	maxSignature = 4 << 10  // bytes of a decoded signature
	method       = "eip3009"
)

// wirePayload is the scheme's payload, by EIP-3009 or by Permit2. Members beside these are not ours
// to judge; inside what was signed there are none.
type wirePayload struct {
	Authorization *wireAuthorization `json:"authorization,omitzero"`
	Permit        *wirePermit        `json:"permit2Authorization,omitzero"`
	Signature     *string            `json:"signature"`
}

// wireAuthorization is the message of EIP-3009 with its numbers as decimal strings.
type wireAuthorization struct {
	From        *string        `json:"from"`
	To          *string        `json:"to"`
	Value       *string        `json:"value"`
	ValidAfter  *string        `json:"validAfter"`
	ValidBefore *string        `json:"validBefore"`
	Nonce       *string        `json:"nonce"`
	Unknown     map[string]any `json:",embed"`
}

// Parse implements rail.Rail. Addresses are accepted in any case and kept in the EIP-55 spelling;
// the nonce is kept in lower case.
func (r *Rail) Parse(payload []byte, accepted rail.Requirement) (*rail.Payment, error) {
	if accepted.Network != r.cfg.Network || !strings.EqualFold(accepted.Asset, r.cfg.Asset) {
		return nil, malformed("the accepted entry is not of this network and asset")
	}
	if len(payload) > maxPayload {
		return nil, malformed("the payload is too long")
	}
	var w wirePayload
	if err := json.Unmarshal(payload, &w); err != nil {
		return nil, malformed("the payload is not the JSON object that the scheme asks for")
	}
	p, err := r.parseSigned(w)
	if err != nil {
		return p, err
	}
	if w.Signature == nil {
		return nil, malformed("signature is missing")
	}
	var ok bool
	if p.Signature, ok = unhex(*w.Signature, maxSignature); !ok {
		return nil, malformed("signature is not hex of a sensible length")
	}
	if ref := checkEnvelope(p.Signature); ref != nil {
		return nil, ref
	}
	return p, nil
}

// parseSigned reads what was signed, by EIP-3009 or by Permit2.
func (r *Rail) parseSigned(w wirePayload) (*rail.Payment, error) {
	a := w.Authorization
	switch {
	case a != nil && w.Permit != nil:
		return nil, malformed("the payload is by EIP-3009 and by Permit2")
	case w.Permit != nil:
		return r.parsePermit(w.Permit)
	case a == nil:
		return nil, malformed("authorization is missing")
	case len(a.Unknown) > 0:
		return nil, malformed("the authorization has a member that it cannot have")
	}
	p := &rail.Payment{Network: r.cfg.Network, Asset: r.cfg.Asset, Method: method}
	var ok bool
	if p.Payer, ok = address(a.From); !ok {
		return nil, malformed("from is not an address")
	}
	if p.PayTo, ok = address(a.To); !ok {
		return nil, malformed("to is not an address")
	}
	if p.Amount, ok = uint256(a.Value); !ok {
		return nil, malformed("value is not a decimal number")
	}
	after, ok := uint256(a.ValidAfter)
	if !ok {
		return nil, malformed("validAfter is not a decimal number")
	}
	before, ok := uint256(a.ValidBefore)
	if !ok {
		return nil, malformed("validBefore is not a decimal number")
	}
	p.ValidAfter, p.ValidBefore = clamp(after), clamp(before)
	if a.Nonce == nil || !isHash(*a.Nonce) {
		return nil, malformed("nonce is not 32 bytes in hex")
	}
	p.Nonce = strings.ToLower(*a.Nonce)
	return p, nil
}

func malformed(why string) *rail.Refusal {
	return &rail.Refusal{Reason: "invalid_payload", Message: why}
}

// unhex decodes 0x and an even, positive number of hex digits, at most limit bytes.
func unhex(s string, limit int) ([]byte, bool) {
	if len(s) < 4 || s[:2] != "0x" || len(s) > 2+2*limit {
		return nil, false
	}
	b, err := hex.DecodeString(s[2:])
	return b, err == nil
}

// isHash reports 0x and 64 hex digits.
func isHash(s string) bool {
	b, ok := unhex(s, 32)
	return ok && len(b) == 32
}

// address spells an address by EIP-55.
func address(s *string) (string, bool) {
	if s == nil {
		return "", false
	}
	b, ok := unhex(*s, 20)
	if !ok || len(b) != 20 {
		return "", false
	}
	return common.BytesToAddress(b).Hex(), true
}

// uint256 reads decimal digits without sign or leading zero, below 2^256.
func uint256(s *string) (*big.Int, bool) {
	if s == nil || *s == "" || len(*s) > 78 || len(*s) > 1 && (*s)[0] == '0' {
		return nil, false
	}
	for i := range len(*s) {
		if c := (*s)[i]; c < '0' || c > '9' {
			return nil, false
		}
	}
	n, ok := new(big.Int).SetString(*s, 10)
	return n, ok && n.BitLen() <= 256
}

func clamp(n *big.Int) int64 {
	if !n.IsInt64() {
		return math.MaxInt64
	}
	return n.Int64()
}
