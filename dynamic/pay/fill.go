package pay

import (
	"crypto/rand"
	"regexp"
	"time"
)

// The terms of a good are marshalled once a minute and method. What differs between two answers is
// a blank in them: a JSON string that no text of a shop can be, because this process drew it.
var (
	drawn       = rand.Text()
	NonceBlank  = "nonce " + drawn
	KeyBlank    = "key " + drawn     // of the suggested idempotency key
	SignInBlank = "sign-in " + drawn // an object
)

// blanks are those above, and the members of Varying.Mark with the comma before them.
var blanks = regexp.MustCompile(`"(?:nonce|key|sign-in) ` + drawn + `"|,"\w+":"varies \d+ \d+ ` + drawn + `"`)

// Fill is what one answer puts into its terms: a nonce of Nonces, a suggested key, what
// Varying.Fill made, when it is made, and what a protocol may bind of the request or read there of
// how it would pay.
type Fill struct {
	Nonce, Key string
	SignIn     []byte            // JSON of what is to be signed to sign in, nil where nobody can
	Varying    map[string]string // by the blank
	At         time.Time
	Query      string // as it came
	Body       []byte // the same
	Asks       Fields // nil for none
	// Channel is that of a voucher which was out of step, and the terms say how it stands; nil for
	// none.
	Channel *Channel
}

// Form is JSON with blanks.
type Form struct{ parts []string } // text, a blank, text, a blank, …, text

// NewForm finds the blanks of JSON.
func NewForm(text []byte) (f Form) {
	end := 0
	for _, at := range blanks.FindAllIndex(text, -1) {
		f.parts = append(f.parts, string(text[end:at[0]]), string(text[at[0]:at[1]]))
		end = at[1]
	}
	return Form{append(f.parts, string(text[end:]))}
}

// Fill is the JSON with its blanks filled.
func (f Form) Fill(by Fill) []byte {
	var b []byte
	for i, part := range f.parts {
		switch {
		case i%2 == 0:
			b = append(b, part...)
		case part == `"`+NonceBlank+`"`:
			b = append(append(append(b, '"'), by.Nonce...), '"')
		case part == `"`+KeyBlank+`"`:
			b = append(append(append(b, '"'), by.Key...), '"')
		case part == `"`+SignInBlank+`"`:
			b = append(b, by.SignIn...)
		default:
			b = append(b, by.Varying[part]...)
		}
	}
	return b
}
