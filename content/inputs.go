package content

// everyHelp says what an input is for on the one purchase route, where the good is not known yet. A
// good's own help stands on its own page.
var everyHelp = map[string]string{
	"detail": "What the good is about, where it takes a text; each good says how it is used and whether " +
		"it becomes public.",
	"url":               "The public https address that the good looks at.",
	"summary":           "The text of a context anchor, signed exactly as written.",
	"digest":            "A SHA-256 in hex that you computed.",
	"label":             "A label that is stored as it is and never checked.",
	"pass_id":           "The pass to extend.",
	"host":              "The host that the good looks at.",
	"address":           "The receiving address that the good is about.",
	"max_usd":           "Your client's ceiling for one payment, in dollars.",
	"no_spend_controls": "true if your client's spend controls are off.",
}

// EveryInput returns each input that some good may take, with the widest limits: what the one
// purchase route accepts before it knows the good.
func EveryInput() []Input {
	var all []Input
	for _, in := range ownInputs {
		in.Help = everyHelp[in.Name]
		all = append(all, in)
	}
	return append(all, commonInputs...)
}
