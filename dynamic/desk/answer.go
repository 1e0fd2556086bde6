package desk

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/dynamic/budget"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
)

// RateLimit is what an answer repeats of its budget: the tightest of its counts.
type RateLimit struct {
	Budget    string `json:"budget"`
	Limit     int    `json:"limit"`
	Remaining int    `json:"remaining"`
	ResetIn   int    `json:"reset_in_seconds"`
	Note      string `json:"note"`
	reading   budget.Reading
}

const budgetNote = "The store's own budget for everybody together. It says nothing about the endpoint."

// take spends one use of a budget and writes its fields to the answer.
func (d *Desk) take(w http.ResponseWriter, r *http.Request, name string) (*RateLimit, error) {
	rd, err := d.cfg.Budgets.Take(w, r, name, route.Client(r))
	if err != nil {
		return nil, err
	}
	return rateLimit(name, rd), nil
}

func rateLimit(name string, rd budget.Reading) *RateLimit {
	rl := &RateLimit{Budget: name, ResetIn: int(rd.Reset / time.Second), Note: budgetNote, reading: rd}
	for i, c := range rd.Counts {
		if i == 0 || c.Remaining < rl.Remaining {
			rl.Limit, rl.Remaining = c.Quota, c.Remaining
		}
	}
	return rl
}

// giveBack undoes a take whose request turned out to be one to refuse: that spends nothing and says
// nothing of budgets.
func (d *Desk) giveBack(w http.ResponseWriter, r *http.Request, rl *RateLimit) {
	if err := d.cfg.Budgets.GiveBack(context.WithoutCancel(r.Context()), rl.reading); err != nil {
		d.cfg.Log.Error("use of a budget not given back", "budget", rl.Budget, "err", err)
	}
	budget.Strip(w.Header())
}

// maxURL is the most characters of a URL that an instrument takes.
const maxURL = 2048

// readBody reads a request whose main member is a url. A body that is no JSON, or in which there is
// none, lacks one, whatever else may be wrong with it.
func readBody[T any](r *http.Request) (T, error) {
	return readWith[T](r, "url", '"', "the member url, a text")
}

// readWith is readBody for a main member of any name and kind, which are put in words besides.
func readWith[T any](r *http.Request, member string, kind jsontext.Kind, words string) (T, error) {
	var none T
	raw, err := route.ReadBody(r)
	if err != nil {
		return none, err
	}
	r.Body = io.NopCloser(bytes.NewReader(raw))
	in, err := route.ReadJSON[T](r, false)
	e, ok := errors.AsType[*problem.Error](err)
	if !ok || e.Code != "invalid_input" {
		return in, err
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(raw, &members); err == nil && members[member].Kind() == kind {
		return none, e // it has what it is about, and something else is wrong
	}
	return none, &problem.Error{Code: fetch.CodeMissing, Fields: e.Fields,
		Detail: "Nothing was read: the body must be a JSON object with " + words + "."}
}

// door judges the spelling of a URL and returns the form in which it would be requested. It sends
// nothing.
func (d *Desk) door(raw string) (string, error) {
	if len(raw) > 4*maxURL || len([]rune(raw)) > maxURL {
		return "", &problem.Error{Code: fetch.CodeUnparseable,
			Detail: "Nothing was read: url is longer than 2048 characters.",
			Fields: []problem.Field{{Field: "url", Problem: "is longer than 2048 characters"}}}
	}
	if strings.TrimSpace(raw) == "" {
		return "", &problem.Error{Code: fetch.CodeMissing, Detail: "Nothing was read: no url was given."}
	}
	canonical, err := d.cfg.Client.Parse(raw, fetch.Rule{})
	if err != nil {
		return "", refused(err)
	}
	return canonical, nil
}

// refused turns the guard's refusal and the limit of a host into an answer; another error passes as
// it is.
func refused(err error) error {
	if e, ok := errors.AsType[*hostSpent](err); ok {
		return e.problem()
	}
	r, ok := errors.AsType[*fetch.Refusal](err)
	if !ok {
		return err
	}
	return &problem.Error{Code: r.Code, Detail: "Nothing was sent: " + r.Reason +
		". This is about the store's rules and says nothing about the host."}
}
