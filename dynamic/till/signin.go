package till

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/challenge"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// A wallet that bought something and lost the answer may sign in in place of paying again, as
// /spec/sign-in/v1 says. What it signs is the message of the 402, member for member, so that
// nothing in it is anybody's but ours; its nonce is a MAC over the operation, and is spent with the
// answer. A payment that settled stands in public calldata and opens nothing here: only a
// signature over a fresh nonce does.

const (
	useSignIn  = "sign_in"
	useFetched = "fetched" // marks of purchases, by their ids, and no nonces
)

// The reasons for which a sign-in is refused, as the stock seller names them where it does.
const (
	// SignInMalformed is that of one that cannot be read.
	SignInMalformed = "invalid_siwx_header"
	signInChain     = "invalid_siwx_unsupported_chain"
	signInNonce     = "invalid_siwx_nonce"
	signInMessage   = "invalid_siwx_message"
	signInSignature = "invalid_siwx_signature"
)

// Operation is what a sign-in is good for, and nothing else.
type Operation struct {
	Method string
	Path   string // below the base URL, without the query
	Print  string // fingerprint of an order; "" where the path says it all
}

func (o Operation) String() string { return o.Method + " " + o.Path + " " + o.Print }

// SignIn is a sign-in that came with a request, as a counter read it.
type SignIn struct {
	wallet.SignedIn
	Method  string        // of the request
	Refusal *rail.Refusal // why it cannot be read; all that precedes is empty then
}

// SignInTo is a fresh message that signs in to an operation, but for the wallet's address and
// chain. Nothing is written.
func (t *Till) SignInTo(o Operation) wallet.SignIn {
	return t.signInMessage(o, t.wallets.New(useSignIn, o.String(), "", t.cfg.Now()))
}

func (t *Till) signInMessage(o Operation, c challenge.Challenge) wallet.SignIn {
	return wallet.SignIn{
		Domain: t.host, Statement: "Give my purchase again.", URI: t.cfg.BaseURL + o.Path, Version: "1",
		Nonce: c.Nonce, IssuedAt: c.Issued().Format(time.RFC3339), ExpirationTime: c.Expires.Format(time.RFC3339),
	}
}

// SignInChains are the networks that are named to sign in on: of each namespace the first, which is
// what stock clients take. Wallets may sign in on every network that payments are taken on.
func (t *Till) SignInChains() []wallet.ChainID {
	var first []wallet.ChainID
	for _, r := range t.cfg.Rails {
		chain, err := wallet.ParseChainID(r.Info().Network)
		named := func(c wallet.ChainID) bool { return c.Namespace == chain.Namespace }
		if _, known := kindOf(chain.Namespace); err == nil && known && !slices.ContainsFunc(first, named) {
			first = append(first, chain)
		}
	}
	return first
}

// signedIn is a wallet that is proved.
type signedIn struct {
	address string
	network string // "" for all: a contract answers for its own alone
	nonce   challenge.Challenge
}

// signedInTo judges a sign-in. The error is a *rail.Refusal where it does not hold; what cannot be
// judged at the moment is an *Error, which is no 402: a stock client would pay.
func (t *Till) signedInTo(ctx context.Context, o Operation, s *SignIn, client string) (signedIn, error) {
	refuse := func(reason, format string, args ...any) (signedIn, error) {
		return signedIn{}, &rail.Refusal{Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	if s.Refusal != nil {
		return signedIn{}, s.Refusal
	}
	kind, ok := kindOf(s.Chain.Namespace)
	if !ok || t.byNet[s.Chain.String()] == nil {
		return refuse(signInChain, "no payments are taken on chainId")
	}
	c, ok := t.wallets.Read(useSignIn, o.String(), "", s.Nonce, t.cfg.Now())
	if !ok {
		return refuse(signInNonce, "the nonce is not one that this store gave out for this operation within five "+
			"minutes: ask for fresh terms without a sign-in")
	}
	a, err := wallet.NewAccount(s.Chain, s.Address)
	if err != nil || a.Address != s.Address {
		return refuse(signInMessage, "address must be as EIP-55 or base58 has it")
	}
	want := t.signInMessage(o, c)
	want.Address, want.ChainID = a.Address, s.Chain.Reference
	if line := s.Differs(want); line != "" {
		return refuse(signInMessage, "its %s is not that of the challenge: sign what sign-in-with-x says and add "+
			"nothing", line)
	}
	text, err := kind.text(want)
	if err != nil {
		return refuse(signInMessage, "no message can be made of it")
	}
	signature, err := kind.signature(s.Signature)
	if err != nil {
		return refuse(signInSignature, "signature %s", err)
	}
	w := signedIn{address: a.Address, nonce: c}
	stranger := func() bool { return false }
	err = t.checks.Verify(ctx, client, stranger, func() (err error) {
		w.network, err = t.prove(ctx, kind, a, signedText{text, signature}, client)
		if e, ok := errors.AsType[*Error](err); ok && e.Code == CodeNotSigned {
			return &rail.Refusal{Reason: signInSignature, Message: e.Refusal.Message}
		}
		return err
	})
	if busy, ok := errors.AsType[*settle.ChecksBusy](err); ok {
		return signedIn{}, (&Error{Code: CodeManyRefused, Retry: busy.Retry}).paid("no", "after")
	}
	if e, ok := errors.AsType[*Error](err); ok {
		e.paid("no", "after")
	}
	return w, err
}

// bought reports whether a purchase is a proved wallet's own, and answered.
func (w signedIn) bought(p *Purchase) bool {
	return p.Account == nil && p.Payment.Payer == w.address && (w.network == "" || w.network == p.Payment.Network)
}

// buyBySignIn answers an order with what its wallet bought already; nil where there is no such
// purchase.
func (t *Till) buyBySignIn(ctx context.Context, a asked, s *SignIn, client string) (*Sale, error) {
	w, err := t.signedInTo(ctx, Operation{s.Method, a.offer.Path, a.print}, s, client)
	if refusal, ok := errors.AsType[*rail.Refusal](err); ok {
		return nil, t.refuseSignIn(a, refusal)
	}
	if err != nil {
		return nil, err
	}
	var p *Purchase
	err = t.view(ctx, func(tx ledger.Tx) (err error) {
		p, err = t.entitled(tx, a, w)
		return err
	})
	if err != nil {
		return nil, ledgerDown(err)
	}
	if p == nil {
		return nil, nil
	}
	fresh, err := t.spendSignIn(ctx, w, p)
	switch {
	case err != nil:
		return nil, err
	case !fresh:
		return nil, t.refuseSignIn(a, signInSpent())
	}
	return t.answer(p, true)
}

// spendSignIn spends the nonce of a sign-in, and notes with it that its purchase was fetched.
func (t *Till) spendSignIn(ctx context.Context, w signedIn, p *Purchase) (fresh bool, err error) {
	err = t.update(ctx, func(tx ledger.Tx) (err error) {
		if fresh, err = challenge.Spend(tx, useSignIn, w.nonce); err != nil || !fresh {
			return err
		}
		return fetch(tx, p)
	})
	if err != nil {
		return false, ledgerDown(err)
	}
	return fresh, nil
}

func signInSpent() *rail.Refusal {
	return &rail.Refusal{Reason: signInNonce, Message: "this sign-in was answered already: ask for fresh terms and " +
		"sign in anew"}
}

// entitled finds the newest delivered purchase of an operation by a proved wallet, if its answer is
// still to be had by signing in; nil for none.
func (t *Till) entitled(tx ledger.Tx, a asked, w signedIn) (*Purchase, error) {
	var holders []string
	if w.network == "" {
		holders = append(holders, settle.Holder("", w.address, false))
	}
	for network := range t.byNet {
		if w.network == "" || w.network == network {
			holders = append(holders, settle.Holder(network, w.address, true))
		}
	}
	var newest *Purchase
	for _, holder := range holders {
		ids, err := recentIDs(tx, holder, a.print)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			p, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(id))
			if err != nil {
				return nil, fmt.Errorf("equal order %s: %w", id, err)
			}
			delivered := p.State == Delivered || p.State == Promised || p.InEscrow()
			if delivered && w.bought(&p) && (newest == nil || p.DeliveredAt.After(newest.DeliveredAt)) {
				newest = &p
			}
		}
	}
	if newest == nil || a.offer.Kind.Name == goods.PageName {
		return newest, nil // a page is given again as long as it stands
	}
	switch age := tx.Now().Sub(newest.DeliveredAt); {
	case age < SameOrder:
		return newest, nil
	case age >= SlotWindow:
		return nil, nil
	}
	fetched, err := challenge.Spent(tx, useFetched, fetchedMark(newest))
	if err != nil || fetched {
		return nil, err
	}
	return newest, nil
}

// refuseSignIn answers that a sign-in does not hold, with the reason and the terms at present.
func (t *Till) refuseSignIn(a asked, refusal *rail.Refusal) error {
	err := t.refuse(a, refusal)
	if e, ok := errors.AsType[*Error](err); ok && e.Code == CodeRefused {
		e.Code = CodeSignIn
	}
	return err
}

// SignedStatus is Status by a sign-in of the wallet that paid, in place of the token.
func (t *Till) SignedStatus(ctx context.Context, id string, o Operation, s *SignIn, client string) (Status, error) {
	w, err := t.signedInTo(ctx, o, s, client)
	if refusal, ok := errors.AsType[*rail.Refusal](err); ok {
		return Status{}, (&Error{Code: CodeUnauthorized, Refusal: refusal}).paid("no", "now")
	}
	if err != nil {
		return Status{}, err
	}
	p, err := t.load(ctx, id)
	if errors.Is(err, errNotFound) || err == nil && !w.bought(p) {
		return Status{}, &Error{Code: CodeUnauthorized}
	}
	if err != nil {
		return Status{}, ledgerDown(err)
	}
	fresh, err := t.spendSignIn(ctx, w, p)
	if err != nil {
		return Status{}, err
	}
	if !fresh {
		return Status{}, (&Error{Code: CodeUnauthorized, Refusal: signInSpent()}).paid("no", "now")
	}
	return t.statusOf(p)
}

// fetchedMark is what marks a purchase as fetched, for as long as that matters.
func fetchedMark(p *Purchase) challenge.Challenge {
	return challenge.Challenge{Nonce: p.ID, Expires: p.DeliveredAt.Add(SlotWindow)}
}

// fetch notes that the answer of a purchase was fetched by its buyer.
func fetch(tx ledger.Tx, p *Purchase) error {
	if p.DeliveredAt.IsZero() || tx.Now().Sub(p.DeliveredAt) >= SlotWindow {
		return nil
	}
	_, err := challenge.Spend(tx, useFetched, fetchedMark(p))
	return err
}

// noteFetched is fetch in a transaction of its own, where it is not noted already. The answer goes
// out whether or not it can be noted.
func (t *Till) noteFetched(ctx context.Context, p *Purchase) {
	if p.DeliveredAt.IsZero() {
		return
	}
	noted := false
	err := t.view(ctx, func(tx ledger.Tx) (err error) {
		noted, err = challenge.Spent(tx, useFetched, fetchedMark(p))
		noted = noted || tx.Now().Sub(p.DeliveredAt) >= SlotWindow
		return err
	})
	if err == nil && !noted {
		err = t.update(ctx, func(tx ledger.Tx) error { return fetch(tx, p) })
	}
	if err != nil {
		t.cfg.Log.Error("a purchase that was fetched is not noted", "purchase", p.ID, "err", err)
	}
}
