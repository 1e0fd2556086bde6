package services

import (
	"cmp"
	"fmt"
	"net/url"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/signable"

	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/dynamic/buyer"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/rail"
)

// MaxBody is the most that is read of what a door delivers.
const MaxBody = fetch.DefaultMaxBytes

// Checker names the finding of a purchase.
const Checker = "launch-check/v1"

// claim is the door's answer as the record has it, nil where none came while the payment was good.
func (s *Sent) claim() *record.WalkClaim {
	a := s.Answer
	if a == nil {
		return nil
	}
	return &record.WalkClaim{Status: int64(a.Status), BodySHA256: a.BodySHA256, Bytes: int64(a.BodyBytes),
		LatencyMS: cmp.Or(s.Took, max(0, a.At.Sub(s.SignedAt).Milliseconds())), ContentType: a.ContentType}
}

// finding is what a report says of a purchase. What a door says of itself is its word, and told as
// such.
type finding struct {
	URL        string      `json:"url"`
	Method     string      `json:"method"`
	Protocol   string      `json:"protocol"`
	Network    string      `json:"network"`
	USDC       string      `json:"usdc"`
	CapUSDC    string      `json:"cap_usdc"`
	SignedAt   string      `json:"signed_at"`
	ValidUntil string      `json:"valid_until"`
	Answer     *Answer     `json:"answer"`     // null: none came while the payment was good
	Settlement *settlement `json:"settlement"` // null: the money did not move, and can move no more
	Week       string      `json:"week"`
}

type settlement struct {
	Transaction string `json:"transaction"`
	Block       uint64 `json:"block"`
	BlockTime   string `json:"block_time"`
	Final       bool   `json:"final"`
}

// cannot is what a purchase does not show.
var cannot = []string{
	"whether what was delivered is any good, or what the next buyer is given: the digest is of one answer",
	"who runs the door, and where the money went from there",
}

// report is the report of a purchase: what came back, and what was read before.
func report(rec LaunchRecord, proof *rail.Proof) (attest.Audit, error) {
	s := rec.Sent
	f := finding{URL: screen.Text(rec.Door), Method: rec.Method, Protocol: "x402 version 2 (exact, EIP-3009)",
		Network: s.Network, USDC: buyer.USDC(s.Amount), CapUSDC: content.FormatUSDC(LaunchCap),
		SignedAt: stamp(s.SignedAt), ValidUntil: stamp(s.ValidBefore), Week: goods.ISOWeek(s.SignedAt),
		Answer: s.Answer}
	seen := attest.Seen{Method: rec.Method, URL: f.URL, At: stamp(s.SignedAt)}
	if a := s.Answer; a != nil {
		seen.Status, seen.BodySHA256, seen.BodyBytes = a.Status, a.BodySHA256, a.BodyBytes
	} else {
		seen.Failed = "deadline"
	}
	if proof != nil {
		f.Settlement = &settlement{Transaction: proof.Tx, Block: proof.Block, BlockTime: stamp(proof.BlockTime),
			Final: true}
	}
	verdict := derive.Outcome(s.claim(), proof != nil)
	raw, err := signable.Of(f, maxFinding, screen.Text)
	if err != nil {
		return attest.Audit{}, fmt.Errorf("reporting a purchase: %w", err)
	}
	r := goods.Reading{Target: rec.Target, Host: rec.Host, ReadAt: stamp(s.SignedAt), Verdict: verdict,
		Findings: []attest.Finding{{Checker: Checker, Verdict: verdict, Report: raw}}, Evidence: []attest.Seen{seen},
		Cannot: cannot}
	if before := rec.Reading; before != nil {
		r.ReadAt = before.ReadAt
		r.Findings = append(r.Findings, before.Findings...)
		r.Evidence = append(append([]attest.Seen{}, before.Evidence...), seen)
		r.Cannot = append(append([]string{}, cannot...), before.Cannot...)
	}
	return r.Audit(attest.ClassServiceAudit, rec.Item)
}

// maxFinding bounds what is said of a purchase, in bytes.
const maxFinding = 16 << 10

// bare is the door's address without its query, which may be the buyer's secret.
func (rec LaunchRecord) bare() string {
	if u, err := url.Parse(rec.Door); err == nil {
		u.RawQuery, u.Fragment = "", ""
		if bare := screen.Text(u.String()); record.TextBytes(bare) <= record.MaxRowURL {
			return bare
		}
	}
	return "https://" + rec.Host + "/"
}

// walked is a purchase as the record has it, proof nil where no money moved.
func walked(rec LaunchRecord, proof *rail.Proof) record.Observation {
	door, network, usdc, claim := rec.bare(), rec.Sent.Network, buyer.USDC(rec.Sent.Amount), rec.Sent.claim()
	if proof == nil {
		return record.Observation{Kind: record.ObservationUnpaidWalk, Unpaid: &record.UnpaidWalk{Host: rec.Host,
			URL: door, Network: network, USDC: usdc, Claim: claim}}
	}
	return record.Observation{Kind: record.ObservationPaidWalk, Walk: &record.PaidWalk{Host: rec.Host, URL: door,
		Network: network, Transaction: proof.Tx, USDC: usdc, Claim: claim, By: record.BoughtByStore}}
}

// DoorHeaders are those of a purchase that the guarded client lets through.
var DoorHeaders = fetch.Rule{Headers: []string{"PAYMENT-SIGNATURE", "Idempotency-Key"}}
