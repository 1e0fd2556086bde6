package services

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/till"
)

// A phantom check visits an address some hours after it was paid for, once, and has signed what it
// was given. The certificate and the promise are signed at once; what was seen is signed by itself.
//
// When a visit is due one of the processes notes that it begins, and only then sends its one
// request: a visit that a process did not survive is told as missed and is never made again,
// because a second one would be another look at another time. So is one that could not begin within
// its grace, because the store stood still. What is missed has a reason and is never back-dated.
//
// The address is its buyer's to choose and nobody's to trust: it is reached by a guarded client
// (package fetch) that checks it at every dial and follows nothing; plain http is allowed here and
// nowhere else. Of what comes back the store keeps a digest.
//
//	look/<check_id>           Visit, until it is made or missed
//	goods/aimed/<host>/<id>   a visit that waits

const (
	// VisitAfter is how long after its payment an address is visited.
	VisitAfter = 6 * time.Hour
	// VisitGrace is how long after its time a visit may still begin.
	VisitGrace = 3 * time.Hour
	// noteFor bounds the writing down of what was seen, however the process ends.
	noteFor = 15 * time.Second
)

// Visit is a visit that is not made yet.
type Visit struct {
	ID       string    `json:"id"` // of its artifact
	Purchase string    `json:"purchase"`
	URL      string    `json:"url"` // in its one spelling
	Due      time.Time `json:"due"`
	Begun    time.Time `json:"begun,omitzero"` // when the request was about to be sent
}

var visits = journal[Visit]{job: "look", key: ledger.LookKey, of: func(v Visit) string { return v.Purchase },
	forget: func(tx ledger.Tx, v Visit) error { return aimed.give(tx, hostOf(v.URL), v.Purchase) }}

// aimed are the visits that wait for a host.
var aimed = places{name: "aimed", most: 24, full: "As many looks as one host gets wait for this one already; come " +
	"back in some hours."}

// plain is what a visit may do beyond a GET over https.
var plain = fetch.Rule{PlainHTTP: true}

type promisedVisit struct {
	URL   string `json:"url,omitzero"`
	DueAt string `json:"due_at,omitzero"`
	HowTo string `json:"how_to_read,omitzero"`
}

// phantom is the kind of phantom checks.
func (s *Services) phantom() goods.Kind {
	k := aimed.kind(s.cfg.Visits != nil, func(inputs map[string]string) (string, error) {
		_, host, err := s.visitTarget(inputs["url"])
		return host, err
	})
	k.Name, k.Delivers, k.Undo = content.KindPhantom, promisedVisit{}, k.Release
	k.Make = func(_ context.Context, _ goods.Maker, o *goods.Order) (*goods.Made, error) {
		url, host, err := s.visitTarget(o.Inputs["url"])
		if err != nil {
			return nil, err
		}
		g := goods.MadeOf(o, promisedVisit{URL: url, HowTo: "GET artifact.url says how it stands: scheduled, then " +
			"what was seen, signed, or that it was missed and why."},
			"Noted. Somebody will look in when nobody expects him.", "")
		g.Saw = host
		return g, nil
	}
	k.Settle = goods.Settled(func(_ ledger.Tx, o *goods.Order, d *promisedVisit) error {
		d.DueAt = stamp(o.Settled.Add(VisitAfter))
		return nil
	})
	k.Complete = goods.With(func(_ goods.Maker, tx ledger.Tx, o *goods.Order, d promisedVisit) error {
		at := o.Settled.Add(VisitAfter).UTC().Truncate(time.Second)
		return visits.put(tx, o.Artifact, Visit{ID: o.Artifact, Purchase: o.ID, URL: d.URL, Due: at}, at)
	})
	k.Artifact = &goods.Artifact{Class: attest.ClassCheck, Prefix: "check_", Path: "/api/phantom/",
		Payload: func(o *goods.Order, g *goods.Made, f goods.Facts) (any, error) {
			d, err := goods.Delivered[promisedVisit](g)
			return attest.Look{CheckID: f.ID, Class: attest.ClassCheck, PatronNumber: f.PatronNumber, Date: f.Date,
				Status: attest.CheckScheduled, URL: d.URL, DueAt: d.DueAt, Name: o.Inputs["agent_name"],
				FromTheStore: f.Store}, err
		}}
	return k
}

// visitTarget is an address in its one spelling, and its host. One that is never visited is a
// *goods.BadInput. It sends nothing and asks no name service.
func (s *Services) visitTarget(url string) (spelled, host string, err error) {
	spelled, err = s.cfg.Visits.Parse(url, plain)
	if err != nil {
		return "", "", &goods.BadInput{Field: "url", Problem: "is refused: " + err.Error()}
	}
	return spelled, hostOf(spelled), nil
}

// visit makes one visit, or tells why it is missed.
func (s *Services) visit(ctx context.Context, task schedule.Task) error {
	check := attest.Look{Status: attest.CheckMissed}
	rec, now, ok, err := visits.begin(ctx, s.cfg.DB, task, func(_ ledger.Tx, v *Visit, now time.Time) (then, error) {
		if check.Missed = missed(v.Begun, v.Due, VisitGrace, now, "looked"); check.Missed == "" {
			v.Begun = now
		}
		return underWay, nil
	})
	if err != nil || !ok {
		return err
	}
	ctx, cancel := finishing(ctx, fetch.DefaultTimeout+noteFor)
	defer cancel()
	if check.Missed == "" {
		granted, reset, err := s.cfg.Spend(ctx, rec.URL)
		if err != nil || !granted { // nothing was sent
			return errors.Join(err, visits.step(ctx, s.cfg.DB, task, func(tx ledger.Tx, v *Visit) (then, error) {
				v.Begun = time.Time{}
				return again(tx.Now().Add(max(reset, time.Second))), nil
			}))
		}
		check = s.look(ctx, rec, now)
	}
	signed, err := s.till.SignCheck(ctx, rec.Purchase, check, now)
	if err != nil {
		return err
	}
	return visits.step(ctx, s.cfg.DB, task, func(tx ledger.Tx, _ *Visit) (then, error) {
		return gone, till.KeepCheck(tx, signed)
	})
}

// look makes the one request.
func (s *Services) look(ctx context.Context, rec Visit, now time.Time) attest.Look {
	x, err := s.cfg.Visits.Do(ctx, exchange.Request{Method: "GET", URL: rec.URL}, plain)
	if err != nil {
		s.cfg.Log.Info("a look was refused", "check", rec.ID, "err", err)
		return attest.Look{Status: attest.CheckMissed,
			Missed: "the address is one that the store does not look at: " + err.Error()}
	}
	c := attest.Look{Status: attest.CheckObserved, LookedAt: stamp(now), Answer: &attest.Answer{
		HTTPStatus: x.Response.Status, BodyBytes: len(x.Response.Body), Truncated: x.Response.Truncated,
		Failed: x.Error.Stage, Problem: x.Error.Text}}
	if x.Response.Status == 0 {
		return c
	}
	sum := sha256.Sum256(x.Response.Body)
	c.Answer.BodySHA256 = hex.EncodeToString(sum[:])
	c.Answer.ContentType = printable(x.Response.Header.Get("Content-Type"))
	return c
}

// printable is the beginning of a stranger's word, if it is plain.
func printable(s string) string {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return ""
		}
	}
	return s[:min(len(s), 100)]
}

// CheckView is the answer of GET /api/phantom/{check_id}.
type CheckView struct {
	CheckID        string         `json:"check_id"`
	Status         string         `json:"status"` // scheduled | observed | missed
	URL            string         `json:"url"`
	DueAt          string         `json:"due_at"`
	LookedAt       string         `json:"looked_at,omitzero"`
	Missed         string         `json:"missed,omitzero"` // why nothing was looked at
	Answer         *attest.Answer `json:"answer,omitempty"`
	NextCheckAfter string         `json:"next_check_after,omitzero"`
	NextStep       string         `json:"next_step"`
	counter.Verification
}

// checkSteps is what to do about a check, by its status.
var checkSteps = map[string]string{
	attest.CheckScheduled: "Wait: the address is looked at once, between due_at and three hours later. Read this " +
		"again after next_check_after.",
	attest.CheckObserved: "Nothing to do: what was seen is signed. A body with this SHA-256 is what was given.",
	attest.CheckMissed: "Nothing was seen, and missed says why. It is not made up for: a look at another time would " +
		"be another look.",
}

// serveCheck answers GET /api/phantom/{check_id}: what was promised, or what came of it.
func (s *Services) serveCheck(w http.ResponseWriter, r *http.Request) error {
	a, v, err := s.counter.Artifact(r.Context(), r.PathValue("check_id"), counter.Checks, attest.ClassCheck,
		"phantom check")
	if err != nil {
		return err
	}
	out := CheckView{CheckID: a.ID, Verification: *v}
	if !v.Valid {
		return counter.WriteJSON(w, out)
	}
	var signed attest.Look
	if err := json.Unmarshal([]byte(a.Proof.SignedPayload), &signed); err != nil {
		return err
	}
	out.Status, out.URL, out.DueAt, out.LookedAt = signed.Status, signed.URL, signed.DueAt, signed.LookedAt
	out.Missed, out.Answer, out.NextStep = signed.Missed, signed.Answer, checkSteps[signed.Status]
	switch due, err := time.Parse(time.RFC3339, signed.DueAt); {
	case err != nil:
		return err
	case v.Status == "reversed":
		out.NextStep = "The chain took the payment back, so nothing is looked at."
	case signed.Status == attest.CheckScheduled:
		soon := s.counter.Now().Add(time.Minute)
		out.NextCheckAfter = stamp(time.Unix(max(due.Unix(), soon.Unix()), 0))
	}
	return counter.WriteJSON(w, out)
}
