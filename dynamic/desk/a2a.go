package desk

import (
	"context"
	"net/http"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/agentcard"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
)

// CardRequest names an agent card.
type CardRequest struct {
	URL  string `json:"url" jsonschema:"full public https URL of the card, without query or fragment; at most 2048 characters"`
	Live bool   `json:"live,omitempty" jsonschema:"true also asks the two checks that send a harmless POST to the agent's endpoint; otherwise they are not_checked"`
}

// Card is the judgement of a card as it is served.
type Card struct {
	agentcard.Report
	Shared    bool       `json:"shared"`
	Private   bool       `json:"private,omitzero"`
	RateLimit *RateLimit `json:"rate_limit,omitzero"`
	NextSteps []string   `json:"next_steps"`
}

func (d *Desk) card(w http.ResponseWriter, r *http.Request) error {
	in, err := readBody[CardRequest](r)
	if err != nil {
		return err
	}
	if strings.Contains(in.URL, "?") {
		return route.Invalid(problem.Field{Field: "url", Problem: "has a query; a card is named by its path alone"})
	}
	url, rl, err := d.admit(w, r, in.URL, BudgetA2A)
	if err != nil {
		return err
	}
	kinds := []string{"get", "did", "key"}
	what := "a2a "
	if in.Live {
		kinds, what = append(kinds, agentcard.KindTasksGet, agentcard.KindStream), "a2a live "
	}
	report, shared, err := readShared(d, r.Context(), what+url, agentcard.Checker{URL: url, Live: in.Live},
		fetch.WalkStart{URL: url, Kinds: kinds})
	if err != nil {
		return d.unread(w, r, rl, err)
	}
	return route.JSON(w, Card{Report: report, Shared: shared, Private: d.cfg.Client.Private(), RateLimit: rl,
		NextSteps: []string{"suggested_fixes says what to change for each check that failed.",
			"POST the same with live: true to ask the two checks that need a request to the agent."}})
}

// reading is the answer of an instrument that was shared.
type reading struct{ report any }

// readShared is read, shared among those who ask for the same thing within seconds.
func readShared[R any](d *Desk, ctx context.Context, key string, c probe.Checker[R], start fetch.WalkStart) (R, bool,
	error) {
	got, shared, err := d.readings.do(ctx, key, func(ctx context.Context) (reading, error) {
		report, _, err := read(d, ctx, c, start)
		return reading{report}, err
	})
	if err != nil {
		var none R
		return none, shared, err
	}
	return got.report.(R), shared, nil
}

func (d *Desk) cardRow() route.Row {
	return metered(api.Route{
		Name: "a2a_check", Pattern: "/api/a2a/check", Budget: BudgetA2A, Tool: "check_a2a_card",
		Summary: "Judge an A2A agent card",
		Description: "Card version 0.3.0, nineteen checks with their states, bounded evidence, suggested fixes and " +
			"gaps; a card of 1.0 is not_judged, with own_dialect beside. One GET; the documents that hold a " +
			"signature's keys are the one exception. Checks that would send a POST are not_checked unless live is " +
			"true. A budget of its own.",
		Body: urlBody[CardRequest]("url and live"), Responses: route.OK[Card]("The judgement", meteredProblems...),
	}, d.card)
}
