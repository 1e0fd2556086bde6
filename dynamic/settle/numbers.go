package settle

import (
	"context"
	"errors"
	"slices"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// sequencer hands out relayer nonces inside a ledger transaction: one serial allocator per relayer
// key, over all replicas (M12).
//
// Where the chain is ahead of what was given out, somebody else has used the relayer's key, and the
// numbers between are skipped. A reorganisation can drop what used them, and a node can name a
// count that never was. Then every later number is stuck behind one that no settlement of ours
// holds; so those that were skipped are remembered, and given out again when the chain asks for
// one. What was given out above them waits until they are used up.
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

const (
	// maxSpans is how many spans of skipped numbers are remembered, the newest.
	maxSpans = 64
	// maxFilled is how many of them are filled so that a later one can be, and not left to
	// payments.
	maxFilled = 64
)

// Next implements rail.Sequencer: the account with most room sends.
func (s sequencer) Next(of []rail.Account) (account string, number uint64, err error) {
	var best rail.Account
	var held uint64
	most := uint64(0)
	for _, a := range of {
		next, _, err := next(s.tx, s.network, a.Address)
		if err != nil {
			return "", 0, err
		}
		all, err := spans(s.tx, s.network, a.Address)
		if err != nil {
			return "", 0, err
		}
		r := roomOf(unmined(all, max(next, a.Pending), a.Mined))
		if n, is := lowest(all, a.Pending); is && n < next && r > 0 { // the chain asks for a skipped one, now or soon
			return s.again(a.Address, n)
		}
		if r > most {
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

// again gives out a number that was skipped.
func (s sequencer) again(account string, n uint64) (string, uint64, error) {
	if _, err := takeSkipped(s.tx, s.network, account, n); err != nil {
		return "", 0, err
	}
	s.given(account, n)
	return account, n, nil
}

// unmined is how many transactions an account has under way that gives out a number next and has so
// many mined. What was skipped is under way with nobody.
func unmined(skipped []span, next, mined uint64) uint64 {
	under := next - min(next, mined)
	for _, x := range skipped {
		from, to := max(x.from, mined), min(x.to, next)
		under -= to - min(from, to)
	}
	return under
}

// roomOf is how many more transactions an account may have under way that has so many.
func roomOf(under uint64) uint64 { return MaxUnmined - min(MaxUnmined, under) }

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

// numbered is what is read of the numbers of an account, for ledger.Ahead.
func numbered(network, account string) []ledger.Range {
	return []ledger.Range{ledger.At(nextKey(network, account)),
		ledger.In(ledger.Prefix(ledger.RelayerKey(network, account, skippedNumbers)))}
}

func nextKey(network, account string) []byte { return ledger.RelayerKey(network, account, "next") }

// maxSigned is how many of an account's newest numbers are known by their settlements: many times
// what can be open.
const maxSigned = 4096

// signedKey is relayer/<network>/<address>/signed/<number>. Its value is a settlement's id.
func signedKey(network, account string, n uint64) []byte {
	return ledger.RelayerKey(network, account, "signed", ledger.Number(n))
}

// noteSigned notes whose a number is, in the transaction that signs for it.
func noteSigned(tx ledger.Tx, s *Settlement, sent Sent) error {
	if sent.ID == "" { // a third party's number
		return nil
	}
	err := tx.Set(signedKey(s.Network, sent.Account, sent.Sequence), []byte(s.ID))
	if err == nil && sent.Sequence >= maxSigned {
		err = tx.Delete(signedKey(s.Network, sent.Account, sent.Sequence-maxSigned))
	}
	return err
}

// signedFor lists whose the numbers of an account are, from one on.
func signedFor(tx ledger.Tx, network, account string, from uint64) (ids []string, err error) {
	_, to := ledger.Prefix(ledger.RelayerKey(network, account, "signed"))
	for e, err := range tx.Scan(signedKey(network, account, from), to) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, string(e.Value))
	}
	return ids, nil
}

// span are the numbers from one up to another.
type span struct{ from, to uint64 }

// skip remembers the numbers from one up to another, and forgets the lowest spans if there are
// many.
func (s sequencer) skip(account string, from, to uint64) error {
	all, err := spans(s.tx, s.network, account)
	if err != nil {
		return err
	}
	for len(all) >= maxSpans {
		if err := s.tx.Delete(skippedKey(s.network, account, all[0].from)); err != nil {
			return err
		}
		all = all[1:]
	}
	return s.tx.Set(skippedKey(s.network, account, from), []byte(ledger.Number(to)))
}

const skippedNumbers = "skipped"

// skippedKey is relayer/<network>/<address>/skipped/<number>: where a span begins. Its value is
// where it ends; nothing is behind the one number.
func skippedKey(network, account string, n uint64) []byte {
	return ledger.RelayerKey(network, account, skippedNumbers, ledger.Number(n))
}

// spans are the skipped numbers of an account, the lowest first.
func spans(tx ledger.Tx, network, account string) (all []span, err error) {
	for e, err := range tx.Scan(ledger.Prefix(ledger.RelayerKey(network, account, skippedNumbers))) {
		if err != nil {
			return nil, err
		}
		parts, err := ledger.Parts(e.Key)
		if err != nil {
			return nil, err
		}
		from, err := ledger.ParseNumber(parts[len(parts)-1])
		if err != nil {
			return nil, err
		}
		to := from + 1
		if len(e.Value) > 0 {
			if to, err = ledger.ParseNumber(string(e.Value)); err != nil {
				return nil, err
			}
		}
		all = append(all, span{from, to})
	}
	return all, nil
}

// lowest is the first number of some spans that is not below one.
func lowest(all []span, from uint64) (n uint64, ok bool) {
	for _, x := range all {
		if x.to > from {
			return max(x.from, from), true
		}
	}
	return 0, false
}

// takeSkipped reports whether a number is one that was skipped and nobody has been given since, and
// gives it away.
func takeSkipped(tx ledger.Tx, network, account string, n uint64) (bool, error) {
	all, err := spans(tx, network, account)
	if err != nil {
		return false, err
	}
	for _, x := range all {
		if n < x.from || n >= x.to {
			continue
		}
		if err := tx.Delete(skippedKey(network, account, x.from)); err != nil {
			return false, err
		}
		for _, left := range []span{{x.from, n}, {n + 1, x.to}} {
			if left.from == left.to {
				continue
			}
			if err := tx.Set(skippedKey(network, account, left.from), []byte(ledger.Number(left.to))); err != nil {
				return false, err
			}
		}
		return true, nil
	}
	return false, nil
}

// skippedBelow lists the numbers that an account skipped and the chain may still ask for, below
// one; none where there are more than are to be filled.
func (d *Driver) skippedBelow(ctx context.Context, r rail.Rail, account string, below uint64) (out []uint64,
	err error) {
	accounts, err := r.Accounts(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(accounts, func(a rail.Account) bool { return a.Address == account })
	if i < 0 {
		return nil, nil
	}
	ctx, cancel := ledgerContext(ctx)
	defer cancel()
	err = d.cfg.DB.View(ctx, func(tx ledger.Tx) error {
		out = nil
		all, err := spans(tx, r.Info().Network, account)
		if err != nil {
			return err
		}
		for n := accounts[i].Mined; n < below; n++ {
			var is bool
			if n, is = lowest(all, n); !is || n >= below {
				break
			}
			if out = append(out, n); len(out) > maxFilled {
				out = nil
				break
			}
		}
		return nil
	})
	return out, err
}

// underWay is how many transactions an account has under way.
func underWay(tx ledger.Tx, network string, a rail.Account) (uint64, error) {
	n, known, err := next(tx, network, a.Address)
	if err != nil {
		return 0, err
	}
	if !known {
		n = a.Mined
	}
	all, err := spans(tx, network, a.Address)
	return unmined(all, n, a.Mined), err
}
