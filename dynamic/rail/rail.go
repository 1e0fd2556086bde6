// Package rail is the contract between the store and the networks on which money moves.
//
// A Rail is one network (eip155:8453, solana:…). It knows how a payment on it is asked for (Terms),
// parsed and checked (Prover), settled (Settler) and read back (Chain); it knows nothing of goods,
// idempotency or HTTP. Protocols (x402, MPP) stand above it and turn their own wire forms into a
// Payment.
//
// Settling is split so that package settle can write before it acts: Draft reads the chain, Sign
// (inside the ledger transaction that stores its result) fixes the bytes, Send broadcasts them.
// Sending the same bytes again is harmless. What happened is read from the chain's events by Status
// and by nothing else (package till, M3).
package rail

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/big"
	"strings"
	"time"
)

// Requirement is one entry of `accepts`: what the buyer is asked to sign (x402 v2
// PaymentRequirements).
type Requirement struct {
	Scheme            string         `json:"scheme"`
	Network           string         `json:"network"` // CAIP-2
	Amount            string         `json:"amount"`  // atomic units, decimal digits
	Asset             string         `json:"asset"`
	PayTo             string         `json:"payTo"`
	MaxTimeoutSeconds int            `json:"maxTimeoutSeconds"`
	Extra             map[string]any `json:"extra,omitempty"`
	// Firm says that an authorization may be valid for as long as was asked and no longer;
	// otherwise Longer is added. It stands between who asks and who verifies, and is no part of the
	// terms.
	Firm bool `json:"-"`
	// Bare says that a transaction may hold the payment, what bounds its cost, and memos, and
	// nothing that a wallet puts beside them. Like Firm it is no part of the terms.
	Bare bool `json:"-"`
	// Varying are further members of Extra, which differ from one 402 to the next; nil for none.
	Varying *Varying `json:"-"`
}

// Varying are members of an entry's Extra that are said anew in each 402.
type Varying struct {
	Members []VaryingMember
	// Values gives the values of Members, in their order, for a 402 with a nonce of ours (package
	// till, M1) for a resource. "" leaves one out. It must be quick: every 402 waits for it.
	Values func(nonce, resource string) []string
}

// VaryingMember is a string member of Extra. Its value is printable ASCII that JSON needs no
// escapes for.
type VaryingMember struct {
	Name string
	Max  int // characters of its value at most
	// Bound says that a payment is for one 402 and resource by it: it has to come back with the
	// value that it has for the nonce that comes back. Others are hints, and may come back as they
	// like.
	Bound bool
}

const (
	// Longer is how far past the advertised validity a buyer may reach (package till, M4).
	Longer = 300 * time.Second
	// Skew is how far a buyer's clock may be ahead where the terms are Firm.
	Skew = 10 * time.Second
)

// Latest is the last moment until which an authorization made at now may be valid. standard is the
// network's usual validity, for terms that name none.
func (r Requirement) Latest(now time.Time, standard time.Duration) time.Time {
	if r.MaxTimeoutSeconds > 0 {
		standard = time.Duration(r.MaxTimeoutSeconds) * time.Second
	}
	if r.Firm {
		return now.Add(standard + Skew)
	}
	return now.Add(standard + Longer)
}

// Within is the requirement with a shorter validity, which buyers may not exceed.
func (r Requirement) Within(d time.Duration) Requirement {
	r.MaxTimeoutSeconds, r.Firm = min(r.MaxTimeoutSeconds, int(d/time.Second)), true
	return r
}

// Funds are what a payer could spend at a block.
type Funds struct {
	Balance *big.Int
	// Spent are those of the nonces asked about that were used or cancelled by then.
	Spent map[string]bool
}

// Info is what a rail says of itself.
type Info struct {
	Network string // CAIP-2
	Name    string // for people: Base
	Asset   string
	Symbol  string
	PayTo   string
	// Accounts are the relayer's addresses, which pay for gas; none where a third party settles.
	Accounts []string
	// Timeout is the advertised validity of a payment (maxTimeoutSeconds).
	Timeout time.Duration
	// Via names the settler: "self" or the facilitator's host.
	Via string
	// Together is how many payments one transaction may settle; each has one of its own where it is
	// less than 2.
	Together int
	// Unit is the smallest unit of the network's coin: wei, lamports.
	Unit string
	// Reverted is the stock facilitator's reason for a transaction that is in a block and moved
	// nothing.
	Reverted string
	// Kind is what a facilitator says of the network beside its name and scheme, which a seller
	// hands on in its terms; nil for nothing.
	Kind map[string]any
	// Unnumbered says that no transaction waits for another of its account: each is sent as it
	// comes.
	Unnumbered bool
}

// Payment is one signed authorization in the canonical spelling of its network: parsed,
// well-formed, not yet checked.
type Payment struct {
	Network     string   `json:"network"`
	Asset       string   `json:"asset"`
	Method      string   `json:"method"` // eip3009, permit2, spl
	Payer       string   `json:"payer"`
	Nonce       string   `json:"nonce"` // decimal for permit2, else 0x and hex, or the network's own
	PayTo       string   `json:"pay_to"`
	Amount      *big.Int `json:"amount"`
	ValidAfter  int64    `json:"valid_after"`  // Unix seconds; clamped to MaxInt64
	ValidBefore int64    `json:"valid_before"` // Unix seconds; clamped to MaxInt64
	Signature   []byte   `json:"signature"`
	// the protocol's own payload, where settling needs it (facilitator, solana)
	Wire []byte `json:"wire,omitempty"`
}

// ClaimKey identifies the authorization for ever: (network, asset, method, payer, nonce) (package
// till, M2).
func (p *Payment) ClaimKey() string {
	return strings.Join([]string{p.Network, p.Asset, p.Method, p.Payer, p.Nonce}, "|")
}

// Head is a block, the newest of its kind.
type Head struct {
	Block uint64    `json:"block"`
	Time  time.Time `json:"time"`
}

// Verified is what Verify saw beside a payment that holds: the chain's head as it was read before
// the authorization was seen unused, and what the payer is. A use of the authorization that is not
// our own settlement counts as payment only in a later block (M3).
type Verified struct {
	Head
	// Local says that the payer is a contract, whose word counts on its own network alone: the same
	// address may be somebody else's elsewhere. Verify sets it, also beside a refusal for want of
	// money.
	Local bool `json:"local,omitzero"`
	// Code is the hash of the payer's code, empty for an account without: no simulation of one that
	// has code says what it will do in a block (package till, M15).
	Code string `json:"code,omitzero"`
}

// Signed is a settlement whose bytes are fixed. It is stored before it is sent. ID is the
// transaction hash or signature, known before sending; a remote facilitator has none until it
// answers.
type Signed struct {
	ID      string `json:"id"`
	Raw     []byte `json:"raw"`
	Account string `json:"account"` // relayer or fee payer
	// Sequence is the relayer nonce. On a network without such numbers it is the last block height
	// at which the bytes can land.
	Sequence uint64    `json:"sequence"`
	Fill     bool      `json:"fill,omitempty"`
	At       time.Time `json:"at"`
}

// Account is one of a relayer's accounts as the chain has it at the newest block.
type Account struct {
	Address string
	Mined   uint64 // transactions in blocks, which is its next sequence number there
	Pending uint64 // the same with what waits in the node's pool; no less than Mined
}

// Sequencer chooses one of the accounts that could send and hands out its next sequence number,
// inside the ledger transaction that stores its use; it is serial per account and never goes back.
type Sequencer interface {
	Next(of []Account) (account string, number uint64, err error)
}

// Draft is a settlement with its fees and gas known and its sequence number open. Sign touches no
// network and may be called more than once; only the last call counts.
type Draft interface {
	Sign(Sequencer) (Signed, error)
	// Price is what the settlement will cost, as far as it can be known before.
	Price() Price
}

// Price is what one settlement costs. Amounts are atomic units of the asset, by the configured
// price of the network's coin, rounded up.
type Price struct {
	Gas  uint64 // limit
	Cost int64  // expected: gas × (base fee + tip), and what the layer below takes for its data
	Most int64  // the same for the whole limit, which a settlement can burn
	Code string // hash of the payer's code as this draft read it, empty for none
}

// Standing is what a network says of settling on it at present.
type Standing struct {
	Head time.Time // of the newest block
	// Out says why nothing can be settled (the token is paused, the relayer cannot pay for gas, …),
	// in words for buyers; empty when something can.
	Out string
	// Cost is what settling one payment is expected to cost, in atomic units of the asset; Priced
	// is false where no price of the network's coin is configured, and then Cost is nothing.
	Cost   int64
	Priced bool
	// Balance is the relayer's, of all accounts that can pay for a settlement, and Need is what one
	// settlement may take of it at most, in the smallest unit of the coin: wei, lamports. Both are
	// nil where a third party settles.
	Balance, Need *big.Int
}

// Revert is a settlement of our own that is in a block and did not move the payment that was looked
// for.
type Revert struct {
	Tx    string `json:"tx"`
	Block uint64 `json:"block"`
	// Gas and Cost, in atomic units of the asset, are the payment's part of what the transaction
	// burnt: the parts of all that it did not move are at least the whole.
	Gas  uint64 `json:"gas"`
	Cost int64  `json:"cost"`
	// Of is how many payments the transaction was for, where that is more than one, and Moved how
	// many of them it moved.
	Of    int `json:"of,omitzero"`
	Moved int `json:"moved,omitzero"`
}

// Cause is why a settlement of our own reverted.
type Cause struct {
	// Payer says that it is shown to be the payer's doing: too little money, or a signature that
	// the payer's own code refused. What the payer cancelled is a Finding.
	Payer bool `json:"payer,omitzero"`
	// Reason is what the token said, for comparing; empty where the revert says nothing of the
	// network, because the payer acted in the same block.
	Reason string `json:"reason,omitzero"`
	// Others says that another payment of the same transaction took the gas that this one needed:
	// it is no revert of its own.
	Others bool `json:"others,omitzero"`
}

// State is what the chain says about one authorization.
type State string

const (
	// Waiting: not seen, and it may still land.
	Waiting State = "waiting"
	// Seen: paid in a block that is not deep enough yet.
	Seen State = "seen"
	// Paid: paid at the network's depth.
	Paid State = "paid"
	// Dead: it can never land: past validBefore, or cancelled, at the network's depth.
	Dead State = "dead"
)

// Advice is what would help a settlement that is Waiting.
type Advice string

const (
	Wait    Advice = "wait"    // nothing to do
	Resend  Advice = "resend"  // broadcast the same bytes again, for every sequence number that was signed for
	Bump    Advice = "bump"    // replace at the same sequence number with higher fees
	Redraft Advice = "redraft" // the sequence number was taken by another transaction: sign anew
)

// Proof is the Transfer that paid: the token's Transfer(payer, payTo, value) at the log directly
// after its own AuthorizationUsed(payer, nonce). (Network, Tx, LogIndex) credits one purchase.
type Proof struct {
	Tx        string    `json:"tx"`
	LogIndex  uint64    `json:"log_index"`
	Block     uint64    `json:"block"`
	BlockHash string    `json:"block_hash"`
	BlockTime time.Time `json:"block_time"`
	ByOther   bool      `json:"by_other"` // sent by someone else than our relayer
}

// Finding is the answer of Status.
type Finding struct {
	State  State
	Advice Advice
	Proof  *Proof // Seen and Paid
	// Final is Paid or Dead, and beyond reorganisation (finalized), as is the use of every sequence
	// number that was signed for: one that a reorganisation opens again would hold up the relayer
	// with nobody to look after it.
	Final  bool
	Reason string // Dead: cancelled, expired
	// Payer says of a Dead one that the payer is shown to have spent the authorization on something
	// else.
	Payer bool
	// Reverts are the settlements of our own that reverted, as far as the view of this look
	// reaches: all of them where the state is Waiting and the advice is Redraft.
	Reverts []Revert
	// Unfilled is the newest of our signed settlements at the lowest sequence number that is still
	// open although the authorization is Dead or paid by another: it blocks the relayer until
	// filled.
	Unfilled *Signed
}

// Transfer is one incoming transfer to payTo, for reconciliation and restore (M13).
type Transfer struct {
	Network  string
	Tx       string
	LogIndex uint64
	Block    uint64
	Time     time.Time
	Payer    string
	Amount   *big.Int
	Nonce    string // of the AuthorizationUsed directly before it; empty for a plain transfer
	Method   string // of the authorization, as in Payment; empty for a plain transfer
}

// Rail is one network. All methods are safe for concurrent use. Errors that are a *Refusal are the
// payment's fault and final for this presentation; every other error means that nothing is known.
type Rail interface {
	Terms
	Prover
	Settler
	Chain
}

// Terms is how payments are asked for and read, without any I/O.
type Terms interface {
	Info() Info
	// Requirement is the accepts entry for an amount, byte-stable for a configuration.
	Requirement(amount int64) Requirement
	// Parse reads the network's payload strictly. asset is the accepted entry's. Errors are
	// *Refusal with reason invalid_payload, or with the stock facilitator's where it has one for
	// bytes that cannot be read; beside that there may be a payment, of which only the payer
	// counts.
	Parse(payload []byte, accepted Requirement) (*Payment, error)
}

// Prover says who signed, and what they could pay.
type Prover interface {
	// Verify checks a payment against a requirement in the order of the stock facilitator and
	// returns the head as it stood before the authorization was seen unused. ErrUsed (a *Refusal)
	// when it is used already. Where an authorization ends with a block and names no time,
	// p.ValidBefore becomes an estimate.
	Verify(ctx context.Context, p *Payment, want Requirement, now time.Time) (Verified, error)
	// Signed reports whether a payment carries its payer's own signature, as far as that shows
	// without a question to anybody: of a contract it never does.
	Signed(p *Payment) bool
	// Funds is a payer's balance at one recent block, and which of its authorizations with these
	// nonces were spent by then. What was read of a block is not read again.
	Funds(ctx context.Context, payer string, nonces []string) (Funds, error)
	// ProveSigner checks a wallet signature over a message: EIP-191 or EIP-1271, ed25519 on Solana.
	ProveSigner(ctx context.Context, address string, message, signature []byte) error
}

// Settler makes payments land, one or several in one transaction.
type Settler interface {
	// Draft prepares a settlement; a *Refusal when the chain says that it would revert, ErrNoGas
	// when the relayer cannot pay for it, ErrFees when the network asks for more than may be paid.
	// Of several that cannot be settled in one transaction the error is ErrTogether, or an *Apart
	// that wraps it and says which have to go alone.
	Draft(ctx context.Context, ps []*Payment) (Draft, error)
	// Replace prepares a settlement of exactly the same payments at the same sequence number as old
	// with higher fees; fill asks for an empty transaction that only consumes the number.
	Replace(ctx context.Context, ps []*Payment, old Signed, fill bool) (Draft, error)
	// Send broadcasts, in the order given. nil also when the network knows the bytes already.
	// Sending twice is harmless.
	Send(ctx context.Context, all ...Signed) error
	// Accounts are the relayer's at the newest block, Pending left out; none where a third party
	// numbers its own.
	Accounts(ctx context.Context) ([]Account, error)
	// Standing reads whether payments can be settled at present and at what cost.
	Standing(ctx context.Context) (Standing, error)
	// Fuel is what the relayer still has, and whether one of its accounts is below the alarm.
	Fuel(ctx context.Context) (amount *big.Int, low bool, err error)
	// Explain finds out why a settlement of p reverted.
	Explain(ctx context.Context, p *Payment, r Revert) (Cause, error)
}

// Chain is what happened.
type Chain interface {
	// Check compares genesis hash, chain id and the token's domain with the configuration. Nothing
	// else may be believed of a network before it passed. ErrWrongChain when the node answers for
	// another chain or token, an *Unready where payments cannot be received there yet.
	Check(ctx context.Context) error
	// Status reads what the chain says of p, given everything ever signed for it and what was seen
	// when it was claimed. now is the wall clock; expiry is judged by max(now, head) with a margin.
	Status(ctx context.Context, p *Payment, signed []Signed, since Verified, now time.Time) (Finding, error)
	// Changed returns a channel that is closed when the rail has seen something new (a block, or
	// that more of them are final) since the call.
	Changed() <-chan struct{}
	// Head is the newest block.
	Head(ctx context.Context) (Head, error)
	// Final is the newest block that nothing reorganises.
	Final(ctx context.Context) (Head, error)
	// Incoming lists transfers to payTo in a span of blocks, piece by piece, in the order in which
	// the network gives them. A piece costs a bounded number of requests, however much there is;
	// after the last one nothing is left. It is an error where the chain is not seen to be as long
	// as the span. Who stops goes on later with the Rest of a piece, also in another process, if
	// the span's last block was final: nothing is left out then, and nothing comes twice. 0 for the
	// last block is the one that is the head when it is called.
	Incoming(ctx context.Context, s Span) iter.Seq2[Piece, error]
	// Run follows the chain until ctx ends (polling heads and logs).
	Run(ctx context.Context) error
}

// Refusal is a payment that cannot be taken, with the stock facilitator's reason code (x402 1.8,
// 2.3–2.5).
type Refusal struct {
	Reason  string // invalid_exact_evm_signature, …
	Message string // further detail, safe to show
	Err     error  // ErrUsed, where that is the reason
	// Payer says that this is shown to be the payer's doing (balance, cancel, signature), as
	// against a fault of the network, the node or the store (package till, M5).
	Payer bool
	// Short says that the payer is shown to have signed, and has too little or has not allowed as
	// much to be moved: whoever has paid before may still fetch what was paid for (package till,
	// M1). Verify sets it.
	Short bool
}

// Unwrap returns Err, so that errors.Is(err, ErrUsed) works.
func (r *Refusal) Unwrap() error { return r.Err }

// Error implements error.
func (r *Refusal) Error() string {
	if r.Message == "" {
		return r.Reason
	}
	return fmt.Sprintf("%s: %s", r.Reason, r.Message)
}

// ErrUsed is wrapped by the refusal of an authorization that was used on chain when it was first
// presented.
var ErrUsed = errors.New("authorization used on chain")

// ErrNoGas says that the relayer cannot pay for a settlement.
var ErrNoGas = errors.New("the relayer cannot pay for gas")

// ErrFees says that the network asks for more per unit of gas than may be paid.
var ErrFees = errors.New("the network's fees are above the ceiling")

// ErrWrongChain says that a node answers for another chain, or another token, than the one that is
// configured.
var ErrWrongChain = errors.New("not the configured chain")

// Unready says of a network whose node answers as it should why it takes no payments until its
// keeper has done something.
type Unready struct {
	Out string // in words for buyers, as in Standing
	Do  string // what the keeper does about it
}

// Error implements error.
func (u *Unready) Error() string { return u.Do }

// ErrTogether says that payments cannot be settled in one transaction.
var ErrTogether = errors.New("these payments cannot be settled together")

// Apart says which of several payments cannot share a transaction with the others.
type Apart struct {
	Which []int // their places, at least one
	Err   error // why
}

// Error implements error.
func (a *Apart) Error() string {
	return fmt.Sprintf("%v: %d of them: %v", ErrTogether, len(a.Which), a.Err)
}

// Unwrap returns ErrTogether and the reason.
func (a *Apart) Unwrap() []error { return []error{ErrTogether, a.Err} }

// Arrivals is what came in at some addresses in a span of time.
type Arrivals struct {
	Transfers int64
	Addresses int64    // of those asked for, how many received
	LeftOut   int64    // of those asked for, how many have more than can be read, and are in no other figure
	Total     *big.Int // atomic units
}
