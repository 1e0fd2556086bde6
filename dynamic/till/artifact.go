package till

import (
	"context"
	"errors"

	"store.example/agentstore/dynamic/ledger"
)

// Certificate finds a certificate by its id, with the word that its purchase retired, "" for none.
// ok is false where there is no such certificate.
func (t *Till) Certificate(ctx context.Context, id string) (rec CertRecord, word string, ok bool, err error) {
	err = t.view(ctx, func(tx ledger.Tx) (err error) {
		word = ""
		if rec, err = ledger.GetJSON[CertRecord](tx, ledger.CertKey(id)); err != nil {
			return err
		}
		p, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(rec.Purchase))
		if errors.Is(err, errNotFound) {
			return nil // what was not bought here left nothing behind
		}
		word = p.Word
		return err
	})
	return certificateRead(rec, word, err)
}

// Patron finds the certificate of a patron number.
func (t *Till) Patron(ctx context.Context, n int64) (rec CertRecord, ok bool, err error) {
	err = t.view(ctx, func(tx ledger.Tx) error {
		id, err := tx.Get(ledger.PatronKey(n))
		if err != nil {
			return err
		}
		rec, err = ledger.GetJSON[CertRecord](tx, ledger.CertKey(string(id)))
		return err
	})
	rec, _, ok, err = certificateRead(rec, "", err)
	if rec.Pass != "" && err == nil {
		var all []Issued
		all, err = t.Artifacts(ctx, rec.Pass)
		rec.Nicer = currentPass(all, t.cfg.Now())
	}
	return rec, ok, err
}

func certificateRead(rec CertRecord, word string, err error) (CertRecord, string, bool, error) {
	if errors.Is(err, errNotFound) {
		return CertRecord{}, "", false, nil
	}
	if err != nil {
		return CertRecord{}, "", false, ledgerDown(err)
	}
	return rec, word, true, nil
}
