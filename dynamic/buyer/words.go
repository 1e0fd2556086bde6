package buyer

import (
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"

	"store.example/agentstore/dynamic/pay/x402"
)

// Word is something that a door passed on of what its facilitator said, as JSON.
type Word struct {
	Header string `json:"header"` // that it came in
	Text   string `json:"text"`
}

// headerExtensions is what a facilitator answers a seller about extensions in, such as whether the
// door was listed; some sellers pass it on (x402, extension bazaar).
const headerExtensions = "Extension-Responses"

// maxWord bounds one Word in bytes of JSON. What is longer is left out.
const maxWord = 2 << 10

// words finds what an answer passes on: the header of extensions, and of PAYMENT-RESPONSE the
// reason of a refusal and the extensions but for the signed receipt, which is the door's own.
func (a *answer) words() (list []Word) {
	add := func(header string, v any) {
		raw, err := json.Marshal(v, json.Deterministic(true))
		if err == nil && len(raw) <= maxWord {
			list = append(list, Word{header, string(raw)})
		}
	}
	raw, err := base64.StdEncoding.DecodeString(a.Header.Get(headerExtensions))
	if value := jsontext.Value(raw); err == nil && len(raw) > 0 && value.Compact() == nil {
		add("EXTENSION-RESPONSES", value)
	}
	var said struct {
		ErrorReason string                    `json:"errorReason,omitzero"`
		Extensions  map[string]jsontext.Value `json:"extensions,omitempty"`
	}
	if decodeHeader(a.Header, headerResponse, &said) != nil {
		return list
	}
	if delete(said.Extensions, x402.ExtOffers); said.ErrorReason != "" || len(said.Extensions) > 0 {
		add("PAYMENT-RESPONSE", said)
	}
	return list
}
