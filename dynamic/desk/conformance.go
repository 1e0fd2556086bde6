package desk

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/offerreceipt"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
)

// ConformanceRequest is an artifact to be judged.
type ConformanceRequest struct {
	Artifact      string `json:"artifact" jsonschema:"compact JWS, or the JSON object that a challenge or a settlement carries; at most 9000 characters"`
	Kind          string `json:"kind,omitempty" jsonschema:"offer or receipt; detected when left out"`
	PublicKeyHex  string `json:"public_key_hex,omitempty" jsonschema:"ed25519 key in 64 hexadecimal characters; makes the check fully offline"`
	SignerAddress string `json:"signer_address,omitempty" jsonschema:"account that is expected to have signed an EIP-712 artifact"`
}

// Conformance is the judgement as it is served.
type Conformance struct {
	offerreceipt.Report
	Note      string     `json:"note"`
	RateLimit *RateLimit `json:"rate_limit,omitzero"` // where a key had to be fetched
	NextSteps []string   `json:"next_steps"`
}

// conform judges an artifact. The store's own keys are at hand, since it never reads itself. Only a
// key that has to be fetched spends the budget of readings: an offline check is arithmetic.
func (d *Desk) conform(w http.ResponseWriter, r *http.Request) error {
	in, err := route.ReadJSON[ConformanceRequest](r, false)
	if err != nil {
		return err
	}
	c := offerreceipt.Checker{Known: map[string][]byte{d.did: d.document}, At: time.Now().UTC().Truncate(time.Second),
		Request: offerreceipt.Request{Artifact: in.Artifact, Kind: in.Kind, PublicKeyHex: in.PublicKeyHex,
			SignerAddress: in.SignerAddress}}
	report, next, err := c.Step(nil)
	if bad, ok := errors.AsType[*offerreceipt.RequestError](err); ok {
		return route.Invalid(problem.Field{Field: bad.Field, Problem: bad.Problem})
	}
	if err != nil {
		return err
	}
	var rl *RateLimit
	if next != nil {
		if report, rl, err = fetched(d, w, r, c); err != nil {
			return err
		}
	}
	return route.JSON(w, Conformance{Report: report, RateLimit: rl,
		Note: "An artifact that can be parsed is not thereby verified. conforms means that every check that can " +
			"fail it passed, the signature among them.",
		NextSteps: []string{"Compare every field of a live offer with the challenge you are about to sign.",
			"GET " + d.cfg.BaseURL + "/api/conformance/v1/fixtures has artifacts to try your own verifier on."}})
}

// fetched judges with a key that has to be fetched. The walk has no door, only a document to
// resolve: an address that the guard refuses, by its spelling or by where its name leads, is no
// refusal of the request. The caller asked about an artifact; its key cannot be found, the check
// says why, and the use is given back, because nothing was sent.
func fetched(d *Desk, w http.ResponseWriter, r *http.Request, c offerreceipt.Checker) (offerreceipt.Report, *RateLimit,
	error) {
	rl, err := d.take(w, r, BudgetReadings)
	if err != nil {
		return offerreceipt.Report{}, nil, err
	}
	report, recording, err := read(d, r.Context(), c, fetch.WalkStart{Kinds: []string{"did"}})
	if err != nil {
		return offerreceipt.Report{}, nil, failed(err)
	}
	if slices.ContainsFunc(recording.Exchanges,
		func(x exchange.Exchange) bool { return x.Error.Stage == exchange.StageRefused }) {
		d.giveBack(w, r, rl)
		rl = nil
	}
	return report, rl, nil
}

// read walks for an instrument that is not shared, within the bound of walks under way.
func read[R any](d *Desk, ctx context.Context, c probe.Checker[R], start fetch.WalkStart) (R, fetch.Recording, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.cfg.Time+turn, errBusy)
	defer cancel()
	select {
	case d.slots <- struct{}{}:
		defer func() { <-d.slots }()
	case <-ctx.Done():
		var none R
		return none, fetch.Recording{}, context.Cause(ctx)
	}
	start.Time = cmp.Or(start.Time, d.cfg.Time)
	return fetch.Walk(ctx, d.cfg.Client, c, start)
}

func (d *Desk) fixtures(w http.ResponseWriter, _ *http.Request) error {
	b, err := offerreceipt.Fixtures(d.cfg.Key, d.cfg.BaseURL)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", api.JSON)
	h.Set("Cache-Control", "public, no-cache")
	_, _ = w.Write(b) // the client went away: nobody is left to tell
	return nil
}

func (d *Desk) conformanceRows() []route.Row {
	return []route.Row{
		metered(api.Route{
			Name: "conformance_v1", Pattern: "/api/conformance/v1", Version: "v1", Since: api.ContractSince,
			Budget: BudgetReadings, Tool: "check_conformance", Summary: "Judge a signed offer or receipt of any issuer",
			Description: "JWS and EIP-712 forms; every check named. With public_key_hex nothing is fetched and no " +
				"budget is spent; without it the kid's did:web is resolved.",
			Body: body[ConformanceRequest]("the artifact"), Responses: route.OK[Conformance]("The judgement",
				meteredProblems...),
		}, d.conform),
		instrument(api.Route{
			Name: "conformance_fixtures", Method: http.MethodGet, Pattern: "/api/conformance/v1/fixtures",
			Serve: api.Clock, Version: "v1", Since: api.ContractSince, Summary: "Artifacts to try a verifier on",
			Description: "Its digest changes only on a key handover or with a new version of the set. The same bytes " +
				"stand at /.well-known/conformance/offer-receipt-vectors.json.",
			Responses: route.OK[offerreceipt.FixtureSet]("The fixture set"),
		}, d.fixtures),
	}
}
