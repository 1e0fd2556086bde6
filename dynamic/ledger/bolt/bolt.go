// Package bolt keeps a ledger in one bbolt file, for one process.
//
// Durability costs one wait for the disk however many Updates it covers: a
// single writer takes the Updates that have queued up, lets each run in its
// turn over the writes of those before it, commits them together in one bbolt
// transaction, and only then answers them all. An Update that fails leaves
// nothing behind and does not disturb its neighbours. Views run beside the
// writer and see only what is on the disk.
//
// The file belongs to the process that opened it; a second one is refused.
// Copying it while it is open gives a torn copy: use ledger.Backup.
package bolt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"store.example/agentstore/dynamic/ledger"
)

// lockWait is how long Open waits for another process to let go.
const lockWait = 2 * time.Second

// bucketName is the one bucket of the file.
var bucketName = []byte("kv")

// DB is a ledger in a bbolt file. It obeys the contract of [ledger.DB].
type DB struct {
	file   *bbolt.DB
	queue  ledger.Queue
	stop   chan struct{}
	writer sync.WaitGroup

	life   sync.RWMutex // read-held by every call, so that Close can wait
	closed bool         // guarded by life

	mu     sync.Mutex    // guards the fields below
	synced int           // the newest bbolt transaction known to be on the disk
	settle chan struct{} // closed, and replaced, when a commit has ended
	failed error         // why the ledger has stopped, if it has
	broken chan struct{} // closed when it has
}

// Stopped is closed when the ledger has stopped: a write failed, as on a disk that is full, and
// what it left there is not known. Nothing is written or read any more until the file is opened
// again, by another process.
func (db *DB) Stopped() <-chan struct{} { return db.broken }

// hint says what mends an error of opening the file.
func hint(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "; hint: its folder is not there: make it, or name another"
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum):
		return "; hint: the file is no ledger or is damaged: move it away and restore the last backup"
	case errors.Is(err, syscall.EISDIR):
		return "; hint: the ledger is a file in that folder: name one"
	}
	return ""
}

// Open opens the ledger in the file at path, or makes it (mode 0600). It fails
// if another process has it open, and with ledger.ErrRestoring if the file is
// the remains of an unfinished restore.
func Open(ctx context.Context, path string) (*DB, error) {
	file, err := openFile(path)
	if err != nil {
		return nil, fmt.Errorf("opening ledger %s: %w%s", path, err, hint(err))
	}
	db := &DB{
		file:   file,
		queue:  ledger.NewQueue(),
		stop:   make(chan struct{}),
		settle: make(chan struct{}), broken: make(chan struct{}),
	}
	err = file.View(func(tx *bbolt.Tx) error {
		db.synced = tx.ID()
		return nil
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening ledger %s: %w", path, err), file.Close())
	}
	db.writer.Go(db.write)
	if err := ledger.Ready(ctx, db); err != nil {
		return nil, errors.Join(fmt.Errorf("opening ledger %s: %w", path, err), db.Close())
	}
	return db, nil
}

// openFile opens the bbolt file with its bucket and makes sure that what it
// holds is on the disk.
func openFile(path string) (*bbolt.DB, error) {
	file, err := bbolt.Open(path, 0o600, &bbolt.Options{
		Timeout: lockWait,
		// The list of free pages is found again when opening; writing it with
		// each commit would cost more the longer the ledger lives.
		NoFreelistSync:  true,
		FreelistType:    bbolt.FreelistMapType,
		InitialMmapSize: initialMap(),
	})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, errors.New("another process has it open, maybe store serve: stop that first, by Ctrl-C where it " +
			"runs or by systemctl stop store")
	}
	if err != nil {
		return nil, err
	}
	err = prepare(file, filepath.Dir(path))
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func prepare(file *bbolt.DB, dir string) error {
	var found bool
	err := file.View(func(tx *bbolt.Tx) error {
		found = tx.Bucket(bucketName) != nil
		return nil
	})
	if err != nil {
		return err
	}
	if !found {
		err := file.Update(func(tx *bbolt.Tx) error {
			_, err := tx.CreateBucket(bucketName)
			return err
		})
		if err != nil {
			return err
		}
	}
	// A process that died between writing and syncing leaves a commit that is
	// only in the page cache, and a new file's name may be there only, too.
	if err := file.Sync(); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// initialMap is the size of the first memory map. To enlarge it, bbolt must wait
// until no View runs, so it is made larger than a ledger is likely to grow.
// It costs addresses, not memory.
func initialMap() int {
	if bits.UintSize == 32 {
		return 1 << 28
	}
	return 1 << (bits.UintSize - 31) // 8 GiB
}

// View implements [ledger.DB].
func (db *DB) View(ctx context.Context, f func(ledger.Tx) error) (err error) {
	db.life.RLock()
	defer db.life.RUnlock()
	if db.closed {
		return ledger.ErrClosed
	}
	snapshot, err := db.begin(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if rerr := snapshot.Rollback(); rerr != nil {
			err = errors.Join(err, rerr)
		}
	}()
	tx := ledger.NewView(state{snapshot.Bucket(bucketName)})
	defer tx.End()
	return f(tx)
}

// begin opens a read transaction on a state that is on the disk. bbolt shows a
// commit to readers before it has synced it; whoever sees such a one waits.
func (db *DB) begin(ctx context.Context) (*bbolt.Tx, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		tx, err := db.file.Begin(false)
		if err != nil {
			return nil, fmt.Errorf("reading the ledger: %w", err)
		}
		db.mu.Lock()
		synced, settle, failed := db.synced, db.settle, db.failed
		db.mu.Unlock()
		if failed == nil && tx.ID() <= synced {
			return tx, nil
		}
		if err := tx.Rollback(); err != nil {
			return nil, fmt.Errorf("reading the ledger: %w", err)
		}
		if failed != nil {
			return nil, failed
		}
		select {
		case <-settle:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Close implements [ledger.DB].
func (db *DB) Close() error {
	db.life.Lock()
	defer db.life.Unlock()
	if db.closed {
		return nil
	}
	db.closed = true
	close(db.stop)
	db.writer.Wait()
	if err := db.file.Close(); err != nil {
		return fmt.Errorf("closing the ledger: %w", err)
	}
	return nil
}

// Check runs bbolt's consistency check over the whole file and returns all that
// it finds.
func (db *DB) Check(ctx context.Context) error {
	db.life.RLock()
	defer db.life.RUnlock()
	if db.closed {
		return ledger.ErrClosed
	}
	tx, err := db.begin(ctx)
	if err != nil {
		return err
	}
	var found []error
	for err := range tx.Check() {
		found = append(found, fmt.Errorf("checking the ledger: %w", err))
	}
	return errors.Join(append(found, tx.Rollback())...)
}
