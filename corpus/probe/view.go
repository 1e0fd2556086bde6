package probe

import (
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/stockclient"
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
	asMet    *stockclient.Door  // see met
	bought   []*bought          // see buys
	violates func() string      // see bazaarViolation
	offers   func() []offer     // of the header's challenge
	judged   map[string]outcome // by the version of a battery, see Battery.judge
	accounts *AccountWords      // what a node said of the entry that is judged; nil: nobody was asked, or unread
	unread   string             // says why the node's answer is none
}

// Requirement is one way of paying as a judgement sees it: an entry of accepts with a stand-in for
// its address. What the entry does not say, or says with another JSON type, is "" or 0.
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
	payTo  string           // as it is published
}

// told is a challenge and what its value holds.
type told struct {
	exchange.Challenge
	parsed any
}

// tell parses a challenge. What cannot be parsed is no value.
func tell(c exchange.Challenge) told {
	v, err := exchange.ParseValue(c.Value)
	if err != nil {
		c.Value = nil
	}
	return told{c, v}
}

// object is what a challenge holds that is one object of numbers that can be told apart.
func (t told) object() *exchange.Object {
	if o, ok := t.parsed.(*exchange.Object); ok && finite(o) {
		return o
	}
	return nil
}

// newView parses one redacted exchange. It never fails: what cannot be read is absent from the
// view, and checks say so.
func newView(r exchange.Redacted) *View {
	v := &View{Evidence: r}
	for _, c := range r.Challenges {
		switch c.From {
		case exchange.FromHeader:
			v.headers = append(v.headers, tell(c))
		case exchange.FromBody:
			v.body = new(tell(c))
		case exchange.FromAuthenticate:
			if len(v.mpp) < MaxEntries {
				v.mpp = append(v.mpp, v.newMPP(tell(c)))
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
	v.offers = sync.OnceValue(func() []offer {
		return readOffers(items(obj(v.extension(offerReceipt), "info"), "offers"))
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
	return told{parsed: v}.object()
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
	var out []Requirement
	for i, item := range list[:min(len(list), MaxEntries)] {
		out = append(out, requirement(i, item, v.Evidence.PayToDigest))
	}
	return out
}

// requirement reads one entry of accepts, of whose address digest knows the digest.
func requirement(i int, item any, digest func(network, address string) string) Requirement {
	entry, _ := item.(*exchange.Object)
	r := Requirement{Index: i, Scheme: str(entry, "scheme"), Network: str(entry, "network"),
		Amount: str(entry, "amount"),
		Asset:  str(entry, "asset"), PayToForm: exchange.FormNotAString, Extra: obj(entry, "extra"), fields: entry}
	if address, ok := member(entry, "payTo").(string); ok {
		r.payTo, r.PayToForm, r.PayToDigest = address, exchange.PayToForm(address), digest(r.Network, address)
	}
	return r
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
