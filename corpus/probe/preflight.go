package probe

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"agentstore/corpus/exchange"
)

// Kinds of requests that a preflight asks for.
const (
	KindGet          = "get"
	KindDeclaredPost = "declared-post"
)

// DeclaredByAllow is where a door declared POST that says so in the Allow header of its answer to GET.
const DeclaredByAllow = "allow"

// A Declaration says that a door is asked with POST, and where it said so itself. The zero value is no declaration.
type Declaration struct {
	Method string // POST counts; GET is what is asked anyway
	By     string // such as "well-known", "openapi", "catalog"
}

// Preflight looks at one door under one battery: a GET and, under v2, a POST of an empty JSON object where the door
// declares POST, in the Allow header of a 405 or 501 or in the Declaration that is handed in. It implements
// Checker[Report].
type Preflight struct {
	url      string
	battery  Battery
	declared Declaration
}

// NewPreflight returns the checker of a version, one of Versions, for an absolute URL.
func NewPreflight(version, url string, declared Declaration) (*Preflight, error) {
	b, err := batteryOf(version)
	if err != nil {
		return nil, err
	}
	if url == "" || len(url) > exchange.MaxURL {
		return nil, fmt.Errorf("making a preflight: a URL of %d bytes", len(url))
	}
	if declared.By == "" {
		declared.By = "declaration"
	}
	return &Preflight{url: url, battery: b, declared: declared}, nil
}

// Name is preflight/ and the version.
func (p *Preflight) Name() string { return "preflight/" + p.battery.Version }

// MaxRequests is 2 where the battery may use a declared POST.
func (p *Preflight) MaxRequests() int {
	if p.battery.Post {
		return 2
	}
	return 1
}

// ErrRecording is returned for a recording that is not of this door or not of this checker.
var ErrRecording = errors.New("not a recording of this look")

// Step asks for the GET, then for the POST where it may, then reports.
func (p *Preflight) Step(recorded []exchange.Exchange) (Report, *Next, error) {
	if len(recorded) == 0 {
		return Report{}, &Next{Kind: KindGet, Request: exchange.Request{Method: http.MethodGet, URL: p.url, Header: http.Header{"Accept": {"application/json"}}}}, nil
	}
	var evidence []exchange.Redacted
	for i, x := range recorded {
		want := []string{http.MethodGet, http.MethodPost}
		if i >= p.MaxRequests() || x.Request.Method != want[i] || x.Request.URL != p.url {
			return Report{}, nil, fmt.Errorf("%w: request %d is %.16q %.200q", ErrRecording, i, x.Request.Method, x.Request.URL)
		}
		evidence = append(evidence, redact(x))
	}
	if len(recorded) == 1 && p.mayPost(evidence[0]) != "" {
		return Report{}, &Next{Kind: KindDeclaredPost, Request: exchange.Request{Method: http.MethodPost, URL: p.url,
			Header: http.Header{"Accept": {"application/json"}, "Content-Type": {"application/json"}}, Body: []byte("{}")}}, nil
	}
	return p.Judge(evidence), nil, nil
}

// redact never fails: an exchange beyond the bounds of a recording is judged as a head that could not be read.
func redact(x exchange.Exchange) exchange.Redacted {
	x.Request.Method = strings.ToValidUTF8(x.Request.Method, "�")
	x.Response.Proto = strings.ToValidUTF8(x.Response.Proto, "�")
	r, err := x.Redact()
	if err == nil {
		return r
	}
	x.Response = exchange.Response{}
	x.Request.Header, x.Request.Body = nil, nil
	x.Request.URL = x.Request.URL[:min(len(x.Request.URL), exchange.MaxURL)]
	x.Error = exchange.Error{Stage: exchange.StageHeaders, Text: "the answer is beyond what is recorded"}
	x.Duration = 0
	if r, err = x.Redact(); err != nil {
		return exchange.Redacted{Format: exchange.RedactedFormat, Error: x.Error}
	}
	return r
}

// mayPost returns where the door declared POST, "" when this look does not use it.
func (p *Preflight) mayPost(r exchange.Redacted) string {
	by := p.declaredBy(r)
	if !p.battery.Post {
		return ""
	}
	return by
}

// declaredBy returns where the door declared POST, "" when it did not, or when GET was answered well enough.
func (p *Preflight) declaredBy(r exchange.Redacted) string {
	status := r.Status
	switch {
	case status == 0 || status == http.StatusPaymentRequired:
		return ""
	case refusesMethod(status) && allows(r, http.MethodPost):
		return DeclaredByAllow
	case strings.EqualFold(p.declared.Method, http.MethodPost):
		return p.declared.By
	}
	return ""
}

func refusesMethod(status int) bool {
	return status == http.StatusMethodNotAllowed || status == http.StatusNotImplemented
}

// Judge reports on the published evidence of a look: the GET and, if there was one, the POST. It gives the report that
// Step gave, because Step reads nothing else. evidence holds at least one exchange.
func (p *Preflight) Judge(evidence []exchange.Redacted) Report {
	v, first, used := p.views(evidence)
	mine := p.battery.judge(v)
	also, beside := p.alsoUnder(mine, v, first, used)
	rung := level(v)
	r := Report{
		Version: p.battery.Version, URL: p.shownURL(v), Verdict: mine.verdict,
		ReachedLevel: rung.Name, ReachedLevelMeaning: rung.Meaning,
		Checks: []CheckResult{}, ChecksVector: mine.vector, Advisories: []Note{},
		AlsoUnder: beside, Others: also,
		ProtocolsSpoken: v.protocols(),
		ProbeMethod:     ProbeMethod{Used: v.Evidence.Method, Attempted: []string{}, DeclaredBy: used},
		Evidence:        shownEvidence(v),
		Remediation:     []Remedy{},
		Fault:           fault(v, mine.verdict),
		SingleProbeNote: singleProbeNote, CannotTell: cannotTell(), NextSteps: nextSteps(mine.verdict, p.battery.Version),
		Terms: v.accepts,
	}
	for _, e := range evidence {
		r.ProbeMethod.Attempted = append(r.ProbeMethod.Attempted, e.Method)
	}
	for i, entry := range mine.vector {
		if entry.State != NotReached {
			r.Checks = append(r.Checks, CheckResult{Name: entry.Name, OK: entry.State == Pass, Detail: entry.Detail})
		}
		if entry.State == Fail {
			r.Remediation = append(r.Remediation, Remedy{Check: entry.Name, Fix: p.battery.Checks[i].Fix})
		}
	}
	if v.Evidence.Status != 0 {
		for _, a := range advisories() {
			if detail := a.Run(v); detail != "" {
				r.Advisories = append(r.Advisories, Note{Name: a.Name, Detail: detail})
			}
		}
	}
	return r
}

// views parses the answer to GET and that which is judged, which is another where used says who declared POST.
func (p *Preflight) views(evidence []exchange.Redacted) (judged, first *View, used string) {
	first = newView(evidence[0])
	by := p.declaredBy(evidence[0])
	first.Declared = by
	// Where POST is declared, the answer to GET is not the door's, whatever it is.
	first.Unresolved = by != "" || refusesMethod(first.Evidence.Status)
	if p.battery.Post && len(evidence) > 1 && by != "" && evidence[1].Status != 0 {
		judged = newView(evidence[1])
		judged.Unresolved = refusesMethod(judged.Evidence.Status)
		return judged, first, by
	}
	return first, first, ""
}

// shownURL is the asked URL as far as it may be published.
func (p *Preflight) shownURL(v *View) string {
	if v.Evidence.URL != "" {
		return v.Evidence.URL
	}
	return strings.ToValidUTF8(p.url, "�")
}

// alsoUnder returns what every other battery makes of the same recording, sorted by version, and of these the one that
// a report shows: the version before this one, or the next one beside the oldest.
func (p *Preflight) alsoUnder(mine outcome, v, first *View, used string) (also []AlsoUnder, beside AlsoUnder) {
	passed := false
	for _, b := range batteries() {
		if b.Version == p.battery.Version {
			passed = true
			continue
		}
		view := first
		if b.Post {
			view = v // where this battery judged the GET alone, that is the same
		}
		theirs := b.judge(view)
		also = append(also, AlsoUnder{Version: b.Version, Verdict: theirs.verdict, Difference: p.difference(b, mine, theirs, used)})
		if !passed || beside.Version == "" {
			beside = also[len(also)-1]
		}
	}
	slices.SortFunc(also, func(a, b AlsoUnder) int { return strings.Compare(a.Version, b.Version) })
	return also, beside
}

// difference says in words why another battery does not agree, "" when it does.
func (p *Preflight) difference(beside Battery, mine, theirs outcome, posted string) string {
	if mine.verdict == theirs.verdict && slices.Equal(mine.failed, theirs.failed) {
		return ""
	}
	if posted != "" && !beside.Post {
		return fmt.Sprintf("%s judged the POST that the door declares (%s); %s judges the GET alone", p.battery.Version, posted, beside.Version)
	}
	say := func(b, without Battery, o, other outcome) string {
		for _, name := range o.failed {
			if !slices.Contains(other.failed, name) {
				return fmt.Sprintf("%s fails under %s; %s does not ask it", name, b.Version, without.Version)
			}
		}
		return ""
	}
	if s := say(p.battery, beside, mine, theirs); s != "" {
		return s
	}
	return say(beside, p.battery, theirs, mine)
}

// maxShownChallenge is the most bytes of terms that a report repeats; the published evidence has them whole.
const maxShownChallenge = 64 << 10

func shownEvidence(v *View) Evidence {
	r := v.Evidence
	e := Evidence{Status: r.Status, Headers: r.Headers, BodySHA256: r.Body.SHA256, BodyBytes: r.Body.Bytes,
		Challenge: v.challenge(), ObservedAt: r.StartedAt, Digest: r.Digest()}
	if e.Headers == nil {
		e.Headers = []exchange.HeaderLine{}
	}
	if e.Challenge != nil && len(e.Challenge.Value) > maxShownChallenge {
		e.Challenge.Value, e.Challenge.Problem = nil, "too long to be repeated here"
	}
	return e
}
