package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strconv"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/tlog"
)

// The host index of a round is a Merkle tree over every host that rounds 1 to this one ever had a
// row of, sorted by their bytes, with a HostEntry each. Its root and its size stand in a leaf of
// the log, behind the leaf of the round:
//
//	{"root":"<hex>","sequence":3,"size":1000000,"type":"hosts"}
//
// Below rounds/3/hosts/ it has the files of a C2SP tlog-tiles log, tile/<level>/<n> and
// tile/entries/<n>, where an entry is the bytes that a leaf hash is of; and first.txt, a line for
// each bundle of 256 entries with its first host, so that a host is found with two requests: the
// table and one bundle. All of it follows from the index before and the round's rows: the entry of
// a host with a row is HostEntry.Next, and that of another is as it was. So a round is sealed and
// verified by merging two sorted streams, in memory that does not follow the hosts.
//
// What 1,000,000 hosts cost, each with a row in each of 520 weeks: an entry has about 165 bytes and
// its hash 32, so that a week adds 165 MB of entries, 32 MB of tiles and 100 KB of first.txt, in
// 7,830 files. Ten years of that are 103 GB, beside 940 GB of rows (900 bytes each, in a part and
// in the log). The old indexes are therefore kept, as is all that was written once: a round is
// verified in one pass, from the index before it, and a bundle can still be made of any round. If
// of as many hosts only a tenth had a row, the indexes would take as much as the rows. Sealing
// reads the index before three times, and writes one: some 6 s of one core for a million hosts, a
// tenth of what their rows take, in a few bundles of memory and 25 bytes for every 256 hosts.

// HostEntry is what a host index says of one host: all its rows up to that round, by one digest.
type HostEntry struct {
	FirstSequence int64 `json:"first_sequence"` // the round of its first row
	// Head is SHA-256(head before ‖ SHA-256(exact bytes of the newest row)), from 32 zero bytes on.
	Head     attest.Digest `json:"head"`
	Host     string        `json:"host"`
	LastLeaf int64         `json:"last_leaf"` // log index of its newest row
	Rows     int64         `json:"rows"`      // of this round and those before
}

// Next is the entry once a round has a row of the host. The zero HostEntry is that of a host
// without rows.
func (e HostEntry) Next(host string, sequence, leaf int64, row attest.Digest) HostEntry {
	if e.Rows == 0 {
		e.Host, e.FirstSequence = host, sequence
	}
	var both [2 * sha256.Size]byte
	copy(both[:], e.Head[:])
	copy(both[sha256.Size:], row[:])
	e.Head, e.LastLeaf, e.Rows = sha256.Sum256(both[:]), leaf, e.Rows+1
	return e
}

// Encode returns the entry's RFC 8785 form, of which its leaf hash is.
func (e HostEntry) Encode() ([]byte, error) { return e.encode(nil) }

// encode appends it. Every host needs it in every round, so that it is spelt out: host names hold
// nothing that JSON escapes, and declared order is the form of RFC 8785.
func (e HostEntry) encode(b []byte) ([]byte, error) {
	if !isHost(e.Host) {
		return nil, fmt.Errorf("encoding host entry: %q is not a host name", e.Host)
	}
	b = strconv.AppendInt(append(b, `{"first_sequence":`...), e.FirstSequence, 10)
	b = hex.AppendEncode(append(b, `,"head":"`...), e.Head[:])
	b = append(append(append(b, `","host":"`...), e.Host...), `","last_leaf":`...)
	b = append(strconv.AppendInt(b, e.LastLeaf, 10), `,"rows":`...)
	return append(strconv.AppendInt(b, e.Rows, 10), '}'), nil
}

// ParseHostEntry reads what Encode wrote.
func ParseHostEntry(raw []byte) (HostEntry, error) {
	var e HostEntry
	rest, ok := bytes.CutPrefix(raw, []byte(`{"first_sequence":`))
	until := func(mark string) []byte {
		value, behind, found := bytes.Cut(rest, []byte(mark))
		rest, ok = behind, ok && found
		return value
	}
	number := func(mark string) int64 {
		n, err := strconv.ParseInt(string(until(mark)), 10, 64)
		ok = ok && err == nil
		return n
	}
	e.FirstSequence = number(`,"head":"`)
	if head := until(`","host":"`); len(head) == hex.EncodedLen(len(e.Head)) {
		_, err := hex.Decode(e.Head[:], head)
		ok = ok && err == nil
	}
	e.Host, e.LastLeaf, e.Rows = string(until(`","last_leaf":`)), number(`,"rows":`), number("}")
	// Whatever else is another spelling shows here.
	again, err := e.encode(make([]byte, 0, 512))
	if !ok || err != nil || !bytes.Equal(again, raw) {
		return HostEntry{}, fmt.Errorf("reading host entry: %.300q is not one in its RFC 8785 form", raw)
	}
	return e, nil
}

// HostEntries yields the entries of the host index of a round, whose size and root the caller
// knows. An error behind them says that they do not count.
func HostEntries(record fs.FS, sequence, size int64, root attest.Digest) iter.Seq2[HostEntry, error] {
	return func(yield func(HostEntry, error) bool) {
		for raw, err := range tlog.OpenAt(hostsFS{record, sequence}, size, root).Entries() {
			var e HostEntry
			if err == nil {
				e, err = ParseHostEntry(raw)
			}
			if err != nil {
				yield(e, fmt.Errorf("host index of round %d: %w", sequence, err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Hosts is how many hosts the record has a row of, which is the size of the newest host index.
func (r *Record) Hosts() (int64, error) {
	leaf, err := r.hostIndex(int64(len(r.rounds)))
	return leaf.Size, err
}

// hostIndex reads from the log what the host index of a round is. That of round 0 is empty.
func (r *Record) hostIndex(sequence int64) (hostsLeaf, error) {
	if sequence == 0 {
		return hostsLeaf{Root: attest.MerkleRoot(nil)}, nil
	}
	round, ok := r.Round(sequence)
	if !ok {
		return hostsLeaf{}, fmt.Errorf("reading host index: no round %d", sequence)
	}
	raw, err := r.Log.Entry(round.HostsLeaf())
	if err != nil {
		return hostsLeaf{}, err
	}
	leaf, err := parseHostsLeaf(raw, sequence)
	if err != nil {
		return leaf, fmt.Errorf("reading host index: leaf %d: %w", round.HostsLeaf(), err)
	}
	return leaf, nil
}

// HostEntries yields the entries of the host index that the log commits to.
func (r *Record) HostEntries(sequence int64) iter.Seq2[HostEntry, error] {
	leaf, err := r.hostIndex(sequence)
	if err != nil {
		return func(yield func(HostEntry, error) bool) { yield(HostEntry{}, err) }
	}
	return HostEntries(r.fsys, sequence, leaf.Size, leaf.Root)
}

// HostCursor stands at an entry of a host index.
type HostCursor struct {
	held HostEntry
	ok   bool
	err  error
	pull func() (HostEntry, error, bool)
	stop func()
}

// NewHostCursor begins at the first of some entries. Stop is to be called in any case.
func NewHostCursor(entries iter.Seq2[HostEntry, error]) *HostCursor {
	c := &HostCursor{}
	c.pull, c.stop = iter.Pull2(entries)
	c.next()
	return c
}

// Stop lets go of the entries.
func (c *HostCursor) Stop() { c.stop() }

func (c *HostCursor) next() {
	c.held, c.err, c.ok = c.pull()
	c.ok = c.ok && c.err == nil
}

// Take returns the entry of a host, the zero HostEntry for one that has none, and tells of those
// that it passes. Hosts must be asked for in ascending order.
func (c *HostCursor) Take(host string, passed func(HostEntry) error) (e HostEntry, err error) {
	for c.ok && c.held.Host < host {
		if err := passed(c.held); err != nil {
			return e, err
		}
		c.next()
	}
	if c.ok && c.held.Host == host {
		e = c.held
		c.next()
	}
	return e, c.err
}

// HostIndex makes the host index of a round from the one before and the rows of the round.
type HostIndex struct {
	sequence int64
	before   *HostCursor
	tree     tlog.Tower
	first    []byte
	entry    []byte // as it was added last
	write    func(name string, data []byte) error
}

// NewHostIndex begins the index of a round. write is told of each of its files, named as for
// HostsPath; it is nil where only the root is asked for. Close is to be called in any case.
func NewHostIndex(sequence int64, before iter.Seq2[HostEntry, error], write func(string, []byte) error) *HostIndex {
	tree := tlog.Tower{Write: write, Bundles: write != nil}
	return &HostIndex{sequence: sequence, before: NewHostCursor(before), tree: tree, write: write}
}

// Close lets go of the index before.
func (x *HostIndex) Close() { x.before.stop() }

// Row adds a row, by its digest and its place in the log, and returns the host's entry before it.
// Rows come sorted.
func (x *HostIndex) Row(host string, leaf int64, row attest.Digest) (HostEntry, error) {
	before, err := x.before.Take(host, x.add)
	if err != nil {
		return before, err
	}
	return before, x.add(before.Next(host, x.sequence, leaf, row))
}

func (x *HostIndex) add(e HostEntry) (err error) {
	if x.entry, err = e.encode(x.entry[:0]); err != nil {
		return err
	}
	if x.tree.Size%tlog.TileWidth == 0 && x.write != nil {
		x.first = append(append(x.first, e.Host...), '\n')
	}
	return x.tree.Add(x.entry, attest.LeafHash(x.entry))
}

// Finish adds the hosts that stand behind the last row, writes what is not full and returns the
// size and the root.
func (x *HostIndex) Finish() (size int64, root attest.Digest, err error) {
	for ; x.before.ok; x.before.next() {
		if err := x.add(x.before.held); err != nil {
			return 0, root, err
		}
	}
	if err := x.before.err; err != nil {
		return 0, root, err
	}
	if x.write != nil {
		if err := errors.Join(x.tree.Flush(), x.write(firstHosts, x.first)); err != nil {
			return 0, root, err
		}
	}
	root, err = x.tree.Root()
	return x.tree.Size, root, err
}

// firstHosts is the table of the first hosts of an index's bundles.
const firstHosts = "first.txt"

// hostsFS lets a round's host index be read like a log.
type hostsFS struct {
	record   fs.FS
	sequence int64
}

func (h hostsFS) Open(name string) (fs.File, error) { return h.record.Open(h.path(name)) }

// ReadFile leaves it to the record how a file is read.
func (h hostsFS) ReadFile(name string) ([]byte, error) { return fs.ReadFile(h.record, h.path(name)) }

func (h hostsFS) path(name string) string { return HostsPath(h.sequence, name[len("log/"):]) }
