package templates

import (
	"fmt"

	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/screen"
)

// Proof is what a shop can show for itself on its first page.
type Proof struct {
	// Week is the newest weekly round, nil for none, and Picture the last ones.
	Week    *derive.Week
	Picture *Figure
	// Sales is how many certificates the signed record has counted up to a day, "" for never.
	Sales   int64
	Counted string
}

// proofWeeks is how many rounds the picture has: a quarter of a year.
const proofWeeks = 13

// NewProof shows rounds, the newest last, and what was counted of sales.
func NewProof(weeks []derive.Week, sales int64, counted string) *Proof {
	p := &Proof{Sales: sales, Counted: counted}
	if n := len(weeks); n > 0 {
		p.Week, p.Picture = &weeks[n-1], readyTrend(weeks[max(0, n-proofWeeks):])
	}
	return p
}

// Ready is the figure of the newest round.
func (p Proof) Ready() string { return fmt.Sprintf("%d of %d", p.Week.Ready, p.Week.HostsProbed) }

// Of says what it is a figure of.
func (p Proof) Of() string {
	return "sellers that were checked in week " + p.Week.Week + " were ready to be paid"
}

// How says how it is known.
func (p Proof) How() string {
	return fmt.Sprintf("Each was asked on %.10s as a buyer would ask, and its row is signed. %d of %d that were due "+
		"were not reached through our own fault.", p.Week.TakenAt, p.Week.NotProbed+p.Week.Degraded, p.Week.HostsDue)
}

// Sold says what is known of sales.
func (p Proof) Sold() string {
	if p.Counted == "" {
		return "No sale has been counted in the signed record yet."
	}
	return fmt.Sprintf("%s with a certificate that anybody can verify, counted in the signed record on %s.",
		screen.Count(p.Sales, "sale"), p.Counted)
}
