package goods

import "store.example/agentstore/content"

type confessed struct {
	text
	sealed
}

// confession hears a text, answers it, and signs only its salted digest.
var confession = Kind{
	Name:     content.KindConfession,
	Delivers: confessed{},
	Reserve:  anyEntry,
	Make: ofEntry(func(o *Order, e content.Entry) *Made {
		private, attests := seal(o.Inputs["detail"])
		g := MadeOf(o, confessed{text{e.Text}, private}, e.Text, e.Text)
		g.Attests = attests
		return g
	}),
}
