// This file is a seller's acceptance test with money: it buys at a door with a wallet that
// is capped, sees that the good, the settlement and the receipt come, and then loses the answer to
// a payment in each of seven ways, to see whether whoever has paid gets what was paid for, and is
// charged once.
//
// It pays as package buyer does: each payment is in a journal before it leaves, so that nothing
// that was paid for is lost with the run. Every authorization that it signs counts in full against
// the cap, whether or not it was ever settled.

package kit

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"time"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/buyer"
)

// Config says who buys what, and how far.
type PurchaseConfig struct {
	URL    string
	Method string // GET where it is empty
	Body   []byte // JSON of a POST
	// Header is sent to the door with every request, and is not journalled.
	Header http.Header
	// Wallet pays on EVM networks, Solana on those of Solana: one of them.
	Wallet *wallet.Key
	Solana ed25519.PrivateKey
	// Max is the most that all purchases together may cost, in atomic USDC.
	Max int64
	// Network is the one to pay on (CAIP-2); empty is the first that can be paid.
	Network string
	// Protocol is ByX402 or ByMPP; empty is x402.
	Protocol string
	// RPC is a node of that network, which is asked whether a payment was settled, and on Solana
	// for a recent blockhash where the door gives none. Without one the door's own words are all
	// there is.
	RPC string
	// Journal is the folder in which a folder of this run's purchases is made.
	Journal string
	// Transport sends the requests. Nil is that of net/http.
	Transport http.RoundTripper
	// Timeout bounds one request; 0 is buyer.DefaultTimeout.
	Timeout time.Duration
	// Told is given what can be told of one of the purchases, nil where none can be. It may be nil.
	Told func(*buyer.PurchaseReport)
}

// The protocols that can be paid by.
const (
	ByX402 = buyer.ByX402
	ByMPP  = buyer.ByMPP
)

// AddWallet reads the wallet that pays, as Config of package buyer does.
func (c *PurchaseConfig) AddWallet(file string) error {
	var b buyer.Config
	err := b.AddWallet(file)
	c.Wallet, c.Solana = b.Wallet, b.Solana
	return err
}

// perPurchase is how long one purchase may take with all its repeats, and how long a payment is
// valid.
const perPurchase = 2 * time.Minute

// A run is one acceptance test.
type run struct {
	PurchaseConfig
	client *loser
	buyer  *buyer.Buyer
	agreed *buyer.Terms
	price  int64
	signed int64 // what all signed authorizations allow together
	chain  chain // nil where no node was named
	rows   []Row
}

// Run buys at the door and returns a row for each of Checks, in their order. The error is of the
// configuration alone: what a door does is in the rows.
func RunPurchases(ctx context.Context, cfg PurchaseConfig) ([]Row, error) {
	if cfg.Wallet == nil && cfg.Solana == nil {
		return nil, errors.New("there is no wallet to buy with")
	}
	if cfg.Max <= 0 {
		return nil, errors.New("nothing may be paid: the cap is zero")
	}
	if cfg.Protocol == ByMPP && cfg.Header.Get(credentialHeader) != "" {
		return nil, fmt.Errorf("by MPP the header %s presents the payment, so it cannot hold anything else",
			credentialHeader)
	}
	r := &run{PurchaseConfig: cfg, client: newLoser(cfg.Transport, cfg.Header)}
	networks := []string{}
	if cfg.Network != "" {
		networks = append(networks, cfg.Network)
	}
	var err error
	journal := buyer.Folder(cfg.Journal + "/" + time.Now().UTC().Format("20060102T150405.000000000Z"))
	of := buyer.Config{Wallet: cfg.Wallet, Solana: cfg.Solana, Journal: journal, Ceiling: cfg.Max,
		MaxValidity: perPurchase, Timeout: cfg.Timeout, Client: &http.Client{Transport: r.client}, Networks: networks}
	if cfg.Solana != nil {
		of.SolanaRPC = cfg.RPC
	}
	if r.buyer, err = buyer.New(of); err != nil {
		return nil, err
	}
	r.terms(ctx)
	if r.agreed != nil && cfg.RPC != "" {
		e := r.agreed.Entries[r.agreed.Chosen]
		r.chain = openChain(ctx, e.Network, r.agreed.Payer, cfg.RPC)
		defer r.chain.close()
	}
	whole := r.whole(ctx)
	var lost []*outcome
	for _, w := range ways {
		lost = append(lost, r.lose(ctx, w))
	}
	// What a door settles late is seen by the end.
	for i, w := range ways {
		if lost[i] != nil {
			r.judge(ctx, w, lost[i])
		}
	}
	if r.Told != nil {
		r.Told(r.told(whole, lost))
	}
	return inOrder(r.rows), nil
}

func (r *run) options() buyer.Options {
	o := buyer.Options{Method: r.Method, Agreed: r.agreed, Again: true, IdempotencyKey: newKey(),
		Choice: buyer.Choice{Protocol: r.Protocol}}
	if len(r.Body) > 0 {
		o.Body, o.Header = r.Body, http.Header{"Content-Type": {"application/json"}}
	}
	return o
}

// newKey makes each order one of its own, where the door knows orders by their key.
func newKey() string {
	var b [16]byte
	rand.Read(b[:])
	return "check_" + hex.EncodeToString(b[:])
}

// terms asks what the door wants.
func (r *run) terms(ctx context.Context) {
	t, err := r.buyer.Terms(ctx, r.URL, r.options())
	switch {
	case err != nil:
		r.fail("terms", "%v", err)
	case t.Free:
		r.fail("terms", "the door answered %d without asking for a payment", t.Status)
	case t.Chosen < 0:
		r.fail("terms", "%s", t.Why)
	default:
		e := t.Entries[t.Chosen]
		r.agreed, r.price = t, e.Atomic
		r.pass("terms", "%s USDC on %s to %s; of %s USDC that may be spent in all", buyer.USDC(e.Atomic), e.Chain,
			e.PayTo, buyer.USDC(r.Max))
	}
}

// room reports whether so many more payments stay below the cap, and says so in a row where they do
// not.
func (r *run) room(name string, payments int64) bool {
	if r.agreed == nil {
		r.blocked(name, "terms", "nothing was bought")
		return false
	}
	if r.price > (r.Max-r.signed)/payments {
		r.blocked(name, "max-usd", fmt.Sprintf("the cap leaves no room for it: -max-usd %s is enough for everything",
			buyer.USDC(r.price*Payments())))
		return false
	}
	return true
}

// buy makes one purchase, or one more payment for an order.
func (r *run) buy(ctx context.Context, o buyer.Options) (*buyer.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, perPurchase)
	defer cancel()
	r.signed += r.price
	return r.buyer.Buy(ctx, r.URL, o)
}

// whole is the purchase without any loss, nil where nothing was presented.
func (r *run) whole(ctx context.Context) *buyer.Result {
	rest := []string{"settlement", "receipt", "charged"}
	if !r.room("goods", 1) {
		for _, name := range rest {
			r.blocked(name, "goods", "nothing was bought")
		}
		return nil
	}
	r.client.arm(nil)
	res, err := r.buy(ctx, r.options())
	switch {
	case res == nil:
		r.fail("goods", "%v", err)
	case err != nil:
		r.fail("goods", "%v; billed: %s%s", err, res.Billed, passedOn(res))
	case len(res.Body) == 0:
		r.fail("goods", "%d with an empty body", res.Status)
	default:
		r.pass("goods", "%d, %d bytes of %s", res.Status, len(res.Body), cmp.Or(res.ContentType, "no media type"))
	}
	if err != nil {
		for _, name := range rest {
			r.blocked(name, "goods", "the purchase was not answered with a good")
		}
		return res
	}
	r.settled(res)
	switch {
	case r.Protocol == ByMPP:
		r.notFound("receipt", "receipts of MPP are not signed")
	case res.Receipt.Verified:
		r.pass("receipt", "%s", res.Receipt.Note)
	case res.Receipt.JWS == "":
		r.notFound("receipt", res.Receipt.Note)
	default:
		r.fail("receipt", "%s", res.Receipt.Note)
	}
	r.charged(ctx)
	return res
}

// settled is what the door says of the settlement.
func (r *run) settled(res *buyer.Result) {
	s, said := res.Settlement, "PAYMENT-RESPONSE"
	if r.Protocol == ByMPP {
		said = receiptHeader
	}
	switch {
	case s == nil:
		r.fail("settlement", "there is no %s that can be read", said)
	case !s.Success:
		r.fail("settlement", "%s says that it failed: %s%s", said, s.ErrorReason, passedOn(res))
	case s.Transaction == "":
		r.fail("settlement", "%s names no transaction", said)
	case s.Network != res.Network:
		r.fail("settlement", "%s names the network %s, and %s was paid on", said, s.Network, res.Network)
	default:
		r.pass("settlement", "transaction %s%s", s.Transaction, passedOn(res))
	}
}

// passedOn is what the door passed on of what its facilitator said.
func passedOn(res *buyer.Result) (says string) {
	for _, w := range res.Words {
		says += fmt.Sprintf("; its facilitator said, in %s: %s", w.Header, w.Text)
	}
	return says
}

// charged asks the chain for the transfer of the purchase without loss.
func (r *run) charged(ctx context.Context) {
	if r.chain == nil {
		r.notFound("charged", "no node was named (-rpc, or -solana-rpc)")
		return
	}
	n, err := r.used(ctx, r.client.payments(), 1)
	switch {
	case err != nil:
		r.blocked("charged", "rpc", err.Error())
	case n == 0:
		r.fail("charged", "the good was given and the payment was not settled: it was given away")
	default:
		r.pass("charged", "the chain has the payment as settled")
	}
}
