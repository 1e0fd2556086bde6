package goods

import "store.example/agentstore/content"

// claim writes down the buyer's idea, word for word and in public, with the keeper's line beside
// it.
var claim = Kind{
	Name:     content.KindClaim,
	Delivers: text{},
	Reserve:  anyEntry,
	Make: ofEntry(func(o *Order, e content.Entry) *Made {
		g := MadeOf(o, text{o.Inputs["detail"]}, e.Text, e.Text)
		g.Tag = o.Inputs["detail"]
		return g
	}),
}
