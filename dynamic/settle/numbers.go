package settle

import (
	"context"
	"errors"

	"agentstore/dynamic/ledger"
	"agentstore/dynamic/rail"
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
	// given is told of each number that is given out, which counts for nothing before the
	// transaction is stored.
	given func(account string, number uint64)
}

// MaxUnmined is how many transactions of one account may be in no block (package till, M16). A node
// keeps 64 of an account that wait for one before them, and drops the rest.
const MaxUnmined = 48

// ErrNoRoom says that every account has as many transactions under way as it may.
var ErrNoRoom = errors.New("settle: every relayer account has as many transactions under way as it may")

// maxSkipped is how many skipped numbers are remembered, the newest: more than a reorganisation
// drops.
const maxSkipped = 64

// Next implements rail.Sequencer: the account with most room sends.
func (s sequencer) Next(of []rail.Account) (account string, number uint64, err error) {
	var best rail.Account
	var held uint64
	most := uint64(0)
	for _, a := range of {
		next, known, err := next(s.tx, s.network, a.Address)
		if err != nil {
			return "", 0, err
		}
		if !known {
			next = a.Pending
		}
		if a.Pending < next { // the chain asks for one that was given out
			free, err := takeSkipped(s.tx, s.network, a.Address, a.Pending)
			if free || err != nil {
				s.given(a.Address, a.Pending)
				return a.Address, a.Pending, err
			}
		}
		if r := room(max(next, a.Pending), a.Mined); r > most {
			best, held, most = a, next, r
		}
	}
	if most == 0 {
		return "", 0, ErrNoRoom
	}
	if best.Pending > held {
		if err := s.skip(best.Address, held, best.Pending); err != nil {
			return "", 0, err
		}
	}
	n := max(best.Pending, held)
	s.given(best.Address, n)
	return best.Address, n, s.tx.Set(nextKey(s.network, best.Address), []byte(ledger.Number(n+1)))
}

// room is how many more transactions an account may have under way that gives out a number next and
// has so many mined.
func room(next, mined uint64) uint64 {
	unmined := next - min(next, mined)
	return MaxUnmined - min(MaxUnmined, unmined)
}

// next is the next number that an account gives out, and whether it has given out one.
func next(tx ledger.Tx, network, account string) (n uint64, known bool, err error) {
	v, err := tx.Get(nextKey(network, account))
	if errors.Is(err, ledger.ErrNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	n, err = ledger.ParseNumber(string(v))
	return n, err == nil, err
}

func nextKey(network, account string) []byte { return ledger.RelayerKey(network, account, "next") }

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
