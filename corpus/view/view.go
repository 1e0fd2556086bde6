package view

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
)

// Format names the format of a View on disk.
const Format = "store-view/v4"

// A folder of views holds
//
//	current                     one line: the name of the view in force and the SHA-256 of its head.json
//	<log size>-<root>/head.json what it was made from, and its files
//	<log size>-<root>/sums-…    address digest → at how many hosts, ever and in each round
//
// and of each segment, which is the rounds from one to another, such as 1-4,
//
//	<log size>-<root>/hosts-1-4-…   host → its rows
//	<log size>-<root>/doors-1-4-…   address digest and host → the rounds in which the host advertised the address
//	<log size>-<root>/names-1-4-…   SHA-256 → host, for hosts that addresses and file names do not spell as they are
//	<log size>-<root>/nets-1-4-…    network and host → nothing, for hosts that named the network beside an address
//
// A view says nothing that the record does not: it can be thrown away and made again.
const (
	pointerName = "current"
	headName    = "head.json"
)

// Head says what a view was made from.
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

// MaxNetworks is the most networks that a view lists: as many as one look-up asks. A door may name
// any.
const MaxNetworks = 2048

// Sequence is the newest round's, 0 for none.
func (h Head) Sequence() int64 { return int64(len(h.Weeks)) }

// headFile is head.json.
type headFile struct {
	Head
	SumFiles []shard   `json:"sum_files"`
	Segments []segment `json:"segments"` // oldest first
}

// open returns the view of a head whose files are in a folder.
func (f *headFile) open(fsys fs.FS, dir string) *View {
	of := func(shards []shard) tree { return newTree(fsys, dir, shards) }
	v := &View{head: f.Head, name: dir, segments: f.Segments, sums: of(f.SumFiles)}
	for _, s := range f.Segments {
		v.hosts, v.doors = append(v.hosts, of(s.HostFiles)), append(v.doors, of(s.DoorFiles))
		v.names, v.nets = append(v.names, of(s.NameFiles)), append(v.nets, of(s.NetFiles))
	}
	return v
}

// View answers what the record holds about one host or one address from sorted files, whatever
// their size: a look-up reads a few blocks of some kilobytes. Each is checked, so that a damaged
// view gives errors and no wrong answers. It may be used by several goroutines at once, and after a
// newer one took its place for as long as its folder stands.
type View struct {
	head                      Head
	name                      string
	segments                  []segment
	sums                      tree
	hosts, doors, names, nets trees // one of each segment
}

// ErrNone is returned for a folder in which no view was built.
var ErrNone = errors.New("there is no view")

// Open opens the view in force of a folder that BuildView filled.
func Open(fsys fs.FS) (*View, error) {
	raw, err := fs.ReadFile(fsys, pointerName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("opening view: %w", ErrNone)
	}
	if err != nil {
		return nil, fmt.Errorf("opening view: %w", err)
	}
	name, sum, ok := strings.Cut(strings.TrimSuffix(string(raw), "\n"), " ")
	if !ok || !fs.ValidPath(name) {
		return nil, fmt.Errorf("opening view: %s is not of the form name and digest", pointerName)
	}
	raw, err = fs.ReadFile(fsys, path.Join(name, headName))
	if err != nil {
		return nil, fmt.Errorf("opening view: %w", err)
	}
	if got := sha256.Sum256(raw); attest.Digest(got).String() != sum {
		return nil, fmt.Errorf("opening view: %s is not the one that %s names", path.Join(name, headName), pointerName)
	}
	var f headFile
	if err := json.Unmarshal(raw, &f, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("opening view: %s: %w", path.Join(name, headName), err)
	}
	if f.Format != Format {
		return nil, fmt.Errorf("opening view: format is %q, want %q", f.Format, Format)
	}
	return f.open(fsys, name), nil
}

// Head says what the view was made from.
func (v *View) Head() Head { return v.head }

// Check demands that the view was made from this record, perhaps before its newest rounds: then it
// is stale, and says what was so at its head.
func (v *View) Check(r *record.Record) (stale bool, err error) {
	n, all := len(v.head.Weeks), len(r.Rounds())
	if n > all {
		return false, fmt.Errorf("checking view: it holds %d rounds of a record of %d", n, all)
	}
	head, err := headOf(r, n)
	if err != nil {
		return false, err
	}
	if head.Origin != v.head.Origin || head.Size != v.head.Size || head.Root != v.head.Root {
		return false, fmt.Errorf("checking view: at round %d it is of another log than the record", n)
	}
	return n < all, nil
}

// headOf is what a view of a record's first n rounds is made from, but for its counts.
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
func (v *View) Host(host string) (record.History, bool, error) {
	value, ok, err := v.hosts.get(host)
	if err != nil || !ok {
		return record.History{Host: host}, false, err
	}
	h, err := decodeHistory(host, value)
	return h, err == nil, err
}

// Hashed finds the host whose SHA-256, in hex, stands in place of its name in addresses and names
// of files. It holds every host that is too long or too odd to stand there itself, and may hold
// others.
func (v *View) Hashed(sum string) (host string, ok bool, err error) {
	for i := range v.names {
		if value, ok, err := v.names[i].get(nil, sum); ok || err != nil {
			return string(value), ok, err
		}
	}
	return "", false, nil
}

// plainName are hosts that are written as they are, wherever they stand.
var plainName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,199}$`)

// isPlain reports whether a host is surely written as it is.
func isPlain(host string) bool {
	return plainName.MatchString(host) && !strings.HasSuffix(host, ".json") && !strings.HasPrefix(host, "h-")
}

func encodeHistory(into []byte, h record.History) []byte {
	for _, row := range h.Rows {
		into = appendNumber(into, row.Leaf)
		into = appendNumber(into, int64(len(row.Raw)))
		into = append(into, row.Raw...)
	}
	return into
}

// decodeHistory takes over the memory of what it reads.
func decodeHistory(host string, value []byte) (record.History, error) {
	h := record.History{Host: host}
	rows := 0
	for c := (cursor{rest: value}); len(c.rest) > 0; rows++ {
		c.number()
		c.take(c.number())
	}
	h.Rows = make([]record.StoredRow, 0, rows)
	c := cursor{rest: value}
	for len(c.rest) > 0 {
		row := record.StoredRow{Leaf: int64(c.number())}
		row.Raw = c.take(c.number())
		if c.bad {
			break
		}
		if err := json.Unmarshal(row.Raw, &row.Row, json.RejectUnknownMembers(true)); err != nil {
			return h, fmt.Errorf("reading view: row of %s: %w", host, err)
		}
		h.Rows = append(h.Rows, row)
	}
	if err := c.end(); err != nil {
		return h, fmt.Errorf("reading view: rows of %s: %w", host, err)
	}
	return h, nil
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
func (v *View) Address(p record.PayTo) (AddressSum, error) {
	value, ok, err := v.sums.get(nil, addressKey(p))
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
func (v *View) Doors(p record.PayTo) iter.Seq2[AddressDoor, error] {
	return func(yield func(AddressDoor, error) bool) {
		prefix := addressKey(p)
		for e, err := range v.doors.from(prefix) {
			host, of := strings.CutPrefix(e.key, prefix)
			if err == nil && !of {
				return
			}
			d := AddressDoor{Host: host}
			if err == nil {
				d, err = v.door(host, e.value)
			}
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

func (v *View) door(host string, value []byte) (AddressDoor, error) {
	d := AddressDoor{Host: host}
	c := cursor{rest: value}
	for len(c.rest) > 0 {
		d.Sequences = append(d.Sequences, int64(c.number()))
	}
	if err := c.end(); err != nil {
		return d, err
	}
	if len(d.Sequences) == 0 || d.Sequences[0] < 1 || d.Sequences[len(d.Sequences)-1] > v.head.Sequence() {
		return d, fmt.Errorf("reading view: %s advertised an address in no round", host)
	}
	d.FirstWeek, d.LastWeek = v.head.Weeks[d.Sequences[0]-1], v.head.Weeks[d.Sequences[len(d.Sequences)-1]-1]
	return d, nil
}

// addressKey is the key of an address; a host's name behind it is that of its door. No two
// addresses begin alike.
func addressKey(p record.PayTo) string {
	return fmt.Sprintf("%s%04x%s ", p.Digest, len(p.Network), p.Network)
}
