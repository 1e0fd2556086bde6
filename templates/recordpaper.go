package templates

import (
	"encoding/json"
	"strings"
)

// RecordView is what the paper of a round, a row or an observation is made from.
type RecordView struct {
	ID, Class, Issuer, VerifyURL string
	// Order is the names of the members that are signed, as they are signed.
	Order []string
	// Report is the artifact itself.
	Report map[string]any
	Shown  func(string) string
}

// recordKinds are the words for the classes of the record, and of what is signed beside
// certificates.
var recordKinds = map[string]string{"row": "Row of the record", "round": "Round of the record",
	"observation": "Observation", "context_anchor": "Context anchor", "bitcoin_anchor": "Bitcoin anchor",
	"patronage_pass": "Patronage pass", "order": "Order",
	"service_audit": "Report of a reading", "onpage_audit": "Report of a page", "provenance_check": "Provenance"}

// longFact is how many bytes of JSON a member may have to stand among the facts: a longer one is
// read in the signed bytes.
const longFact = 240

// RecordPaper lays out what the signed record holds. Facts stand in the order in which they are
// signed. The texts are those of strangers; Shown writes out what cannot be seen in them.
func RecordPaper(v RecordView) Paper {
	p := Paper{Kind: recordKinds[v.Class], ID: v.ID, Issuer: v.Issuer, VerifyURL: v.VerifyURL}
	if p.Kind == "" {
		p.Kind = "Artifact"
	}
	p.Facts = append(p.Facts, Fact{Name: "Id", Value: v.ID, Mono: true})
	for _, name := range v.Order {
		value, ok := v.Report[name]
		if !ok || value == nil {
			continue
		}
		text, plain := value.(string)
		if !plain {
			b, err := json.Marshal(value)
			if err != nil {
				continue
			}
			text = string(b)
		}
		if text == "" || text == v.ID { // the id stands first
			continue
		}
		if len(text) > longFact {
			text = "see the signed bytes"
		}
		p.Facts = append(p.Facts, Fact{Name: sentence(strings.ReplaceAll(name, "_", " ")), Value: v.Shown(text),
			Mono: true})
	}
	return p
}

// sentence begins with a capital letter.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
