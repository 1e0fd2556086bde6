package generator

import (
	"fmt"
	"iter"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/generator/picture"
	"store.example/agentstore/templates"
)

// Pictures that no build makes: the server draws them when somebody asks. Each round changes the
// picture of every host, a picture takes 10 ms and some 10 kB, and a record may have a million
// hosts: as files they would be hours of each week's build, and 10 GB a week in every clone of the
// tree, of which nobody would ever look at most. What the store signed stands in its ledger, which
// no build reads.

// onRequest is the stream of a document that no build makes.
func onRequest(*source) iter.Seq2[unit, error] { return func(func(unit, error) bool) {} }

// DrawHostPreview draws the picture beside links to a host's page: what its newest rounds found of
// it, a square each. sign is the name of the store, and foot the page's address in short.
func DrawHostPreview(sign, foot string, h *derive.Host) ([]byte, error) {
	counts := []picture.Count{{Name: "ready", Mark: picture.Good}, {Name: "not ready", Mark: picture.Bad},
		{Name: "unreachable", Mark: picture.Unknown}, {Name: "not observed", Mark: picture.Unobserved}}
	var steps []picture.Mark
	for i := max(0, len(h.Timeline)-picture.MostSteps); i < len(h.Timeline); i++ {
		w := &h.Timeline[i]
		m := picture.Unobserved
		switch {
		case w.Probed == derive.BeforeFirst:
			continue
		case w.Verdict == record.VerdictReady:
			m = picture.Good
		case w.Verdict == record.VerdictNotReady:
			m = picture.Bad
		case w.Verdict == record.VerdictUnreachable:
			m = picture.Unknown
		}
		counts[m].N++
		steps = append(steps, m)
	}
	return draw(picture.Preview{Sign: sign, Title: h.Host, Says: templates.NowLine(&h.Tier), Foot: foot,
		Counts: counts, Steps: steps})
}

// SignedPreview is what the picture beside a link to something signed shows. It says nothing that a
// buyer wrote, since a picture with the store's name on it stands by itself where it is shown; and
// not that a signature holds, which no picture can prove.
type SignedPreview struct {
	Title string // a good's name, or the class
	Says  string
	Paid  string // in USDC, "" for nothing
	Stamp string // what is wrong with it, "" for nothing
}

// SaysOf is what the picture of a certificate says of it.
func SaysOf(c attest.Certificate) string {
	day, _, _ := strings.Cut(c.Date, "T")
	if c.PatronNumber > 0 {
		return fmt.Sprintf("Certificate of patron %d, signed on %s.", c.PatronNumber, day)
	}
	return "Certificate, signed on " + day + "."
}

// Draw draws it. sign is the name of the store, and foot the address of its page in short.
func (p SignedPreview) Draw(sign, foot string) ([]byte, error) {
	tag := ""
	if p.Paid != "" {
		tag = p.Paid + " USDC"
	}
	return draw(picture.Preview{Sign: sign, Title: p.Title, Says: p.Says, Tag: tag, Stamp: p.Stamp, Foot: foot})
}
