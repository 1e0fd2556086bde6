package buyer

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/pay/x402"
)

// The protocols that a purchase may be paid by.
const (
	ByX402 = "x402"
	ByMPP  = "mpp" // the Payment scheme, methods evm and usdc, intent charge, by an EIP-3009 authorization
)

const (
	headerChallenge  = "Www-Authenticate" // as net/http spells it
	headerCredential = "Authorization"
	headerApart      = "Payment-Authorization" // where a challenge names it
	headerReceipt    = "Payment-Receipt"
	headerAccept     = "Accept-Payment"
	headerDelivery   = "X-Delivery-Receipt"
	schemePayment    = "Payment"
	// acceptPayment is what is paid by MPP. Stock doors have more to choose from in the first.
	acceptPayment = "evm/charge, usdc/charge;q=0.9"
)

// charge is the request of an MPP challenge as other people write it.
type charge struct {
	Amount        string `json:"amount"`
	Currency      string `json:"currency"`
	Recipient     string `json:"recipient"`
	MethodDetails struct {
		chainDetails
		Type string        `json:"type"` // of method usdc, and the one member that is called like it
		EVM  *chainDetails `json:"evm"`
	} `json:"methodDetails"`
}

// chainDetails are how a charge is paid on an EVM network.
type chainDetails struct {
	ChainID         uint64           `json:"chainId"`
	CredentialTypes []string         `json:"credentialTypes"`
	Splits          []jsontext.Value `json:"splits"`
}

// details are those of a method; ok is false where it is not paid by an authorization.
func (r charge) details(method string) (d chainDetails, ok bool) {
	if method == "evm" {
		return r.MethodDetails.chainDetails, true
	}
	if r.MethodDetails.Type != "evm" || r.MethodDetails.EVM == nil {
		return d, false
	}
	d = *r.MethodDetails.EVM
	if d.CredentialTypes == nil { // draft-usdc-charge-00: it is implied
		d.CredentialTypes = []string{"authorization"}
	}
	return d, true
}

// credential answers a challenge. Its members stand in the order of their names.
type credential struct {
	Challenge map[string]string `json:"challenge"`
	Payload   typedPayload      `json:"payload"`
	Source    string            `json:"source"`
}

type typedPayload struct {
	wireAuthorization
	Signature string `json:"signature"`
	Type      string `json:"type"`
}

// readChallenges fills the terms with the challenges of a 402 that ask for an MPP charge, one entry
// each.
func (b *Buyer) readChallenges(t *Terms, u *url.URL) error {
	all, err := paymentChallenges(t.answer.Header.Values(headerChallenge))
	if err != nil {
		return err
	}
	if all, err = t.answer.bodyChallenges(all); err != nil {
		return err
	}
	if len(all) == 0 || len(all) > maxAccepts {
		return fmt.Errorf("there are %d Payment challenges, not 1 to %d", len(all), maxAccepts)
	}
	for _, c := range all {
		t.Entries = append(t.Entries, b.chargeEntry(c))
		if t.Description == "" {
			t.Description = c["description"]
		}
		if c["realm"] != u.Hostname() {
			t.warn("A challenge is of the realm %s, which is not the host that was asked.", printable(c["realm"], 100))
		}
	}
	t.SuggestedKey = suggestedKey(t.answer)
	return nil
}

// memberRequired is the member of a 402's body that has a challenge for each amount, where the
// header has the least amount's alone or, for want of room, none: the payment-required data of
// draft-payment-transport-mcp-00.
const memberRequired = "org.paymentauth/payment-required"

// bodyChallenges are the challenges of the header and, after them, those of the body that are not
// among them.
func (a *answer) bodyChallenges(header []map[string]string) ([]map[string]string, error) {
	var body map[string]jsontext.Value
	var data struct {
		Challenges []map[string]jsontext.Value `json:"challenges"`
	}
	if a.Truncated || !readLenient(a.Body, &body) || body[memberRequired] == nil {
		return header, nil
	}
	if json.Unmarshal(body[memberRequired], &data) != nil || len(data.Challenges) > maxAccepts {
		return nil, errors.New("the challenges of the body cannot be read")
	}
	all := header
	for _, members := range data.Challenges {
		c, err := challengeOf(members)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(all, func(o map[string]string) bool { return o["id"] == c["id"] }) {
			all = append(all, c)
		}
	}
	return all, nil
}

// challengeOf is a challenge of a body with its members as the parameters of a header would be: all
// are text, and the request is its canonical JSON in base64url.
func challengeOf(members map[string]jsontext.Value) (map[string]string, error) {
	c := make(map[string]string, len(members))
	for name, v := range members {
		if name == "request" && v.Kind() == '{' {
			canonical, err := attest.JCSBytes(v)
			if err != nil {
				return nil, errors.New("the request of a challenge cannot be read")
			}
			c[name] = base64.RawURLEncoding.EncodeToString(canonical)
			continue
		}
		var text string
		if v.Kind() != '"' || json.Unmarshal(v, &text) != nil {
			return nil, fmt.Errorf("the member %s of a challenge is no text", quoted(name))
		}
		c[name] = text
	}
	return c, nil
}

// chargeEntry is what is thought of one challenge: the same as of an entry of accepts that asks the
// same.
func (b *Buyer) chargeEntry(c map[string]string) Entry {
	refused := func(format string, args ...any) Entry {
		return Entry{Scheme: printable(c["method"]+"/"+c["intent"], 60), Flow: flowAuthorization,
			Refused: fmt.Sprintf(format, args...)}
	}
	if c["method"] != "evm" && c["method"] != "usdc" || c["intent"] != "charge" {
		return refused("it asks for another method or intent than evm/charge and usdc/charge")
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(c["request"], "="))
	var r charge
	if err != nil || jsontext.Value(raw).Kind() != '{' || json.Unmarshal(raw, &r) != nil {
		return refused("its request cannot be read")
	}
	d, ok := r.details(c["method"])
	if !ok {
		return refused("it is for a network of another kind, which is not paid by MPP from here")
	}
	end, err := time.Parse(time.RFC3339, c["expires"])
	network := "eip155:" + strconv.FormatUint(d.ChainID, 10)
	asset, _ := findAsset(network, r.Currency)
	accept, bad := json.Marshal(map[string]any{"scheme": schemeExact, "network": network, "amount": r.Amount,
		"asset": r.Currency, "payTo": r.Recipient,
		"maxTimeoutSeconds": max(0, int64(end.Sub(b.cfg.Now())/time.Second)),
		"extra":             map[string]string{"name": asset.Name, "version": asset.Version}})
	if bad != nil {
		return refused("its request cannot be read")
	}
	e := readEntry(accept)
	e.challenge = c
	field, named := c["header"]
	e.CredentialHeader = field
	switch {
	case e.Refused != "":
	case err != nil:
		e.Refused = "it does not say when it ends"
	case c["id"] == "" || c["realm"] == "":
		e.Refused = "it has no id or no realm"
	case named && field != headerApart: // draft-httpauth-payment-02: it is none that is known
		e.Refused = "it wants its credential in the header " + quoted(field) + ", which is none for payments"
	case c["method"] == "usdc" && e.Symbol != "USDC":
		e.Refused = "it is of method usdc and asks for another token than Circle's USDC"
	case !slices.Contains(d.CredentialTypes, "authorization"):
		e.Refused = "it takes no credential of the type authorization"
	case len(d.Splits) > 0:
		e.Refused = "it splits the payment, which an authorization cannot"
	}
	e.end = end
	return e
}

// challengeNonce is the nonce of the authorization that answers a challenge: of method usdc it
// commits to method, intent and request too (draft-usdc-charge-00, and /spec/mpp-usdc/v1).
func challengeNonce(c map[string]string) [32]byte {
	if c["method"] != "usdc" {
		return wallet.Keccak256([]byte(c["id"]), []byte(c["realm"]))
	}
	request, _ := base64.RawURLEncoding.DecodeString(strings.TrimRight(c["request"], "=")) // it was read before
	answers, _ := json.Marshal(map[string]string{"id": c["id"], "intent": c["intent"], "method": c["method"],
		"realm": c["realm"], "requestHash": nonceText(wallet.Keccak256(request))}, json.Deterministic(true))
	return wallet.Keccak256(answers)
}

// credentialFor is the header value that answers a challenge with a signed payment.
func credentialFor(e Entry, p wirePayload) (string, error) {
	source := "did:pkh:" + e.Network + ":" + p.Authorization.From
	if e.challenge["method"] == "usdc" {
		source = e.Network + ":" + strings.ToLower(p.Authorization.From)
	}
	b, err := json.Marshal(credential{Challenge: e.challenge, Payload: typedPayload{p.Authorization, p.Signature,
		"authorization"}, Source: source}, json.Deterministic(true))
	if err != nil {
		return "", err
	}
	return schemePayment + " " + base64.RawURLEncoding.EncodeToString(b), nil
}

// receipt reads Payment-Receipt as a settlement; nil where there is none.
func (a *answer) receipt(p *purchase) (*x402.SettleResponse, error) {
	vs := a.Header.Values(headerReceipt)
	if len(vs) == 0 {
		return nil, nil
	}
	var r struct {
		Status    string `json:"status"`
		Reference string `json:"reference"`
		ChainID   uint64 `json:"chainId"`
		Network   string `json:"network"` // of method usdc
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(vs[0], "="))
	if err != nil || len(vs) > 1 || json.Unmarshal(raw, &r) != nil {
		return nil, errors.New("the " + headerReceipt + " header cannot be read")
	}
	s := &x402.SettleResponse{Success: r.Status == "success", Transaction: r.Reference, Network: p.Network}
	if r.ChainID != 0 {
		s.Network = "eip155:" + strconv.FormatUint(r.ChainID, 10)
	}
	s.Network = cmp.Or(r.Network, s.Network)
	return s, nil
}

// paymentChallenges are the parameters of each challenge of the scheme Payment among the values of
// WWW-Authenticate, where other schemes may stand too.
func paymentChallenges(values []string) ([]map[string]string, error) {
	var all []map[string]string
	for _, v := range values {
		for _, c := range exchange.AuthChallenges(v) {
			if !strings.EqualFold(c.Scheme, schemePayment) {
				continue
			}
			if c.Malformed {
				return nil, errors.New("the " + headerChallenge + " header cannot be read")
			}
			params := make(map[string]string, len(c.Params))
			for _, p := range c.Params {
				if _, twice := params[p.Name]; twice {
					return nil, fmt.Errorf("a challenge has the parameter %s twice", quoted(p.Name))
				}
				params[p.Name] = p.Value
			}
			all = append(all, params)
		}
	}
	return all, nil
}

// nonceText is a nonce as a journal has it.
func nonceText(n [32]byte) string { return "0x" + hex.EncodeToString(n[:]) }
