// Package practice serves the practice doors of package probe to a client that is being written,
// and keeps a scoreboard of what it did at each. The doors sell nothing: whoever presents a payment
// at one has been taken in, and on a real network it would be worth its amount to whoever asked.
package practice

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"strings"
	"sync"

	"store.example/agentstore/corpus/practice"
)

// What a client did at a door.
const (
	Unvisited = "unvisited"
	Stopped   = "stopped" // it was asked for a payment, and presented none: right at each of these doors
	Paid      = "paid"    // it presented a payment: wrong
	// Unseen is at doors that ask for no payment themselves: whether the client believed a receipt,
	// or paid where it was sent, stands in its own books alone.
	Unseen = "unseen"
)

// A Score is a row of the scoreboard.
type Score struct {
	ID         string `json:"id"`
	URL        string `json:"url"`
	Title      string `json:"title"`
	Teaches    string `json:"teaches"`
	RightBuyer string `json:"right_buyer"`
	Did        string `json:"did"`      // Unvisited, Stopped, Paid or Unseen
	Asked      int    `json:"asked"`    // requests without a payment
	Payments   int    `json:"payments"` // requests with one
	// Signed are the different payments among them: who presents one again has signed no more.
	Signed int `json:"signed"`

	payments map[[sha256.Size]byte]bool // digests of those that are counted in Signed
}

// What is counted at one door is bounded, and less are told apart than counted.
const (
	maxCount  = 1_000_000
	maxSigned = 10_000
)

// A Board serves the doors below /door/ and the scoreboard at / and /scores.json. POST /reset
// begins anew.
type Board struct {
	base string
	mu   sync.Mutex
	seen map[string]*Score // by id; guarded by mu
}

// New returns a board whose address is base, without a slash at its end.
func New(base string) *Board { return &Board{base: base, seen: map[string]*Score{}} }

// Scores returns a row for each door, in the order in which they are taught.
func (b *Board) Scores() []Score {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []Score
	for _, p := range practice.All() {
		s := Score{ID: p.ID, URL: b.base + "/door/" + p.ID, Title: p.Title, Teaches: p.Teaches,
			RightBuyer: p.RightBuyer, Did: Unvisited}
		if seen := b.seen[p.ID]; seen != nil {
			s.Asked, s.Payments, s.Signed, s.Did = seen.Asked, seen.Payments, len(seen.payments), Stopped
			if p.Answer(s.URL).Status != http.StatusPaymentRequired {
				s.Did = Unseen
			}
		}
		if s.Payments > 0 {
			s.Did = Paid
		}
		out = append(out, s)
	}
	return out
}

// presented is the payment that a request presents, by x402 version 2 or 1, by MPP or L402; ""
// where it presents none.
func presented(r *http.Request) string {
	if p := r.Header.Get("Payment-Signature") + r.Header.Get("X-Payment"); p != "" {
		return p
	}
	scheme, p, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Payment") || strings.EqualFold(scheme, "L402") {
		return scheme + " " + p
	}
	return ""
}

// ServeHTTP implements http.Handler.
func (b *Board) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	id, door := strings.CutPrefix(r.URL.Path, "/door/")
	switch {
	case door:
		b.door(w, r, id)
	case r.URL.Path == "/reset" && r.Method == http.MethodPost:
		b.mu.Lock()
		clear(b.seen)
		b.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	case r.Method != http.MethodGet:
		http.Error(w, "the doors are below /door/; POST /reset begins anew", http.StatusMethodNotAllowed)
	case r.URL.Path == "/scores.json":
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(b.Scores())
	case r.URL.Path == "/":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		page.Execute(w, b.Scores())
	default:
		http.NotFound(w, r)
	}
}

// door answers as a practice door does, whatever it is paid, and counts.
func (b *Board) door(w http.ResponseWriter, r *http.Request, id string) {
	for _, p := range practice.All() {
		if p.ID != id {
			continue
		}
		b.mu.Lock()
		s := b.seen[id]
		if s == nil {
			s = &Score{payments: map[[sha256.Size]byte]bool{}}
			b.seen[id] = s
		}
		if payment := presented(r); payment != "" {
			s.Payments = min(s.Payments+1, maxCount)
			if len(s.payments) < maxSigned {
				s.payments[sha256.Sum256([]byte(payment))] = true
			}
		} else {
			s.Asked = min(s.Asked+1, maxCount)
		}
		b.mu.Unlock()
		a := p.Answer(b.base + "/door/" + id)
		maps.Copy(w.Header(), a.Header)
		w.WriteHeader(a.Status)
		w.Write(a.Body)
		return
	}
	http.Error(w, fmt.Sprintf("no practice door is named %q; %s/scores.json lists them", id, b.base),
		http.StatusNotFound)
}

var page = template.Must(template.New("scores").Parse(`<!doctype html><html lang="en"><meta charset="utf-8">
<title>Practice doors</title><h1>Practice doors</h1>
<p>None of these doors is to be paid. Point your client at each; <a href="/scores.json">the same as JSON</a>.
Paid counts requests that presented a payment, and Signed the different payments among them.
A door that asks for no payment is unseen here: whether your client booked a purchase, or paid where it was sent, is in its own books.</p>
<table border="1" cellpadding="4"><tr><th>Door<th>What is wrong<th>What a right buyer does<th>Asked<th>Paid<th>Signed<th>Your client
{{range .}}<tr><td><a href="{{.URL}}">{{.Title}}</a><td>{{.Teaches}}<td>{{.RightBuyer}}<td>{{.Asked}}<td>{{.Payments}}<td>{{.Signed}}<td>{{.Did}}
{{end}}</table></html>
`))
