package mpp

import (
	"encoding/base64"
	"encoding/json"
	"encoding/json/jsontext"
	jsonx "encoding/json/v2"
)

// charge is the request of intent charge, its members in canonical order.
type charge struct {
	Amount        string  `json:"amount"`               // atomic units
	Currency      string  `json:"currency"`             // address of the token, or its mint
	ExternalID    string  `json:"externalId,omitempty"` // of method usdc: the order
	MethodDetails details `json:"methodDetails"`
	Recipient     string  `json:"recipient"`
}

// details are those of method evm, or the type of usdc and the one object that is called like it.
type details struct {
	ChainID         uint64         `json:"chainId,omitempty"`
	CredentialTypes []string       `json:"credentialTypes,omitempty"`
	Decimals        int            `json:"decimals,omitempty"`
	EVM             *chainDetails  `json:"evm,omitempty"`
	Solana          *solanaDetails `json:"solana,omitempty"`
	Type            string         `json:"type,omitempty"`
}

// chainDetails are those of method usdc on an EVM network.
type chainDetails struct {
	ChainID         uint64   `json:"chainId"`
	CredentialTypes []string `json:"credentialTypes"`
	Decimals        int      `json:"decimals"`
}

// solanaDetails are those of method usdc on Solana.
type solanaDetails struct {
	Decimals     int    `json:"decimals"`
	FeePayer     bool   `json:"feePayer"`
	FeePayerKey  string `json:"feePayerKey"`
	Network      string `json:"network"` // of clusters
	TokenProgram string `json:"tokenProgram"`
}

// canonical is the request as RFC 8785 has it: the members stand in order, and nothing in ours is
// escaped otherwise there.
func (r charge) canonical() ([]byte, error) { return json.Marshal(r) }

// encode is the request as a challenge has it.
func (r charge) encode() (string, error) {
	object, err := r.canonical()
	return base64.RawURLEncoding.EncodeToString(object), err
}

// readCharge reads a request that was echoed: as it was given, or written anew by a client that
// took it apart. It has nothing beside what we ask.
func readCharge(v jsontext.Value) (charge, error) {
	bad := refuse(invalidChallenge, "the challenge's request is not one of this store")
	if v.Kind() == '"' {
		var text string
		if jsonx.Unmarshal(v, &text) != nil {
			return charge{}, bad
		}
		b, err := decode(text)
		if err != nil {
			return charge{}, bad
		}
		v = b
	}
	var r charge
	if v.Kind() != '{' || jsonx.Unmarshal(v, &r, jsonx.RejectUnknownMembers(true)) != nil {
		return charge{}, bad
	}
	return r, nil
}
