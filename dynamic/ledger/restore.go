package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// A restore is written in Updates of at most so many entries or bytes. A backup
// that is no larger is restored in one.
const (
	restoreEntries = 4096
	restoreBytes   = 4 << 20
)

// ErrNotEmpty is returned by Restore for a ledger that holds anything.
var ErrNotEmpty = errors.New("ledger: not empty")

// restoringKey is present from the first to the last Update of a restore.
func restoringKey() []byte { return MetaKey("restoring") }

// Restore fills the empty ledger db, which nobody else uses, from a backup. A
// ledger that is not empty is refused with ErrNotEmpty, a backup of a newer
// release with ErrNewer, a damaged one with an error, and db is then as it was
// before.
//
// A small backup is checked whole and then stored in one Update. A larger one
// is stored in many, and until the last of them db holds a mark that makes Open
// refuse it with ErrRestoring: so a restore that dies on the way leaves nothing
// that could be mistaken for a ledger. Memory stays small whatever the size.
//
// finish runs in the transaction that makes the restored ledger usable: what it writes is there
// from the first moment on, or the restore did not happen.
func Restore(ctx context.Context, db DB, r io.Reader, finish ...func(Tx) error) error {
	s := &restorer{ctx: ctx, db: db, from: newBackupReader(r), finish: finish}
	if err := s.run(); err != nil {
		err = fmt.Errorf("restoring the ledger: %w", err)
		if s.marked {
			// A cancelled ctx must not stop the cleaning up.
			s.ctx = context.WithoutCancel(ctx)
			return errors.Join(err, s.empty())
		}
		return err
	}
	return nil
}

type restorer struct {
	ctx    context.Context
	db     DB
	from   *backupReader
	marked bool // a batch of ours may have been stored
	finish []func(Tx) error
}

func (s *restorer) run() error {
	for {
		batch, end, err := s.read()
		if err != nil {
			return err
		}
		err = s.store(batch, !s.marked, end)
		if err == nil || errors.Is(err, ErrUnknown) {
			s.marked = true
		}
		if err != nil || end {
			return err
		}
	}
}

// read returns the next batch, and whether the backup ends with it and is whole.
func (s *restorer) read() (batch []Entry, end bool, err error) {
	size := 0
	for len(batch) < restoreEntries && size < restoreBytes {
		e, err := s.from.next()
		if err == io.EOF {
			return batch, true, nil
		}
		if err != nil {
			return nil, false, err
		}
		if string(e.Key) == string(restoringKey()) {
			return nil, false, errors.New("the backup is of an unfinished restore")
		}
		if string(e.Key) == string(formatKey()) {
			if err := readable(e.Value); err != nil {
				return nil, false, err
			}
		}
		batch = append(batch, e)
		size += len(e.Key) + len(e.Value)
	}
	return batch, false, nil
}

func (s *restorer) store(batch []Entry, first, last bool) error {
	return s.db.Update(s.ctx, func(tx Tx) error {
		if first {
			for e, err := range tx.Scan(nil, nil) {
				if err != nil {
					return err
				}
				return fmt.Errorf("%w: it holds %s", ErrNotEmpty, KeyText(e.Key))
			}
		}
		for _, e := range batch {
			if err := tx.Set(e.Key, e.Value); err != nil {
				return err
			}
		}
		if last {
			for _, f := range s.finish {
				if err := f(tx); err != nil {
					return err
				}
			}
			return tx.Delete(restoringKey())
		}
		return tx.Set(restoringKey(), nil)
	})
}

// empty deletes everything in batches, the mark last, if the mark is there.
func (s *restorer) empty() error {
	for more := true; more; {
		err := s.db.Update(s.ctx, func(tx Tx) error {
			more = false
			if is, err := Has(tx, restoringKey()); err != nil || !is {
				return err // the batch in doubt was not stored, or was the last
			}
			n := 0
			for e, err := range tx.Scan(nil, nil) {
				if err != nil {
					return err
				}
				if n == restoreEntries {
					more = true
					return nil
				}
				if string(e.Key) == string(restoringKey()) {
					continue
				}
				n++
				if err := tx.Delete(e.Key); err != nil {
					return err
				}
			}
			return tx.Delete(restoringKey())
		})
		if err != nil {
			return fmt.Errorf("emptying the ledger again: %w", err)
		}
	}
	return nil
}
