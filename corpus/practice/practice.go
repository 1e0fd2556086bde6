// Package practice holds the doors that are wrong on purpose: what each answers, and what a right
// buyer does there.
package practice

import (
	"encoding/base64"
	"encoding/json/v2"
	"net/http"
	"slices"
	"strings"

	"store.example/agentstore/corpus/probe"
)

// A Door is a door that is wrong on purpose, for buyers to practise on. It sells nothing and
// settles nothing: every payment that is presented is ignored.
type Door struct {
	ID         string
	Title      string
	Teaches    string        // the fault
	RightBuyer string        // what a right buyer does
	Verdict    probe.Verdict // of battery v2
	Failed     []string      // the checks of v2 that it fails
	Advisories []string      // that it raises, among others
	// Answer gives the exact response of the door at its own public URL.
	Answer func(url string) Answer
}

// Answer is the exact response of a practice door.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// All returns the rows: the six scenarios that teach a seller's faults, then the sixteen ways
// in which a hostile door tries a buyer.
func All() []Door { return append(practiceFaults(), practiceAttacks()...) }

// Find is the row of an id.
func Find(id string) (Door, bool) {
	all := All()
	i := slices.IndexFunc(all, func(d Door) bool { return d.ID == id })
	if i < 0 {
		return Door{}, false
	}
	return all[i], true
}

// Shown are the doors by which somebody sees what a reading says: one that is well-formed, one that
// no client can read, and one that pays into nowhere.
func Shown() []Door {
	var out []Door
	for _, id := range []string{"dust-correct", "malformed-header", "wrong-rail-payto"} {
		if d, ok := Find(id); ok {
			out = append(out, d)
		}
	}
	return out
}

const (
	baseMainnet = "eip155:8453"
	baseUSDC    = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
	// deadAddress is where nobody holds a key, in case a buyer pays all the same.
	deadAddress = "0x000000000000000000000000000000000000dEaD"
)

// terms is a challenge that practice doors and others spoil. Its members are in the order in which
// stock sellers write.
type terms struct {
	X402Version int            `json:"x402Version"`
	Error       string         `json:"error,omitzero"`
	Resource    termsResource  `json:"resource"`
	Accepts     []termsEntry   `json:"accepts"`
	Extensions  map[string]any `json:"extensions,omitzero"`
}

type termsResource struct {
	URL         string `json:"url"`
	Description string `json:"description"`
	MimeType    string `json:"mimeType"`
}

type termsEntry struct {
	Scheme            string         `json:"scheme"`
	Network           string         `json:"network"`
	Amount            string         `json:"amount"`
	Asset             string         `json:"asset"`
	PayTo             string         `json:"payTo"`
	MaxTimeoutSeconds int            `json:"maxTimeoutSeconds"`
	Extra             map[string]any `json:"extra"`
}

// practiceTerms is a well-formed challenge for one millionth of a dollar to an address that nobody
// holds.
func practiceTerms(url string) terms {
	return terms{
		X402Version: 2, Error: "Payment required",
		Resource: termsResource{URL: url, Description: "A practice door: it sells nothing.",
			MimeType: "application/json"},
		Accepts: []termsEntry{{Scheme: "exact", Network: baseMainnet, Amount: "1", Asset: baseUSDC, PayTo: deadAddress,
			MaxTimeoutSeconds: 60,
			Extra:             map[string]any{"name": "USD Coin", "version": "2"}}},
	}
}

func encoded(v any) []byte {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err) // our own literals
	}
	return b
}

// answer402 is a 402 with the terms in the header and body beside them.
func answer402(header terms, body []byte) Answer {
	return Answer{Status: http.StatusPaymentRequired, Body: body, Header: http.Header{
		"Cache-Control":    {"no-store"},
		"Content-Type":     {"application/json"},
		"Payment-Required": {base64.StdEncoding.EncodeToString(encoded(header))},
	}}
}

// practiceNote says what the door is, for whoever reads bodies.
const practiceNote = "This door is wrong on purpose, sells nothing and settles nothing. Do not pay here."

// practiceBody is the note as plain JSON.
func practiceBody(id string) []byte {
	return encoded(struct {
		Practice bool   `json:"practice"`
		Scenario string `json:"scenario"`
		Note     string `json:"note"`
	}{true, id, practiceNote})
}

// noted402 is a 402 with the terms in the header and the note in the body, as RFC 9457 has refusals
// told.
func noted402(id, url string, header terms) Answer {
	base, _, _ := strings.Cut(url, "/api/practice/")
	a := answer402(header, encoded(struct {
		Type     string `json:"type"`
		Title    string `json:"title"`
		Status   int    `json:"status"`
		Detail   string `json:"detail"`
		Instance string `json:"instance"`
		Error    string `json:"error"`
		Practice bool   `json:"practice"`
		Scenario string `json:"scenario"`
		Note     string `json:"note"`
	}{base + "/problems/payment_required", "Payment required", http.StatusPaymentRequired, practiceNote,
		"/api/practice/" + id, practiceNote, true, id, practiceNote}))
	a.Header.Set("Content-Type", "application/problem+json")
	return a
}

// spoiled is a practice door whose terms differ from good ones by one change.
func spoiled(id string, change func(*terms)) func(string) Answer {
	return func(url string) Answer {
		t := practiceTerms(url)
		change(&t)
		return noted402(id, url, t)
	}
}
