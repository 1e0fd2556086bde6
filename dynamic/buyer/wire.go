package buyer

import (
	"bytes"
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// wireRequired is the PAYMENT-REQUIRED object as other people write it: what must be echoed is kept
// as it came.
type wireRequired struct {
	X402Version jsontext.Value            `json:"x402Version"`
	Error       string                    `json:"error"`
	Resource    jsontext.Value            `json:"resource"`
	Accepts     []jsontext.Value          `json:"accepts"`
	Extensions  map[string]jsontext.Value `json:"extensions"`
}

type wireResource struct {
	URL         string `json:"url"`
	Description string `json:"description"`
	MimeType    string `json:"mimeType"`
	ServiceName string `json:"serviceName"`
}

type wireAccept struct {
	Scheme            string         `json:"scheme"`
	Network           string         `json:"network"`
	Amount            string         `json:"amount"`
	Asset             string         `json:"asset"`
	PayTo             string         `json:"payTo"`
	MaxTimeoutSeconds int64          `json:"maxTimeoutSeconds"`
	Extra             jsontext.Value `json:"extra"`
}

type wireExtra struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Method      string `json:"assetTransferMethod"`
	PaymentFlow string `json:"paymentFlow"`
}

// wirePayment is the PAYMENT-SIGNATURE object, in the order of stock clients.
type wirePayment struct {
	X402Version int                       `json:"x402Version"`
	Payload     any                       `json:"payload"` // the family's
	Extensions  map[string]jsontext.Value `json:"extensions,omitempty"`
	Resource    jsontext.Value            `json:"resource,omitempty"`
	Accepted    jsontext.Value            `json:"accepted"`
}

type wirePayload struct {
	Authorization wireAuthorization `json:"authorization"`
	Signature     string            `json:"signature"`
}

type wireAuthorization struct {
	From        string `json:"from"`
	To          string `json:"to"`
	Value       string `json:"value"`
	ValidAfter  string `json:"validAfter"`
	ValidBefore string `json:"validBefore"`
	Nonce       string `json:"nonce"`
}

// decodeHeader reads the base64 of a JSON object strictly: the standard alphabet, padded or not,
// one header of that name, no duplicate members, valid UTF-8.
func decodeHeader(h http.Header, name string, v any) error {
	values := h.Values(name)
	switch {
	case len(values) == 0 || values[0] == "":
		return fmt.Errorf("there is no %s header", name)
	case len(values) > 1:
		return fmt.Errorf("there are %d %s headers", len(values), name)
	case len(values[0]) > maxHeader:
		return fmt.Errorf("the %s header is longer than %d bytes", name, maxHeader)
	case strings.ContainsAny(values[0], "\r\n"):
		return fmt.Errorf("the %s header is not base64 in the standard alphabet", name)
	}
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(values[0], "="))
	if err != nil {
		return fmt.Errorf("the %s header is not base64 in the standard alphabet", name)
	}
	raw = bytes.TrimPrefix(raw, []byte("\ufeff")) // as the stock client does
	if jsontext.Value(raw).Kind() != '{' {
		return fmt.Errorf("the %s header holds no JSON object", name)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return fmt.Errorf("the %s header names a member twice", name)
		}
		return fmt.Errorf("the %s header does not hold the JSON of x402 version 2", name)
	}
	return nil
}

func encodeHeader(v any) (string, error) {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(b), nil
}
