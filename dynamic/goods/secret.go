package goods

import (
	"context"

	"agentstore/content"
)

// secret tells a secret once; the certificate says that it was told and not what it was.
var secret = Kind{
	Name:      content.KindSecret,
	Doc:       "a secret, told once and never to anyone else",
	Delivers:  text{},
	Counted:   true,
	Available: onceAvailable,
	Reserve:   once,
	Release:   onceRelease,
	Settle:    onceSettle,
	Make: func(_ context.Context, m Maker, o *Order) (*Made, error) {
		e, err := m.entry(o)
		if err != nil {
			return nil, err
		}
		return made(o, text{e.Text}, "A secret, told once. It is in deliverable.text and nowhere else.", ""), nil
	},
}
