// Package mpp is MPP, the "Payment" scheme of HTTP authentication, as a protocol of package pay,
// with the intent charge:
//
//	method  where                    what is signed for a challenge
//	evm     USDC on Base             an EIP-3009 authorization, its nonce the hash of id and realm
//	usdc    USDC on EVM networks     the same, its nonce the hash of method, intent and request too
//	        USDC on Solana           a transfer, and beside it a text that binds it to the challenge
//
// A challenge stands in WWW-Authenticate and in the 402's body, a credential comes in Authorization
// or in MCP's _meta["org.paymentauth/credential"], a receipt goes out in Payment-Receipt or in
// _meta["org.paymentauth/receipt"]. A request that has something else in Authorization is asked for
// its credential in Payment-Authorization.
//
// A challenge is bound to what it was asked for: its id is a MAC over every other part, and its
// opaque holds our nonce (rule M1 of package till), the suggested key, and a digest of address and
// query; digest is that of the body. Nothing about it is stored. The challenges of one answer are
// offers of one order, of which one is paid, by one payer. Once a payment may have been sent no
// challenge is repeated: stock clients answer up to three in a row with a payment each.
//
// Formats: draft-httpauth-payment-00 and -02, draft-evm-charge-00, draft-usdc-charge-00,
// draft-payment-transport-mcp-00, as mppx 0.11 reads and writes them. What the draft of usdc leaves
// open is decided at /spec/mpp-usdc/v1. Of the credential types of method evm authorization is
// taken, the one that mppx has.
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
	headerApart      = "Payment-Authorization"
	headerReceipt    = "Payment-Receipt"
	headerAccept     = "Accept-Payment"
	metaRequired     = "org.paymentauth/payment-required"
	metaCredential   = "org.paymentauth/credential"
	metaReceipt      = "org.paymentauth/receipt"
)

// What is spoken.
const (
	scheme   = "Payment"
	intent   = "charge"
	credType = "authorization"
)

// MaxCredential is the longest credential that is read, in bytes of base64url. A stock one is under
// 3 kB; the draft has servers take 4 kB.
const MaxCredential = 16 << 10

// Row is MPP among the protocols.
var Row = pay.Row{
	Name:      "mpp",
	Presented: func(f pay.Fields) bool { return len(credentials(f)) > 0 },
	Params: []api.Param{
		{Name: headerCredential, In: api.Header, Type: "string", MaxLength: len(scheme+" ") + MaxCredential,
			Description: "Payment and the base64url JSON of an MPP credential"},
		{Name: headerApart, In: api.Header, Type: "string", MaxLength: len(scheme+" ") + MaxCredential,
			Description: "the same, where the challenge names this field"},
		{Name: headerAccept, In: api.Header, Type: "string", MaxLength: maxAccept,
			Description: "which MPP methods and intents a client takes, of evm/charge and usdc/charge: usdc on " +
				"all its networks is for who names it, and q=0 leaves one out"},
	},
	Terms:      []string{headerChallenge},
	Answers:    []string{headerReceipt},
	Body:       api.SchemaFor[members](),
	NotSettled: "payment_not_settled",
	New:        New,
}

// members are what MPP adds to the body of a 402: the challenges in the form of MCP.
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
