package buyer

import (
	"cmp"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/pay/x402"
)

// Terms is what a door asks for one request, read unpaid. Text that is the door's own is in its
// words.
type Terms struct {
	URL string `json:"url"`
	// Protocol is the one that is paid by: x402 or mpp.
	Protocol string `json:"protocol"`
	Method   string `json:"method"`
	Status   int    `json:"status"`
	// Free is set when the door answered without asking for a payment.
	Free        bool    `json:"free"`
	Resource    string  `json:"resource,omitempty"` // resource.url
	Description string  `json:"description,omitempty"`
	MimeType    string  `json:"mime_type,omitempty"`
	Service     string  `json:"service,omitempty"`
	Message     string  `json:"message,omitempty"` // error of the object
	Entries     []Entry `json:"accepts,omitempty"` // one for each entry of accepts, in order
	// Chosen is the index of the entry that Buy would pay, -1 when there is none; Why says why not.
	Chosen int    `json:"chosen"`
	Why    string `json:"why,omitempty"`
	// Payer is the address that would pay the chosen entry, empty without a wallet; Because is why
	// it is this entry; Ceiling is the most that may be paid, in atomic USDC.
	Payer   string `json:"payer,omitempty"`
	Because string `json:"because,omitempty"`
	Ceiling int64  `json:"ceiling"`
	// ValidSeconds is how long the signature of the chosen entry will be valid at the most.
	ValidSeconds int64 `json:"valid_seconds,omitempty"`
	// SuggestedKey is the idempotency key that the door suggests, when it is well-formed.
	SuggestedKey string `json:"suggested_key,omitempty"`
	// Warnings is everything odd, in plain sentences.
	Warnings []string `json:"warnings"`

	again      bool  // the caller's
	err        error // why nothing is chosen, for errors.Is
	answer     *answer
	keys       *keyring
	resource   jsontext.Value
	extensions map[string]jsontext.Value
}

// Entry is one entry of accepts and what is thought of it.
type Entry struct {
	Scheme            string `json:"scheme"`
	Network           string `json:"network"`
	Chain             string `json:"chain,omitempty"` // for people; empty when the network is not known
	Asset             string `json:"asset"`
	Symbol            string `json:"symbol,omitempty"` // empty when the asset is not known
	Amount            string `json:"amount"`           // as the door wrote it
	Atomic            int64  `json:"atomic"`           // the amount in atomic units; 0 when it cannot be read
	PayTo             string `json:"pay_to"`
	MaxTimeoutSeconds int64  `json:"max_timeout_seconds"`
	Flow              string `json:"flow"`              // authorization, upfront, escrow, …
	Refused           string `json:"refused,omitempty"` // why it is not paid; empty when it can be
	// CredentialHeader is the field in which a challenge of MPP wants its credential, empty for
	// Authorization.
	CredentialHeader string `json:"credential_header,omitempty"`
	// MinDeposit is the least that the door wants in a channel, in atomic units, of scheme
	// batch-settlement; 0 where it does not say.
	MinDeposit int64 `json:"min_deposit,omitempty"`
	// Unable is set where it could be paid, though not by this buyer as it is configured.
	Unable bool   `json:"unable,omitempty"`
	Offer  string `json:"offer"` // what is known of its signed offer

	overCeiling bool
	asset       Asset
	payTo       string // in its one spelling
	raw         jsontext.Value
	extra       jsontext.Value
	solana      solanaExtra       // what extra says on Solana
	voucher     voucherTerms      // what extra says of channels
	hold        holdTerms         // what extra says of a hold
	challenge   map[string]string // of MPP
	end         time.Time         // of the challenge
}

// Terms asks a door unpaid and says what it wants. A door that wants no payment gives Terms that
// are Free. The error is a *DoorError when the door answered something that is neither.
func (b *Buyer) Terms(ctx context.Context, rawURL string, o Options) (*Terms, error) {
	u, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	r, err := o.request(u)
	if err != nil {
		return nil, err
	}
	return b.terms(ctx, u, r, o.Choice)
}

// Err is why Buy would pay nothing, for errors.Is; nil where it would, or where the door is free.
func (t *Terms) Err() error { return t.err }

func (b *Buyer) terms(ctx context.Context, u *url.URL, r request, c Choice) (*Terms, error) {
	a, err := b.exchange(ctx, r, MaxBody)
	if err != nil {
		return nil, err
	}
	t := &Terms{URL: r.URL, Protocol: c.protocol(), Method: r.Method, Status: a.Status, Chosen: -1,
		Ceiling: b.cfg.Ceiling, Warnings: []string{}, answer: a}
	if a.Status >= 200 && a.Status < 300 {
		t.Free = true
		return t, nil
	}
	if a.Status != http.StatusPaymentRequired {
		return nil, a.doorError()
	}
	if err := b.readTerms(t, u); err != nil {
		return nil, err
	}
	for i := range t.Entries {
		e := &t.Entries[i]
		if b.judge(e); e.challenge != nil && e.CredentialHeader == "" && r.Header.Get(headerCredential) != "" &&
			e.Refused == "" {
			e.Refused = "its credential would take the place of the request's own " + headerCredential
		}
	}
	b.choose(t, c)
	b.suspect(t, u)
	b.checkOffers(ctx, t, u)
	return t, nil
}

// readTerms reads the terms of the protocol that is paid by.
func (b *Buyer) readTerms(t *Terms, u *url.URL) error {
	a := t.answer
	missing := func(what string) error {
		e := a.doorError()
		e.Detail = "it asks for a payment without " + what
		return e
	}
	if t.Protocol == ByMPP {
		var body map[string]jsontext.Value
		readLenient(a.Body, &body)
		if len(a.Header.Values(headerChallenge)) == 0 && body[memberRequired] == nil {
			return missing("an MPP challenge in WWW-Authenticate")
		}
		if err := b.readChallenges(t, u); err != nil {
			return fmt.Errorf("reading the terms: %w", err)
		}
		return nil
	}
	if len(a.Header.Values(headerRequired)) == 0 {
		return missing("an x402 version 2 " + x402.HeaderRequired + " header")
	}
	var w wireRequired
	if err := decodeHeader(a.Header, headerRequired, &w); err != nil {
		return fmt.Errorf("reading the terms: %w", err)
	}
	if err := t.read(w); err != nil {
		return fmt.Errorf("reading the terms: %w", err)
	}
	return nil
}

func (t *Terms) warn(format string, args ...any) {
	t.Warnings = append(t.Warnings, fmt.Sprintf(format, args...))
}

// read takes the object apart. An entry of accepts that cannot be read is kept as one that is not
// paid.
func (t *Terms) read(w wireRequired) error {
	if string(w.X402Version) != strconv.Itoa(x402.Version) {
		return fmt.Errorf("x402Version is %s, not %d", printable(string(w.X402Version), 20), x402.Version)
	}
	if len(w.Accepts) == 0 || len(w.Accepts) > maxAccepts {
		return fmt.Errorf("accepts has %d entries, not 1 to %d", len(w.Accepts), maxAccepts)
	}
	t.Message = w.Error
	switch w.Resource.Kind() {
	case '{':
		var res wireResource
		if err := json.Unmarshal(w.Resource, &res); err != nil {
			return errors.New("resource does not have the members it should")
		}
		t.Resource, t.Description, t.MimeType, t.Service = res.URL, res.Description, res.MimeType, res.ServiceName
		t.resource = w.Resource
	case 0, 'n':
	default:
		return errors.New("resource is not an object")
	}
	for name, e := range w.Extensions {
		if e.Kind() != '{' {
			return fmt.Errorf("extensions.%s is not an object", printable(name, 40))
		}
	}
	t.extensions = w.Extensions
	for _, raw := range w.Accepts {
		t.Entries = append(t.Entries, readEntry(raw))
	}
	t.SuggestedKey = suggestedKey(t.answer)
	return nil
}

func readEntry(raw jsontext.Value) Entry {
	e := Entry{raw: raw}
	var w wireAccept
	var x wireExtra
	if raw.Kind() != '{' || json.Unmarshal(raw, &w) != nil {
		e.Refused = "it cannot be read: a member is missing its type (amounts are strings of digits)"
		return e
	}
	e.Scheme, e.Network, e.Asset, e.Amount, e.PayTo, e.MaxTimeoutSeconds = w.Scheme, w.Network, w.Asset, w.Amount,
		w.PayTo, w.MaxTimeoutSeconds
	e.Chain = chainName(e.Network)
	e.extra = w.Extra
	switch w.Extra.Kind() {
	case '{':
		if json.Unmarshal(w.Extra, &x) != nil {
			e.Refused = "extra cannot be read"
			return e
		}
	case 0, 'n':
	default:
		e.Refused = "extra is not an object"
		return e
	}
	e.Flow = cmp.Or(x.PaymentFlow, flowAuthorization)
	var known bool
	e.asset, known = findAsset(e.Network, e.Asset)
	if known {
		e.Symbol = e.asset.Symbol
	}
	n, ok := atomic(e.Amount)
	e.Atomic = n
	f, _ := familyOf(e.Network)
	s, _, paid := schemeOf(e.Scheme, e.Network)
	var err error
	if known { // so its family is
		e.payTo, err = f.address(e.PayTo)
	}
	switch {
	case !slices.Contains(Schemes(), e.Scheme):
		e.Refused = fmt.Sprintf("scheme %s is not known", quoted(e.Scheme))
	case e.Chain == "":
		e.Refused = fmt.Sprintf("network %s is not known", quoted(e.Network))
	case !known:
		e.Refused = fmt.Sprintf("asset %s is not a known dollar token of %s", quoted(e.Asset), e.Chain)
	case !paid:
		e.Refused = fmt.Sprintf("scheme %s is not paid on %s", quoted(e.Scheme), e.Chain)
	case s.judge(&e, x) != "":
		e.Refused = s.judge(&e, x)
	case !slices.Contains(s.flows, e.Flow):
		e.Refused = fmt.Sprintf("payment flow %s is not known", quoted(e.Flow))
	case !ok:
		e.Refused = fmt.Sprintf("amount %s is not a plain whole number of atomic units", quoted(e.Amount))
	case n == 0:
		e.Refused = "the amount is zero"
	case err != nil:
		e.Refused = fmt.Sprintf("payTo %s is not an address in its right spelling: %s", quoted(e.PayTo), reason(err))
	case e.MaxTimeoutSeconds < minValidity:
		e.Refused = fmt.Sprintf("maxTimeoutSeconds is %d: too short to pay in", e.MaxTimeoutSeconds)
	}
	return e
}

// atomic reads an amount: decimal digits without a leading zero, in the range of int64.
func atomic(s string) (int64, bool) {
	u, err := wallet.ParseUint256(s)
	if err != nil {
		return 0, false
	}
	return u.Int64()
}

// judge adds what this buyer's configuration says of an entry that could be paid.
func (b *Buyer) judge(e *Entry) {
	if e.Refused != "" {
		return
	}
	f, _ := familyOf(e.Network)
	s, _, _ := schemeOf(e.Scheme, e.Network)
	switch unable := s.able(&b.cfg, e); {
	case len(b.cfg.Networks) > 0 && !slices.Contains(b.cfg.Networks, e.Network):
		e.Refused = "its network is not among those that may be paid on"
	case !b.cfg.paysIn(e):
		e.Refused = "its token is not among those that may be paid in"
	case e.Atomic > b.cfg.Ceiling:
		e.Refused = fmt.Sprintf("%s USDC is above the ceiling of %s USDC", USDC(e.Atomic), USDC(b.cfg.Ceiling))
		e.overCeiling = true
	case b.cfg.hasWallet() && f.payer(&b.cfg) == "":
		e.Refused, e.Unable = f.wallet+" would be needed", true
	case unable != "":
		e.Refused, e.Unable = unable, true
	}
}

// paysIn reports whether an entry's token is one that may be paid in.
func (c *Config) paysIn(e *Entry) bool {
	return len(c.Tokens) == 0 || slices.ContainsFunc(c.Tokens, func(t Token) bool {
		return t.Network == e.Network && networks.SameAddress(e.Network, t.Address, e.Asset)
	})
}

// before reports whether an entry is paid rather than one that stands before it: by the order of
// schemes, and then what settles after the good is made before what is paid up front, as stock
// clients do.
func (e *Entry) before(o Entry) bool {
	_, mine, _ := schemeOf(e.Scheme, e.Network)
	_, its, _ := schemeOf(o.Scheme, o.Network)
	return mine < its || mine == its && o.Flow != flowAuthorization && e.Flow == flowAuthorization
}

// choose picks the first payable entry that the choice allows and that none goes before.
func (b *Buyer) choose(t *Terms, c Choice) {
	var over *Entry
	for i := range t.Entries {
		e := &t.Entries[i]
		switch {
		case c.Network != "" && e.Network != c.Network, c.Amount != 0 && e.Atomic != c.Amount,
			c.Scheme != "" && e.Scheme != c.Scheme:
		case e.overCeiling:
			if over == nil || e.Atomic < over.Atomic {
				over = e
			}
		case e.Refused != "":
		case t.Chosen < 0, e.before(t.Entries[t.Chosen]):
			t.Chosen = i
		}
	}
	if t.Chosen >= 0 {
		b.settleOn(t, t.Chosen, because(t, c))
		return
	}
	if over != nil {
		t.err = fmt.Errorf("%w: the door asks for %s USDC on %s and the ceiling is %s USDC; nothing was signed. "+
			"Raise the ceiling to buy it",
			ErrCeiling, USDC(over.Atomic), over.Chain, USDC(b.cfg.Ceiling))
	} else {
		var why []string
		for i, e := range t.Entries {
			why = append(why, fmt.Sprintf("entry %d: %s", i, cmp.Or(e.Refused, "it is not the choice that was made")))
		}
		t.err = fmt.Errorf("%w: %s", ErrNotPayable, strings.Join(why, "; "))
	}
	t.Why = t.err.Error()
}

// settleOn chooses an entry and says why.
func (b *Buyer) settleOn(t *Terms, i int, why string) {
	e := t.Entries[i]
	f, _ := familyOf(e.Network)
	t.Chosen, t.err, t.Why, t.Because, t.Payer = i, nil, "", why, f.payer(&b.cfg)
	s, _, _ := schemeOf(e.Scheme, e.Network)
	t.ValidSeconds = s.seconds(min(e.MaxTimeoutSeconds, int64(b.cfg.MaxValidity/time.Second)))
}

// because is why an entry was chosen.
func because(t *Terms, c Choice) string {
	payable := 0
	for _, e := range t.Entries {
		if e.Refused == "" {
			payable++
		}
	}
	switch {
	case payable == 1:
		return fmt.Sprintf("the only one of %d that can be paid", len(t.Entries))
	case c.Network != "" || c.Amount != 0 || c.Scheme != "":
		return fmt.Sprintf("the first of %d that can be paid and fits what was asked for", payable)
	case t.Chosen > 0 && t.Entries[t.Chosen].Scheme != t.first().Scheme:
		return fmt.Sprintf("the first of %d that can be paid by scheme %s", payable, t.Entries[t.Chosen].Scheme)
	case t.Chosen > 0 && slices.ContainsFunc(t.Entries[:t.Chosen], func(e Entry) bool { return e.Refused == "" }):
		return fmt.Sprintf("the first of %d that can be paid whose money moves after the good is made", payable)
	}
	return fmt.Sprintf("the first of %d that can be paid", payable)
}

// first is the first entry that can be paid.
func (t *Terms) first() Entry {
	return t.Entries[max(0, slices.IndexFunc(t.Entries, func(e Entry) bool { return e.Refused == "" }))]
}

// suspect warns of everything odd in the terms.
func (b *Buyer) suspect(t *Terms, u *url.URL) {
	ru, err := url.Parse(t.Resource)
	switch {
	case t.Protocol == ByMPP: // a challenge is of a realm
	case t.Resource == "":
		t.warn("The terms do not say which resource they are for.")
	case err != nil || place(ru) != place(u):
		t.warn("The terms are for another address than the one asked: %s.", printable(t.Resource, 200))
	}
	for i, e := range t.Entries {
		if _, known := familyOf(e.Network); known && e.Refused != "" && !e.overCeiling && !e.Unable &&
			e.Scheme == schemeExact {
			t.warn("Entry %d is not payable: %s.", i, e.Refused)
		}
	}
	if t.Chosen < 0 {
		return
	}
	e := t.Entries[t.Chosen]
	if e.Flow == flowUpfront {
		t.warn("The payment is settled before the good is made.")
	}
	if e.asset.Test {
		t.warn("%s is a test network: its tokens are worth nothing.", e.Chain)
	}
	if e.MaxTimeoutSeconds > t.ValidSeconds {
		t.warn("The door would let a signature be valid for %d s; it is made valid for %d s.", e.MaxTimeoutSeconds,
			t.ValidSeconds)
	}
	if networks.SameAddress(e.Network, e.payTo, e.Asset) {
		t.warn("The money goes to the token contract itself, where it would be stuck.")
	}
	if e.payTo == t.Payer {
		t.warn("The money goes to the paying wallet itself.")
	}
	if t.answer.Truncated {
		t.warn("The body of the terms is longer than %d bytes and was not read whole.", MaxBody)
	}
}

// suggestedKey reads idempotency.suggested_key of a 402 body, "" when there is none that is
// well-formed.
func suggestedKey(a *answer) string {
	var body struct {
		Idempotency struct {
			Key    string `json:"suggested_key"`
			Header string `json:"header"`
		} `json:"idempotency"`
	}
	if a.Truncated || json.Unmarshal(a.Body, &body) != nil || !wellFormedKey(body.Idempotency.Key) {
		return ""
	}
	if h := body.Idempotency.Header; h != "" && !strings.EqualFold(h, headerKey) {
		return ""
	}
	return body.Idempotency.Key
}

func wellFormedKey(s string) bool {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	return len(s) >= 16 && len(s) <= 128 && strings.Trim(s, alphabet) == ""
}

func wellFormedID(s string) bool {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	return len(s) <= 64 && strings.Trim(s, alphabet) == ""
}

// agreed checks fresh terms against those that somebody said yes to.
func (b *Buyer) agreed(t, before *Terms) error {
	if before.Chosen < 0 || before.URL != t.URL || before.Method != t.Method || before.Protocol != t.Protocol {
		return fmt.Errorf("%w: the terms that were agreed to are for another request or for nothing", ErrChanged)
	}
	o := before.Entries[before.Chosen]
	best := -1
	for i, e := range t.Entries {
		if e.Refused == "" && e.Scheme == o.Scheme && e.Network == o.Network &&
			networks.SameAddress(o.Network, e.Asset, o.Asset) &&
			networks.SameAddress(o.Network, e.PayTo, o.PayTo) && e.Flow == o.Flow &&
			e.Atomic <= o.Atomic && (best < 0 || e.Atomic > t.Entries[best].Atomic) {
			best = i
		}
	}
	if best < 0 {
		return fmt.Errorf("%w: %s USDC on %s to %s is not asked any more; nothing was signed", ErrChanged,
			USDC(o.Atomic), o.Chain, o.PayTo)
	}
	b.settleOn(t, best, "what was agreed to")
	return nil
}
