package hostindex

import (
	"bytes"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"go.etcd.io/bbolt"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
)

// Format names the format of an Index on disk.
const Format = "store-hostindex/v1"

// A folder of indexes holds
//
//	current             one line: the name of the index in force
//	<log size>-<root>   a file of bbolt, what was made from the record at that size of its log
//
// An index says nothing that the record does not: it can be thrown away and made again.
const pointerName = "current"

// The tables of an index.
const (
	tableHead  = "head"  // headKey → Head, in JSON
	tableHosts = "hosts" // host → its rows
	tableDoors = "doors" // address digest and host → the rounds in which the host advertised the address
	tableSums  = "sums"  // address digest → at how many hosts, ever and in each round
	tableNames = "names" // SHA-256 → host, for hosts that addresses and file names do not spell as they are

	headKey = "head"
)

// Head says what an index was made from.
type Head struct {
	Format    string        `json:"format"` // Format
	Origin    string        `json:"origin"`
	Size      int64         `json:"size"`  // of the log under which the newest round was sealed
	Root      attest.Digest `json:"root"`  // of that log
	Weeks     []string      `json:"weeks"` // of the rounds, oldest first
	Rows      int64         `json:"rows"`
	Hosts     int64         `json:"hosts"`
	Addresses int64         `json:"addresses"` // pairs of network and digest
	// Networks are those that rows name beside addresses, those of most hosts first, at most
	// MaxNetworks; NetworksAll counts all. RowsCut counts the rows that leave addresses out.
	Networks    []string `json:"networks"`
	NetworksAll int64    `json:"networks_all"`
	RowsCut     int64    `json:"rows_cut"`
}

// MaxNetworks is the most networks that an index lists: as many as one look-up asks. A door may
// name any.
const MaxNetworks = 2048

// Sequence is the newest round's, 0 for none.
func (h Head) Sequence() int64 { return int64(len(h.Weeks)) }

// name is that of the file of an index.
func (h Head) name() string { return fmt.Sprintf("%d-%s", h.Size, h.Root.String()[:16]) }

// Index answers what the record holds about one host or one address from a file, whatever its size.
// What is read is checked, so that a damaged index gives errors and no wrong answers. It may be
// used by several goroutines at once, and after a newer one took its place.
type Index struct {
	head Head
	db   *bbolt.DB // closed when nobody has the index
}

// ErrNone is returned for a folder in which no index was built.
var ErrNone = errors.New("there is no index")

// Open opens the index in force of a folder that Build filled.
func Open(dir string) (*Index, error) {
	raw, err := os.ReadFile(filepath.Join(dir, pointerName))
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNone
	}
	if err != nil {
		return nil, fmt.Errorf("opening host index: %w", err)
	}
	name := strings.TrimSuffix(string(raw), "\n")
	if name != filepath.Base(name) {
		return nil, fmt.Errorf("opening host index: %s is not the name of a file", pointerName)
	}
	db, err := bbolt.Open(filepath.Join(dir, name), 0, &bbolt.Options{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("opening host index: %s: %w", name, err)
	}
	x := &Index{db: db}
	if err := x.readHead(name); err != nil {
		return nil, errors.Join(fmt.Errorf("opening host index: %s: %w", name, err), db.Close())
	}
	runtime.AddCleanup(x, func(db *bbolt.DB) { _ = db.Close() }, db) // it was only read
	return x, nil
}

func (x *Index) readHead(name string) error {
	raw, _, err := x.get(tableHead, headKey)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &x.head, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	if x.head.Format != Format || x.head.name() != name {
		return fmt.Errorf("it is the %.80q of %s, want the %q of that name", x.head.Format, x.head.name(), Format)
	}
	return nil
}

// Head says what the index was made from.
func (x *Index) Head() Head { return x.head }

// Check demands that the index was made from this record, perhaps before its newest rounds: then it
// is stale, and says what was so at its head.
func (x *Index) Check(r *record.Record) (stale bool, err error) {
	n, all := len(x.head.Weeks), len(r.Rounds())
	if n > all {
		return false, fmt.Errorf("checking host index: it holds %d rounds of a record of %d", n, all)
	}
	head, err := headOf(r, n)
	if err != nil {
		return false, err
	}
	if head.Origin != x.head.Origin || head.Size != x.head.Size || head.Root != x.head.Root {
		return false, fmt.Errorf("checking host index: at round %d it is of another log than the record", n)
	}
	return n < all, nil
}

// headOf is what an index of a record's first n rounds is made from, but for its counts.
func headOf(r *record.Record, n int) (Head, error) {
	h := Head{Format: Format, Root: attest.MerkleRoot(nil), Weeks: []string{}}
	for _, round := range r.Rounds()[:n] {
		h.Origin, h.Size = round.Origin, round.LeavesEnd()
		h.Weeks = append(h.Weeks, round.Week)
	}
	var err error
	h.Root, err = r.Log.Root(h.Size)
	return h, err
}

// Host returns all rows of a host, oldest first; false for a host that no round ever named.
func (x *Index) Host(host string) (record.History, bool, error) {
	value, ok, err := x.get(tableHosts, host)
	if err != nil || !ok {
		return record.History{Host: host}, false, err
	}
	h, err := decodeHistory(host, value, math.MaxInt)
	return h, err == nil, err
}

// Hashed finds the host whose SHA-256, in hex, stands in place of its name in addresses and names
// of files. It holds every host that is too long or too odd to stand there itself, and may hold
// others.
func (x *Index) Hashed(sum string) (host string, ok bool, err error) {
	value, ok, err := x.get(tableNames, sum)
	return string(value), ok, err
}

// plainName are hosts that are written as they are, wherever they stand.
var plainName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,199}$`)

// isPlain reports whether a host is surely written as it is.
func isPlain(host string) bool {
	return plainName.MatchString(host) && !strings.HasSuffix(host, ".json") && !strings.HasPrefix(host, "h-")
}

func encodeHistory(h record.History) (value []byte) {
	for _, row := range h.Rows {
		value = appendNumber(value, row.Leaf)
		value = appendNumber(value, int64(len(row.Raw)))
		value = append(value, row.Raw...)
	}
	return value
}

// decodeHistory reads the first row and the last n.
func decodeHistory(host string, value []byte, n int) (record.History, error) {
	h := record.History{Host: host}
	c := cursor{rest: value}
	for len(c.rest) > 0 {
		row := record.StoredRow{Leaf: int64(c.number())}
		row.Raw = c.take(c.number())
		h.Rows = append(h.Rows, row)
	}
	if err := c.end(); err != nil {
		return h, fmt.Errorf("reading host index: rows of %s: %w", host, err)
	}
	if len(h.Rows) > n {
		h.Rows = slices.Delete(h.Rows, 1, max(1, len(h.Rows)-n))
	}
	for i := range h.Rows {
		row := &h.Rows[i]
		row.Raw = bytes.Clone(row.Raw)
		if err := json.Unmarshal(row.Raw, &row.Row, json.RejectUnknownMembers(true)); err != nil {
			return h, fmt.Errorf("reading host index: row of %s: %w", host, err)
		}
	}
	return h, nil
}

// Recent yields every host in the order of its bytes with its first row and its last n: what a tier
// is derived from. It parses no other rows, and what it yields counts only if no error came behind.
func (x *Index) Recent(n int) iter.Seq2[record.History, error] {
	return func(yield func(record.History, error) bool) {
		for e, err := range x.from(tableHosts, "") {
			h := record.History{Host: e.key}
			if err == nil {
				h, err = decodeHistory(e.key, e.value, n)
			}
			if !yield(h, err) || err != nil {
				return
			}
		}
	}
}

// RecentOf yields the first row and the last n of hosts, which must be held by the index.
func (x *Index) RecentOf(hosts []string, n int) iter.Seq2[record.History, error] {
	return func(yield func(record.History, error) bool) {
		for _, host := range hosts {
			value, ok, err := x.get(tableHosts, host)
			if err == nil && !ok {
				err = fmt.Errorf("reading host index: there is no host %s", host)
			}
			h := record.History{Host: host}
			if err == nil {
				h, err = decodeHistory(host, value, n)
			}
			if !yield(h, err) || err != nil {
				return
			}
		}
	}
}

// AddressDoor is one host at which an address was advertised.
type AddressDoor struct {
	Host      string
	Sequences []int64 // of the rounds that saw it there, oldest first
	FirstWeek string
	LastWeek  string
}

// AddressSum counts the hosts at which an address was advertised.
type AddressSum struct {
	Hosts int64           // that ever advertised it
	In    map[int64]int64 // by the sequence of a round: hosts that did so in it
}

// Address counts the hosts at which an address was advertised: none for one that was never seen.
func (x *Index) Address(p record.PayTo) (AddressSum, error) {
	value, ok, err := x.get(tableSums, addressKey(p))
	sum := AddressSum{In: map[int64]int64{}}
	if err != nil || !ok {
		return sum, err
	}
	c := cursor{rest: value}
	sum.Hosts = int64(c.number())
	for len(c.rest) > 0 {
		sequence := int64(c.number())
		sum.In[sequence] = int64(c.number())
	}
	return sum, c.end()
}

// Doors yields the hosts at which an address was advertised, in order of their names.
func (x *Index) Doors(p record.PayTo) iter.Seq2[AddressDoor, error] {
	return func(yield func(AddressDoor, error) bool) {
		prefix := addressKey(p)
		for e, err := range x.from(tableDoors, prefix) {
			host, of := strings.CutPrefix(e.key, prefix)
			if err == nil && !of {
				return
			}
			d := AddressDoor{Host: host}
			if err == nil {
				d, err = x.door(host, e.value)
			}
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

func (x *Index) door(host string, value []byte) (AddressDoor, error) {
	d := AddressDoor{Host: host}
	c := cursor{rest: value}
	for len(c.rest) > 0 {
		d.Sequences = append(d.Sequences, int64(c.number()))
	}
	if err := c.end(); err != nil {
		return d, err
	}
	if len(d.Sequences) == 0 || d.Sequences[0] < 1 || d.Sequences[len(d.Sequences)-1] > x.head.Sequence() {
		return d, fmt.Errorf("reading host index: %s advertised an address in no round", host)
	}
	d.FirstWeek, d.LastWeek = x.head.Weeks[d.Sequences[0]-1], x.head.Weeks[d.Sequences[len(d.Sequences)-1]-1]
	return d, nil
}

// addressKey is the key of an address; a host's name behind it is that of its door. No two
// addresses begin alike.
func addressKey(p record.PayTo) string {
	return fmt.Sprintf("%s%04x%s ", p.Digest, len(p.Network), p.Network)
}
