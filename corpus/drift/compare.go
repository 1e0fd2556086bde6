package drift

import (
	"slices"
	"strings"

	"store.example/agentstore/corpus/networks"
)

// comparisons has a row for each member: what of a claim the door contradicts, and what the door
// says; "" where they agree, or where either says nothing.
var comparisons = []struct {
	member  string
	differs func(claim, Live) (said, string)
}{
	{Network, otherNetwork},
	{Price, otherPrice},
	{PayTo, otherPayTo},
	{Method, otherMethod},
	{Inputs, otherInputs},
}

// by are the door's terms in the protocol of a claim's term.
func (l Live) by(t term) []term {
	return slices.DeleteFunc(slices.Clone(l.terms), func(o term) bool { return o.protocol != t.protocol })
}

func otherNetwork(c claim, live Live) (said, string) {
	if len(live.terms) == 0 {
		return said{}, ""
	}
	for _, t := range c.terms {
		on := live.by(t)
		if t.network.text != "" && !slices.ContainsFunc(on, t.sameNetwork) {
			return t.network, values(on, func(o term) string { return o.network.text }, "no terms of "+t.protocol)
		}
	}
	return said{}, ""
}

func (t term) sameNetwork(o term) bool { return t.network.text == o.network.text }

// beside are the door's terms that a claim's term may be held against: those of its network, or,
// where it names none or one that the door does not take, those whose addresses have one form.
func (l Live) beside(t term) []term {
	on := l.by(t)
	if t.network.text == "" && len(on) == 0 {
		on = l.terms
	}
	if mine := slices.DeleteFunc(slices.Clone(on), func(o term) bool { return !t.sameNetwork(o) }); len(mine) > 0 {
		return mine
	}
	namespace := func(n string) string { before, _, _ := strings.Cut(n, ":"); return before }
	return slices.DeleteFunc(on, func(o term) bool {
		return t.network.text != "" && namespace(o.chain) != namespace(t.chain)
	})
}

func otherPrice(c claim, live Live) (said, string) {
	for _, t := range c.terms {
		on := live.beside(t)
		switch {
		case len(on) == 0 || t.amount == nil && t.least == nil:
			continue
		case slices.ContainsFunc(on, func(o term) bool { return t.pricedAs(o) }):
			continue
		}
		return t.price, values(on, term.shownPrice, "")
	}
	return said{}, ""
}

// pricedAs reports whether a claim's price is that of one of the door's terms, or cannot be told
// from it.
func (t term) pricedAs(o term) bool {
	if t.amount == nil {
		w := o.worth()
		return w == nil || w.Cmp(t.least) >= 0 && (t.most == nil || w.Cmp(t.most) <= 0)
	}
	mine, known := networks.FindToken(t.chain, t.asset)
	theirs, both := networks.FindToken(o.chain, o.asset)
	switch {
	case o.amount == nil:
		return true
	case t.sameNetwork(o) && t.asset != "" && !sameAddress(t.asset, o.asset):
		return false
	case known && both && mine.Decimals != theirs.Decimals:
		return true
	}
	return t.amount.Cmp(o.amount) == 0
}

// shownPrice is a price, and in dollars where that is known.
func (t term) shownPrice() string {
	if w := t.worth(); w != nil {
		return t.price.text + " atomic units ($" + strings.TrimRight(w.FloatString(8), "0") + ")"
	}
	return t.price.text
}

func otherPayTo(c claim, live Live) (said, string) {
	for _, t := range c.terms {
		on := live.beside(t)
		if t.payTo.text == "" || len(on) == 0 ||
			slices.ContainsFunc(on, func(o term) bool { return sameAddress(t.payTo.text, o.payTo.text) }) {
			continue
		}
		return t.payTo, values(on, func(o term) string { return o.payTo.text }, "none")
	}
	return said{}, ""
}

// sameAddress folds the case of an Ethereum address, whatever the network is called.
func sameAddress(a, b string) bool {
	return a == b || strings.HasPrefix(a, "0x") && strings.EqualFold(a, b)
}

// otherMethod says nothing of a method that was never tried and that the challenge does not name.
func otherMethod(c claim, live Live) (said, string) {
	m := c.method
	if m.text == "" || m.text == live.method() || live.Names == "" && !slices.Contains(live.Refused, m.text) {
		return said{}, ""
	}
	return m, live.method()
}

// otherInputs compares what either side requires with what the other knows.
func otherInputs(c claim, live Live) (said, string) {
	if !c.inputs.comparable() || !live.inputs.comparable() ||
		len(lacking(live.inputs.required, c.inputs.known))+len(lacking(c.inputs.required, live.inputs.known)) == 0 {
		return said{}, ""
	}
	shown := func(in *inputs) string { return list(in.known) + "; required: " + list(in.required) }
	return said{shown(c.inputs), c.inputs.at}, shown(live.inputs)
}

// values lists what the door says, each value once, or what is said in its place.
func values(terms []term, of func(term) string, none string) string {
	var out []string
	for _, t := range terms {
		if v := of(t); v != "" && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		return none
	}
	return strings.Join(out, ", ")
}
