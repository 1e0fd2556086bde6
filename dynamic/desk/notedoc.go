package desk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
)

// NoteDoor documents the desk for notes, or answers what was asked of it.
type NoteDoor struct {
	What      string            `json:"what"`
	Lanes     map[string]string `json:"lanes"`
	Limits    map[string]int    `json:"limits"`
	Refusals  map[string]string `json:"refusals"`
	Withdrawn string            `json:"how_a_text_goes"`
	Challenge *NoteChallenge    `json:"challenge,omitempty"` // with address and statement_sha256
	Asked     *NoteAnswer       `json:"asked,omitempty"`     // with host
}

// NoteChallenge is the text by which the wallet lane is signed.
type NoteChallenge struct {
	Address   string `json:"address"`
	Challenge string `json:"challenge"` // CAIP-122
	Nonce     string `json:"nonce"`
	ExpiresAt string `json:"expires_at"`
}

func (d *Desk) pageOf(host string) string { return d.cfg.BaseURL + "/corpus/host/" + host }

// getNote answers GET /api/standing-note: how it is done, the challenge of the wallet lane, and
// what stands beside a host.
func (d *Desk) getNote(w http.ResponseWriter, r *http.Request) error {
	in := route.Inputs(r)
	out := noteDoor()
	if raw := in["host"]; raw != "" {
		host, err := d.bareHost(raw)
		if err != nil {
			return err
		}
		if out.Asked, err = d.noteOf(r.Context(), host); err != nil {
			return err
		}
	}
	if in.Has("address") != in.Has("statement_sha256") {
		return route.Invalid(problem.Field{Field: "address", Problem: "and statement_sha256 go together"})
	}
	if in.Has("address") {
		o, err := parseOwner(in["address"])
		if err != nil {
			return err
		}
		if _, err := d.take(w, r, BudgetProvenance); err != nil {
			return err
		}
		c := d.owners.New(useNote, o.key, "", time.Now())
		text, err := d.noteText(o, in["statement_sha256"], c)
		if err != nil {
			return err
		}
		out.Challenge = &NoteChallenge{Address: o.shown, Challenge: text, Nonce: c.Nonce,
			ExpiresAt: c.Expires.Format(time.RFC3339)}
	}
	return route.JSON(w, out)
}

// noteOf reads what stands beside a host: from the record, or from the feed what is not yet there.
func (d *Desk) noteOf(ctx context.Context, host string) (*NoteAnswer, error) {
	held, err := d.cfg.Record.Host(ctx, host)
	if err != nil {
		return nil, err
	}
	if held.NeverMet {
		return nil, &problem.Error{Code: "not_found", Detail: "No round ever observed " + host + ".",
			Next: "GET /corpus/index.json lists the rounds."}
	}
	out := &NoteAnswer{Host: host, Page: d.pageOf(host), NextStep: "POST one of the two lanes to set or replace it."}
	var at int64
	if n := held.StandingNote; n != nil {
		if at = n.Observation; n.Statement != "" {
			out.Note = &NoteHeld{Statement: n.Statement, Lane: map[string]string{"address": "wallet"}[n.By],
				SignedAt: n.At, Observation: fmt.Sprintf("observation_%d", n.Observation)}
			if out.Note.Lane == "" {
				out.Note.Lane = "host"
			}
		}
	}
	err = d.cfg.DB.View(ctx, func(tx ledger.Tx) error {
		last, err := ledger.GetJSON[lastNote](tx, noteKey(host))
		if errors.Is(err, ledger.ErrNotFound) || err == nil && last.Number <= at {
			return nil
		}
		if err != nil {
			return err
		}
		behind, err := feed.Since(tx, last.Number, maxBehind)
		if err != nil || len(behind) == 0 || behind[0].Note == nil {
			return err
		}
		n := behind[0].Note
		out.Note = &NoteHeld{Statement: n.Statement.Text, Lane: n.Lane, SignedAt: n.SignedAt,
			Observation: fmt.Sprintf("observation_%d", last.Number)}
		for _, o := range behind {
			if o.Withdrawn != nil && behind[0].HasText(o.Withdrawn.SHA256) {
				out.Note = nil
			}
		}
		return nil
	})
	if err != nil {
		return nil, ledgerDown(err)
	}
	return out, nil
}

// maxBehind bounds how many observations behind a note are looked through for its withdrawal.
const maxBehind = 10_000

func noteDoor() NoteDoor {
	return NoteDoor{
		What: "An operator's own words beside the observations of a host. They are a claim and stand as one; nothing " +
			"is taken out of the record for them.",
		Lanes: map[string]string{
			"wallet": "GET this with address and statement_sha256, sign challenge, POST {address, statement, " +
				"signature, nonce}. The host must advertise the address, now, and no other host may.",
			"host": "Serve the statement's SHA-256 (of its UTF-8, 64 lower-case hex digits) at " + NotePath +
				" of the host, POST {host, statement}.",
		},
		Limits: map[string]int{"statement_characters": maxNote, "minutes_between_notes": int(noteEvery / time.Minute)},
		Refusals: map[string]string{
			"invalid_input": "the statement, or the lane, is malformed; or the note is no newer than the held " +
				"one",
			"not_found":               "no round ever observed the host, or none saw the address",
			"note_refused":            "nobody was shown to speak for the host",
			"claim_signature_invalid": "the signature is not by the address over this statement's challenge",
		},
		Withdrawn: "The log holds a salted digest of the text, the text itself stands in a file beside it. The " +
			"keeper can withdraw that file, and says so on the record; write to him with POST /api/letter.",
	}
}

func (d *Desk) noteRows() []route.Row {
	return []route.Row{
		instrument(api.Route{
			Name: "standing_note", Method: http.MethodGet, Pattern: "/api/standing-note", Serve: api.Private,
			Budget: BudgetProvenance, Summary: "How a host speaks beside its observations, and what stands there",
			Description: "Without inputs it says how; with host it gives the note that stands; with address and " +
				"statement_sha256 the text to sign.",
			Params: []api.Param{
				{Name: "host", In: api.QueryP, Type: "string", MaxLength: 253, Description: "bare name of a host"},
				{Name: "address", In: api.QueryP, Type: "string", MinLength: 32, MaxLength: 44,
					Description: "0x and 40 hex digits, or a Solana address"},
				{Name: "statement_sha256", In: api.QueryP, Type: "string", MinLength: 64, MaxLength: 64,
					Pattern: "^[0-9a-f]{64}$", Description: "SHA-256 of the statement's UTF-8"},
			},
			Responses: route.OK[NoteDoor]("How it is done, and what was asked", 400, 404, 429, 503),
		}, d.getNote),
		instrument(api.Route{
			Name: "set_standing_note", Method: http.MethodPost, Pattern: "/api/standing-note", Serve: api.Private,
			Budget: BudgetReadings, Summary: "Put a statement beside the observations of your host",
			Description: "By the address that the host asks to be paid at, or by a file on the host. The newest note " +
				"stands; those before it stay in the record.",
			Body: &api.Body{ContentType: api.JSON, Schema: api.StrictSchemaFor[NoteRequest](), Limit: 16 << 10,
				Description: "host and statement, or address, statement, signature and nonce"},
			Responses: route.OK[NoteAnswer]("It stands", 400, 403, 404, 413, 415, 429, 503),
		}, d.postNote),
	}
}
