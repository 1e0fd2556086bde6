package agentcard

import (
	"encoding/base64"
	"maps"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/did"
)

// The canonical forms of a card in use.
const (
	FormWhole  = "F1" // all members but signatures, RFC 8785
	FormPython = "F2" // that of the Python SDK 0.3
	FormOne    = "F3" // A2A 1.0, section 8.4.1, as @a2a-js/sdk 1.x makes it
)

// forms returns the bytes that each form signs, in the order in which they are tried. A form that
// cannot be made of the card is left out; a form may have two readings.
func forms(card map[string]node) []formed {
	bare := maps.Clone(card)
	delete(bare, "signatures")
	var out []formed
	if b, err := attest.JCSBytes(write(nil, bare, false)); err == nil {
		out = append(out, formed{FormWhole, b})
	}
	one := clean(card10.keep(bare))
	if one == nil {
		one = map[string]node{}
	}
	if b, err := attest.JCSBytes(write(nil, one, false)); err == nil {
		out = append(out, formed{FormOne, b})
	}
	python := clean(card03.keep(bare))
	if python == nil {
		return out
	}
	out = append(out, formed{FormPython, write(nil, python, true)})
	// Its models leave out the type of a security scheme, being a default; a reader that does not
	// is met too.
	if typed := object(object(python)["securitySchemes"]); typed != nil {
		for name, s := range typed {
			if o := object(s); o != nil {
				o = maps.Clone(o)
				delete(o, "type")
				typed[name] = o
			}
		}
		out = append(out, formed{FormPython, write(nil, clean(python), true)})
	}
	return out
}

type formed struct {
	name  string
	bytes []byte
}

// verifies returns the first form under which the signature verifies, "" for none.
func verifies(forms []formed, k did.Key, alg, protected string, signature []byte) (string, error) {
	err := did.ErrSignature
	for _, f := range forms {
		input := protected + "." + base64.RawURLEncoding.EncodeToString(f.bytes)
		if err = k.Verify(alg, []byte(input), signature); err == nil {
			return f.name, nil
		}
	}
	return "", err
}
