package settle

import (
	"context"
	"errors"

	"agentstore/dynamic/ledger"
)

// sequencer hands out relayer nonces inside a ledger transaction: one serial allocator per relayer
// key, over all replicas (M12).
//
// Where the chain is ahead of what was given out, somebody else has used the relayer's key, and the
// numbers between are skipped. A reorganisation can drop what used them. Then every later number is
// stuck behind one that no settlement of ours holds; so those that were skipped are remembered, and
// given out again when the chain asks for one.
type sequencer struct {
	tx      ledger.Tx
	network string
}

// maxSkipped is how many skipped numbers are remembered, the newest: more than a reorganisation
// drops.
const maxSkipped = 64

// Next implements rail.Sequencer.
func (s sequencer) Next(account string, atLeast uint64) (uint64, error) {
	key := ledger.RelayerKey(s.network, account, "next")
	v, err := s.tx.Get(key)
	if errors.Is(err, ledger.ErrNotFound) {
		return atLeast, s.tx.Set(key, []byte(ledger.Number(atLeast+1)))
	}
	if err != nil {
		return 0, err
	}
	held, err := ledger.ParseNumber(string(v))
	if err != nil {
		return 0, err
	}
	switch {
	case atLeast > held:
		if err := s.skip(account, held, atLeast); err != nil {
			return 0, err
		}
	case atLeast < held:
		if free, err := takeSkipped(s.tx, s.network, account, atLeast); free || err != nil {
			return atLeast, err
		}
	}
	n := max(atLeast, held)
	return n, s.tx.Set(key, []byte(ledger.Number(n+1)))
}

// skip remembers the numbers from one up to another, and forgets those far below.
func (s sequencer) skip(account string, from, to uint64) error {
	old, err := skipped(s.tx, s.network, account, to-min(to, maxSkipped))
	if err != nil {
		return err
	}
	for _, n := range old {
		if err := s.tx.Delete(skippedKey(s.network, account, n)); err != nil {
			return err
		}
	}
	for n := max(from, to-min(to, maxSkipped)); n < to; n++ {
		if err := s.tx.Set(skippedKey(s.network, account, n), nil); err != nil {
			return err
		}
	}
	return nil
}

const skippedNumbers = "skipped"

// skippedKey is relayer/<network>/<address>/skipped/<number>.
func skippedKey(network, account string, n uint64) []byte {
	return ledger.RelayerKey(network, account, skippedNumbers, ledger.Number(n))
}

// takeSkipped reports whether a number is one that was skipped and nobody has been given since, and
// gives it away.
func takeSkipped(tx ledger.Tx, network, account string, n uint64) (bool, error) {
	key := skippedKey(network, account, n)
	switch _, err := tx.Get(key); {
	case errors.Is(err, ledger.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, tx.Delete(key)
}

// skipped lists the remembered numbers below one, the lowest first.
func skipped(tx ledger.Tx, network, account string, below uint64) ([]uint64, error) {
	var out []uint64
	from, _ := ledger.Prefix(ledger.RelayerKey(network, account, skippedNumbers))
	for e, err := range tx.Scan(from, skippedKey(network, account, below)) {
		if err != nil {
			return nil, err
		}
		parts, err := ledger.Parts(e.Key)
		if err != nil {
			return nil, err
		}
		n, err := ledger.ParseNumber(parts[len(parts)-1])
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

// skippedBelow is skipped in a transaction of its own.
func (d *Driver) skippedBelow(ctx context.Context, network, account string, below uint64) (out []uint64, err error) {
	ctx, cancel := ledgerContext(ctx)
	defer cancel()
	err = d.cfg.DB.View(ctx, func(tx ledger.Tx) (err error) {
		out, err = skipped(tx, network, account, below)
		return err
	})
	return out, err
}
