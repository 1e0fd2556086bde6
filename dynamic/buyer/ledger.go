package buyer

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"store.example/agentstore/dynamic/ledger"
)

// What of a purchase is kept under which name: the record, while it has no end and then; and what
// it used, so that no other purchase uses it again.
const (
	boughtOpen  = "open"
	boughtDone  = "done"
	boughtNonce = "nonce"
	boughtKey   = "key"
	// boughtChannel are channels, by their ids.
	boughtChannel = "channel"
)

// writeTime bounds one transaction of the journal.
const writeTime = 15 * time.Second

// inLedger is a journal in a ledger. A request is held by a lease, which each transaction checks.
type inLedger struct {
	db   ledger.DB
	name string
}

// InLedger is a journal in a ledger under a name of its own. All processes that have the ledger
// share it, and its wallet.
func InLedger(db ledger.DB, name string) Journal { return inLedger{db, name} }

func (l inLedger) place(id string) string { return "bought/" + l.name + "/" + id }

func (l inLedger) key(kind, id string) []byte { return ledger.BoughtKey(l.name, kind, id) }

// update runs a transaction with an end of its own.
func (l inLedger) update(ctx context.Context, f func(ledger.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	return l.db.Update(ctx, f)
}

func (l inLedger) hold(ctx context.Context, digest string, ttl time.Duration) (hold, error) {
	h := &ledgerHold{inLedger: l, digest: digest}
	var owner [12]byte
	rand.Read(owner[:])
	err := l.update(ctx, func(tx ledger.Tx) (err error) {
		h.lease, err = ledger.Take(tx, "bought/"+l.name+"/"+digest, hex.EncodeToString(owner[:]), ttl)
		return err
	})
	if errors.Is(err, ledger.ErrLeaseHeld) {
		err = ErrBusy
	}
	if err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	return h, nil
}

func (l inLedger) unfinished(ctx context.Context) ([]*purchase, error) {
	return scanned(ctx, l, decodePurchase, boughtOpen)
}

func (l inLedger) bought(ctx context.Context) ([]*purchase, error) {
	return scanned(ctx, l, decodePurchase, boughtOpen, boughtDone)
}

func (l inLedger) channels(ctx context.Context) ([]*channel, error) {
	return scanned(ctx, l, decodeChannel, boughtChannel)
}

// scanned are all records of some kinds. One that cannot be read is named in the error and hides no
// other.
func scanned[T any](ctx context.Context, l inLedger, decode func([]byte, string) (T, error),
	kinds ...string) (list []T, err error) {
	var broken []error
	err = l.db.View(ctx, func(tx ledger.Tx) error {
		list, broken = nil, nil
		for _, kind := range kinds {
			for e, err := range tx.Scan(ledger.Prefix(ledger.BoughtKey(l.name, kind))) {
				if err != nil {
					return err
				}
				parts, err := ledger.Parts(e.Key)
				if err != nil {
					return err
				}
				if one, err := decode(e.Value, parts[len(parts)-1]); err != nil {
					broken = append(broken, err)
				} else {
					list = append(list, one)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	return list, errors.Join(broken...)
}

func (l inLedger) channel(ctx context.Context, id string) (c *channel, err error) {
	err = l.db.View(ctx, func(tx ledger.Tx) error {
		c = nil
		b, err := tx.Get(l.key(boughtChannel, id))
		if errors.Is(err, ledger.ErrNotFound) {
			return nil
		}
		if err == nil {
			c, err = decodeChannel(b, id)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	return c, nil
}

func (h *ledgerHold) putChannel(ctx context.Context, c *channel) error {
	b, err := encodeChannel(c)
	if err == nil {
		err = h.held(ctx, func(tx ledger.Tx) error { return tx.Set(h.key(boughtChannel, c.Channel.ID), b) })
	}
	if err != nil {
		return fmt.Errorf("journalling channel %s: %w", c.Channel.ID, err)
	}
	return nil
}

type ledgerHold struct {
	inLedger
	digest string
	lease  ledger.Lease
}

// held runs a transaction that is void where the lease is not held any more.
func (h *ledgerHold) held(ctx context.Context, f func(ledger.Tx) error) error {
	err := h.inLedger.update(ctx, func(tx ledger.Tx) error {
		if err := ledger.Check(tx, h.lease); err != nil {
			return err
		}
		return f(tx)
	})
	if errors.Is(err, ledger.ErrLeaseLost) {
		return fmt.Errorf("%w: %w", errNotHeld, err)
	}
	return err
}

func (h *ledgerHold) keep(ctx context.Context, ttl time.Duration) error {
	return h.held(ctx, func(tx ledger.Tx) error {
		_, err := ledger.Renew(tx, h.lease, ttl)
		return err
	})
}

// release gives the request back, whatever became of the caller's context.
func (h *ledgerHold) release() error {
	err := h.held(context.Background(), func(tx ledger.Tx) error { return ledger.Release(tx, h.lease) })
	if errors.Is(err, errNotHeld) {
		return nil
	}
	return err
}

func (h *ledgerHold) find(ctx context.Context, id string) (*purchase, error) {
	p, err := h.read(ctx, id)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, nil
	}
	return p, err
}

func (h *ledgerHold) read(ctx context.Context, id string) (p *purchase, err error) {
	err = h.db.View(ctx, func(tx ledger.Tx) error {
		b, err := tx.Get(h.key(boughtOpen, id))
		if errors.Is(err, ledger.ErrNotFound) {
			b, err = tx.Get(h.key(boughtDone, id))
		}
		if err == nil {
			p, err = decodePurchase(b, id)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	return p, nil
}

// used is what stands under a name, empty for nothing.
func (h *ledgerHold) used(ctx context.Context, kind, id string) (by string, err error) {
	err = h.db.View(ctx, func(tx ledger.Tx) error {
		b, err := tx.Get(h.key(kind, id))
		if errors.Is(err, ledger.ErrNotFound) {
			b, err = nil, nil
		}
		by = string(b)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("reading the journal: %w", err)
	}
	return by, nil
}

func (h *ledgerHold) known(ctx context.Context, nonce string) (bool, error) {
	by, err := h.used(ctx, boughtNonce, nonce)
	return by != "", err
}

func (h *ledgerHold) elsewhere(ctx context.Context, key string) (bool, error) {
	by, err := h.used(ctx, boughtKey, hashed(key))
	return by != "" && by != h.digest, err
}

func hashed(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func (h *ledgerHold) create(ctx context.Context, p *purchase) error {
	return h.write(ctx, p, func(tx ledger.Tx) error {
		there := errors.New("it is there already")
		for _, key := range [][]byte{h.key(boughtDone, p.ID), h.key(boughtNonce, p.Nonce)} {
			if _, err := tx.Get(key); !errors.Is(err, ledger.ErrNotFound) {
				return errors.Join(there, err)
			}
		}
		old, err := tx.Get(h.key(boughtOpen, p.ID))
		if err == nil {
			if was, err := decodePurchase(old, p.ID); err != nil || was.State != Intended ||
				was.Request.digest() != h.digest {
				return errors.Join(there, err)
			}
		} else if !errors.Is(err, ledger.ErrNotFound) {
			return err
		}
		return tx.Set(h.key(boughtNonce, p.Nonce), []byte(p.ID))
	})
}

func (h *ledgerHold) update(ctx context.Context, p *purchase) error {
	return h.write(ctx, p, func(tx ledger.Tx) error {
		if _, err := tx.Get(h.key(boughtOpen, p.ID)); err != nil {
			return err // its end is written once
		}
		key := h.key(boughtKey, hashed(p.Request.Header.Get(headerKey)))
		if _, err := tx.Get(key); !errors.Is(err, ledger.ErrNotFound) {
			return err // whoever had it first
		}
		return tx.Set(key, []byte(h.digest))
	})
}

// write stores a purchase where its state says, and what f does beside.
func (h *ledgerHold) write(ctx context.Context, p *purchase, f func(ledger.Tx) error) error {
	b, err := encodePurchase(p)
	if err == nil {
		err = h.held(ctx, func(tx ledger.Tx) error {
			if err := f(tx); err != nil {
				return err
			}
			if p.open() {
				return tx.Set(h.key(boughtOpen, p.ID), b)
			}
			return errors.Join(tx.Delete(h.key(boughtOpen, p.ID)), tx.Set(h.key(boughtDone, p.ID), b))
		})
	}
	if err != nil {
		return fmt.Errorf("journalling purchase %s: %w", p.ID, err)
	}
	return nil
}
