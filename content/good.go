package content

import (
	"slices"
	"strings"
)

// Good is one thing on the shelf: shelf/<id>.md.
type Good struct {
	// ID is the file's name without .md: lower-case words joined by
	// underscores. It is permanent; a good that goes is retired, not deleted.
	ID string
	// Name is what people read; Subtitle is optional.
	Name, Subtitle string
	// Kind is one of the Kind constants.
	Kind string
	// Order sorts the shelf; no two goods share it.
	Order int
	// Price is the least that is asked, in atomic units of USDC.
	Price int64
	// PayWhatItDeserves offers twice and five times the price as well; what is
	// above the price is the tip.
	PayWhatItDeserves bool
	// Fulfilment is instant, human or term.
	Fulfilment Fulfilment
	// WindowHours and WeeklyInventory are the promise of human goods: hours to
	// deliver, and how many are taken in an ISO week. Zero for the others.
	WindowHours, WeeklyInventory int
	// Cadence is "one_off" or "term".
	Cadence string
	// Artifact is the class of what is signed, such as "certificate", or ArtifactNone.
	Artifact string
	// Pool names the pool the good draws from.
	Pool string
	// Stock says that each entry of the pool is given once, so that the good
	// can sell out.
	Stock bool
	// Stored is the file that a good of kind file gives to everybody; nil where each buyer gets one
	// of the entries of its pool.
	Stored *File
	// Text is what a good of kind text gives: Markdown in which words in braces are inputs of the
	// order, and those of Site.Expand. It is private.
	Text string
	// Upstream is what a good of kind upstream asks; nil for the others.
	Upstream *Upstream
	// Inputs are the good's own inputs; AllInputs adds the common ones.
	Inputs []Input
	// Description, one sentence or two, for lists and machines.
	Description string
	// WhatItReads says what outside the store the good reads.
	WhatItReads string
	// Signs says which bytes the signature covers.
	Signs string
	// DoesNotProve says what the artifact does not prove.
	DoesNotProve string
	// Constraints are further facts a buyer should know, each a sentence.
	Constraints []string
	// Certificate holds the texts that go onto every certificate of the good.
	Certificate CertificateText
	// Body is the item page's prose in Markdown, and Line the line of the file
	// on which it begins.
	Body string
	Line int
}

// File is the source of the good, below the site's folder.
func (g Good) File() string { return shelfFolder + g.ID + ".md" }

// CertificateText is what a good writes into certificates beside the facts of
// the sale. An empty field is left out, or filled by the kind.
type CertificateText struct {
	// Note stands for the goods themselves where those are not put on the
	// public certificate; empty means that the kind writes the note.
	Note string
	// Attests says what the certificate attests.
	Attests string
	// Purpose says what it is for.
	Purpose string
}

// Input is one query parameter of a good.
type Input struct {
	Name     string
	Required bool
	// Max is in characters, 0 for no limit of its own.
	Max int
	// Help is one sentence for the buyer.
	Help string
	// Pattern is an anchored RE2 expression, "" for none.
	Pattern string
	// Example is a value that an order may have, "" for none. What is required has one.
	Example string
	// Type is "string", "number" or "boolean", as in JSON Schema.
	Type string
	// Format is a JSON Schema format such as "uri", "" for none.
	Format string
	// Multiline says that line breaks are welcome.
	Multiline bool
}

// RetiredGood is a good that is no longer sold.
type RetiredGood struct {
	ID         string `toml:"id"`
	FoldedInto string `toml:"folded_into"` // id of the good that does its work now, "" for none
	Reason     string `toml:"reason"`
}

// Tier is one of the amounts a buyer may choose.
type Tier struct {
	Name   string // minimum, generous or patron
	Amount int64  // atomic units of USDC
}

// USDC returns the amount as a decimal.
func (t Tier) USDC() string { return FormatUSDC(t.Amount) }

// PriceUSDC returns the price as a decimal.
func (g Good) PriceUSDC() string { return FormatUSDC(g.Price) }

// Tiers returns the amounts on offer, lowest first: one for a fixed price,
// three for a good that is paid what it deserves.
func (g Good) Tiers() []Tier {
	tiers := []Tier{{"minimum", g.Price}}
	if g.PayWhatItDeserves {
		tiers = append(tiers, Tier{"generous", 2 * g.Price}, Tier{"patron", 5 * g.Price})
	}
	return tiers
}

// AllInputs returns the good's own inputs and then the common ones that apply: what is delivered at
// once needs no callback_url.
func (g Good) AllInputs() []Input {
	all := slices.Clone(g.Inputs)
	for _, in := range commonInputs {
		if in.Name == "callback_url" && g.Fulfilment == Instant {
			continue
		}
		all = append(all, in)
	}
	return all
}

// Example returns the inputs, with an example each, of an order for the good: what is required, or
// where nothing is the first that has one, since one of several may be.
func (g Good) Example() []Input {
	var order []Input
	for _, in := range g.Inputs {
		if in.Required && in.Example != "" {
			order = append(order, in)
		}
	}
	if i := slices.IndexFunc(g.Inputs, func(in Input) bool { return in.Example != "" }); order == nil && i >= 0 {
		order = g.Inputs[i : i+1]
	}
	return order
}

// commonInputs apply to every good, callback_url to those that are not delivered at once.
var commonInputs = []Input{
	{Name: "agent_name", Max: 80, Type: "string", Help: "The name to put on the certificate and the badge."},
	{Name: "callback_url", Max: 2048, Type: "string", Format: "uri",
		Help: "Where word is sent once the order is completed: a public https address."},
	{Name: "source", Max: 40, Type: "string", Help: "Where you heard of the store; written in the ledger and nowhere " +
		"else."},
}

// IsCommon reports whether an input is one of those that every good may take.
func IsCommon(name string) bool {
	return slices.ContainsFunc(commonInputs, func(in Input) bool { return in.Name == name })
}

// ownInputs are the inputs a shelf file may ask for; a file gives required,
// max, pattern and help, and may not exceed this max.
var ownInputs = []Input{
	{Name: "detail", Max: 600, Type: "string", Multiline: true},
	{Name: "url", Max: 2048, Type: "string", Format: "uri"},
	{Name: "summary", Max: 4000, Type: "string", Multiline: true},
	{Name: "digest", Max: 64, Type: "string"},
	{Name: "label", Max: 120, Type: "string"},
	{Name: "pass_id", Max: 64, Type: "string"},
	{Name: "host", Max: 253, Type: "string", Format: "hostname"},
	{Name: "address", Max: 64, Type: "string"},
	{Name: "max_usd", Max: 20, Type: "number"},
	{Name: "no_spend_controls", Max: 5, Type: "boolean"},
}

func ownInput(name string) (Input, bool) {
	i := slices.IndexFunc(ownInputs, func(in Input) bool { return in.Name == name })
	if i < 0 {
		return Input{}, false
	}
	return ownInputs[i], true
}

// IsID reports whether s can be the id of a good: lower-case letters and
// digits in words joined by single underscores, at most 60 characters.
func IsID(s string) bool {
	if s == "" || len(s) > 60 || strings.Contains(s, "__") || s[0] == '_' || s[len(s)-1] == '_' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_') {
			return false
		}
	}
	return true
}
