package census

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"

	"store.example/agentstore/corpus/accounts"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/declarations"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
)

// kinds are the requests that a walk of the census may make.
var kinds = []string{probe.KindGet, probe.KindDeclaredPost, probe.KindRedirect, probe.KindOwnFile,
	probe.KindAccounts}

// visited is what came of one walk, before it is known how the control door fared.
type visited struct {
	result Result
	// sheltered is the row in its place if the control door failed; nil for a verdict that rests on
	// an answer.
	sheltered *record.Row
	busy      *fetch.Busy // its address is: nothing was sent, and it is walked later
}

// visit walks one door.
func (r *run) visit(ctx context.Context, e Entry) (visited, error) {
	because := func(reason string) visited { return visited{result: Result{Row: notProbed(e, reason)}} }
	checker, err := probe.NewPreflight(probe.Current(), e.URL, e.Declared)
	if err != nil {
		r.Log.Error("door not judged", "url", e.URL, "err", err)
		return because(ReasonNotJudged), nil
	}
	checker.ReadsAccounts(accounts.Reader{}, r.Nodes.Networks()...)
	client := &patient{Asker: r.Client}
	if r.AskFirst {
		if v, out, err := r.ask(ctx, client, e); out || err != nil {
			return v, err
		}
	}
	report, recording, err := fetch.Walk(ctx, client, checker,
		fetch.WalkStart{URL: e.URL, Kinds: kinds, Nodes: r.Nodes})
	if busy, ok := errors.AsType[*fetch.Busy](err); ok {
		return visited{busy: busy}, nil
	}
	if refusal, ok := errors.AsType[*fetch.Refusal](err); ok {
		return because(refusal.Code), nil
	}
	if ctx.Err() != nil {
		return visited{}, ctx.Err()
	}
	if err != nil {
		r.Log.Error("door not judged", "url", e.URL, "err", err)
		return because(ReasonNotJudged), nil
	}
	if r.Raw != nil {
		err := r.Raw.Put(r.Week, e, report, recording)
		if errors.Is(err, exchange.ErrTooLarge) {
			r.Log.Error("door not judged", "url", e.URL, "err", err)
			return because(ReasonNotJudged), nil
		}
		if err != nil {
			return visited{}, fmt.Errorf("keeping the recording of %s: %w", e.Host, err)
		}
	}
	judgement, err := checker.Judgement(recording.Exchanges, r.salt(e.Host, 0))
	if err != nil {
		r.Log.Error("door not judged", "url", e.URL, "err", err)
		return because(ReasonNotJudged), nil
	}
	on := func(row record.Row) record.Row {
		row.Host, row.Listed, row.Source, row.Catalog, row.Late = e.Host, e.Listed, e.Source, e.Catalog, e.Late
		return row
	}
	v := visited{result: Result{Row: on(rejudge.RowFrom(report, judgement))}}
	if v.result.Row.EvidenceDigest != "" {
		raw, err := judgement.Encode()
		if err != nil {
			return visited{}, fmt.Errorf("keeping what was judged of %s: %w", e.Host, err) // RowFrom encoded it
		}
		v.result.Evidence = raw
		v.result.Addresses = addresses(recording.Exchanges, report.Terms)
	}
	switch {
	case r.elsewhere:
		row := notProbed(e, record.ReasonControlFailed)
		v.sheltered = &row
	case report.Verdict == probe.Unreachable:
		row := on(rejudge.RowFrom(report.ControlFailed(), judgement))
		v.sheltered = &row
	}
	return v, nil
}

// ask reads a host's own file; out is true where the host is not walked now, because it opted out
// there or because its address is busy. A file that cannot be read asks for nothing, and the walk
// finds out why.
func (r *run) ask(ctx context.Context, client *patient, e Entry) (v visited, out bool, err error) {
	x, err := client.Do(ctx, exchange.Request{Method: http.MethodGet, URL: declarations.Start(e.Host),
		Header: http.Header{"Accept": {"application/json"}}}, fetch.Rule{})
	if busy, ok := errors.AsType[*fetch.Busy](err); ok {
		return visited{busy: busy}, true, nil
	}
	if ctx.Err() != nil {
		return v, false, ctx.Err()
	}
	if err != nil || !declarations.OptsOut(x) {
		return v, false, nil
	}
	row := notProbed(e, record.ReasonOptedOut)
	row.Fault = record.FaultNone
	kept, err := probe.NewOptOut(x, r.salt(e.Host, 0))
	var raw []byte
	if err == nil {
		raw, err = kept.Encode()
	}
	if err != nil || len(raw) > probe.MaxJudgement {
		// It is not walked all the same.
		r.Log.Error("opt-out not kept", "host", e.Host, "err", err)
		return visited{result: Result{Row: notProbed(e, ReasonNotJudged)}}, true, nil
	}
	row.EvidenceDigest = attest.Digest(sha256.Sum256(raw)).String()
	return visited{result: Result{Row: row, Evidence: raw}}, true, nil
}

// salt is what hides what was judged once it is withdrawn.
func (r *run) salt(host string, n int) probe.Salt {
	if r.Salt != nil {
		return r.Salt(r.Week, host, n)
	}
	return probe.NewSalt()
}

// walkControl walks our own control door for the n-th time: it holds if it is ready, as it is known
// to be.
func (r *run) walkControl(ctx context.Context, n int) ControlWalk {
	out := ControlWalk{Failed: true}
	checker, err := probe.NewPreflight(probe.Current(), r.Control.URL, probe.Declaration{})
	if err != nil {
		return out
	}
	report, recording, err := fetch.Walk(ctx, r.Control.Client, checker,
		fetch.WalkStart{URL: r.Control.URL, Kinds: kinds})
	walked := recording.Exchanges
	if err != nil {
		// What kept us from sending is told as the others are.
		walked = []exchange.Exchange{{Request: exchange.Request{Method: http.MethodGet, URL: r.Control.URL},
			StartedAt: r.Now(),
			Error:     exchange.Error{Stage: exchange.StageRefused, Text: "nothing was sent"}}}
	}
	out.Failed = err != nil || report.Verdict != probe.Ready
	j, err := checker.Judgement(walked, r.salt("", n))
	if err == nil {
		out.Judgement, err = j.Encode()
	}
	if err != nil || len(out.Judgement) > probe.MaxJudgement {
		r.Log.Error("control walk not kept", "url", r.Control.URL, "err", err)
		out.Judgement = nil
	}
	return out
}
