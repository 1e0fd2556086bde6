package record

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"sort"
	"strconv"

	"agentstore/corpus/attest"
	"agentstore/corpus/tlog"
)

// The host index of a round is a Merkle tree over its hosts, sorted by their bytes, whose root is a leaf of the log. Its
// tiles stand beside the round; its entries follow from the rows.

// HostEntry is one host's entry, at the position of its row in the round. Its RFC 8785 form is hashed.
type HostEntry struct {
	Host   string        `json:"host"`
	Leaf   int64         `json:"leaf"`   // log index of the row
	SHA256 attest.Digest `json:"sha256"` // of the row's exact bytes
}

// HostEntry is the entry of the row at a position of the round.
func (r Round) HostEntry(position int64, host string, raw []byte) HostEntry {
	return HostEntry{Host: host, Leaf: r.FirstLeaf + position, SHA256: sha256.Sum256(raw)}
}

// Hash is the leaf hash of the entry's RFC 8785 form.
func (e HostEntry) Hash() (attest.Digest, error) {
	if !isHost(e.Host) {
		return attest.Digest{}, fmt.Errorf("hashing host entry: %q is not a host name", e.Host)
	}
	// Host names hold nothing that JSON escapes, so that declared order is the form of RFC 8785. It is spelt out because
	// every row needs it.
	b := make([]byte, 0, 128+len(e.Host))
	b = append(append(append(b, `{"host":"`...), e.Host...), `","leaf":`...)
	b = append(strconv.AppendInt(b, e.Leaf, 10), `,"sha256":"`...)
	b = append(hex.AppendEncode(b, e.SHA256[:]), `"}`...)
	return attest.LeafHash(b), nil
}

// PlacedHost is a host's entry and the proof that it stands at a position of the index.
type PlacedHost struct {
	Position int64           `json:"position"`
	Entry    HostEntry       `json:"entry"`
	Hashes   []attest.Digest `json:"hashes"`
}

// HostProof shows that a host has a row in a round, or has none: then Places holds its neighbours, of which one is
// missing at either end of the index. What it rests on says HostClaim.
type HostProof struct {
	Host     string        `json:"host"`
	Sequence int64         `json:"sequence"`
	Present  bool          `json:"present"`
	Size     int64         `json:"size"` // hosts in the index
	Root     attest.Digest `json:"root"`
	Places   []PlacedHost  `json:"places"`
	Claim    string        `json:"claim"`
	Log      string        `json:"log"` // tlog-proof of the leaf that commits to Root
}

// HostClaim says what a host index claims when the log has a size.
func HostClaim(size int64) string {
	return fmt.Sprintf("all rows in the index committed at size %d; a clone recomputes it", size)
}

// ProveHost proves presence or absence of a host in a round under the round's own checkpoint.
func (r *Record) ProveHost(sequence int64, host string) (HostProof, error) {
	round, ok := r.Round(sequence)
	if !ok {
		return HostProof{}, fmt.Errorf("proving %s: no round %d", host, sequence)
	}
	at, present, err := r.position(round, host)
	if err != nil {
		return HostProof{}, err
	}
	out := HostProof{Host: host, Sequence: sequence, Present: present, Size: round.Rows, Claim: HostClaim(round.LeavesEnd()), Places: []PlacedHost{}}
	leaf, err := r.Log.Entry(round.HostsLeaf())
	if err != nil {
		return HostProof{}, err
	}
	var committed hostsLeaf
	if err := attest.ParseCanonical(leaf, &committed); err != nil || committed.Type != "hosts" || committed.Sequence != sequence {
		return HostProof{}, errors.Join(fmt.Errorf("proving %s: leaf %d is not the host index", host, round.HostsLeaf()), err)
	}
	out.Root = committed.Root
	index := tlog.OpenAt(hostsFS{r.fsys, sequence}, round.Rows, committed.Root)
	positions := []int64{at}
	if !present {
		positions = []int64{at - 1, at}
	}
	for _, p := range positions {
		if p < 0 || p >= round.Rows {
			continue
		}
		raw, row, err := r.rowAt(round, p)
		if err != nil {
			return HostProof{}, err
		}
		hashes, err := index.Inclusion(p, round.Rows)
		if err != nil {
			return HostProof{}, err
		}
		out.Places = append(out.Places, PlacedHost{Position: p, Entry: round.HostEntry(p, row.Host, raw), Hashes: hashes})
	}
	proof, err := r.Log.Prove(round.HostsLeaf(), round.LeavesEnd(), r.ring)
	out.Log = string(proof.Text())
	return out, err
}

// Verify checks the proof against the keys of the log and returns the checkpoint it rests on. For a host that is
// present it says which row it has, by its log index and digest; it does not say that the row is signed.
func (p HostProof) Verify(ring attest.Ring) (tlog.Checkpoint, error) {
	fail := func(what string) (tlog.Checkpoint, error) {
		return tlog.Checkpoint{}, fmt.Errorf("checking proof of %s in round %d: %s", p.Host, p.Sequence, what)
	}
	proof, err := tlog.ParseProof([]byte(p.Log))
	if err != nil {
		return tlog.Checkpoint{}, err
	}
	leaf, err := EncodeHostsLeaf(p.Sequence, p.Root)
	if err != nil {
		return tlog.Checkpoint{}, err
	}
	c, err := proof.Verify(leaf, ring)
	if err != nil {
		return tlog.Checkpoint{}, err
	}
	if p.Claim != HostClaim(c.Size) {
		return fail("it claims something else")
	}
	for _, place := range p.Places {
		h, err := place.Entry.Hash()
		if err != nil {
			return tlog.Checkpoint{}, err
		}
		// The two leaves behind a round's rows tell how many rows it has, and where they begin.
		if place.Entry.Leaf != proof.Index-1-p.Size+place.Position {
			return fail("an entry is not at its place in the log")
		}
		if err := tlog.CheckInclusion(place.Hashes, p.Size, p.Root, place.Position, h); err != nil {
			return fail(err.Error())
		}
	}
	switch n := len(p.Places); {
	case p.Present && (n != 1 || p.Places[0].Entry.Host != p.Host):
		return fail("present, but not shown")
	case p.Present:
	case p.Size == 0 && n == 0 && p.Root == attest.MerkleRoot(nil):
	case n == 1 && p.Places[0].Position == 0 && p.Host < p.Places[0].Entry.Host:
	case n == 1 && p.Places[0].Position == p.Size-1 && p.Places[0].Entry.Host < p.Host:
	case n == 2 && p.Places[1].Position == p.Places[0].Position+1 && p.Places[0].Entry.Host < p.Host && p.Host < p.Places[1].Entry.Host:
	default:
		return fail("its neighbours do not show that it is absent")
	}
	return c, nil
}

// position finds where a host stands in a round, or would stand.
func (r *Record) position(round Round, host string) (int64, bool, error) {
	var fault error
	part := sort.Search(len(round.Parts), func(i int) bool {
		rows, err := r.Part(round.Sequence, i)
		if err != nil {
			fault = err
			return true
		}
		last, err := ParseRow(rows[len(rows)-1])
		fault = errors.Join(fault, err)
		return last.Host >= host
	})
	if fault != nil || part == len(round.Parts) {
		return round.Rows, false, fault
	}
	rows, err := r.Part(round.Sequence, part)
	if err != nil {
		return 0, false, err
	}
	var found bool
	i := sort.Search(len(rows), func(i int) bool {
		row, err := ParseRow(rows[i])
		fault = errors.Join(fault, err)
		found = found || row.Host == host
		return row.Host >= host
	})
	return int64(part)*MaxPartRows + int64(i), found, fault
}

// rowAt reads one row of a round by its position.
func (r *Record) rowAt(round Round, position int64) ([]byte, Row, error) {
	rows, err := r.Part(round.Sequence, int(position/MaxPartRows))
	if err != nil {
		return nil, Row{}, err
	}
	raw := rows[position%MaxPartRows]
	row, err := ParseRow(raw)
	return raw, row, err
}

// hostsFS lets a round's host index be read like a log.
type hostsFS struct {
	record   fs.FS
	sequence int64
}

func (h hostsFS) Open(name string) (fs.File, error) {
	return h.record.Open(HostsPath(h.sequence, name[len("log/"):]))
}
