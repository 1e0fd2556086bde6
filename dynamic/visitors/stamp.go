package visitors

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/templates"
	"store.example/agentstore/templates/drawing"
)

// Stamp is what is kept of a stamp of the week, or of a guestbook's sticker.
type Stamp struct {
	ID       string       `json:"stamp_id"`
	Class    string       `json:"class"`
	Date     string       `json:"date"`
	Week     string       `json:"week,omitzero"`
	Line     string       `json:"line"`
	Identity string       `json:"identity,omitzero"`
	Entry    string       `json:"entry,omitzero"` // of the guestbook, of a sticker
	Proof    attest.Proof `json:"proof,omitzero"` // of a sticker, once it was asked for
}

// sticker is what is signed of a sticker.
func (s Stamp) sticker(from string) attest.Sticker {
	return attest.Sticker{StampID: s.ID, Class: s.Class, Date: s.Date, Entry: s.Entry, Line: s.Line,
		Identity: s.Identity, FromTheStore: from}
}

// StampView is a stamp or sticker as it is given.
type StampView struct {
	StampID   string       `json:"stamp_id"`
	Class     string       `json:"class"`
	Week      string       `json:"week,omitzero"`
	Date      string       `json:"date"`
	Line      string       `json:"line"`
	VerifyURL string       `json:"verify_url"`
	SVGURL    string       `json:"svg_url"`
	Proof     attest.Proof `json:"signed,omitzero"` // of a stamp; a sticker's is at verify_url
}

// StampGiven is the answer to POST /api/stamp.
type StampGiven struct {
	Message string    `json:"message"`
	Stamp   StampView `json:"stamp"`
	Note    string    `json:"note"`
}

func (d *Service) stampView(s Stamp) StampView {
	return StampView{StampID: s.ID, Class: s.Class, Week: s.Week, Date: s.Date, Line: s.Line,
		VerifyURL: d.cfg.BaseURL + "/api/verify/" + s.ID, SVGURL: d.cfg.BaseURL + "/stamps/" + s.ID + ".svg",
		Proof: s.Proof}
}

// isoWeek is the week of a time in UTC, such as 2026-W53.
func isoWeek(t time.Time) string {
	year, week := t.UTC().ISOWeek()
	return fmt.Sprintf("%d-W%02d", year, week)
}

// lines are what stamps say in a week for which the keeper wrote nothing, in turn.
var lines = []string{
	"Here in a quiet week.", "The door was open.", "Looked at everything, took a stamp.", "Rain on the awning.",
	"The cat was out.", "The kettle was on.", "Somebody had moved the chair.", "The shutters were half up.",
	"A good week for looking.", "The bell had just been polished.", "Came in out of the wind.", "The lamp was lit " +
		"early.",
	"Nothing was for sale at this counter.",
}

// lineOf is what the stamps of the week of a time say.
func lineOf(tx ledger.Tx, at time.Time) (string, error) {
	week := isoWeek(at)
	line, err := tx.Get(ledger.VisitKey(partLine, week))
	if errors.Is(err, ledger.ErrNotFound) {
		_, n := at.UTC().ISOWeek()
		return lines[n%len(lines)], nil
	}
	return string(line), err
}

// WeeksStamp is the week by the ledger's clock, and what its stamps say.
func (d *Service) WeeksStamp(ctx context.Context) (week, line string, err error) {
	err = d.cfg.DB.View(ctx, func(tx ledger.Tx) (err error) {
		week = isoWeek(tx.Now())
		line, err = lineOf(tx, tx.Now())
		return err
	})
	return week, line, down(err)
}

// stampBytes is what a stamp and its index take at most.
const stampBytes = 2 << 10

// postStamp answers POST /api/stamp.
func (d *Service) postStamp(w http.ResponseWriter, r *http.Request) error {
	v := visitorOf(r)
	id := attest.NewID(prefixStamp)
	var s Stamp
	line := ledger.At(ledger.VisitKey(partLine, isoWeek(time.Now())))
	err := d.cfg.DB.Update(r.Context(), func(tx ledger.Tx) error {
		if _, err := d.take(tx, v, KindStamp, stampBytes, line); err != nil {
			return err
		}
		now := tx.Now()
		line, err := lineOf(tx, now)
		if err != nil {
			return err
		}
		signed := attest.Stamp{StampID: id, Class: attest.ClassStamp, Date: stampTime(now), Week: isoWeek(now),
			Line:         line,
			FromTheStore: d.cfg.BaseURL}
		proof, err := d.sign(signed)
		if err != nil {
			return err
		}
		s = Stamp{ID: id, Class: signed.Class, Date: signed.Date, Week: signed.Week, Line: line, Proof: proof}
		return ledger.SetJSON(tx, ledger.VisitKey(partStamp, id), s)
	})
	if err != nil {
		return down(err)
	}
	out := StampGiven{Message: "Stamped.", Stamp: d.stampView(s), Note: "The drawing is that of " + s.Week + ". " +
		"Nothing in it says who you are: a stamp is whoever's shows it."}
	return d.answer(w, r, http.StatusCreated, out, func() *templates.SheetView {
		return d.stampSheet("A stamp of "+s.Week, s)
	})
}

func (s Stamp) drawing() string {
	return drawing.Stamp(drawing.Stamped{Week: s.Week, Line: s.Line, Date: s.Date[:10],
		Identity: s.Identity})
}

// stampSheet is the page of a stamp.
func (d *Service) stampSheet(title string, s Stamp) *templates.SheetView {
	v := d.stampView(s)
	return &templates.SheetView{Page: templates.Page{Title: title, Summary: s.Line, Path: "/api/stamp"},
		Sections: []templates.Section{{Figure: &templates.Figure{SVG: templates.Markup(s.drawing()), Legend: s.Line},
			Facts: []templates.Fact{{Name: "Stamp", Value: s.ID, Mono: true}, {Name: "Date", Value: s.Date}},
			Links: []templates.Pointer{{Text: "Check what is signed", Href: v.VerifyURL}, {Text: "The drawing",
				Href: v.SVGURL}}}}}
}

// stampOf finds a stamp or sticker by its id.
func (d *Service) stampOf(ctx context.Context, id string) (s Stamp, err error) {
	err = d.cfg.DB.View(ctx, func(tx ledger.Tx) error {
		s, err = ledger.GetJSON[Stamp](tx, ledger.VisitKey(partStamp, id))
		return err
	})
	if errors.Is(err, ledger.ErrNotFound) {
		err = ErrNone
	}
	return s, err
}

// signedStamp is a stamp or sticker with its signature, which is kept from then on.
func (d *Service) signedStamp(ctx context.Context, id string) (s Stamp, err error) {
	if s, err = d.stampOf(ctx, id); err != nil || s.Proof.Signature != nil {
		return s, err
	}
	proof, err := d.sign(s.sticker(d.cfg.BaseURL))
	if err != nil {
		return s, err
	}
	err = d.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		key := ledger.VisitKey(partStamp, id)
		if s, err = ledger.GetJSON[Stamp](tx, key); err != nil || s.Proof.Signature != nil {
			return err // somebody was quicker
		}
		s.Proof = proof
		return ledger.SetJSON(tx, key, s)
	})
	return s, err
}

// getStamp answers GET /stamps/{stamp_id}.svg, which never changes.
func (d *Service) getStamp(w http.ResponseWriter, r *http.Request) error {
	s, err := d.stampOf(r.Context(), r.PathValue("stamp_id"))
	if errors.Is(err, ErrNone) {
		return noSuch("stamp")
	}
	if err != nil {
		return down(err)
	}
	h := w.Header()
	h.Set("Content-Type", "image/svg+xml")
	h.Set("Cache-Control", "public, max-age=86400")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write([]byte(s.drawing()))
	return nil
}

func (d *Service) stampRows() []route.Row {
	return []route.Row{
		write(api.Route{
			Name: "stamp", Pattern: "/api/stamp", Summary: "Take a signed stamp of this week",
			Description: "Free, one a day for a visitor. It takes no body. The drawing is another one every ISO week.",
		}, nil, route.Answers[StampGiven](http.StatusCreated, "The stamp", 429, 503), d.postStamp),
		reading(api.Route{
			Name: "stamp_drawing", Pattern: "/stamps/{stamp_id}.svg", Serve: api.Ledger,
			Summary: "The drawing of a stamp or sticker",
			Params:  []api.Param{idParam("stamp_id", prefixStamp, "of a stamp or sticker")},
		}, append([]api.Response{{Status: http.StatusOK, ContentType: "image/svg+xml", Description: "The drawing"}},
			route.Problems(404, 503)...), d.getStamp),
	}
}

var weekForm = regexp.MustCompile(`^[0-9]{4}-W(0[1-9]|[1-4][0-9]|5[0-3])$`)

// SetLine sets what the stamps of a week say, such as 2026-W48. Those that were given keep theirs.
func (d *Service) SetLine(ctx context.Context, week, line string, dry bool) error {
	if !weekForm.MatchString(week) {
		return fmt.Errorf("%.20q is no ISO week: write it as 2026-W48", week)
	}
	if what := (field{"line", line, MaxName, true, false}).problem(); what != "" {
		return errors.New("the line " + what)
	}
	if dry {
		return nil
	}
	return d.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		return tx.Set(ledger.VisitKey(partLine, week), []byte(line))
	})
}
