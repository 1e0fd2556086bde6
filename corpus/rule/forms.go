package rule

import _ "embed"

//go:embed forms.txt
var forms []byte

// Forms is the table of the forms of a record: of every object its members in their order, and what
// each of them may be. It is made for whoever writes a verifier, and its head says how it is read.
func Forms() []byte { return append([]byte(nil), forms...) }
