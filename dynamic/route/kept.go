package route

import "net/http"

// Kept is an answer of 200 that a handler has given and that may be given again, to every plain GET
// of the same path with the same Accept field, before anything is looked up for it. A handler
// leaves it in its Request where the answer follows from nothing else that a client sends.
type Kept struct {
	Body []byte
	// Holds looks at what the answer follows from and reports whether it still does. Where it does,
	// it sets those fields of h that change with the time; the others stay as they were.
	Holds func(r *http.Request, h http.Header) bool
}

// Keep lets an answer be given again.
func Keep(r *http.Request, k *Kept) { Of(r).Kept = k }
