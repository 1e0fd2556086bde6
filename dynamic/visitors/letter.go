package visitors

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/templates"
)

// LetterRequest is the body of POST /api/letter.
type LetterRequest struct {
	Letter   string            `json:"letter" jsonschema:"at most 2000 characters; the keeper alone reads it"`
	FromName string            `json:"from_name,omitzero" jsonschema:"at most 80 characters"`
	Identity *VerifiedIdentity `json:"verified_identity,omitempty"`
}

// LetterLeft is the answer to a letter.
type LetterLeft struct {
	Message   string  `json:"message"`
	LetterID  string  `json:"letter_id"`
	PickupURL string  `json:"pickup_url"`
	VerifyURL string  `json:"verify_url"`
	Privacy   string  `json:"privacy"`
	Wrote     Salted  `json:"wrote"`
	Identity  *Proved `json:"identity,omitempty"`
}

const letterPrivacy = "The letter is for the keeper. No route, page or feed of this store gives its text, to you " +
	"neither. Whoever has letter_id can read the reply."

// postLetter answers POST /api/letter.
func (d *Service) postLetter(w http.ResponseWriter, r *http.Request) error {
	in, raw, err := readBody[LetterRequest](r)
	if err != nil {
		return err
	}
	if err := check(field{"letter", in.Letter, MaxLetter, true, true},
		field{"from_name", in.FromName, MaxName, false, false}); err != nil {
		return err
	}
	p := Post{Kind: KindLetter, Text: in.Letter, Name: in.FromName}
	v, err := d.begin(r, &p, in.Identity, raw)
	if err != nil {
		return err
	}
	wrote := salted(p.Text)
	p.Salt = wrote.Salt
	if err := d.leave(r.Context(), v, &p, nil); err != nil {
		return err
	}
	out := LetterLeft{Message: "The letter is in the box. The keeper reads letters on Sundays, and answers when " +
		"there is something to say.", LetterID: p.ID, PickupURL: d.cfg.BaseURL + "/api/letter/" + p.ID,
		VerifyURL: d.cfg.BaseURL + "/api/verify/" + p.ID, Privacy: letterPrivacy, Wrote: wrote,
		Identity: p.Identity.told()}
	return d.answer(w, r, http.StatusCreated, out, func() *templates.SheetView {
		return &templates.SheetView{Page: templates.Page{Title: "A letter in the box", Summary: out.Message,
			Path: "/api/letter"}, Sections: []templates.Section{{Facts: []templates.Fact{
			{Name: "Letter", Value: out.LetterID, Mono: true}, {Name: "Its reply, if there is one",
				Value: out.PickupURL,
				Mono:  true}, {Name: "Digest", Value: wrote.Digest, Mono: true}, {Name: "Salt", Value: wrote.Salt,
				Mono: true}},
			Says: []string{letterPrivacy, wrote.How}}}}
	})
}

// LetterStatus is the answer of GET /api/letter/{letter_id}. The letter itself is not in it.
type LetterStatus struct {
	LetterID  string       `json:"letter_id"`
	Status    string       `json:"status"` // received | read | replied
	Received  string       `json:"received"`
	ReadAt    string       `json:"read_at,omitzero"`
	RepliedAt string       `json:"replied_at,omitzero"`
	Reply     string       `json:"reply,omitzero"`
	MadeBy    string       `json:"made_by,omitzero"`
	VerifyURL string       `json:"verify_url"`
	NextStep  string       `json:"next_step"`
	Proof     attest.Proof `json:"signed"` // over the receipt, and once there is a reply, over that
}

// getLetter answers GET /api/letter/{letter_id}.
func (d *Service) getLetter(w http.ResponseWriter, r *http.Request) error {
	p, err := d.receipt(r.Context(), r.PathValue("letter_id"))
	if errors.Is(err, ErrNone) || err == nil && p.Kind != KindLetter {
		return noSuch("letter")
	}
	if err != nil {
		return down(err)
	}
	var signed attest.Letter
	if err := json.Unmarshal([]byte(p.Proof.SignedPayload), &signed); err != nil {
		return err
	}
	out := LetterStatus{LetterID: p.ID, Status: p.State, Received: stampTime(p.At), RepliedAt: signed.RepliedAt,
		Reply: signed.Reply, MadeBy: signed.MadeBy, VerifyURL: d.cfg.BaseURL + "/api/verify/" + p.ID, Proof: *p.Proof,
		NextStep: "Nothing to do. The keeper reads letters on Sundays; not every letter has a reply."}
	if p.State == StateRead {
		out.ReadAt = stampTime(p.StateAt)
	}
	if p.State == StateReplied {
		out.NextStep = "Nothing to do: this is the reply. Another letter can be left tomorrow."
	}
	return d.answer(w, r, http.StatusOK, out, func() *templates.SheetView { return letterSheet(out) })
}

func letterSheet(l LetterStatus) *templates.SheetView {
	v := &templates.SheetView{Page: templates.Page{Title: "A letter, " + l.Status, Summary: l.NextStep,
		Path: "/api/letter/" + l.LetterID}}
	facts := []templates.Fact{{Name: "Letter", Value: l.LetterID, Mono: true}, {Name: "Received", Value: l.Received}}
	for _, f := range []templates.Fact{{Name: "Read", Value: l.ReadAt}, {Name: "Replied", Value: l.RepliedAt}} {
		if f.Value != "" {
			facts = append(facts, f)
		}
	}
	v.Sections = append(v.Sections, templates.Section{Facts: facts, Links: []templates.Pointer{{Text: "Check what is " +
		"signed",
		Href: l.VerifyURL}}})
	if l.Reply != "" {
		v.Sections = append(v.Sections, templates.Section{ID: "reply", Title: "The reply of " + l.MadeBy,
			Pre: l.Reply})
	}
	return v
}

// noSuch is the answer for an id under which nothing was left.
func noSuch(what string) error {
	return &problem.Error{Code: "not_found", Detail: "There is no " + what + " with this id. It stands in the answer " +
		"to what was left, and nowhere else."}
}

// receipt finds a post by its id. A letter's receipt is signed when it is first asked for, and
// kept: the answer to a letter does not hold it, and most are never fetched.
func (d *Service) receipt(ctx context.Context, id string) (Post, error) {
	p, err := d.Post(ctx, id)
	if err != nil || p.Kind != KindLetter || p.Proof != nil {
		return p, err
	}
	wrote, err := p.digestOf()
	if err != nil {
		return p, err
	}
	proof, err := d.sign(attest.Letter{LetterID: p.ID, Class: attest.ClassLetter, Date: stampTime(p.At),
		Status: StateReceived, Wrote: wrote, FromTheStore: d.cfg.BaseURL})
	if err != nil {
		return p, err
	}
	err = d.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		var err error
		if p, err = postOf(tx, id); err != nil || p.Proof != nil {
			return err // somebody was quicker, or the keeper has answered
		}
		p.Proof = &proof
		return ledger.SetJSON(tx, postKey(id), &p)
	})
	return p, err
}

// begin gives a post its id and time, and judges who the visitor says he is; one over the limit is
// refused before anything is asked of others for him. Everybody else is refused where he is
// counted: looking first would be a second wait for the ledger.
func (d *Service) begin(r *http.Request, p *Post, id *VerifiedIdentity, raw []byte) (visitor, error) {
	v := visitorOf(r)
	if err := id.check(); err != nil {
		return v, err
	}
	p.ID, p.At, p.State = attest.NewID(kindOf(p.Kind).prefix), time.Now().UTC().Truncate(time.Second), StateReceived
	if id == nil {
		return v, nil
	}
	err := d.may(r.Context(), v, p.Kind)
	if err != nil {
		return v, err
	}
	p.Identity, err = d.judge(r.Context(), id, r.URL.Path, raw, v.address)
	return v, err
}

// readBody reads a body strictly, and keeps its bytes for who signed them.
func readBody[T any](r *http.Request) (v T, raw []byte, err error) {
	if raw, err = route.ReadBody(r); err != nil {
		return v, nil, err
	}
	v, err = route.DecodeJSON[T](raw)
	return v, raw, err
}

func (d *Service) letterRows() []route.Row {
	return []route.Row{
		write(api.Route{
			Name: "letter", Pattern: "/api/letter", Summary: "Leave the keeper a letter",
			Description: "Free, one a day for a visitor. Private: the letter is read by the keeper and given by no " +
				"route. The answer has the id by which the reply is picked up.",
		}, body[LetterRequest]("letter, from_name, verified_identity"), created[LetterLeft]("The letter is in the box"),
			d.postLetter),
		reading(api.Route{
			Name: "letter_status", Pattern: "/api/letter/{letter_id}", Serve: api.Private,
			Summary: "Whether a letter was read, and its reply",
			Params:  []api.Param{idParam("letter_id", prefixLetter, "of the answer to the letter")},
		}, route.Answers[LetterStatus](http.StatusOK, "The letter's state and its signed reply", 404, 503),
			d.getLetter),
	}
}

// ReadLetter marks a letter as read.
func (d *Service) ReadLetter(ctx context.Context, id string, dry bool) (Post, error) {
	return d.change(ctx, id, KindLetter, dry, func(_ ledger.Tx, p *Post, _ time.Time) error {
		if p.State == StateReceived {
			p.State = StateRead
		}
		return nil
	})
}

// ReplyLetter signs the keeper's reply to a letter, once.
func (d *Service) ReplyLetter(ctx context.Context, id, reply string, dry bool) (Post, error) {
	if err := keepersText("reply", reply, MaxReply); err != nil {
		return Post{}, err
	}
	return d.change(ctx, id, KindLetter, dry, func(_ ledger.Tx, p *Post, now time.Time) error {
		if p.State == StateReplied {
			return fmt.Errorf("letter %s was answered on %s: a reply is signed once", id, stampTime(p.StateAt))
		}
		wrote, err := p.digestOf()
		if err != nil {
			return err
		}
		proof, err := d.sign(attest.Letter{LetterID: p.ID, Class: attest.ClassLetter, Date: stampTime(p.At),
			Status: StateReplied, Wrote: wrote, RepliedAt: stampTime(now), Reply: reply,
			MadeBy: d.cfg.Site.Now().Config.Keeper, FromTheStore: d.cfg.BaseURL})
		if err != nil {
			return err
		}
		p.Proof, p.Reply, p.State = &proof, reply, StateReplied
		return nil
	})
}
