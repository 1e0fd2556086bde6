package counter

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"store.example/agentstore/corpus/attest"
)

// signerOf checks a signed certificate and says which published identity key made it. A good
// signature by a key that the ring does not hold is attest.ErrUnknownKey.
func signerOf(s attest.Signed, ring attest.Ring) (attest.Signer, error) {
	if err := s.Verify(ed25519.PublicKey(s.PublicKey)); err != nil {
		return attest.Signer{}, err
	}
	by, ok := ring.ByPublic(ed25519.PublicKey(s.PublicKey))
	if !ok || by.Purpose != attest.PurposeIdentity {
		return attest.Signer{}, fmt.Errorf("verifying certificate: %w: %s", attest.ErrUnknownKey, s.PublicKey)
	}
	return by, nil
}

// notCovered verifies a proof's signature over the exact payload and returns the names, sorted, of
// displayed fields that it does not cover: those that the payload does not have, and those that it
// has with another value. An error means that the signature itself is bad.
func notCovered(p attest.Proof, displayed map[string]any) (names []string, err error) {
	if !attest.Verify(ed25519.PublicKey(p.PublicKey), []byte(p.SignedPayload), p.Signature) {
		return nil, errors.New("checking signature: it does not fit the signed payload")
	}
	var signed map[string]json.RawMessage
	if err := json.Unmarshal([]byte(p.SignedPayload), &signed); err != nil {
		return nil, fmt.Errorf("checking signature: reading the signed payload: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(displayed)) {
		same, err := sameJSON(signed[name], displayed[name])
		if err != nil {
			return nil, fmt.Errorf("checking signature: field %s: %w", name, err)
		}
		if !same {
			names = append(names, name)
		}
	}
	return names, nil
}

func sameJSON(signed json.RawMessage, shown any) (bool, error) {
	if signed == nil {
		return false, nil
	}
	a, err := attest.JCSBytes(signed)
	if err != nil {
		return false, err
	}
	b, err := attest.JCS(shown)
	return string(a) == string(b), err
}
