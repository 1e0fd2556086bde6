package account

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"store.example/agentstore/dynamic/ledger"
)

// Ref is what an account's name of an order stands for, for ever: the request that it was used for
// first, and what became of it.
type Ref struct {
	Request  string `json:"request"`            // SHA-256 of the body that was signed, hex
	Purchase string `json:"purchase,omitzero"`  // which delivers it
	Sample   []byte `json:"sample,omitzero"`    // the answer, where nothing was bought
	Lost     bool   `json:"lost,omitzero"`      // delivered before a restore, and no longer here
	At       string `json:"served_at,omitzero"` // RFC 3339, of Sample
}

// digest names a text as keys do: its SHA-256 in hex.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// RefDigest is an account's name of an order, as it is kept outside of the ledger.
func RefDigest(ref string) string { return digest(ref) }

func refKey(id, digest string) []byte { return ledger.AccountKey("ref", id, digest) }

// ReadRef finds what a name stands for; ok is false where it is new.
func ReadRef(tx ledger.Tx, id, ref string) (r Ref, ok bool, err error) {
	return ledger.FindJSON[Ref](tx, refKey(id, digest(ref)))
}

// SetRef gives a name its meaning.
func SetRef(tx ledger.Tx, id, ref string, r Ref) error {
	return ledger.SetJSON(tx, refKey(id, digest(ref)), r)
}

// FreeRef forgets a name whose order was given up, so that it may be tried again.
func FreeRef(tx ledger.Tx, id, ref string) error { return tx.Delete(refKey(id, digest(ref))) }

// Restored takes in that an order was delivered after the backup from which the ledger was
// restored: its name is never used again, and what it cost is owed. A ledger that knows it is left
// alone.
func Restored(tx ledger.Tx, id, refDigest, request string, net int64) error {
	key := refKey(id, refDigest)
	if _, err := tx.Get(key); !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	b, err := ReadBook(tx, id)
	if err != nil {
		return err
	}
	b.Owed += net
	return errors.Join(ledger.SetJSON(tx, key, Ref{Request: request, Lost: true}), ledger.SetJSON(tx, bookKey(id), b),
		addLine(tx, id, Line{ID: "restored:" + refDigest, At: tx.Now().UTC().Truncate(time.Second), Kind: Restore,
			Net: net, Owed: b.Owed}))
}

// Spend takes a nonce for as long as the timestamp that came with it could be accepted, or says
// that it was used before. It forgets a few that are over.
func Spend(tx ledger.Tx, id, nonce string, until time.Time) (fresh bool, err error) {
	if used, err := Used(tx, id, nonce); err != nil || used {
		return false, err
	}
	if err := forget(tx, 8); err != nil {
		return false, err
	}
	end := ledger.Number(uint64(until.Unix()))
	return true, errors.Join(ledger.SetCount(tx, spentKey(id, nonce), until.Unix()),
		tx.Set(ledger.AccountKey("expiry", end, id, digest(nonce)), nil))
}

// Used reports whether a nonce was used and is still kept.
func Used(tx ledger.Tx, id, nonce string) (bool, error) {
	end, err := ledger.Count(tx, spentKey(id, nonce))
	return tx.Now().Unix() <= end, err
}

func spentKey(id, nonce string) []byte { return ledger.AccountKey("spent", id, digest(nonce)) }

// forget deletes at most max nonces that are over.
func forget(tx ledger.Tx, max int) error {
	from, _ := ledger.Prefix(ledger.AccountKey("expiry"))
	to := ledger.AccountKey("expiry", ledger.Number(uint64(tx.Now().Unix())))
	over, err := ledger.Forget(tx, from, to, max)
	if err != nil {
		return err
	}
	for _, key := range over {
		parts, err := ledger.Parts(key)
		if err != nil {
			return err
		}
		if err := tx.Delete(ledger.AccountKey("spent", parts[3], parts[4])); err != nil {
			return err
		}
	}
	return nil
}
