package stockclient

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"time"

	"store.example/agentstore/corpus/exchange"
)

// The outcomes.
const (
	WouldSign      = "would_sign"
	WouldThrow     = "would_throw"
	CannotSimulate = "cannot_simulate"
)

// Profile is the caller's description of a client, the client_profile of a request. The zero
// Profile is the newest stock client, configured with nothing.
type Profile struct {
	Client                   string // Name of a row of Clients
	MaxAmountPerPaymentUSD   *float64
	NoMax                    bool // max_amount_per_payment_usd: false
	SpendControlsDisabled    bool
	UnreadableCountedAsEmpty bool // the profile could not be read; said in the answer
}

// Config turns the profile into a client's configuration.
func (p Profile) Config() (Config, error) {
	c, ok := ClientByName(p.Client)
	if !ok {
		return Config{}, fmt.Errorf("reading client profile: no client is named %q", p.Client)
	}
	config := Config{Client: c, Controls: Controls{Off: p.SpendControlsDisabled}}
	switch {
	case p.NoMax:
		config.Controls.Max.Off = true
	case p.MaxAmountPerPaymentUSD != nil:
		config.Controls.Max = Money{IsNumber: true, Number: *p.MaxAmountPerPaymentUSD}
	}
	return config, nil
}

// Report is the answer about one door and one client.
type Report struct {
	URL        string    `json:"url"`
	ObservedAt time.Time `json:"observed_at"` // the recorded time
	Status     int       `json:"status"`      // of the door's answer, 0 for none
	YourClient Answer    `json:"your_client"`
}

// Answer is what the client would do.
type Answer struct {
	Outcome string `json:"outcome"` // WouldSign, WouldThrow or CannotSimulate
	// Stage is what decided: Stage…, "" when the client would sign.
	Stage string `json:"stage,omitzero"`
	// Chosen is the entry that the client picks, also when signing it would throw; nil for none.
	Chosen *Chosen `json:"chosen"`
	// About is what the decision was about, one of About…; "" when the client would sign.
	About string `json:"-"`
	// ThrowsWith is the error's text; Exact says that it is the client's own, character for
	// character.
	ThrowsWith string    `json:"throws_with,omitzero"`
	Exact      bool      `json:"throws_with_exact,omitzero"`
	Cause      string    `json:"-"` // of ThrowsWith: the error's code and text, "" for none
	Dropped    []Dropped `json:"dropped"`
	Hazards    []Hazard  `json:"hazards"`
	CapApplied Cap       `json:"cap_applied"`
	Client     string    `json:"client"`  // Client.Name
	Package    string    `json:"package"` // Client.Package
	Assets     string    `json:"default_assets"`
	CannotSee  []string  `json:"what_this_cannot_see"`
}

// Chosen is an entry of accepts as the client would sign it.
type Chosen struct {
	Index         int     `json:"index"`
	Network       string  `json:"network"`
	Asset         string  `json:"asset"`
	AmountAtomic  string  `json:"amount_atomic"`
	AmountUSD     *string `json:"amount_usd"` // decimal, a default asset counted as one dollar; null for other assets
	WindowSeconds float64 `json:"signing_window_seconds"`
	Scheme        string  `json:"scheme"`
	// Stake is what is at risk where the money is deposited or held; nil by the scheme exact.
	Stake *Stake `json:"stake,omitzero"`
}

// Hazard is something about the chosen entry or the offer that a buyer wants to know first.
type Hazard struct {
	Name   string `json:"name"`
	Detail string `json:"detail"`
}

// Cap is the ceiling that was applied: in dollars as the client prints it, "" for none, and whose
// it is.
type Cap struct {
	USD    string `json:"usd"`
	Source string `json:"source"` // default, profile, or off
}

var cannotSee = []string{
	"your balance: the client does not look at it either before it signs",
	"policies, hooks, selectors and allowed assets that you configured beyond the profile",
	"whether the seller delivers, and whether its facilitator accepts what was signed",
	"an offer that differs by buyer, time or request",
}

// Seen is what a door answered whose terms were read before, as exchange.ParseValue reads them.
type Seen struct {
	URL       string
	At        time.Time // when the answer ended
	Status    int
	HeadBytes int    // names and values of its head, as far as they count
	HeadFault string // exchange.Head…
	Header    bool   // there is a header of terms, or several
	Padded    bool   // it has all its padding
	Terms     *any   // what the one header holds, nil where no client reads it
	Body      *any   // what the body holds, nil where it is no JSON
}

// A Door is what a door answered, read once for any number of clients.
type Door struct {
	Seen
	challenge value
	unread    error
	body      func() (value, error)
}

// Read reads what a door answered as the clients do.
func Read(x exchange.Exchange) *Door {
	header := strings.Join(x.Response.Header.Values("Payment-Required"), ", ")
	d := &Door{URL: x.Request.URL, At: x.StartedAt.Add(x.Duration).UTC(), Status: x.Response.Status,
		HeadBytes: exchange.HeadBytes(x.Response.Header), HeadFault: x.Response.HeadFault, Header: header != "",
		Padded: len(header)%4 == 0}
	d.body = sync.OnceValues(func() (value, error) {
		return parse(bytes.TrimPrefix(x.Response.Body, []byte("\ufeff")))
	})
	d.challenge, d.unread = d.challengeOf(func() (value, error) {
		raw, err := decodeHeader(header)
		if err != nil {
			return nil, err
		}
		return readTerms(raw)
	})
	return d
}

var errNoBody = errors.New("no terms in the body")

// ReadSeen is Read for an answer that is not there whole.
func ReadSeen(s Seen) *Door {
	given := func(v *any, err error) func() (value, error) {
		return func() (value, error) {
			if v == nil {
				return nil, err
			}
			return *v, nil
		}
	}
	d := &Door{Seen: s, body: given(s.Body, errNoBody)}
	d.challenge, d.unread = d.challengeOf(given(s.Terms, throwf(failed+"Invalid payment required header")))
	return d
}

// Judge replays the client of the profile at the door. Judgement time is the end of the recording.
func (d *Door) Judge(p Profile) (Report, error) {
	config, err := p.Config()
	if err != nil {
		return Report{}, err
	}
	rep := Report{URL: d.URL, ObservedAt: d.At.Truncate(time.Second), Status: d.Status}
	a := &rep.YourClient
	*a = Answer{Dropped: []Dropped{}, Hazards: []Hazard{}, CapApplied: capOf(config), Client: config.Client.Name,
		Package: config.Client.Package, Assets: AssetTable, CannotSee: cannotSee}
	if p.UnreadableCountedAsEmpty {
		a.hazard("profile-unreadable", "the client profile could not be read and counts as none")
	}
	if h, cause := d.refusedHead(); cause != "" {
		a.Hazards, a.Cause = append(a.Hazards, h), cause
		a.Outcome, a.Stage, a.About, a.ThrowsWith = WouldThrow, StageFetch, AboutMethod, "fetch failed"
		a.Exact = true
		return rep, nil
	}
	if err = d.unread; err == nil {
		a.judge(d.challenge, config, d.At)
		return rep, nil
	}
	a.Stage, a.About = StageChallenge, AboutMethod
	if t, ok := errors.AsType[thrown](err); ok {
		a.Outcome, a.ThrowsWith, a.Exact = WouldThrow, t.message, true
	} else if i, ok := errors.AsType[inexact](err); ok {
		a.Outcome, a.ThrowsWith = WouldThrow, i.message
	} else {
		a.Outcome = CannotSimulate
		a.hazard("not-simulated", err.Error())
	}
	return rep, nil
}

// What a decision is about: the part of an entry that made the client throw.
const (
	AboutPayTo   = "payTo"
	AboutAmount  = "amount"
	AboutNetwork = "network"
	AboutMethod  = "method" // how the transfer is made and signed, and all that is none of the others
	AboutSolana  = "solana" // what is Solana's alone
)

func (a *Answer) hazard(name, detail string) {
	a.Hazards = append(a.Hazards, Hazard{name, detail})
}

func capOf(c Config) Cap {
	switch {
	case !c.Client.Controls, c.Controls.Off, c.Controls.Max.Off:
		return Cap{Source: "off"}
	case c.Controls.Max == Money{}:
		return Cap{USD: defaultMax, Source: "default"}
	}
	return Cap{USD: c.Controls.Max.text(), Source: "profile"}
}

const failed = "Failed to parse payment requirements: "

var errNo402 = errors.New("the door did not answer 402, so no client is asked to pay")

// challengeOf reads the challenge as the client does, from the header of terms where there is one.
// What it throws is thrown or inexact; every other error is a reason why nothing can be simulated.
func (d *Door) challengeOf(header func() (value, error)) (value, error) {
	switch {
	case d.Status != http.StatusPaymentRequired:
		return nil, errNo402
	case d.Header:
		return header()
	}
	v, err := d.body()
	if o, ok := v.(*object); err == nil && ok && maybe(o, "x402Version") == value(1.0) {
		return v, nil
	}
	return nil, throwf(failed + "Invalid payment required response")
}

func readTerms(raw []byte) (value, error) {
	v, err := parse(raw)
	if errors.Is(err, errText) {
		return nil, err
	}
	if err != nil {
		return nil, inexact{failed + "the header holds no JSON"}
	}
	return v, nil
}

// decodeHeader is atob behind the client's own check: padding is optional, unused bits are ignored.
func decodeHeader(s string) ([]byte, error) {
	body := strings.TrimRight(s, "=")
	if len(s)-len(body) > 2 ||
		strings.Trim(body, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") != "" {
		return nil, throwf(failed + "Invalid payment required header")
	}
	if len(body)%4 == 1 || len(body) != len(s) && len(s)%4 != 0 {
		return nil, throwf(failed + "The string to be decoded is not correctly encoded.")
	}
	raw, err := base64.RawStdEncoding.DecodeString(body)
	if err != nil {
		return nil, inexact{failed + "the header is not base64"}
	}
	return []byte(strings.TrimPrefix(string(raw), "\ufeff")), nil
}

func (a *Answer) judge(challenge value, c Config, now time.Time) {
	r := run{config: c, about: AboutMethod}
	e, err := r.choose(challenge)
	if err == nil {
		a.Chosen = chosen(e)
		a.look(e)
		if err = r.create(e, now); err == nil {
			a.Chosen.Stake = r.stake(e)
		}
	}
	if r.dropped != nil {
		a.Dropped = r.dropped
	}
	if err == nil {
		a.Outcome = WouldSign
		return
	}
	_, a.Exact = errors.AsType[thrown](err)
	a.About = r.about
	a.Outcome, a.Stage, a.ThrowsWith = WouldThrow, r.at, "Failed to create payment payload: "+err.Error()
	if r.at == "" {
		a.Stage = StageChallenge
	}
}

func chosen(e entry) *Chosen {
	c := &Chosen{Index: e.index, Network: shown(e.network), Asset: shown(e.get("asset")),
		AmountAtomic: shown(e.get("amount")), Scheme: e.scheme}
	c.WindowSeconds, _ = e.get("maxTimeoutSeconds").(float64)
	def, err := defaultAsset(e)
	if amount := text(e.get("amount")); err == nil && def != nil && isDigits(amount) && len(amount) < 80 {
		usd := Decimal(amount, def.Decimals)
		c.AmountUSD = &usd
	}
	return c
}

// Decimal writes atomic units as a decimal without superfluous zeros.
func Decimal(atomic string, decimals int) string {
	n, _ := new(big.Int).SetString(atomic, 10)
	s := n.String()
	s = strings.Repeat("0", max(0, decimals+1-len(s))) + s
	whole, fraction := s[:len(s)-decimals], strings.TrimRight(s[len(s)-decimals:], "0")
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// look names what a buyer should know of the chosen entry.
func (a *Answer) look(e entry) {
	if !isDigits(text(e.get("amount"))) {
		a.hazard("amount-not-atomic", "the amount is not an integer of atomic units; the client compared it with its "+
			"ceiling as dollars")
	} else if n, _ := new(big.Int).SetString(text(e.get("amount")), 10); n.Sign() == 0 {
		a.hazard("amount-zero", "the amount is 0")
	}
	if a.CapApplied.Source == "off" {
		a.hazard("no-ceiling", "no ceiling applies: the client signs whatever amount is asked")
	}
	extra := e.get("extra")
	if maybe(extra, "assetTransferMethod") == value("permit2") {
		a.hazard("needs-allowance", "permit2 needs an allowance of the token to the Permit2 contract; the client "+
			"signs without looking for one")
	}
	if f := maybe(extra, "paymentFlow"); f == value("upfront") || f == value("escrow") {
		a.hazard("pays-first", "the money moves before the seller answers")
	}
	if e.family == "solana" {
		a.hazard("needs-node", "on Solana the client asks a node for the mint and a block hash before it signs; that "+
			"is not replayed")
	}
	def, err := defaultAsset(e)
	switch {
	case err != nil:
	case def == nil:
		a.hazard("not-a-default-asset", "the asset is not in the client's table, so it has no dollar ceiling")
	case def.Method == "eip3009" && (maybe(extra, "name") != value(def.Name) ||
		maybe(extra, "version") != value(def.Version)):
		a.hazard("domain-differs", "extra.name and extra.version are not those of the token, so the signature will "+
			"not settle")
	}
	if s, ok := e.get("maxTimeoutSeconds").(float64); ok && (s > 3600 || s < 1) {
		a.hazard("signing-window", "the signature would be valid for "+number(s)+" seconds")
	}
}
