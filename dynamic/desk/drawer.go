package desk

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"
)

// Drawer keeps raw recordings of walks in a folder that is never published: what a door really
// answered, with every header and address, for whoever can prove that the door is his. It is
// bounded; the oldest go first. One process writes to a folder. Its methods may be called by many
// goroutines at once.
//
// A file is <sha256 of the URL, 32 hex>-<unix nanoseconds>-<battery>-<verdict>.recording, in the
// form of fetch.Recording. One that was made inside a private corpus ends in .private.recording and
// is never told of.
type Drawer struct {
	dir      *os.Root
	maxFiles int
	maxBytes int64

	mu     sync.Mutex // guards what follows
	kept   []keptFile // oldest first
	bytes  int64
	newest map[string]LastReading // by hash of the URL
}

type keptFile struct {
	name string
	hash string
	at   int64
	size int64
	// private readings are kept and never shown.
	private bool
	LastReading
}

// The bounds of a drawer, unless configured otherwise.
const (
	DefaultDrawerFiles = 20_000
	DefaultDrawerBytes = 512 << 20
)

// OpenDrawer opens a folder of recordings and makes it where there is none. A bound of 0 is its
// default.
func OpenDrawer(dir string, maxFiles int, maxBytes int64) (*Drawer, error) {
	if maxFiles < 0 || maxBytes < 0 {
		return nil, errors.New("opening recordings: a bound is negative")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("opening recordings: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening recordings: %w", err)
	}
	d := &Drawer{dir: root, maxFiles: cmp.Or(maxFiles, DefaultDrawerFiles),
		maxBytes: cmp.Or(maxBytes, DefaultDrawerBytes), newest: map[string]LastReading{}}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening recordings: %w", err), root.Close())
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), unfinished) {
			_ = root.Remove(e.Name()) // half a file of a process that died; the next start tries again
			continue
		}
		f, ok := parseKept(e.Name())
		info, err := e.Info()
		if !ok || err != nil {
			continue
		}
		f.size = info.Size()
		d.kept = append(d.kept, f)
	}
	slices.SortFunc(d.kept, func(a, b keptFile) int { return cmp.Compare(a.at, b.at) })
	for _, f := range d.kept {
		d.bytes += f.size
		d.note(f)
	}
	d.evict()
	return d, nil
}

// Close frees the folder.
func (d *Drawer) Close() error { return d.dir.Close() }

const (
	recordingSuffix = ".recording"
	privateSuffix   = ".private"
	unfinished      = ".part"
)

func urlHash(url string) string {
	sum := sha256.Sum256([]byte(url))
	return hex.EncodeToString(sum[:16])
}

func parseKept(name string) (keptFile, bool) {
	base, ok := strings.CutSuffix(name, recordingSuffix)
	base, private := strings.CutSuffix(base, privateSuffix)
	parts := strings.Split(base, "-")
	if !ok || len(parts) != 4 || len(parts[0]) != 32 {
		return keptFile{}, false
	}
	at, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return keptFile{}, false
	}
	return keptFile{name: name, hash: parts[0], at: at, private: private,
		Verdict: probe.Verdict(parts[3]), Battery: parts[2], ObservedAt: time.Unix(0, at).UTC().Format(time.RFC3339),
		Source: "probe"}, true
}

// Put keeps a recording with what was made of it.
func (d *Drawer) Put(url string, r probe.Report, rec fetch.Recording) error {
	raw, err := rec.Encode()
	if err != nil {
		return fmt.Errorf("keeping a recording: %w", err)
	}
	at := time.Now()
	if len(rec.Exchanges) > 0 {
		at = rec.Exchanges[0].StartedAt
	}
	private := ""
	if rec.Private {
		private = privateSuffix
	}
	name := fmt.Sprintf("%s-%d-%s-%s%s%s", urlHash(url), at.UnixNano(), r.Version, r.Verdict, private, recordingSuffix)
	f, ok := parseKept(name)
	if !ok {
		return fmt.Errorf("keeping a recording: %s is no name", filepath.Base(name))
	}
	f.size = int64(len(raw))
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.dir.WriteFile(name+unfinished, raw, 0o600); err != nil {
		return errors.Join(fmt.Errorf("keeping a recording: %w", err), d.dir.RemoveAll(name+unfinished))
	}
	if err := d.dir.Rename(name+unfinished, name); err != nil {
		return fmt.Errorf("keeping a recording: %w", err)
	}
	if i := slices.IndexFunc(d.kept, func(k keptFile) bool { return k.name == name }); i >= 0 {
		d.bytes -= d.kept[i].size
		d.kept = slices.Delete(d.kept, i, i+1)
	}
	d.kept = append(d.kept, f)
	d.bytes += f.size
	d.note(f)
	d.evict()
	return nil
}

// note remembers the newest reading of a URL; mu is held, or the drawer is being opened.
func (d *Drawer) note(f keptFile) {
	if !f.private {
		d.newest[f.hash] = f.LastReading
	}
}

// evict removes the oldest until the bounds hold; mu is held, or the drawer is being opened.
func (d *Drawer) evict() {
	n := 0
	for n < len(d.kept) && (len(d.kept)-n > d.maxFiles || d.bytes > d.maxBytes) {
		f := d.kept[n]
		_ = d.dir.Remove(f.name) // what cannot be removed is found again at the next start
		d.bytes -= f.size
		if d.newest[f.hash].ObservedAt == f.ObservedAt {
			delete(d.newest, f.hash)
		}
		n++
	}
	d.kept = slices.Delete(d.kept, 0, n)
}

// Last returns the newest reading of a URL, in the form in which it is requested; nil if none is
// kept.
func (d *Drawer) Last(url string) *LastReading {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if r, ok := d.newest[urlHash(url)]; ok {
		return &r
	}
	return nil
}
