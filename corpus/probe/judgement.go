package probe

import (
	"bytes"
	"crypto/rand"
	"encoding/json/v2"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
)

// JudgementFormat names the form of an encoded Judgement.
const JudgementFormat = "store-judgement/v1"

// MaxJudgement is the most bytes of an encoded Judgement that a record keeps and DecodeJudgement
// reads.
const MaxJudgement = 256 << 10

// maxDeclaredBy bounds the word for where a method was declared.
const maxDeclaredBy = 64

// Judgement is all that a report on a door rests on, in published form: whoever holds it reaches
// the same report. Its digest is the evidence digest of a row.
type Judgement struct {
	Battery  string // one of Versions
	URL      string // of the door, as far as it may be published
	Declared Declaration
	Evidence []exchange.Redacted // the GET and what followed: a redirect, files of the host, a POST
	Salt     Salt                // keeps what was judged from being guessed from its digest, once it is withdrawn
}

// Salt is drawn at random for every judgement. None is all zero.
type Salt [32]byte

// NewSalt draws a salt.
func NewSalt() (s Salt) {
	rand.Read(s[:]) // never fails
	return s
}

type judgementHead struct {
	Format    string           `json:"format"` // JudgementFormat
	Battery   string           `json:"battery"`
	URL       string           `json:"url"`
	Declared  judgementDeclare `json:"declared"`
	Exchanges int              `json:"exchanges"`
	Salt      attest.Hex       `json:"salt"`
}

type judgementDeclare struct {
	Method string `json:"method"`
	By     string `json:"by"`
}

// Judgement returns what Step judged under a fresh salt, for a recording that asks for nothing
// more.
func (p *Preflight) Judgement(recorded []exchange.Exchange, salt Salt) (Judgement, error) {
	_, next, err := p.Step(recorded)
	if err != nil {
		return Judgement{}, err
	}
	if next != nil {
		return Judgement{}, fmt.Errorf("%w: it ends before the %s of %.200q", ErrRecording, next.Request.Method, p.url)
	}
	j := Judgement{Battery: p.battery.Version, Salt: salt}
	if strings.EqualFold(p.declared.Method, http.MethodPost) {
		j.Declared = Declaration{Method: http.MethodPost, By: p.declared.By}
	} else {
		j.Declared = p.found(AtDoor(recorded))
	}
	for _, x := range AtDoor(recorded) {
		j.Evidence = append(j.Evidence, redact(x))
	}
	for _, x := range recorded[len(j.Evidence):] {
		j.Evidence = append(j.Evidence, p.redactAccounts(x))
	}
	j.URL = p.shownURL(j.Evidence[0])
	return j, j.check()
}

// check demands what Judge needs and what has one spelling.
func (j Judgement) check() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("checking judgement: "+format, args...)
	}
	if _, err := batteryOf(j.Battery); err != nil {
		return fail("%w", err)
	}
	switch {
	case j.Salt == Salt{}:
		return fail("no salt")
	case j.URL == "":
		return fail("no URL")
	case j.Declared != Declaration{} && j.Declared.Method != http.MethodPost:
		return fail("a declaration of %q", j.Declared.Method)
	case j.Declared.Method == http.MethodPost && j.Declared.By == "", len(j.Declared.By) > maxDeclaredBy:
		return fail("declared by %.80q", j.Declared.By)
	case len(j.Evidence) == 0:
		return fail("no exchange")
	case j.Evidence[0].URL != j.URL && j.Evidence[0].URL != "":
		return fail("its exchange is with %.200q, not with %.200q", j.Evidence[0].URL, j.URL)
	}
	p, found := j.preflight()
	evidence, read := atDoor(j.Evidence)
	if read != nil && (!p.battery.Replays || read.Method != http.MethodPost || read.Format != exchange.RedactedFormat) {
		return fail("a question of %.80q, which the battery does not ask", read.URL)
	}
	for i, e := range evidence {
		declared := Declaration{}
		if i == len(evidence)-1 && e.Method == http.MethodPost {
			declared = found
		}
		want, ok := p.follow(evidence[:i], declared)
		if !ok || e.Format != exchange.RedactedFormat || e.Method != want.Request.Method && e.Method != "" {
			return fail("exchange %d is %.16q in format %.40q, which the battery does not make", i, e.Method, e.Format)
		}
	}
	// What was judged before files were read ends with the GET.
	if want, ok := p.follow(evidence, found); ok && (want.Kind == KindDeclaredPost || len(evidence) > 1) {
		return fail("%d exchanges, where the battery makes one more", len(j.Evidence))
	}
	return nil
}

// preflight is the checker of a judgement with a known battery. Its URL may be longer than one that
// may be asked, because publishing can lengthen it.
// found is what the host's own files declared, where they were read.
func (j Judgement) preflight() (p *Preflight, found Declaration) {
	b, _ := batteryOf(j.Battery)
	p = &Preflight{url: j.URL, battery: b, declared: j.Declared}
	if len(j.Evidence) > 1 && j.Evidence[1].Method == http.MethodGet {
		p.declared, found = Declaration{}, j.Declared
	}
	return p, found
}

// Judge reaches the report. It gives the one that was given when the door was walked.
func (j Judgement) Judge() (Report, error) {
	if err := j.check(); err != nil {
		return Report{}, err
	}
	p, found := j.preflight()
	return p.judgePublished(j.Evidence, found), nil
}

// Terms yields every way of paying that was judged, however many: a Report has the first of them.
func (j Judgement) Terms() iter.Seq[Requirement] {
	return func(yield func(Requirement) bool) {
		if j.check() != nil {
			return
		}
		p, found := j.preflight()
		door, _ := atDoor(j.Evidence)
		v := p.views(door, found).judged
		for i, item := range items(v.terms, "accepts") {
			if !yield(requirement(i, item, v.Evidence.PayToDigest)) {
				return
			}
		}
	}
}

// Encode returns the one spelling of a judgement: a line of JSON that says what follows, then each
// exchange in its published form, a line each. What is longer than MaxJudgement has a digest, but
// is not kept.
func (j Judgement) Encode() ([]byte, error) {
	if err := j.check(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(judgementHead{JudgementFormat, j.Battery, j.URL, judgementDeclare(j.Declared),
		len(j.Evidence), j.Salt[:]})
	if err != nil {
		return nil, fmt.Errorf("encoding judgement: %w", err)
	}
	b = append(b, '\n')
	for i, e := range j.Evidence {
		line, err := e.Encode()
		if err != nil {
			return nil, fmt.Errorf("encoding judgement: exchange %d: %w", i, err)
		}
		b = append(append(b, line...), '\n')
	}
	return b, nil
}

// DecodeJudgement reads what Encode wrote, of at most MaxJudgement bytes, and refuses every other
// spelling.
func DecodeJudgement(raw []byte) (Judgement, error) {
	if len(raw) > MaxJudgement {
		return Judgement{}, fmt.Errorf("decoding judgement: %w", exchange.ErrTooLarge)
	}
	first, rest, _ := bytes.Cut(raw, []byte{'\n'})
	var h judgementHead
	if err := json.Unmarshal(first, &h, json.RejectUnknownMembers(true)); err != nil {
		return Judgement{}, fmt.Errorf("decoding judgement: %w", err)
	}
	if h.Format != JudgementFormat {
		return Judgement{}, fmt.Errorf("decoding judgement: format is %.80q, want %q", h.Format, JudgementFormat)
	}
	j := Judgement{Battery: h.Battery, URL: h.URL, Declared: Declaration(h.Declared)}
	if len(h.Salt) != len(j.Salt) {
		return Judgement{}, fmt.Errorf("decoding judgement: a salt of %d bytes, where %d belong", len(h.Salt),
			len(j.Salt))
	}
	copy(j.Salt[:], h.Salt)
	for line := range bytes.Lines(rest) {
		e, err := exchange.DecodeRedacted(bytes.TrimSuffix(line, []byte{'\n'}))
		if err != nil {
			return Judgement{}, fmt.Errorf("decoding judgement: exchange %d: %w", len(j.Evidence), err)
		}
		j.Evidence = append(j.Evidence, e)
	}
	again, err := j.Encode()
	if err != nil {
		return Judgement{}, err
	}
	if !bytes.Equal(again, raw) {
		return Judgement{}, errors.New("decoding judgement: not in the form in which it is written")
	}
	return j, nil
}
