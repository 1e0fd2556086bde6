package corpus

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"agentstore/corpus/attest"
	"agentstore/corpus/probe"
)

// Refresh is what a walk of one door between rounds saw, in the words of a Row.
type Refresh struct {
	Host           string   `json:"host"`
	URL            string   `json:"url"`
	Verdict        string   `json:"verdict"` // ready, not_ready or unreachable
	ReachedLevel   string   `json:"reached_level"`
	Failed         []string `json:"failed"`
	Battery        string   `json:"battery"`
	Fault          string   `json:"fault"`
	EvidenceDigest string   `json:"evidence_digest"`
}

// PaidWalk is a purchase by a stranger at a door: the settlement was verified on its network by us; the report is the
// walker's claim.
type PaidWalk struct {
	Host        string     `json:"host"`
	URL         string     `json:"url"`
	Network     string     `json:"network"` // CAIP-2
	Transaction string     `json:"transaction"`
	USDC        string     `json:"usdc"` // decimal
	Claim       *WalkClaim `json:"claim,omitzero"`
}

// WalkClaim is what the walker says the door answered.
type WalkClaim struct {
	Status      int64  `json:"status"`
	BodySHA256  string `json:"body_sha256"`
	Bytes       int64  `json:"bytes"`
	LatencyMS   int64  `json:"latency_ms"`
	ContentType string `json:"content_type"`
}

// Declaration is a host's own list of its doors.
type Declaration struct {
	Host    string   `json:"host"`
	Shape   string   `json:"shape"` // which known shape its file had
	Doors   []string `json:"doors"` // URLs at the host, at most 20
	Foreign int64    `json:"foreign"`
}

// StandingNote is what a host wishes to be said beside its history.
type StandingNote struct {
	Host      string `json:"host"`
	Lane      string `json:"lane"` // wallet or host: how control was shown
	Statement string `json:"statement"`
	SignedAt  string `json:"signed_at"`
	PayTo     *PayTo `json:"pay_to,omitzero"` // the address that signed, by digest; wallet lane
}

// Tip is an editor's tip that was published.
type Tip struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// Issued counts the artifacts issued since the store opened.
type Issued struct {
	Total   int64         `json:"total"`
	Classes []IssuedClass `json:"classes"` // sorted by class, which add up to Total
}

// IssuedClass counts one class of artifacts.
type IssuedClass struct {
	Class string `json:"class"`
	Total int64  `json:"total"`
}

// checkMembers demands the members of the observation's kind, and no others.
func (o Observation) checkMembers() error {
	present := 0
	for _, there := range []bool{o.Word != "" || o.Epitaph != "", o.Refresh != nil, o.Walk != nil, o.Declaration != nil, o.Note != nil, o.Tip != nil, o.Issued != nil, o.Handover != nil} {
		if there {
			present++
		}
	}
	if present != 1 {
		return fmt.Errorf("%d members of kinds where one belongs", present)
	}
	missing := fmt.Errorf("not the members of kind %q", o.Kind)
	switch o.Kind {
	case ObservationRetiredWord:
		if o.Word != "" {
			return nil
		}
	case ObservationPaidRefresh:
		if o.Refresh != nil {
			return o.Refresh.check(o.At)
		}
	case ObservationPaidWalk:
		if o.Walk != nil {
			return o.Walk.check()
		}
	case ObservationDeclaration:
		if o.Declaration != nil {
			return o.Declaration.check()
		}
	case ObservationStandingNote:
		if o.Note != nil {
			return o.Note.check()
		}
	case ObservationPublishedTip:
		if o.Tip != nil && o.Tip.ID != "" && o.Tip.Text != "" {
			return nil
		}
	case ObservationArtifactsIssued:
		if o.Issued != nil {
			return o.Issued.check()
		}
	case ObservationKeyEvent:
		if o.Handover != nil {
			return o.Handover.Verify()
		}
	default:
		return fmt.Errorf("unknown kind %q", o.Kind)
	}
	return missing
}

func (r *Refresh) check(at string) error {
	switch {
	case r.Verdict == VerdictNotProbed:
		return errors.New("a refresh that saw nothing")
	case at < probe.AuditsCiteV1Before && r.Battery != probe.V1:
		return fmt.Errorf("a refresh of %s by battery %s: what was signed before %s cites %s", at, r.Battery, probe.AuditsCiteV1Before, probe.V1)
	}
	// A refresh holds to what a row holds to.
	return Row{Format: RowFormat, Origin: "-", Sequence: 1, Week: "2026-W01", KID: "-", Host: r.Host, URL: r.URL, Source: SourceDeclared,
		Verdict: r.Verdict, ReachedLevel: r.ReachedLevel, Failed: r.Failed, Battery: r.Battery, Fault: r.Fault, ObservedAt: at, EvidenceDigest: r.EvidenceDigest}.Check()
}

func (w *PaidWalk) check() error {
	switch {
	case !isHost(w.Host) || w.URL == "" || w.Network == "" || w.Transaction == "":
		return errors.New("a paid walk without host, URL, network or transaction")
	case !isAmount(w.USDC):
		return fmt.Errorf("amount %q", w.USDC)
	case w.Claim != nil && (w.Claim.BodySHA256 != "" && !isDigest(w.Claim.BodySHA256) || w.Claim.Bytes < 0 || w.Claim.LatencyMS < 0):
		return errors.New("a claim that cannot be")
	}
	return nil
}

func (d *Declaration) check() error {
	if !isHost(d.Host) || d.Shape == "" || len(d.Doors) > 20 || d.Foreign < 0 {
		return errors.New("a declaration without host or shape, or of more than 20 doors")
	}
	return nil
}

func (n *StandingNote) check() error {
	switch {
	case !isHost(n.Host) || n.Statement == "" || utf8.RuneCountInString(n.Statement) > 500 || !isSecond(n.SignedAt):
		return errors.New("a note without host, statement or time, or of more than 500 characters")
	case n.Lane == "host" && n.PayTo == nil:
		return nil
	case n.Lane == "wallet" && n.PayTo != nil && n.PayTo.Network != "" && isDigest(n.PayTo.Digest):
		return nil
	}
	return fmt.Errorf("a note by lane %q, with the address of another or none", n.Lane)
}

func (i *Issued) check() error {
	var sum int64
	for _, c := range i.Classes {
		if c.Class == "" || c.Total < 0 {
			return fmt.Errorf("class %q of %d", c.Class, c.Total)
		}
		sum += c.Total
	}
	if sum != i.Total || i.Total > attest.MaxInteger || !slices.IsSortedFunc(i.Classes, func(a, b IssuedClass) int {
		if a.Class < b.Class {
			return -1
		}
		return 1
	}) {
		return errors.New("classes that are not sorted or do not add up")
	}
	return nil
}
