package probe

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"store.example/agentstore/corpus/exchange"
)

// Kinds of requests that a preflight asks for.
const (
	KindGet          = "get"
	KindDeclaredPost = "declared-post"
	KindRedirect     = "redirect" // where the door sends its callers on its own host
	KindOwnFile      = "own-file" // in which the host may declare the door's method
)

// DeclaredByAllow is where a door declared POST that says so in the Allow header of its answer to
// GET.
const DeclaredByAllow = "allow"

// DeclaredByCaller is the word of whoever reads a door of their own. It takes the place of the GET,
// and no route of a server takes it from a caller.
const DeclaredByCaller = "caller"

// A Declaration says that a door is asked with POST, and where it said so itself. The zero value is
// no declaration.
type Declaration struct {
	Method string // POST counts; GET is what is asked anyway
	By     string // such as "well-known", "openapi", "catalog"
}

// Preflight looks at one door under one battery: a GET and, under v2, one more where the door
// redirects to its own host, or a POST of an empty JSON object where the door declares POST: in the
// Allow header of a 405 or 501, in the Declaration that is handed in, or, after 404, 405 and 501,
// in /.well-known/x402 or /openapi.json of its host, which are read for it. It implements
// Checker[Report].
type Preflight struct {
	url      string
	battery  Battery
	declared Declaration
	body     []byte   // of a POST by DeclaredByCaller
	nodes    []string // see ReadsAccounts
	accounts Accounts
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
	declared.By = cmp.Or(declared.By, "declaration")
	return &Preflight{url: url, battery: b, declared: declared, body: []byte("{}")}, nil
}

// Sends has a POST by DeclaredByCaller send this JSON in the place of an empty object.
func (p *Preflight) Sends(body []byte) { p.body = body }

// Name is preflight/ and the version.
func (p *Preflight) Name() string { return "preflight/" + p.battery.Version }

// MaxRequests is 5 where the battery may use a declared POST: the GET, two files, the POST, and a
// question to a node.
func (p *Preflight) MaxRequests() int {
	if p.battery.Post {
		return mostAtDoor + 1
	}
	return 1
}

// mostAtDoor is how many requests go to the door's host.
const mostAtDoor = 4

// ErrRecording is returned for a recording that is not of this door or not of this checker.
var ErrRecording = errors.New("not a recording of this look")

// Step asks for the GET, then for what follows from the answers, then reports.
func (p *Preflight) Step(recorded []exchange.Exchange) (Report, *Next, error) {
	var evidence []exchange.Redacted
	door := AtDoor(recorded)
	for i, x := range door {
		want, ok := p.follow(evidence, p.found(recorded[:i]))
		if !ok || x.Request.Method != want.Request.Method || x.Request.URL != want.Request.URL {
			return Report{}, nil, fmt.Errorf("%w: request %d is %.16q %.200q", ErrRecording, i, x.Request.Method,
				x.Request.URL)
		}
		evidence = append(evidence, redact(x))
	}
	if p.byCaller() && len(door) > 0 {
		p.body = door[0].Request.Body // as it was sent, also where it is read from a file
	}
	found := p.found(recorded)
	if next, ok := p.follow(evidence, found); ok {
		return Report{}, &next, nil
	}
	look := p.views(evidence, found)
	if len(door) < len(recorded) {
		asked := recorded[len(door)]
		if p.accounts == nil {
			return Report{}, nil, fmt.Errorf("%w: it holds accounts, and nothing here reads them", ErrRecording)
		}
		if !p.battery.Replays || asked.Request.Method != http.MethodPost {
			return Report{}, nil, fmt.Errorf("%w: a question of %.200q", ErrRecording, asked.Request.URL)
		}
		look.judged.readAccounts(new(p.redactAccounts(asked)))
	} else if next, ok := p.asksAccounts(look.judged, door); ok {
		return Report{}, &next, nil
	}
	return p.judge(evidence, look), nil, nil
}

// found is what the host's own files declare that were read.
func (p *Preflight) found(recorded []exchange.Exchange) Declaration {
	for _, x := range recorded {
		if x.Request.Method == http.MethodGet && slices.Contains(ownFiles(p.url), x.Request.URL) &&
			x.Request.URL != p.url {
			if d := inFile(p.url, x); d.Method != "" {
				return d
			}
		}
	}
	return Declaration{}
}

// follow is the request that comes after those whose answers are evidence, where found is what the
// files among them declare; false when there is none.
func (p *Preflight) follow(evidence []exchange.Redacted, found Declaration) (Next, bool) {
	get := func(kind, url string) (Next, bool) {
		return Next{Kind: kind, Request: exchange.Request{Method: http.MethodGet, URL: url,
			Header: http.Header{"Accept": {"application/json"}}}}, true
	}
	post := func(body []byte) (Next, bool) {
		return Next{Kind: KindDeclaredPost, Request: exchange.Request{Method: http.MethodPost, URL: p.url,
			Header: http.Header{"Accept": {"application/json"}, "Content-Type": {"application/json"}},
			Body:   body}}, true
	}
	n := len(evidence)
	switch {
	case n == 0 && p.byCaller():
		return post(p.body)
	case n == 0:
		return get(KindGet, p.url)
	}
	first := evidence[0]
	if !p.battery.Post || n >= mostAtDoor || evidence[n-1].Method == http.MethodPost ||
		wall(first) != "" {
		return Next{}, false
	}
	files := ownFiles(p.url)
	switch {
	case p.declaredBy(first) == "" && redirect(first) != "":
		if n == 1 {
			return get(KindRedirect, redirect(first))
		}
		return Next{}, false
	case n == 1 && p.declaredBy(first) != "", n > 1 && found.Method != "":
		return post([]byte("{}"))
	case refuses(first.Status) && n <= len(files) && files[n-1] != p.url:
		return get(KindOwnFile, files[n-1])
	}
	return Next{}, false
}

// byCaller reports whether POST is asked on the word of whoever reads.
func (p *Preflight) byCaller() bool {
	return p.declared.By == DeclaredByCaller && strings.EqualFold(p.declared.Method, http.MethodPost)
}

// redact never fails: an exchange beyond the bounds of a recording is judged as a head that could
// not be read.
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

// declaredBy returns where the door declared POST, "" when it did not, or when GET was answered
// well enough.
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

// Judge reports on the published evidence of a look: the GET and what followed it. It gives the
// report that Step gave, but for what the host's own files declared, which a Judgement carries.
// evidence holds at least one exchange.
func (p *Preflight) Judge(evidence []exchange.Redacted) Report {
	return p.judgePublished(evidence, Declaration{})
}

// judgePublished is Judge where found is what the host's own files declared.
func (p *Preflight) judgePublished(evidence []exchange.Redacted, found Declaration) Report {
	door, read := atDoor(evidence)
	look := p.views(door, found)
	look.judged.readAccounts(read)
	return p.judge(door, look)
}

// judge reports on the evidence of a door.
func (p *Preflight) judge(evidence []exchange.Redacted, look looked) Report {
	v, first, used := look.judged, look.first, look.used
	mine := p.battery.judge(v)
	also, beside := p.alsoUnder(mine, v, first, used)
	rung := level(v)
	r := Report{
		Version: p.battery.Version, URL: p.shownURL(v.Evidence), Verdict: mine.verdict, Reason: mine.reason,
		ReachedLevel: rung.Name, ReachedLevelMeaning: rung.Meaning,
		Checks: []CheckResult{}, ChecksVector: mine.vector, Advisories: []Note{},
		AlsoUnder: beside, Others: also,
		ProtocolsSpoken: v.protocols(),
		ProbeMethod:     ProbeMethod{Used: v.Evidence.Method, Attempted: []string{}, DeclaredBy: used},
		Evidence:        shownEvidence(v),
		Instrument:      p.instrument(v),
		Remediation:     []Remedy{},
		Protocols:       v.spoken(),
		Clients:         v.clients(),
		Stakes:          v.stakes(),
		Fault:           fault(v, mine),
		SingleProbeNote: singleProbeNote, CannotTell: cannotTell(),
		NextSteps: nextSteps(mine, v, p.battery.Version), Terms: v.accepts,
	}
	for i, e := range evidence {
		if i == 0 || e.Method == http.MethodPost {
			r.ProbeMethod.Attempted = append(r.ProbeMethod.Attempted, e.Method)
		}
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
		for _, a := range advisories {
			if detail := a.Run(v); detail != "" {
				r.Advisories = append(r.Advisories, Note{Name: a.Name, Detail: detail})
			}
		}
	}
	return r
}

// looked is the answer to GET and that which is judged, which is another where used says who
// declared POST, or where the door redirects.
type looked struct {
	judged, first *View
	used          string
}

// views parses the evidence of a door.
func (p *Preflight) views(evidence []exchange.Redacted, found Declaration) looked {
	first := newView(evidence[0])
	if p.byCaller() {
		if first.Unresolved = refusesMethod(first.Evidence.Status); !first.Unresolved {
			first.Declared = DeclaredByCaller
		}
		return looked{first, first, DeclaredByCaller}
	}
	by := p.declaredBy(evidence[0])
	first.Declared = by
	// Where POST is declared, the answer to GET is not the door's, whatever it is.
	first.Unresolved = by != "" || refusesMethod(first.Evidence.Status)
	last := evidence[len(evidence)-1]
	if !p.battery.Post || len(evidence) == 1 {
		return looked{first, first, ""}
	}
	switch {
	case last.Method == http.MethodPost && last.Status != 0:
		judged := newView(last)
		judged.Unresolved = refusesMethod(judged.Evidence.Status)
		return looked{judged, first, cmp.Or(by, found.By)}
	case by == "" && redirect(evidence[0]) != "" && last.Status != 0:
		judged := newView(last)
		judged.Unresolved = refusesMethod(judged.Evidence.Status)
		judged.redirected = true
		return looked{judged, first, ""}
	}
	seen := *first
	seen.filesRead = !slices.ContainsFunc(evidence, func(r exchange.Redacted) bool { return r.Status == 0 })
	if found.Method != "" { // it declares POST and did not answer it
		seen.Declared, seen.Unresolved = found.By, true
	}
	return looked{&seen, first, ""}
}

// shownURL is the asked URL as far as it may be published.
func (p *Preflight) shownURL(r exchange.Redacted) string {
	if r.URL != "" {
		return r.URL
	}
	return strings.ToValidUTF8(p.url, "�")
}

// alsoUnder returns what every other battery makes of the same recording, sorted by version, and of
// these the one that a report shows: the version before this one, or the next one beside the
// oldest.
func (p *Preflight) alsoUnder(mine outcome, v, first *View, used string) (also []AlsoUnder, beside AlsoUnder) {
	passed := false
	for _, b := range batteries {
		if b.Version == p.battery.Version {
			passed = true
			continue
		}
		view := first
		if b.Post {
			view = v // where this battery judged the GET alone, that is the same
		}
		theirs := b.judge(view)
		also = append(also, AlsoUnder{Version: b.Version, Verdict: theirs.verdict,
			Difference: p.difference(b, mine, theirs, used)})
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
	if posted != "" && posted != DeclaredByCaller && !beside.Post {
		return fmt.Sprintf("%s judged the POST that the door declares (%s); %s judges the GET alone", p.battery.Version,
			posted, beside.Version)
	}
	if mine.verdict == NotProbed || theirs.verdict == NotProbed {
		silent, reason := p.battery.Version, mine.reason
		if theirs.verdict == NotProbed {
			silent, reason = beside.Version, theirs.reason
		}
		return fmt.Sprintf("%s does not judge what was answered: %s", silent, reason)
	}
	say := func(b, other Battery, o, than outcome) string {
		for _, name := range o.failed {
			switch {
			case slices.Contains(than.failed, name):
			case slices.ContainsFunc(other.Checks, func(c Check) bool { return c.Name == name }):
				return fmt.Sprintf("%s fails under %s, and %s asks it of what the stock client would meet and sign",
					name, b.Version, other.Version)
			default:
				return fmt.Sprintf("%s fails under %s; %s does not ask it", name, b.Version, other.Version)
			}
		}
		return ""
	}
	if s := say(p.battery, beside, mine, theirs); s != "" {
		return s
	}
	return say(beside, p.battery, theirs, mine)
}

// maxShownChallenge is the most bytes of terms that a report repeats; the published evidence has
// them whole.
const maxShownChallenge = 64 << 10

func shownEvidence(v *View) Evidence {
	r := v.Evidence
	e := Evidence{Status: r.Status, Headers: r.Headers, BodySHA256: r.Body.SHA256, BodyBytes: r.Body.Bytes,
		Challenge: v.challenge(), StandIns: r.StandIns, ObservedAt: r.StartedAt, Digest: r.Digest()}
	if e.Headers == nil {
		e.Headers = []exchange.HeaderLine{}
	}
	if e.Challenge != nil && len(e.Challenge.Value) > maxShownChallenge {
		e.Challenge.Value, e.Challenge.Problem = nil, "too long to be repeated here"
	}
	return e
}
