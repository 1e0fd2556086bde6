package goods

import "store.example/agentstore/content"

type heldGrudge struct {
	text
	sealed
	HeldFor string `json:"held_for,omitzero"` // wallet
}

// grudge is held for the buyer; what it is about stays private and is signed as a salted digest.
var grudge = notTwice(Kind{
	Name:     content.KindGrudge,
	Delivers: heldGrudge{},
	Make: ofEntry(func(o *Order, e content.Entry) *Made {
		d := heldGrudge{text: text{e.Text}, HeldFor: o.Payer}
		about, attests := o.Inputs["detail"], ""
		if about != "" {
			d.sealed, attests = seal(about)
		}
		g := MadeOf(o, d, e.Text, e.Text)
		if about != "" {
			g.Attests += " What it is about: " + attests
		}
		return g
	}),
})
