// Package mpp is MPP, the "Payment" scheme of HTTP authentication, as a protocol of package pay:
// method evm, intent charge, USDC on Base, paid by an EIP-3009 authorization whose nonce is the
// hash of its challenge. A challenge stands in WWW-Authenticate and in the 402's body, a credential
// comes in Authorization or in MCP's _meta["org.paymentauth/credential"], a receipt goes out in
// Payment-Receipt or in _meta["org.paymentauth/receipt"].
//
// A challenge is bound to what it was asked for: its id is a MAC over every other part, and its
// opaque holds our nonce (rule M1 of package till), the suggested key, and a digest of address and
// query; digest is that of the body. Nothing about it is stored. Once a payment may have been sent
// no challenge is repeated: stock clients answer up to three in a row with a payment each.
//
// Formats: draft-httpauth-payment-00 and -02, draft-evm-charge-00, draft-payment-transport-mcp-00,
// as mppx 0.11 reads and writes them. The field header of -02 is not offered, so that credentials
// come in Authorization alone. Of the credential types authorization is taken, the one that mppx
// has.
package mpp

import (
	"net"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/pay"
)

// The fields of HTTP and the names in MCP's _meta.
const (
	headerChallenge  = "WWW-Authenticate"
	headerCredential = "Authorization"
	headerReceipt    = "Payment-Receipt"
	headerAccept     = "Accept-Payment"
	metaRequired     = "org.paymentauth/payment-required"
	metaCredential   = "org.paymentauth/credential"
	metaReceipt      = "org.paymentauth/receipt"
)

// What is spoken, and on which network.
const (
	scheme      = "Payment"
	method      = "evm"
	intent      = "charge"
	credType    = "authorization"
	network     = "eip155:8453"
	networkName = "Base"
	chainID     = 8453
	decimals    = 6 // of USDC
)

// MaxCredential is the longest credential that is read, in bytes of base64url. A stock one is under
// 3 kB; the draft has servers take 4 kB.
const MaxCredential = 16 << 10

// Row is MPP among the protocols.
var Row = pay.Row{
	Name:      "mpp",
	Presented: func(f pay.Fields) bool { return len(credentials(f))+len(f.Values(metaCredential)) > 0 },
	Params: []api.Param{
		{Name: headerCredential, In: api.Header, Type: "string", MaxLength: len(scheme+" ") + MaxCredential,
			Description: "Payment and the base64url JSON of an MPP credential"},
		{Name: headerAccept, In: api.Header, Type: "string", MaxLength: maxAccept,
			Description: "which MPP methods and intents a client takes; evm/charge is the one that is offered, and " +
				"q=0 leaves it out"},
	},
	Terms:      []string{headerChallenge},
	Answers:    []string{headerReceipt},
	Body:       api.SchemaFor[members](),
	NotSettled: "payment_not_settled",
	New:        New,
}

// members are what MPP adds to the body of a 402: the challenges in the form of MCP, one for each
// amount.
type members struct {
	Required *required `json:"org.paymentauth/payment-required,omitempty"`
}

type protocol struct {
	keyed *pay.MACs // over challenges
	realm string    // the store's host without its port
}

// New makes the protocol for a store.
func New(s pay.Store) pay.Protocol {
	realm := s.Realm
	if host, _, err := net.SplitHostPort(realm); err == nil {
		realm = host
	}
	return protocol{keyed: pay.NewMACs(derive(s.Secret)), realm: realm}
}
