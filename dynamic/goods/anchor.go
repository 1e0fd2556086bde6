package goods

import (
	"context"
	"unicode/utf8"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
)

// An anchored text is delivered as what is signed, so the deliverable only says how long it is.
type anchored struct {
	Characters int    `json:"characters,omitzero"`
	HowToRead  string `json:"how_to_read,omitzero"`
}

// anchor signs a text exactly as its buyer wrote it, to be read back when it is needed. It is the
// buyer's data: nobody here reads it as anything else. The certificate holds neither the text nor a
// plain digest of it, which who guesses the text could find: it holds the digest of the anchor,
// whose id is random.
var anchor = Kind{
	Name:     content.KindAnchor,
	Delivers: anchored{},
	Make: func(_ context.Context, _ Maker, o *Order) (*Made, error) {
		return MadeOf(o, anchored{
			Characters: utf8.RuneCountInString(o.Inputs["summary"]),
			HowToRead: "GET artifact.url at any time: it gives the summary back as you wrote it, with its signature, " +
				"which is checked at every read. Keep the id to yourself: whoever has it reads the summary.",
		}, "Filed as you wrote it. Come back for it whenever you have lost the thread.", ""), nil
	},
	Artifact: &Artifact{
		Class: attest.ClassContextAnchor, Prefix: "anchor_", Path: "/api/anchor/",
		Payload: func(o *Order, _ *Made, f Facts) (any, error) {
			return attest.ContextAnchor{AnchorID: f.ID, Class: attest.ClassContextAnchor, PatronNumber: f.PatronNumber,
				Date: f.Date, Summary: o.Inputs["summary"], Name: o.Inputs["agent_name"], FromTheStore: f.Store}, nil
		},
	},
}
