package shop

import (
	"agentstore/corpus/attest"
	"agentstore/dynamic/till"
	"agentstore/templates"
)

// verifyPage renders a verification for browsers, in the looks of the published pages.
func (s *Shop) verifyPage(id string, v till.Verification) ([]byte, error) {
	chrome := s.chrome()
	view := templates.CertificateView{
		Chrome: chrome, Page: templates.Page{Path: "/api/verify/" + id}, ID: id,
		State: templates.StateUnknownID, NotCovered: v.NotCovered, ArtifactHash: v.ArtifactHash,
	}
	if v.Certificate == nil {
		return templates.RenderCertificate(view)
	}
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
		paper.SignedBy = "The identity key in force, " + by.Key
		if by.Status == attest.SignerRetired {
			paper.SignedBy = "A retired identity key, " + by.Key
			view.Says = append(view.Says, "The key that signed this was retired on "+by.RetiredOn+". What it signed before stays good.")
		}
	}
	if v.Reason == "no_published_key" {
		view.Says = append(view.Says, "No key that this store has published made this signature.")
	}
	if v.PredatesPayment {
		view.Says = append(view.Says, "Certificates of before 2026-07-31 were issued without the payment fields; their absence is no defect.")
	}
	return templates.RenderCertificate(view)
}
