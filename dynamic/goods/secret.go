package goods

import "store.example/agentstore/content"

// secret tells a secret once; the certificate says that it was told and not what it was.
var secret = once(Kind{
	Name:     content.KindSecret,
	Delivers: text{},
	Make: ofEntry(func(o *Order, e content.Entry) *Made {
		return MadeOf(o, text{e.Text}, "A secret, told once. It is in deliverable.text and nowhere else.", "")
	}),
})
