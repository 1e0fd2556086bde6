package desk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/archive"
	"store.example/agentstore/dynamic/challenge"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
)

// A standing note is what a host's operator says beside the observations of it. Who speaks for a
// host shows that by the address that the host asks to be paid at (wallet lane), or by a file on
// the host that names the statement (host lane). A note becomes an observation; the newest stands,
// and the older ones stay in the record.

// NotePath is where a host names its statement: the file holds its SHA-256, 64 lower-case
// hexadecimal digits.
const NotePath = "/.well-known/store-note.txt"

const (
	useNote = "standing-note"
	maxNote = 500 // characters of a statement
	// noteEvery is how long a note stands at least: what is written here cannot be taken out again.
	noteEvery = time.Hour
)

// NoteRequest is a note of one of the two lanes.
type NoteRequest struct {
	Host      string `json:"host,omitzero" jsonschema:"host lane: the bare name of the host, whose file names the statement"`
	Address   string `json:"address,omitzero" jsonschema:"wallet lane: the address that the host advertises, and no other host does"`
	Statement string `json:"statement" jsonschema:"what is to stand beside the observations: one line of at most 500 characters"`
	Signature string `json:"signature,omitzero" jsonschema:"wallet lane: over the challenge that GET /api/standing-note gives for address and statement"`
	Nonce     string `json:"nonce,omitzero" jsonschema:"wallet lane: the challenge's nonce"`
}

// NoteAnswer is what stands beside a host.
type NoteAnswer struct {
	Host     string    `json:"host"`
	Note     *NoteHeld `json:"standing_note"` // nil: none stands
	Page     string    `json:"page"`
	NextStep string    `json:"next_step"`
}

// NoteHeld is a note that stands.
type NoteHeld struct {
	Statement   string `json:"statement"`
	Lane        string `json:"lane"` // wallet or host
	SignedAt    string `json:"signed_at"`
	Observation string `json:"observation_id"`
}

// control is who was shown to speak for a host, and when.
type control struct {
	host, lane string
	at         time.Time
	payTo      *record.PayTo
	spend      func(tx ledger.Tx) error // takes what may be used once
}

// postNote answers POST /api/standing-note.
func (d *Desk) postNote(w http.ResponseWriter, r *http.Request) error {
	in, err := route.ReadJSON[NoteRequest](r, false)
	if err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	show := d.byHost
	if in.Address != "" {
		show = d.byWallet
	}
	c, err := show(w, r, in)
	if err != nil {
		return err
	}
	number, err := d.putNote(r.Context(), c, in.Statement)
	if err != nil {
		return err
	}
	return route.JSON(w, NoteAnswer{Host: c.host, Page: d.pageOf(c.host),
		Note: &NoteHeld{Statement: in.Statement, Lane: c.lane, SignedAt: c.at.Format(time.RFC3339),
			Observation: fmt.Sprintf("observation_%d", number)},
		NextStep: "It stands on the host's page with the next edition of the site. A newer note takes its place; " +
			"this one stays in the record."})
}

// check finds what is wrong with a note whoever it is of.
func (in *NoteRequest) check() error {
	var bad []problem.Field
	switch n := utf8.RuneCountInString(in.Statement); {
	case strings.TrimSpace(in.Statement) == "":
		bad = append(bad, problem.Field{Field: "statement", Problem: "is required"})
	case n > maxNote:
		bad = append(bad, problem.Field{Field: "statement", Problem: fmt.Sprintf("is longer than %d characters",
			maxNote)})
	case screen.Text(in.Statement) != in.Statement:
		bad = append(bad, problem.Field{Field: "statement", Problem: "must be one line without characters that " +
			"cannot be seen"})
	}
	switch {
	case (in.Address == "") == (in.Host == ""):
		bad = append(bad, problem.Field{Field: "host", Problem: "or address: name exactly one of the two"})
	case in.Address != "" && (in.Signature == "" || in.Nonce == ""):
		bad = append(bad, problem.Field{Field: "signature", Problem: "and nonce are required with address: GET " +
			"/api/standing-note?address=…&statement_sha256=… gives the challenge"})
	case in.Host != "" && in.Signature+in.Nonce != "":
		bad = append(bad, problem.Field{Field: "signature", Problem: "and nonce go with address"})
	}
	if bad != nil {
		return route.Invalid(bad...)
	}
	return nil
}

// noteRefused says that nobody was shown to speak for a host.
func noteRefused(detail, next string) error {
	return &problem.Error{Code: "note_refused", Detail: "Nothing was written: " + detail, Next: next}
}

func notMet(host string) error {
	return &problem.Error{Code: "not_found", Detail: "Nothing was written: no round ever observed " + host +
		", so there is nothing that a note could stand beside.",
		Next: "POST /api/declare-door names the host to the census; a note can stand once a round has its row."}
}

// byHost shows control by the host's own file.
func (d *Desk) byHost(w http.ResponseWriter, r *http.Request, in NoteRequest) (c control, err error) {
	host, err := d.bareHost(in.Host)
	if err != nil {
		return c, err
	}
	held, err := d.cfg.Record.Host(r.Context(), host)
	if err != nil {
		return c, err
	}
	if held.NeverMet {
		return c, notMet(host)
	}
	rl, err := d.take(w, r, BudgetReadings)
	if err != nil {
		return c, err
	}
	at := "https://" + host + NotePath
	if err := d.lookup(r.Context(), at); err != nil {
		d.giveBack(w, r, rl)
		return c, err
	}
	x, err := d.cfg.Client.Do(r.Context(), exchange.Request{Method: http.MethodGet, URL: at,
		Header: http.Header{"Accept": {"text/plain"}}}, fetch.Rule{})
	if err != nil {
		return c, failed(err)
	}
	want := noteDigest(in.Statement)
	if x.Error.Stage != "" || x.Response.Status != http.StatusOK || x.Response.Truncated ||
		strings.TrimSpace(string(x.Response.Body)) != want {
		return c, noteRefused("the file "+NotePath+" of "+host+" does not hold the SHA-256 of this statement.",
			"Serve it at "+at+" as text, without a redirect: "+want+" and nothing else.")
	}
	return control{host: host, lane: "host", at: time.Now().UTC().Truncate(time.Second)}, nil
}

// noteDigest is the SHA-256 of a statement's UTF-8, as both lanes name it.
func noteDigest(statement string) string {
	sum := sha256.Sum256([]byte(statement))
	return hex.EncodeToString(sum[:])
}

// byWallet shows control by the address that a host asks to be paid at.
func (d *Desk) byWallet(w http.ResponseWriter, r *http.Request, in NoteRequest) (c control, err error) {
	o, err := parseOwner(in.Address)
	if err != nil {
		return c, err
	}
	sig, err := parseProof(o, in.Signature)
	if err != nil {
		return c, err
	}
	if _, err := d.take(w, r, BudgetProvenance); err != nil {
		return c, err
	}
	ch, ok := d.owners.Read(useNote, o.key, "", in.Nonce, time.Now())
	if !ok {
		return c, noNoteChallenge()
	}
	text, err := d.noteText(o, noteDigest(in.Statement), ch)
	if err != nil {
		return c, err
	}
	if o.solana {
		_, err = wallet.VerifySolanaText(text, sig)
	} else {
		_, err = wallet.VerifyEthereum(text, sig)
	}
	if err != nil {
		return c, &problem.Error{Code: "claim_signature_invalid",
			Detail: "Nothing was written: the signature is not by this address over the challenge for this statement.",
			Next:   "Sign the challenge exactly as it stands; one whose statement was changed needs another."}
	}
	reading, err := d.cfg.Record.Address(r.Context(), o.shown)
	if err != nil {
		return c, err
	}
	door, err := onlyDoor(reading)
	if err != nil {
		return c, err
	}
	return control{host: door.Host, lane: "wallet", at: ch.Issued(),
		payTo: &record.PayTo{Network: door.Network, Digest: exchange.PayToDigest(door.Network, o.shown)},
		spend: func(tx ledger.Tx) error {
			fresh, err := challenge.Spend(tx, useNote, ch)
			if err == nil && !fresh {
				return noNoteChallenge()
			}
			return err
		}}, nil
}

func noNoteChallenge() error {
	return &problem.Error{Code: "claim_challenge_invalid", Detail: "Nothing was written: this nonce is of no open " +
		"challenge for this address.", Next: "GET /api/standing-note?address=…&statement_sha256=… gives another, for " +
		"five minutes."}
}

// onlyDoor is the one host that an address speaks for: it advertises it still, and no other host
// ever did.
func onlyDoor(reading archive.AddressReading) (door archive.AddressDoor, err error) {
	if reading.DoorsTotal == 0 {
		return door, &problem.Error{Code: "not_found",
			Detail: "Nothing was written: the record has no host that advertises this address.",
			Next:   "Use the host lane: its own file speaks for a host, whatever it asks to be paid at."}
	}
	for i, x := range reading.Doors {
		if i > 0 && x.Host != door.Host {
			return door, noteRefused("several hosts advertise this address, and it cannot speak for one of them.",
				"Use the host lane, by a file of the host's own.")
		}
		if i == 0 || x.LastWeek > door.LastWeek {
			door = x
		}
	}
	if int64(len(reading.Doors)) < reading.DoorsTotal {
		return door, noteRefused("several hosts advertise this address.", "Use the host lane.")
	}
	last := true
	for _, week := range door.Weeks {
		if week.Verdict != record.VerdictNotProbed {
			last = week.Advertised || week.PossiblyLeftOut
		}
	}
	if !last {
		return door, noteRefused("the host does not advertise this address any more.", "Use the host lane, or sign "+
			"with the address that it advertises now.")
	}
	return door, nil
}

// noteText is what the wallet lane signs.
func (d *Desk) noteText(o owner, digest string, c challenge.Challenge) (string, error) {
	text := wallet.SignIn{
		Domain: d.host, Address: o.shown, Statement: "Put the statement whose SHA-256 is " + digest + " beside the " +
			"observations of the host that is paid at this address.",
		URI: d.cfg.BaseURL + "/api/standing-note", Version: "1", ChainID: "8453", Nonce: c.Nonce,
		IssuedAt: c.Issued().Format(time.RFC3339), ExpirationTime: c.Expires.Format(time.RFC3339),
	}
	if o.solana {
		text.ChainID = "mainnet"
		return text.Solana()
	}
	return text.Ethereum()
}

// lastNote is what the ledger knows of a host's notes: goods/standing-note/<host>.
type lastNote struct {
	Number   int64     `json:"number"`
	SignedAt time.Time `json:"signed_at"`
	File     string    `json:"file,omitzero"` // digest that the host's file named last
}

func noteKey(host string) []byte { return ledger.GoodsKey("standing-note", host) }

// putNote puts a note on the feed, where it is newer than the one that is held. A file stays where
// it is, and anybody may point at it: what it named once is not a note again.
func (d *Desk) putNote(ctx context.Context, c control, statement string) (number int64, err error) {
	if d.cfg.Client.Private() {
		return 0, noteRefused("this store reads a private network, of which nothing is published.", "Nothing can be "+
			"done.")
	}
	held, err := d.cfg.Record.Host(ctx, c.host)
	if err != nil {
		return 0, err
	}
	err = d.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		last, err := ledger.GetJSON[lastNote](tx, noteKey(c.host))
		if err != nil && !errors.Is(err, ledger.ErrNotFound) {
			return err
		}
		if n := held.StandingNote; n != nil {
			if at, err := time.Parse(time.RFC3339, n.At); err == nil && at.After(last.SignedAt) {
				last.SignedAt = at
			}
		}
		digest := noteDigest(statement)
		if err := last.mayFollow(c, digest); err != nil {
			return err
		}
		if c.spend != nil {
			if err := c.spend(tx); err != nil {
				return err
			}
		}
		err = feed.Observe(tx, record.Observation{Kind: record.ObservationStandingNote, Note: &record.StandingNote{
			Host: c.host, Lane: c.lane, Statement: record.Said{Text: statement}, SignedAt: c.at.Format(time.RFC3339),
			PayTo: c.payTo}})
		if err != nil {
			return err
		}
		if number, err = ledger.Last(tx, feed.Counter); err != nil {
			return err
		}
		last.Number, last.SignedAt = number, c.at
		if c.lane == "host" {
			last.File = digest
		}
		return ledger.SetJSON(tx, noteKey(c.host), last)
	})
	if errors.Is(err, feed.ErrShut) {
		return 0, &problem.Error{Code: "store_closed",
			Detail: "The store is closed after a restore and takes no note. Try again later."}
	}
	if err != nil {
		return 0, ledgerDown(err)
	}
	return number, nil
}

// mayFollow refuses a note that is no newer than the held one, or comes too soon behind it.
func (last lastNote) mayFollow(c control, digest string) error {
	switch {
	case c.lane == "host" && last.File == digest:
		return route.Invalid(problem.Field{Field: "statement", Problem: "is what the host's file named before: to " +
			"say it again, let the file name another statement first"})
	case !c.at.After(last.SignedAt):
		return route.Invalid(problem.Field{Field: "signature", Problem: "is no newer than the note that is held, of " +
			last.SignedAt.Format(time.RFC3339)})
	case c.at.Before(last.SignedAt.Add(noteEvery)):
		return &problem.Error{Code: "rate_limited", Retry: last.SignedAt.Add(noteEvery).Sub(c.at),
			Detail: "Nothing was written: a note stands for an hour at least, because it stays in the record for ever.",
			Next:   "Send it again after " + last.SignedAt.Add(noteEvery).Format(time.RFC3339) + "."}
	}
	return nil
}
