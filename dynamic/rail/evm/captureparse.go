package evm

import (
	"bytes"
	"encoding/json/v2"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"store.example/agentstore/dynamic/rail"
)

// wireHold is the scheme's payload, by EIP-3009 or by Permit2. Members beside these are not ours to
// judge; inside what was signed there are none.
type wireHold struct {
	Authorization *wireAuthorization `json:"authorization,omitzero"`
	Permit        *wireHoldPermit    `json:"permit2Authorization,omitzero"`
	Signature     *string            `json:"signature"`
	Salt          *string            `json:"salt"`
	SaltNonce     *string            `json:"saltNonce,omitzero"` // of terms that name a receiverAuthorizer
	Type          *string            `json:"type,omitzero"`      // of a seller's calls to a facilitator
}

type wireHoldPermit struct {
	From      *string        `json:"from"`
	Permitted *wirePermitted `json:"permitted"`
	Spender   *string        `json:"spender"`
	Nonce     *string        `json:"nonce"`
	Deadline  *string        `json:"deadline"`
	Unknown   map[string]any `json:",embed"`
}

// malformedHold is malformed in the scheme's own words.
func malformedHold(why string) *rail.Refusal { return captured("payload_format", "%s", why) }

// ParseAuthorization implements rail.Captures. Addresses are accepted in any case and kept in the
// EIP-55 spelling, hashes in lower case, and signatures in the form that contracts want.
func (r *Rail) ParseAuthorization(payload []byte, accepted rail.Requirement) (*rail.Authorization, error) {
	switch {
	case r.cfg.Settler != nil:
		return nil, captured("operator_not_admitted", "no payments are held on %s", r.cfg.Name)
	case accepted.Network != r.cfg.Network:
		return nil, captured("network_mismatch", "the accepted entry is of another network")
	case !strings.EqualFold(accepted.Asset, r.cfg.Asset):
		return nil, malformedHold("the accepted entry is of another asset")
	case len(payload) > maxPayload:
		return nil, malformedHold("the payload is too long")
	}
	var w wireHold
	if err := json.Unmarshal(payload, &w); err != nil {
		return nil, malformedHold("the payload is not the JSON object that the scheme asks for")
	}
	switch {
	case w.Type != nil:
		return nil, captured("lifecycle_not_relayed", "this store captures and voids by itself")
	case w.SaltNonce != nil:
		return nil, malformedHold("saltNonce belongs to terms that name a receiverAuthorizer or policy")
	}
	return r.readAuthorization(&w, r.cfg.Transfer)
}

// readAuthorization reads what was signed by a method, and the salt.
func (r *Rail) readAuthorization(w *wireHold, by string) (*rail.Authorization, error) {
	switch {
	case (w.Authorization == nil) == (w.Permit == nil):
		return nil, malformedHold("the payload is by EIP-3009 or by Permit2, and by one of them")
	case (w.Permit != nil) != (by == methodPermit2):
		return nil, captured("payload_method_mismatch", "the payload is not by %s", by)
	case w.Salt == nil || !isHash(*w.Salt):
		return nil, malformedHold("salt is not 32 bytes in hex")
	case w.Signature == nil:
		return nil, malformedHold("signature is missing")
	}
	p, err := r.parseHold(w)
	if err != nil {
		return nil, err
	}
	var ok bool
	if p.Signature, ok = unhex(*w.Signature, maxSignature); !ok {
		return nil, malformedHold("signature is not hex of a sensible length")
	}
	if ref := checkEnvelope(p.Signature); ref != nil {
		return nil, malformedHold(ref.Message)
	}
	if bytes.HasSuffix(p.Signature, wrapped) {
		if _, is := unfold(p.Signature); !is {
			return nil, malformedHold("the wrapped signature names no factory") // the collector would unwrap it
		}
	}
	if vrs, ok := normal(p.Signature); ok {
		p.Signature = vrs
	}
	return &rail.Authorization{Payment: p, Salt: strings.ToLower(*w.Salt)}, nil
}

// parseHold reads what was signed.
func (r *Rail) parseHold(w *wireHold) (*rail.Payment, error) {
	if w.Permit != nil {
		return r.parseHoldPermit(w.Permit)
	}
	p, err := r.parseSigned(wirePayload{Authorization: w.Authorization})
	if ref, ok := err.(*rail.Refusal); ok {
		return nil, malformedHold(ref.Message)
	} else if err != nil {
		return nil, err
	}
	if common.HexToAddress(p.PayTo) != capturePayAddress {
		return nil, captured("token_collector_mismatch", "the authorization is not to %s", capturePayAddress)
	}
	p.Method = rail.MethodHold
	return p, nil
}

// parseHoldPermit reads a permit. Its deadline is the moment at which the escrow takes it no more,
// as of an authorization; Permit2 itself would take it for one second longer.
func (r *Rail) parseHoldPermit(w *wireHoldPermit) (*rail.Payment, error) {
	switch {
	case w.Permitted == nil:
		return nil, malformedHold("permitted is missing")
	case len(w.Unknown)+len(w.Permitted.Unknown) > 0:
		return nil, malformedHold("the permit has a member that it cannot have")
	}
	p := &rail.Payment{Network: r.cfg.Network, Asset: r.cfg.Asset, Method: rail.MethodHoldPermit,
		PayTo: captureAddress.Hex()}
	from, isFrom := address(w.From)
	spender, isSpender := address(w.Spender)
	token, isToken := address(w.Permitted.Token)
	amount, isAmount := uint256(w.Permitted.Amount)
	nonce, isNonce := uint256(w.Nonce)
	deadline, isDeadline := uint256(w.Deadline)
	switch {
	case !isFrom || !isSpender || !isToken || !isAmount || !isNonce || !isDeadline:
		return nil, malformedHold("a member of the permit is not an address or a decimal number")
	case common.HexToAddress(spender) != capturePermitAddress:
		return nil, captured("token_collector_mismatch", "the spender is not %s", capturePermitAddress)
	case !sameAddress(token, r.cfg.Asset):
		return nil, captured("token_mismatch", "the permit is for another token")
	}
	p.Payer, p.Amount, p.Nonce, p.ValidBefore = from, amount, nonce.String(), clamp(deadline)
	return p, nil
}
