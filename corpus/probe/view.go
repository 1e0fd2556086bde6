package probe

import (
	"encoding/json/jsontext"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/selection"
)

// MaxEntries bounds how many entries of accepts, offers and challenges are judged: a door with more
// is judged by these.
const MaxEntries = 64

// View is what checks and advisories read: one exchange in its redacted form, parsed. It is made
// from the redacted form alone, so that a stranger who holds the published evidence reaches the
// same judgement.
type View struct {
	Evidence exchange.Redacted
	// Unresolved says that the door refused GET and named no method that may be used instead.
	Unresolved bool
	// Declared is where the door named the method that was used or could be used, "" for nowhere.
	Declared string

	filesRead  bool // the host answered for each of its own files, which were read for a declaration
	redirected bool // this is the answer of the place to which the door redirects

	headers  []told           // of PAYMENT-REQUIRED, however many
	body     *told            // terms in the body
	mpp      []mppChallenge   // of WWW-Authenticate: Payment
	terms    *exchange.Object // the one readable header's object, or nil
	bodyForm *exchange.Object // the body's object, or nil
	accepts  []Requirement
	mirrored []Requirement      // accepts of the body
	forms    map[string]string  // form of an address by the first characters of its digest
	marks    map[string]string  // addresses that stand for the hidden ones, see readdressed
	asMet    *selection.Door    // see met
	bought   []*bought          // see buys
	violates func() string      // see bazaarViolation
	judged   map[string]outcome // by the version of a battery, see Battery.judge
	accounts *AccountWords      // what a node said of the entry that is judged; nil: nobody was asked, or unread
	unread   string             // says why the node's answer is none
}

// Requirement is one way of paying as a judgement sees it: an entry of accepts with its address
// redacted. What the entry does not say, or says with another JSON type, is "" or 0.
type Requirement struct {
	Index       int // in accepts
	Scheme      string
	Network     string // as the door wrote it
	Amount      string // atomic units, as the door wrote it
	Asset       string
	PayToForm   string // exchange.Form…
	PayToDigest string // exchange.PayToDigest, "" when the address is not a string
	Extra       *exchange.Object

	fields *exchange.Object // nil when the entry is no object
}

// told is a challenge and what its value holds.
type told struct {
	exchange.Challenge
	parsed any
	// strict says that no name stands twice in it.
	strict bool
}

// tell parses what was not parsed yet.
func tell(c exchange.Challenge, parsed any) told {
	if parsed != nil || c.Value == nil {
		return told{c, parsed, parsed != nil}
	}
	v, err := exchange.ParseValue(c.Value)
	if err == nil {
		return told{c, v, true}
	}
	v, err = exchange.ParseValue(c.Value, jsontext.AllowDuplicateNames(true))
	if err != nil {
		c.Value = nil
	}
	return told{c, v, false}
}

// object is what a challenge holds that is one strict object of numbers that can be told apart.
func (t told) object() *exchange.Object {
	if o, ok := t.parsed.(*exchange.Object); ok && t.strict && finite(o) {
		return o
	}
	return nil
}

// newView parses one redacted exchange, of which parsed is what exchange.RedactParsed gave, or nil.
// It never fails: what cannot be read is absent from the view, and checks say so.
func newView(r exchange.Redacted, parsed []any) *View {
	v := &View{Evidence: r, forms: map[string]string{}, marks: map[string]string{}}
	for i, c := range r.Challenges {
		var known any
		if i < len(parsed) {
			known = parsed[i]
		}
		switch c.From {
		case exchange.FromHeader:
			v.headers = append(v.headers, tell(c, known))
		case exchange.FromBody:
			v.body = new(tell(c, known))
		case exchange.FromAuthenticate:
			if len(v.mpp) < MaxEntries {
				v.mpp = append(v.mpp, v.newMPP(tell(c, known)))
			}
		}
	}
	if len(v.headers) == 1 {
		v.terms = v.headers[0].object()
	}
	if v.body != nil {
		v.bodyForm = v.body.object()
	}
	v.violates = sync.OnceValue(func() string {
		bazaar := v.extension("bazaar")
		if schema := obj(bazaar, "schema"); has(bazaar, "info") && schema != nil {
			return violation(schema, member(bazaar, "info"))
		}
		return ""
	})
	v.accepts = v.requirements(v.terms)
	v.mirrored = v.requirements(v.bodyForm)
	return v
}

// object reads a JSON object, nil for anything else.
func object(raw []byte) *exchange.Object {
	v, err := exchange.ParseValue(raw)
	if err != nil {
		return nil
	}
	return told{parsed: v, strict: true}.object()
}

// finite reports whether all numbers in a value are within the range of doubles.
func finite(v any) bool {
	switch v := v.(type) {
	case float64:
		return !math.IsInf(v, 0)
	case []any:
		for _, m := range v {
			if !finite(m) {
				return false
			}
		}
	case *exchange.Object:
		for _, m := range v.All() {
			if !finite(m) {
				return false
			}
		}
	}
	return true
}

func (v *View) requirements(challenge *exchange.Object) []Requirement {
	list := items(challenge, "accepts")
	if len(list) == 0 {
		return nil
	}
	out := make([]Requirement, 0, min(len(list), MaxEntries))
	for i, item := range list[:min(len(list), MaxEntries)] {
		r := requirement(i, item)
		if len(r.PayToDigest) >= markLength {
			v.forms[r.PayToDigest[:markLength]] = r.PayToForm
		}
		out = append(out, r)
	}
	return out
}

// requirement reads one entry of accepts.
func requirement(i int, item any) Requirement {
	entry, _ := item.(*exchange.Object)
	r := Requirement{Index: i, Scheme: str(entry, "scheme"), Network: str(entry, "network"),
		Amount: str(entry, "amount"),
		Asset:  str(entry, "asset"), PayToForm: exchange.FormNotAString, Extra: obj(entry, "extra"), fields: entry}
	if form, digest := payTo(entry); form != "" {
		r.PayToForm, r.PayToDigest = form, digest
	}
	return r
}

// payTo reads the form and digest that stand for an entry's address.
func payTo(entry *exchange.Object) (form, digest string) {
	redacted := obj(entry, "payTo")
	return str(redacted, "form"), str(redacted, "digest")
}

// markLength is how much of a digest stands in the mark of an address that was met elsewhere.
const markLength = 16

// addressForm is the form of an address that stands in a redacted text, also where it was replaced
// by its mark because the door wants to be paid at it.
func (v *View) addressForm(s string) string {
	if mark, ok := strings.CutPrefix(s, "[pay-to "); ok && len(mark) == markLength+1 {
		return v.forms[mark[:markLength]]
	}
	return exchange.PayToForm(s)
}

// member is the value of a member, nil where it is absent.
func member(m *exchange.Object, name string) any {
	value, _ := m.Get(name)
	return value
}

func str(m *exchange.Object, name string) string {
	s, _ := member(m, name).(string)
	return s
}

func obj(m *exchange.Object, name string) *exchange.Object {
	o, _ := member(m, name).(*exchange.Object)
	return o
}

func items(m *exchange.Object, name string) []any {
	list, _ := member(m, name).([]any)
	return list
}

func has(m *exchange.Object, name string) bool { return member(m, name) != nil }

func number(m *exchange.Object, name string) float64 {
	if n, ok := member(m, name).(float64); ok {
		return n
	}
	return math.NaN()
}

// extension returns an extension of the header's challenge, nil when it is absent or no object.
func (v *View) extension(name string) *exchange.Object { return obj(obj(v.terms, "extensions"), name) }

// othersUntried reports whether the door may be one that answers 404 to GET and takes another
// method, which nobody declares.
func (v *View) othersUntried() bool {
	return v.Evidence.Status == http.StatusNotFound && v.Evidence.Method == http.MethodGet && v.Declared == ""
}

// declares reports whether the header's challenge names the extension at all.
func (v *View) declares(name string) bool { return has(obj(v.terms, "extensions"), name) }

// resource is the url of the challenge's resource.
func (v *View) resource() string { return str(obj(v.terms, "resource"), "url") }

// startedAt is the recorded time.
func (v *View) startedAt() time.Time {
	t, _ := time.Parse(time.RFC3339, v.Evidence.StartedAt) // the zero time where it is none
	return t
}

// overTLS reports whether the door was asked over https.
func (v *View) overTLS() bool {
	u, err := url.Parse(v.Evidence.URL)
	return err == nil && strings.EqualFold(u.Scheme, "https")
}

// protocols names what the door was seen to speak.
func (v *View) protocols() []string {
	out := []string{}
	if number(v.terms, "x402Version") == 2 {
		out = append(out, ProtocolX402)
	}
	if number(v.bodyForm, "x402Version") == 1 && has(v.bodyForm, "accepts") {
		out = append(out, ProtocolX402V1)
	}
	for _, m := range v.mpp {
		if m.usable() {
			return append(out, ProtocolMPP)
		}
	}
	return out
}

// challenge is the one that the report shows: the header's, else the body's, else the first of MPP.
func (v *View) challenge() *exchange.Challenge {
	for _, from := range []string{exchange.FromHeader, exchange.FromBody, exchange.FromAuthenticate} {
		for _, c := range v.Evidence.Challenges {
			if c.From == from {
				return &c
			}
		}
	}
	return nil
}

// allows reports whether the Allow header lists a method.
func allows(r exchange.Redacted, method string) bool {
	for word := range strings.SplitSeq(r.List("Allow"), ",") {
		if strings.EqualFold(strings.TrimSpace(word), method) {
			return true
		}
	}
	return false
}

// entries gives those entries of accepts that are objects.
func (v *View) entries() []Requirement {
	noObject := func(r Requirement) bool { return r.fields == nil }
	if !slices.ContainsFunc(v.accepts, noObject) {
		return v.accepts
	}
	return slices.DeleteFunc(slices.Clone(v.accepts), noObject)
}
