package templates

import (
	"net/url"
	"strings"

	"store.example/agentstore/content"
)

// DoorView is the page of a paid door, for people: what is sold there, for what, and how it is
// bought. It says everything without a script; the script adds a button that pays.
type DoorView struct {
	Chrome *Chrome
	Page   Page
	Good   content.Good
	// Tiers are the amounts, lowest first; none where nothing is sold.
	Tiers []content.Tier
	// About is the address of the page that describes it, or of what is sold in its place, "" for
	// none; At is that of the door.
	About, At string
	// Own are the inputs of what is sold, Common those that everything takes.
	Own, Common []DoorInput
	Offers      []DoorOffer
	// LeftOut are the networks on which it is not sold at present, each with the reason.
	LeftOut []Fact
	// Refusal says why there are no terms, nil for a 402. Next is what to do then, "" for nothing
	// more than Refusal says.
	Refusal *Refusal
	Next    string
	// Lacks says that nothing is wrong but inputs, so that the form stands there.
	Lacks bool
	// Hold says that what is paid here is held until the keeper has done the work, and Held is the
	// address of the door where it is, "" for none.
	Hold bool
	Held string
}

// DoorInput is an input with what was given for it.
type DoorInput struct {
	content.Input
	Value   string
	Problem string // "" for none
}

// DoorOffer is one of the terms.
type DoorOffer struct {
	// Network is its CAIP-2 name, Name what people call it.
	Network, Name string
	Amount        string // atomic units
	USDC          string
	Asset, PayTo  string
	// Wallet says that a wallet of a browser can sign it.
	Wallet bool
}

// Called is the input's name in words.
func (in DoorInput) Called() string { return strings.ReplaceAll(in.Name, "_", " ") }

func (*DoorView) template() string { return "door" }

// Submit is what stands on the button of its form.
func (v DoorView) Submit() string { return "Check this order" }

// Submits says what the button does.
func (v DoorView) Submits() string {
	return "Costs nothing: it shows this page again, with your order in it."
}

// Open says that it is sold here at present.
func (v DoorView) Open() bool { return len(v.Offers) > 0 && (v.Refusal == nil || v.Lacks) }

// Word is how the door stands, in a word or two.
func (v DoorView) Word() string {
	switch {
	case v.Open():
		return "for sale"
	case v.Refusal != nil && (v.Refusal.Code == "sold_out" || v.Refusal.Code == "gone"):
		return strings.ReplaceAll(v.Refusal.Code, "_", " ")
	}
	return "not now"
}

// Mark is its colour class.
func (v DoorView) Mark() string {
	if v.Open() {
		return "good"
	}
	return "unknown"
}

// Amounts lists what may be paid, with what each amount is called.
func (v DoorView) Amounts() []content.Tier { return called(v.Tiers) }

// Payable are the terms that a wallet of a browser can sign.
func (v DoorView) Payable() []DoorOffer {
	var out []DoorOffer
	for _, o := range v.Offers {
		if o.Wallet {
			out = append(out, o)
		}
	}
	return out
}

// URL is the door with the inputs that were given, or with a place for each that lacks.
func (v DoorView) URL() string {
	q, door := url.Values{}, v.Chrome.BaseURL+v.At
	for _, inputs := range [][]DoorInput{v.Own, v.Common} {
		for _, in := range inputs {
			if in.Value != "" {
				q.Set(in.Name, in.Value)
			} else if in.Required {
				q.Set(in.Name, "YOUR-TEXT")
			}
		}
	}
	if len(q) == 0 {
		return door
	}
	return door + "?" + q.Encode()
}

// Steps says how it is bought by a program.
func (v DoorView) Steps() []Step { return steps(v.Tiers[0].Amount, v.URL()) }

// Fulfilment says in words when the goods come.
func (v DoorView) Fulfilment() string { return fulfilment(&v.Good) }

// Money says what happens to the money, a sentence each.
func (v DoorView) Money() []string {
	if v.Hold {
		return []string{"What you pay is held by an escrow contract. The store can take it only when the keeper has " +
			"completed the order, and only within the window; if he declines, or the window passes, it goes back.",
			"From the deadline in the terms on your own wallet can take it back, whatever has become of this store: " +
				"the order has the call."}
	}
	return money(&v.Good)
}

// Given says that a common input came along, which a buyer should see.
func (v DoorView) Given() bool {
	for _, in := range v.Common {
		if in.Value != "" || in.Problem != "" {
			return true
		}
	}
	return false
}
