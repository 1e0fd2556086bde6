package buyer

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// journalFormat is the first member of every file.
const journalFormat = "store-purchase/v1"

// maxJournalFile bounds what is read of a file: an answer and a request body in base64, and some room.
const maxJournalFile = (MaxBody+maxRequestBody)*4/3 + 1<<20

// State is how far a purchase is.
type State string

// The states of a purchase.
const (
	Intended  State = "intended"  // decided on; nothing was sent, so a crash here cost nothing
	Signed    State = "signed"    // signed and journalled; no answer yet
	Delivered State = "delivered" // the door answered 2xx
	Refused   State = "refused"   // the door answered something else
	Unknown   State = "unknown"   // never answered, and long past its validity
)

// purchase is one file of the journal. It is written before the payment is first sent and replaced, by rename, when
// the answer is there.
type purchase struct {
	Format    string    `json:"format"`
	ID        string    `json:"id"`
	State     State     `json:"state"`
	CreatedAt time.Time `json:"created_at"`

	Network     string `json:"network"`
	Asset       string `json:"asset"`
	Amount      int64  `json:"amount"` // atomic units
	PayTo       string `json:"pay_to"`
	Payer       string `json:"payer"`
	Nonce       string `json:"nonce"`
	ValidBefore int64  `json:"valid_before"` // Unix seconds
	Resource    string `json:"resource,omitempty"`

	// Request is what is sent, byte for byte, with the signature.
	Request request `json:"request"`
	Answer  *answer `json:"answer,omitempty"`

	repeated bool // presented before, by this process or another
}

func (p *purchase) validBefore() time.Time { return time.Unix(p.ValidBefore, 0).UTC() }

// journal is the folder, locked.
type journal struct {
	dir  string
	lock *os.File
}

// openJournal makes the folder when it is missing and takes its lock, ErrBusy when somebody has it. The lock is the
// operating system's: it ends with the process, however that ends.
func openJournal(dir string) (_ *journal, err error) {
	if dir == "" {
		return nil, errors.New("opening the journal: no folder is configured")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		err = errors.Join(err, f.Close())
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("opening the journal %s: %w", dir, ErrBusy)
		}
		return nil, fmt.Errorf("locking the journal: %w", err)
	}
	return &journal{dir: dir, lock: f}, nil
}

// Close gives the lock back.
func (j *journal) Close() error { return j.lock.Close() }

func (j *journal) file(p *purchase) string { return filepath.Join(j.dir, p.ID+".json") }

// newID sorts by time and cannot collide.
func newID(now time.Time) string {
	var r [6]byte
	rand.Read(r[:])
	return now.UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(r[:])
}

// create writes a new purchase and returns when it is on disk. It never replaces a file.
func (j *journal) create(p *purchase) error {
	return j.write(p, func(from, to string) error {
		if err := os.Link(from, to); err != nil { // unlike a rename, this fails when to exists
			return err
		}
		return os.Remove(from)
	})
}

// update replaces the file of a purchase and returns when it is on disk.
func (j *journal) update(p *purchase) error { return j.write(p, os.Rename) }

func (j *journal) write(p *purchase, place func(from, to string) error) (err error) {
	b, err := json.Marshal(p, jsontext.WithIndent("  "), json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("journalling purchase %s: %w", p.ID, err)
	}
	f, err := os.CreateTemp(j.dir, "."+p.ID+"-*") // mode 0600
	if err != nil {
		return fmt.Errorf("journalling purchase %s: %w", p.ID, err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("journalling purchase %s: %w", p.ID, err)
			if rerr := os.Remove(f.Name()); !errors.Is(rerr, fs.ErrNotExist) {
				err = errors.Join(err, rerr)
			}
		}
	}()
	_, err = f.Write(append(b, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := place(f.Name(), j.file(p)); err != nil {
		return err
	}
	return syncDir(j.dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// read returns every purchase in order of time. A file that cannot be read is named in the error and does not hide the
// others.
func (j *journal) read() (all []*purchase, err error) {
	entries, err := os.ReadDir(j.dir)
	if err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		p, err := readPurchase(filepath.Join(j.dir, e.Name()))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, p)
	}
	return all, errors.Join(errs...)
}

func readPurchase(file string) (*purchase, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxJournalFile))
	if err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	var p purchase
	if err := json.Unmarshal(bytes.TrimSpace(b), &p, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("reading the journal file %s: %w", file, err)
	}
	if p.Format != journalFormat || p.ID+".json" != filepath.Base(file) {
		return nil, fmt.Errorf("reading the journal file %s: it is not a purchase of that name", file)
	}
	return &p, nil
}
