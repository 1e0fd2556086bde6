package counter

import (
	"errors"
	"net/http"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/pay/x402"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/dynamic/till"
)

// HeaderSignIn is the field in which a wallet signs in, as extension sign-in-with-x of x402 has it.
const HeaderSignIn = "SIGN-IN-WITH-X"

// SignInParam is that field where it stands for a payment or a status token.
var SignInParam = api.Param{Name: HeaderSignIn, In: api.Header, Type: "string", MaxLength: wallet.MaxSignedIn,
	Description: "base64 JSON of a signed sign-in-with-x, from a wallet that paid; see /spec/sign-in/v1"}

// signInMessage is the info of the extension: what is signed, but for address and chain.
type signInMessage struct {
	Domain         string `json:"domain"`
	URI            string `json:"uri"`
	Version        string `json:"version"`
	Nonce          string `json:"nonce"`
	IssuedAt       string `json:"issuedAt"`
	ExpirationTime string `json:"expirationTime"`
	Statement      string `json:"statement"`
}

func signInInfo(m wallet.SignIn) ([]byte, error) {
	return api.Marshal(signInMessage{m.Domain, m.URI, m.Version, m.Nonce, m.IssuedAt, m.ExpirationTime, m.Statement})
}

// signInChains are the networks that are named to sign in on.
func (c *Counter) signInChains() []pay.SignInChain {
	var all []pay.SignInChain
	for _, chain := range c.till.SignInChains() {
		all = append(all, pay.SignInChain{ChainID: chain.String(), Type: wallet.SignatureType(chain.Namespace)})
	}
	return all
}

// readSignIn reads the sign-in of a request, nil where there is none.
func readSignIn(method string, values []string) *till.SignIn {
	s := &till.SignIn{Method: method}
	var err error
	switch len(values) {
	case 0:
		return nil
	case 1:
		s.SignedIn, err = wallet.ParseSignedIn(values[0])
	default:
		err = errors.New("there are two fields " + HeaderSignIn + " in this request; send one")
	}
	if err != nil {
		s.Refusal = &rail.Refusal{Reason: till.SignInMalformed, Message: err.Error()}
	}
	return s
}

// holder is a purchase, for who has its status token or signs in as the wallet that paid. A token
// goes before a sign-in. Who has neither is told what to sign, also of a purchase that is none.
func (c *Counter) holder(r *http.Request, purchase string) (p till.Status, err error) {
	op := till.Operation{Method: r.Method, Path: r.URL.Path}
	s := readSignIn(r.Method, r.Header.Values(HeaderSignIn))
	if s == nil || len(r.Header.Values("Authorization")) > 0 {
		p, err = c.till.Status(r.Context(), purchase, bearer(r))
	} else {
		p, err = c.till.SignedStatus(r.Context(), purchase, op, s, route.Address(r))
	}
	err = c.problem(err, request{})
	e, ok := errors.AsType[*problem.Error](err)
	if !ok || e.Code != "unauthorized" {
		return p, err
	}
	info, bad := signInInfo(c.till.SignInTo(op))
	if bad != nil {
		return p, bad
	}
	if e.Extra == nil {
		e.Extra = make(map[string]any)
	}
	ext := x402.SignInExtension(c.signInChains())
	ext.Info = info
	e.Extra["extensions"] = map[string]x402.Extension{x402.ExtSignIn: ext}
	return p, err
}
