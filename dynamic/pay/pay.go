// Package pay is what a payment protocol is to the store: how terms are said, how a payment that
// comes with a request is read, and what is said of it in the answer. It moves no money, keeps no
// state and knows no network: a payload is parsed by the rail that it names.
//
// A protocol is a package of its own below this one and one [Row] in the list of package counter.
// Whatever a protocol writes or reads lives in its package: header fields, members of a body, names
// in MCP's _meta, echoes, receipts. The rest of the store sees a [Quote], a [Presented] and an
// [Outcome].
//
//	protocol   terms                        payment                     answer
//	x402       PAYMENT-REQUIRED, members    PAYMENT-SIGNATURE           PAYMENT-RESPONSE
//	           of the body                  _meta x402/payment          _meta x402/payment-response
//	MPP        WWW-Authenticate: Payment    Authorization: Payment,     Payment-Receipt
//	                                        Payment-Authorization
//	                                        _meta of org.paymentauth    _meta of org.paymentauth
//
// One 402 holds the terms of every protocol: each adds fields to the header and members to the
// body, and leaves those of the others alone. The nonce and the suggested key of an answer are the
// store's (M1): a protocol puts them where its stock clients send them back, x402 into extensions
// and MPP into the challenge's opaque.
package pay

import (
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/rail"

	"github.com/google/jsonschema-go/jsonschema"
)

// Row is a protocol in the list of those that are spoken: what can be said of it without a store,
// and how one is made for a store.
type Row struct {
	// Name stands in the journal and on certificates.
	Name string
	// Presented reports whether a request carries a payment of this protocol, readable or not.
	Presented func(Fields) bool
	// Params are the header fields in which a payment comes.
	Params []api.Param
	// Terms and Answers are the header fields of a 402 and of an answer to a payment.
	Terms, Answers []string
	// Body describes the members that the terms add to the body of a 402.
	Body *jsonschema.Schema
	// NotSettled is the problem that a payment ends in which was tried and did not settle. Where
	// its status is 402 the terms stand in its body again; they never stand beside it, where a
	// stock client would sign anew.
	NotSettled string
	// New makes the protocol for a store.
	New func(Store) Protocol
}

// Protocol speaks for one store. All methods are safe for concurrent use.
type Protocol interface {
	// Terms says a quote. The result is kept and filled for many answers; q.Body is not for it.
	Terms(q *Quote) (Terms, error)
	// Read takes the payment of a request apart, strictly and without any I/O; nil and no error
	// where there is none. The error is a *rail.Refusal: a payment that cannot be read is its
	// payer's mistake. It is an *Unfit where new terms would not help.
	Read(f Fields) (*Presented, error)
	// Match finds which of a quote's terms a payment that was read accepts, and checks what came
	// back of the challenge. The error is a *rail.Refusal.
	Match(p *Presented, q *Quote) (rail.Requirement, error)
	// Answer says in to what became of a payment. p is what came with this request, and may be of
	// another purchase's payer only where its authorization is.
	Answer(to Carrier, p *Presented, o Outcome) error
}

// Store is who asks to be paid.
type Store struct {
	Secret    []byte // a MAC key for challenges derives from it
	Realm     string // the host
	SignOffer SignOffer
}

// SignOffer signs the offer that an entry of accepts makes for a resource until a time; the result
// is a compact JWS.
type SignOffer func(a rail.Requirement, resource string, until time.Time) (string, error)

// Quote is what is asked for one offer, in the order in which it is offered.
type Quote struct {
	URL         string // base_url + path, without the query
	Description string
	MediaType   string // of what is delivered
	Service     string // the store's name, 1 to 32 printable ASCII characters
	Method      string // of the request: GET, or POST with the inputs in a JSON body
	Inputs      []Input
	Accepts     []rail.Requirement
	Until       time.Time // until when one may begin to pay
	OffersURL   string    // where the signed offers of all Accepts are
	Meta        bool      // it is said over MCP, where no header says it beside the body
	Query       string    // of the request as it came, for Match; a protocol may bind it
	Body        []byte    // the same
	At          time.Time // when it came, for Match
	// SignIn are the networks that are named for wallets to sign in on in place of paying again;
	// none where no header says it.
	SignIn []SignInChain
}

// SignInChain is a network to sign in on, as CAIP-2 has it, and what its wallets sign with: eip191
// or ed25519.
type SignInChain struct {
	ChainID string `json:"chainId"`
	Type    string `json:"type"`
}

// Input is one input of an offer.
type Input struct {
	Name, Type string
	Max        int // characters, 0 for no limit
	Required   bool
	Example    string // "" for none
}

// Terms are a quote as one protocol says it.
type Terms interface {
	// Members are those of the body, in order. Their values may hold NonceBlank and KeyBlank.
	Members() []Member
	// Say puts the terms beside the body, and appends to it, an object without its last brace,
	// those members that differ from answer to answer by more than the nonce and the key. reason is
	// why a payment of this protocol was not taken, empty where none came.
	Say(to Carrier, f Fill, reason string, body []byte) ([]byte, error)
	// Words say in a sentence each how to pay, and name what a buyer sends.
	Words() Words
}

// Unfit is the error of reading a request that no terms could help: it holds several payments, or
// one of a kind that is not offered. It is answered 400, and no payment in it is used.
type Unfit struct {
	Reason  string // a code
	Message string // what to do, a sentence
}

// Error implements error.
func (u *Unfit) Error() string { return u.Reason + ": " + u.Message }

// Member is one member of a JSON object.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Append appends a member to an object without its last brace.
func (m Member) Append(b []byte) []byte {
	return append(append(append(append(b, `,"`...), m.Name...), `":`...), m.Value...)
}

// Words are a protocol's part in the plain words of a 402, empty where it asks for nothing.
type Words struct {
	Payment string   // the name of what carries a payment: PAYMENT-SIGNATURE
	How     string   // what to do, a sentence
	Steps   []string // further ways, in order
}

// Fields are what a payment may come in: the fields of a header, which an http.Header is, or the
// members of MCP's _meta as JSON. A name of the one kind is never one of the other.
type Fields interface{ Values(name string) []string }

// Meta is MCP's _meta: JSON by name.
type Meta map[string]json.RawMessage

// Values makes it Fields.
func (m Meta) Values(name string) []string {
	if v, ok := m[name]; ok {
		return []string{string(v)}
	}
	return nil
}

// Carrier takes what stands beside the body of an answer: fields of a header, or members of MCP's
// _meta. The one that an answer does not go out by is nil.
type Carrier struct {
	Header http.Header
	Meta   Meta
}

// Presented is a payment that was read. Nothing in it has been compared with anything yet.
type Presented struct {
	Accepted rail.Requirement  // the terms that it says it accepts
	Payload  []byte            // a JSON object for the rail of Accepted.Network
	Digest   [sha256.Size]byte // of the payment exactly as it came: what a replay must equal
	Nonce    string            // the nonce that came back, "" for none
	Key      string            // the idempotency key in it, "" for none
	BadKey   bool              // it holds a key that breaks the protocol's own rule
	// Payer is the account that Match shows to have signed beside the payment, which must be the
	// payment's own; "" where nothing is signed beside it.
	Payer string
	// Order names what this payment is one of several offers of. One of them is paid, by one payer,
	// and Shared is why another payment for it is refused. nil: a payment is for itself.
	Order  string
	Shared *rail.Refusal
	Data   any // the protocol's own
}

// Outcome is what became of a payment.
type Outcome struct {
	Success     bool
	Reason      string // why it did not succeed, or not yet
	Payer       string
	Transaction string // "" when nothing was broadcast
	Network     string
	Amount      int64     // atomic units
	At          time.Time // of the block that it is in
	Receipt     string    // the store's signed receipt, a compact JWS
	// Channel is that of a payment by voucher, nil for others. Transaction and Amount are then of
	// what went into the channel or came back out of it.
	Channel *Channel
}

// Channel is how a payer's channel stands (package channels). Amounts are atomic units.
type Channel struct {
	State   rail.ChannelState
	Charged int64 // in all, since it began
	Amount  int64 // of that, what this payment bought for; 0 where it bought nothing
	// Last is the newest voucher that was taken, where an answer is to bring a client back into
	// step; nil for none. Charged is no more than its Max then.
	Last *rail.Voucher
}
