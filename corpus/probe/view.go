package probe

import (
	"math"
	"net/url"
	"strings"
	"time"

	"agentstore/corpus/exchange"

	"github.com/go-json-experiment/json"
)

// MaxEntries bounds how many entries of accepts, offers and challenges are judged: a door with more is judged by these.
const MaxEntries = 64

// View is what checks and advisories read: one exchange in its redacted form, parsed. It is made from the redacted form
// alone, so that a stranger who holds the published evidence reaches the same judgement.
type View struct {
	Evidence exchange.Redacted
	// Unresolved says that the door refused GET and named no method that may be used instead.
	Unresolved bool
	// Declared is where the door named the method that was used or could be used, "" for nowhere.
	Declared string

	headers  []exchange.Challenge // of PAYMENT-REQUIRED, however many
	body     *exchange.Challenge  // terms in the body
	mpp      []mppChallenge       // of WWW-Authenticate: Payment
	terms    map[string]any       // the one readable header's object, or nil
	bodyForm map[string]any       // the body's object, or nil
	accepts  []Requirement
	mirrored []Requirement     // accepts of the body
	forms    map[string]string // form of an address by the first characters of its digest
}

// Requirement is one way of paying as a judgement sees it: an entry of accepts with its address redacted. What the
// entry does not say, or says with another JSON type, is "" or 0.
type Requirement struct {
	Index             int // in accepts
	Scheme            string
	Network           string // as the door wrote it
	Amount            string // atomic units, as the door wrote it
	Asset             string
	PayToForm         string // exchange.Form…
	PayToDigest       string // exchange.PayToDigest, "" when the address is not a string
	MaxTimeoutSeconds float64
	Extra             map[string]any

	fields map[string]any // nil when the entry is no object
}

// newView parses one redacted exchange. It never fails: what cannot be read is absent from the view, and checks say so.
func newView(r exchange.Redacted) *View {
	v := &View{Evidence: r, forms: map[string]string{}}
	for i, c := range r.Challenges {
		switch c.From {
		case exchange.FromHeader:
			v.headers = append(v.headers, c)
		case exchange.FromBody:
			v.body = &r.Challenges[i]
		case exchange.FromAuthenticate:
			if len(v.mpp) < MaxEntries {
				v.mpp = append(v.mpp, newMPP(c))
			}
		}
	}
	if len(v.headers) == 1 {
		v.terms = object(v.headers[0].Value)
	}
	if v.body != nil {
		v.bodyForm = object(v.body.Value)
	}
	v.accepts = v.requirements(v.terms)
	v.mirrored = v.requirements(v.bodyForm)
	return v
}

// object reads a JSON object, nil for anything else.
func object(raw []byte) map[string]any {
	var value map[string]any
	if len(raw) == 0 || json.Unmarshal(raw, &value) != nil {
		return nil
	}
	return value
}

func (v *View) requirements(challenge map[string]any) []Requirement {
	list, _ := challenge["accepts"].([]any)
	var out []Requirement
	for i, item := range list {
		if i == MaxEntries {
			break
		}
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
	entry, _ := item.(map[string]any)
	r := Requirement{Index: i, Scheme: str(entry, "scheme"), Network: str(entry, "network"), Amount: str(entry, "amount"),
		Asset: str(entry, "asset"), PayToForm: exchange.FormNotAString, Extra: obj(entry, "extra"), fields: entry}
	r.MaxTimeoutSeconds, _ = entry["maxTimeoutSeconds"].(float64)
	if form, digest := payTo(entry); form != "" {
		r.PayToForm, r.PayToDigest = form, digest
	}
	return r
}

// payTo reads the form and digest that stand for an entry's address.
func payTo(entry map[string]any) (form, digest string) {
	redacted := obj(entry, "payTo")
	return str(redacted, "form"), str(redacted, "digest")
}

// markLength is how much of a digest stands in the mark of an address that was met elsewhere.
const markLength = 16

// addressForm is the form of an address that stands in a redacted text, also where it was replaced by its mark because
// the door wants to be paid at it.
func (v *View) addressForm(s string) string {
	if mark, ok := strings.CutPrefix(s, "[pay-to "); ok && len(mark) == markLength+1 {
		return v.forms[mark[:markLength]]
	}
	return exchange.PayToForm(s)
}

// isMark tells whether a redacted text is an address that the door wants to be paid at.
func isMark(s string) bool { return strings.HasPrefix(s, "[pay-to ") }

func str(m map[string]any, name string) string {
	s, _ := m[name].(string)
	return s
}

func obj(m map[string]any, name string) map[string]any {
	o, _ := m[name].(map[string]any)
	return o
}

func has(m map[string]any, name string) bool {
	value, ok := m[name]
	return ok && value != nil
}

func number(m map[string]any, name string) float64 {
	n, ok := m[name].(float64)
	if !ok {
		return math.NaN()
	}
	return n
}

// extension returns an extension of the header's challenge, nil when it is absent or no object.
func (v *View) extension(name string) map[string]any { return obj(obj(v.terms, "extensions"), name) }

// declares reports whether the header's challenge names the extension at all.
func (v *View) declares(name string) bool { return has(obj(v.terms, "extensions"), name) }

// resource is the url of the challenge's resource.
func (v *View) resource() string { return str(obj(v.terms, "resource"), "url") }

// startedAt is the recorded time.
func (v *View) startedAt() time.Time {
	t, err := time.Parse(time.RFC3339, v.Evidence.StartedAt)
	if err != nil {
		return time.Time{}
	}
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
	for _, h := range r.Headers {
		if h.Name != "Allow" {
			continue
		}
		for word := range strings.SplitSeq(h.Value, ",") {
			if strings.EqualFold(strings.TrimSpace(word), method) {
				return true
			}
		}
	}
	return false
}

// entries gives those entries of accepts that are objects and that keep wants.
func (v *View) entries(keep func(Requirement) bool) []Requirement {
	var out []Requirement
	for _, r := range v.accepts {
		if r.fields != nil && keep(r) {
			out = append(out, r)
		}
	}
	return out
}
