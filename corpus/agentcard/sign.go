package agentcard

import (
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"

	"store.example/agentstore/corpus/attest"
)

// Sign returns the card with a signature for each canonical form in use, so that every reader finds
// one that verifies: 0.3.0 defines no form. Those of equal bytes are one signature. kid is a DID
// URL of the key. The card is one object of ASCII without signatures; the same arguments give the
// same bytes.
func Sign(card []byte, kid string, k *attest.Key) ([]byte, error) {
	type entry struct {
		Protected string `json:"protected"`
		Signature string `json:"signature"`
	}
	v, err := parse(card)
	o := object(v)
	if err != nil || o == nil {
		return nil, fmt.Errorf("signing an agent card: not one object: %v", err)
	}
	head, err := json.Marshal(struct {
		Alg string `json:"alg"`
		KID string `json:"kid"`
		Typ string `json:"typ"`
	}{"EdDSA", kid, "JOSE"})
	if err != nil {
		return nil, fmt.Errorf("signing an agent card: %w", err)
	}
	protected := base64.RawURLEncoding.EncodeToString(head)
	var all []entry
	done := make(map[string]bool)
	for _, f := range forms(o) {
		if done[string(f.bytes)] {
			continue
		}
		done[string(f.bytes)] = true
		input := protected + "." + base64.RawURLEncoding.EncodeToString(f.bytes)
		all = append(all, entry{protected, base64.RawURLEncoding.EncodeToString(k.Sign([]byte(input)))})
	}
	list, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("signing an agent card: %w", err)
	}
	signed := jsontext.Value(card).Clone()
	if err := signed.Compact(); err != nil {
		return nil, fmt.Errorf("signing an agent card: %w", err)
	}
	signed = append(append(append(signed[:len(signed)-1], `,"signatures":`...), list...), '}')
	if err := signed.Indent(jsontext.WithIndent("  ")); err != nil {
		return nil, fmt.Errorf("signing an agent card: %w", err)
	}
	return append(signed, '\n'), nil
}
