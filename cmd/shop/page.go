package shop

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/templates"
)

// verifyView begins the page of a verification, in the looks of the published pages.
func (s *Shop) verifyView(id string, v counter.Verification) templates.CertificateView {
	return templates.CertificateView{
		Chrome: s.chrome(), Page: templates.Page{Path: "/api/verify/" + id}, ID: id,
		State: templates.StateUnknownID, NotCovered: v.NotCovered, ArtifactHash: v.ArtifactHash,
	}
}

// summary is what others show beside a link to the page. It says nothing that a buyer wrote, since
// it stands by itself where it is shown, under the store's name.
func summary(v counter.Verification) string {
	c := v.Certificate
	if c == nil {
		return "Signed by this store."
	}
	day, _, _ := strings.Cut(c.Date, "T")
	if c.PatronNumber > 0 {
		return fmt.Sprintf("Certificate of patron %d, signed on %s.", c.PatronNumber, day)
	}
	return "Certificate, signed on " + day + "."
}

// certificatePage renders the verification of a certificate, and says that an id is unknown.
func (s *Shop) certificatePage(id string, v counter.Verification) ([]byte, error) {
	view := s.verifyView(id, v)
	chrome := view.Chrome
	if v.Certificate == nil {
		return templates.RenderCertificate(view)
	}
	view.Page.Summary = summary(v)
	paper := templates.CertificatePaper(attest.Signed{Certificate: *v.Certificate, Proof: *v.Proof}, chrome.Title,
		chrome.BaseURL+"/api/verify/"+id)
	paper.DoesNotProve = v.DoesNotProve
	view.Paper, view.SignatureJCS = &paper, v.Proof.SignatureJCS.String()
	switch {
	case !v.Valid:
		view.State = templates.StateInvalid
	case v.Status == "reversed":
		view.State = templates.StateReversed
		view.Says = append(view.Says, "The payment was taken back by the network on "+v.ReversedOn+".")
	default:
		view.State = templates.StateValid
	}
	if by := v.SignedBy; by != nil {
		paper.SignedBy, paper.KID = "The identity key in force", by.Key
		if by.Status == attest.SignerRetired {
			paper.SignedBy = "A retired identity key"
			view.Says = append(view.Says, "The key that signed this was retired on "+by.RetiredOn+
				". What it signed before stays good.")
		}
	}
	if v.Reason == "no_published_key" {
		view.Says = append(view.Says, "No key that this store has published made this signature.")
	}
	if paid := v.Voucher; paid != nil {
		says := "It was paid by voucher out of channel " + paid.Channel + ", of which " + paid.Sum +
			" USDC were spent in all by then. "
		if paid.ClaimTx != "" {
			says += "Transaction " + paid.ClaimTx + " claimed it."
		} else {
			says += "No final transaction has claimed it yet."
		}
		view.Says = append(view.Says, says)
	}
	if v.PredatesPayment {
		view.Says = append(view.Says, "Certificates of before 2026-07-31 were issued without the payment fields; "+
			"their absence is no defect.")
	}
	if in := v.Issued; in != nil {
		view.Says = append(view.Says, fmt.Sprintf("The public log has counted it since %s: it is one of the %d "+
			"certificates through week %s, whose tree %s holds.", in.Observation.At, in.Size, in.Through,
			in.Observation.ID))
	}
	return templates.RenderCertificate(view)
}

// recordPage renders the verification of what the signed record holds: a round, a row or an
// observation.
func (s *Shop) recordPage(id string, v counter.Verification) ([]byte, error) {
	return templates.RenderCertificate(s.paperView(id, v))
}

// paperView is the page of something that is signed, with its members as facts.
func (s *Shop) paperView(id string, v counter.Verification) templates.CertificateView {
	view := s.verifyView(id, v)
	view.Page.Summary = summary(v)
	paper := templates.RecordPaper(templates.RecordView{
		ID: id, Class: v.ArtifactClass, Issuer: view.Chrome.Title, VerifyURL: view.Chrome.BaseURL + "/api/verify/" + id,
		Order: v.Proof.SignatureCovers, Report: v.Report, Shown: screen.Text,
	})
	paper.SignedPayload, paper.Signature, paper.PublicKey, paper.Algorithm = v.Proof.SignedPayload,
		v.Proof.Signature.String(), v.Proof.PublicKey.String(), v.Proof.Algorithm
	paper.DoesNotProve = v.DoesNotProve
	if by := v.SignedBy; by != nil {
		paper.SignedBy, paper.KID = "A published key", by.Key
		if by.Status == attest.SignerRetired {
			paper.SignedBy = "A key that was retired on " + by.RetiredOn
			view.Says = append(view.Says, "The key that signed this was retired on "+by.RetiredOn+
				". What it signed before stays good.")
		}
	}
	if in := v.Inclusion; in != nil {
		paper.Facts = append(paper.Facts,
			templates.Fact{Name: "Leaf of the log", Value: strconv.FormatInt(in.Leaf, 10) + " of " +
				strconv.FormatInt(in.LogSize, 10), Mono: true})
		view.Says = append(view.Says, "It stands in the store's transparency log; the proof of that is in the JSON "+
			"form of this page.")
	}
	view.Paper, view.State, view.SignatureJCS = &paper, templates.StateValid, v.Proof.SignatureJCS.String()
	if !v.Valid {
		view.State = templates.StateInvalid
	}
	return view
}

// artifactPage renders the verification of what was signed beside a certificate: an anchor, a pass,
// an order.
func (s *Shop) artifactPage(id string, v counter.Verification) ([]byte, error) {
	return templates.RenderCertificate(s.artifactView(id, v))
}

// artifactText is the page of a report in Markdown.
func (s *Shop) artifactText(id string, v counter.Verification) ([]byte, error) {
	return templates.RenderReport(s.artifactView(id, v))
}

func (s *Shop) artifactView(id string, v counter.Verification) templates.CertificateView {
	if v.Report == nil {
		v.Report = v.Anchor
	}
	page := s.paperView(id, v)
	switch {
	case v.Reason == "no_published_key":
		page.Says = append(page.Says, "No key that this store has published made this signature.")
	case v.Valid && v.Status == "reversed":
		page.State = templates.StateReversed
	}
	if v.Valid {
		var a attest.Audit
		if attest.ParseCanonical([]byte(v.Proof.SignedPayload), &a) == nil { // of another class it is not
			page.Findings = templates.ReportFindings(a, screen.Text)
		}
	}
	return page
}

// doorPage renders a paid door, in the looks of the published pages.
func (s *Shop) doorPage(d counter.Door) ([]byte, error) {
	v := templates.DoorView{Chrome: s.chrome(), Page: templates.Page{NoIndex: true}}
	if p := d.Refusal; p != nil {
		row, _ := problem.Lookup(p.Code)
		v.Lacks, v.Next = d.Offer != nil && lacks(d), p.Next
		if d.Asked || !v.Lacks { // who has not filled in the form yet has done nothing wrong
			v.Refusal = &templates.Refusal{Code: p.Code, Title: row.Title, Says: cmp.Or(p.Detail, row.Title+"."),
				Status: d.Status}
		}
		v.Page.Title = row.Title
		if to, ok := p.Extra["folded_into"].(string); ok {
			v.About = "/menu/" + to
		}
	}
	if o := d.Offer; o != nil {
		v.Page.Title, v.Page.Summary, v.Page.Path = o.Name, o.Description, cmp.Or(o.About, o.Path)
		v.Good, v.Tiers, v.About, v.At = o.Good, o.Tiers, o.About, o.Path
		v.Hold, v.Held = o.Hold, d.Held
		for _, in := range o.Inputs {
			shown := templates.DoorInput{Input: in, Value: d.Given[in.Name]}
			if p := d.Refusal; p != nil && d.Asked {
				for _, f := range p.Fields {
					if f.Field == in.Name {
						shown.Problem = f.Problem
					}
				}
			}
			if content.IsCommon(in.Name) {
				v.Common = append(v.Common, shown)
			} else {
				v.Own = append(v.Own, shown)
			}
		}
	}
	for _, a := range d.Accepts {
		offer, err := doorOffer(a)
		if err != nil {
			return nil, err
		}
		v.Offers = append(v.Offers, offer)
	}
	for _, o := range d.LeftOut {
		v.LeftOut = append(v.LeftOut, templates.Fact{Name: o.Name, Value: o.Reason})
	}
	return templates.HTML(&v)
}

// lacks reports whether an order is refused for what is in it, so that another one may be taken.
func lacks(d counter.Door) bool {
	switch d.Refusal.Code {
	case "sold_out", "not_quoted", "gone":
		return false
	}
	return d.Refusal.Code == "invalid_input" || d.Asked && d.Status < http.StatusInternalServerError
}

// doorOffer is one of the terms as a page shows it.
func doorOffer(a rail.Requirement) (templates.DoorOffer, error) {
	amount, err := strconv.ParseInt(a.Amount, 10, 64)
	if err != nil {
		return templates.DoorOffer{}, err
	}
	name := a.Network
	if chain, ok := networks.Find(a.Network); ok {
		name = chain.Name
	}
	method, named := a.Extra["assetTransferMethod"]
	return templates.DoorOffer{Network: a.Network, Name: name, Amount: a.Amount, USDC: content.FormatUSDC(amount),
		Asset: a.Asset, PayTo: a.PayTo, Wallet: a.Scheme == "exact" && strings.HasPrefix(a.Network, "eip155:") &&
			(!named || method == networks.EIP3009)}, nil
}
