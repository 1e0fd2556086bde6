package buyer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/durable"
)

// maxJournalFile bounds what is read of a file: an answer and a request body in base64, and some
// room.
const maxJournalFile = (MaxBody+maxRequestBody)*4/3 + 1<<20

// folder is a journal of one file per purchase and per channel, mode 0600, and one lock per request
// and channel.
type folder string

// Folder is a journal in a folder of the buyer's own, which is made when it is missing. A file
// holds the request with the payment's signature, and the answer; never a wallet's key. Processes
// of one machine share it.
func Folder(dir string) Journal { return folder(dir) }

func (f folder) place(id string) string { return filepath.Join(string(f), id+".json") }

// hold implements Journal. The lock is the operating system's: it has no other end than the
// process's, however that ends.
func (f folder) hold(_ context.Context, digest string, _ time.Duration) (hold, error) {
	if f == "" {
		return nil, errors.New("opening the journal: no folder is configured")
	}
	locks := filepath.Join(string(f), "locks")
	if err := os.MkdirAll(locks, 0o700); err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(locks, digest), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	if err := durable.TryLock(lock); err != nil {
		err = errors.Join(err, lock.Close())
		if errors.Is(err, durable.ErrLocked) {
			return nil, fmt.Errorf("opening the journal %s: %w", string(f), ErrBusy)
		}
		return nil, fmt.Errorf("locking the journal: %w", err)
	}
	return &folderHold{folder: f, digest: digest, lock: lock}, nil
}

func (f folder) unfinished(context.Context) (list []*purchase, err error) {
	all, err := f.all()
	for _, p := range all {
		if p.open() {
			list = append(list, p)
		}
	}
	return list, err
}

// all returns every purchase in order of time. A file that cannot be read is named in the error and
// does not hide the others.
func (f folder) all() (all []*purchase, err error) {
	entries, err := os.ReadDir(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	var errs []error
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || strings.HasPrefix(id, ".") {
			continue
		}
		p, err := f.one(id)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, p)
	}
	return all, errors.Join(errs...)
}

// bought implements Journal.
func (f folder) bought(context.Context) ([]*purchase, error) { return f.all() }

// channelPlace is where a channel is kept.
func (f folder) channelPlace(id string) string {
	return filepath.Join(string(f), channelFolder, id+".json")
}

// channelFolder has the records of channels, one file each.
const channelFolder = "channels"

// channel implements Journal.
func (f folder) channel(_ context.Context, id string) (*channel, error) {
	b, err := readBounded(f.channelPlace(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	return decodeChannel(b, id)
}

// channels implements Journal.
func (f folder) channels(ctx context.Context) (list []*channel, err error) {
	entries, err := os.ReadDir(filepath.Join(string(f), channelFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	var errs []error
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || strings.HasPrefix(id, ".") {
			continue
		}
		c, err := f.channel(ctx, id)
		if err != nil {
			errs = append(errs, err)
		} else if c != nil {
			list = append(list, c)
		}
	}
	return list, errors.Join(errs...)
}

// readBounded reads a file of the journal.
func readBounded(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxJournalFile))
}

func (f folder) one(id string) (*purchase, error) {
	b, err := readBounded(f.place(id))
	if err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	return decodePurchase(b, id)
}

type folderHold struct {
	folder
	digest string
	lock   *os.File
}

func (h *folderHold) keep(context.Context, time.Duration) error { return nil }

// release lets the lock go by name: a child that is being started just now holds a copy of the
// file, and the lock lives as long as a copy.
func (h *folderHold) release() error {
	return errors.Join(durable.Unlock(h.lock), h.lock.Close())
}

func (h *folderHold) read(_ context.Context, id string) (*purchase, error) { return h.one(id) }

func (h *folderHold) find(_ context.Context, id string) (*purchase, error) {
	p, err := h.one(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return p, err
}

func (h *folderHold) known(_ context.Context, nonce string) (bool, error) {
	return h.any(func(p *purchase) bool { return p.Nonce == nonce })
}

func (h *folderHold) elsewhere(_ context.Context, key string) (bool, error) {
	return h.any(func(p *purchase) bool {
		return p.Request.Header.Get(headerKey) == key && p.Request.digest() != h.digest
	})
}

func (h *folderHold) any(is func(*purchase) bool) (bool, error) {
	all, err := h.all()
	return err == nil && slices.ContainsFunc(all, is), err
}

func (h *folderHold) create(ctx context.Context, p *purchase) error {
	was, err := h.find(ctx, p.ID)
	if err != nil {
		return err
	}
	if was != nil && was.State == Intended && was.Nonce != p.Nonce && was.Request.digest() == h.digest {
		return h.write(p, os.Rename)
	}
	return h.write(p, func(from, to string) error {
		if err := os.Link(from, to); err != nil { // unlike a rename, this fails when to exists
			return err
		}
		return os.Remove(from)
	})
}

func (h *folderHold) update(_ context.Context, p *purchase) error { return h.write(p, os.Rename) }

func (h *folderHold) putChannel(_ context.Context, c *channel) error {
	b, err := encodeChannel(c)
	if err != nil {
		return fmt.Errorf("journalling channel %s: %w", c.Channel.ID, err)
	}
	if err := os.MkdirAll(filepath.Join(string(h.folder), channelFolder), 0o700); err != nil {
		return fmt.Errorf("journalling channel %s: %w", c.Channel.ID, err)
	}
	if err := h.replace(h.channelPlace(c.Channel.ID), b, os.Rename); err != nil {
		return fmt.Errorf("journalling channel %s: %w", c.Channel.ID, err)
	}
	return nil
}

func (h *folderHold) write(p *purchase, move func(from, to string) error) error {
	b, err := encodePurchase(p)
	if err == nil {
		err = h.replace(h.place(p.ID), b, move)
	}
	if err != nil {
		return fmt.Errorf("journalling purchase %s: %w", p.ID, err)
	}
	return nil
}

// replace writes a file beside its place and moves it there; it returns when that is durable.
func (h *folderHold) replace(place string, b []byte, move func(from, to string) error) (err error) {
	dir := filepath.Dir(place)
	f, err := os.CreateTemp(dir, "."+filepath.Base(place)+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			if rerr := os.Remove(f.Name()); !errors.Is(rerr, fs.ErrNotExist) {
				err = errors.Join(err, rerr)
			}
		}
	}()
	if _, err = f.Write(b); err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := move(f.Name(), place); err != nil {
		return err
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
