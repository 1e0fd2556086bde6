package till

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/ledger"
)

// MonthlyNote is note/<month>: the keeper's note to those with a current pass.
type MonthlyNote struct {
	Note  attest.Note  `json:"note"`
	Proof attest.Proof `json:"proof"`
}

// maxNote is the longest note, in characters.
const maxNote = 4000

// WriteNote signs the keeper's note of a month, such as 2026-11, once: what patrons hold is not
// changed under them. Where dry is set nothing is written.
func (t *Till) WriteNote(ctx context.Context, month, text string, dry bool) (n MonthlyNote, err error) {
	if at, err := time.Parse("2006-01", month); err != nil || at.Format("2006-01") != month {
		return n, fmt.Errorf("%.20q is no month: write it as 2026-11", month)
	}
	if text == "" || !utf8.ValidString(text) || utf8.RuneCountInString(text) > maxNote ||
		strings.ContainsFunc(text, hidden) {
		return n, fmt.Errorf("a note is UTF-8 of 1 to %d characters, without control characters and marks of direction",
			maxNote)
	}
	err = t.update(ctx, func(tx ledger.Tx) error {
		if _, err := tx.Get(ledger.NoteKey(month)); err == nil {
			return fmt.Errorf("the note of %s is signed already", month)
		} else if !errors.Is(err, errNotFound) {
			return err
		}
		n.Note = attest.Note{Month: month, Class: attest.ClassNote, Date: tx.Now().UTC().Format("2006-01-02T15:04:05Z"),
			Text: text, MadeBy: t.cfg.Site.Now().Config.Keeper, FromTheStore: t.cfg.BaseURL}
		if n.Proof, err = attest.SignPayload(t.signer(), n.Note); err != nil || dry {
			return err
		}
		return ledger.SetJSON(tx, ledger.NoteKey(month), n)
	})
	return n, err
}

// Note is the newest note that is not of a month to come, nil where there is none.
func (t *Till) Note(ctx context.Context) (n *MonthlyNote, at time.Time, err error) {
	err = t.view(ctx, func(tx ledger.Tx) error {
		n, at = nil, tx.Now()
		from, _ := ledger.Notes()
		_, to := ledger.Prefix(ledger.NoteKey(at.UTC().Format("2006-01")))
		for e, err := range tx.ScanDown(from, to) {
			if err != nil {
				return err
			}
			v, err := ledger.DecodeJSON[MonthlyNote](e)
			n = &v
			return err
		}
		return nil
	})
	if err != nil {
		return nil, at, ledgerDown(err)
	}
	return n, at, nil
}
