package record

import (
	"fmt"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/tlog"
)

// PlacedHost is a host's entry and the proof that it stands at a position of the index.
type PlacedHost struct {
	Position int64           `json:"position"`
	Entry    HostEntry       `json:"entry"`
	Hashes   []attest.Digest `json:"hashes"`
}

// HostProof shows what the host index of a round says of a host: its entry, which commits to all
// its rows up to there; or that it has no row in any round up to there: then Places holds its
// neighbours, of which one is missing at either end of the index. What it rests on says HostClaim.
type HostProof struct {
	Host     string        `json:"host"`
	Sequence int64         `json:"sequence"`
	Size     int64         `json:"size"` // hosts in the index
	Root     attest.Digest `json:"root"`
	Places   []PlacedHost  `json:"places"`
	Claim    string        `json:"claim"`
	Log      string        `json:"log"` // tlog-proof of the leaf that commits to Size and Root
}

// HostClaim says what a host index claims when the log has a size.
func HostClaim(size int64) string {
	return fmt.Sprintf("all rows in the index committed at size %d; a clone recomputes it", size)
}

// Entry is the host's entry; false for a host that was never seen.
func (p HostProof) Entry() (HostEntry, bool) {
	if len(p.Places) == 1 && p.Places[0].Entry.Host == p.Host {
		return p.Places[0].Entry, true
	}
	return HostEntry{}, false
}

// ProveHost proves what the host index of a round says of a host, under the round's own checkpoint.
func (r *Record) ProveHost(sequence int64, host string) (HostProof, error) {
	if sequence == 0 {
		return HostProof{}, fmt.Errorf("proving %s: no round 0", host)
	}
	committed, err := r.hostIndex(sequence)
	if err != nil {
		return HostProof{}, fmt.Errorf("proving %s: %w", host, err)
	}
	round := r.rounds[sequence-1]
	out := HostProof{Host: host, Sequence: sequence, Size: committed.Size, Root: committed.Root, Places: []PlacedHost{}}
	out.Claim = HostClaim(round.LeavesEnd())
	index := OpenHostTable(r.fsys, sequence, out.Size, out.Root)
	if out.Places, err = index.Find(host); err != nil {
		return HostProof{}, fmt.Errorf("proving %s: %w", host, err)
	}
	for i := range out.Places {
		if out.Places[i].Hashes, err = index.log.Inclusion(out.Places[i].Position, out.Size); err != nil {
			return HostProof{}, fmt.Errorf("proving %s: %w", host, err)
		}
	}
	proof, err := r.Log.Prove(round.HostsLeaf(), round.LeavesEnd(), r.ring)
	out.Log = string(proof.Text())
	return out, err
}

// Verify checks the proof against the keys of the log and returns the checkpoint it rests on. It
// does not say that the rows behind an entry are signed, or that they are those of the rounds: a
// clone recomputes it.
func (p HostProof) Verify(ring attest.Ring) (tlog.Checkpoint, error) {
	fail := func(what string) (tlog.Checkpoint, error) {
		return tlog.Checkpoint{}, fmt.Errorf("checking proof of %s in round %d: %s", p.Host, p.Sequence, what)
	}
	proof, err := tlog.ParseProof([]byte(p.Log))
	if err != nil {
		return tlog.Checkpoint{}, err
	}
	leaf, err := EncodeHostsLeaf(p.Sequence, p.Size, p.Root)
	if err != nil {
		return tlog.Checkpoint{}, err
	}
	c, err := proof.Verify(leaf, ring)
	if err != nil {
		return tlog.Checkpoint{}, err
	}
	if proof.Index != c.Size-1 {
		return fail("its leaf is not the last one of its round")
	}
	if p.Claim != HostClaim(c.Size) {
		return fail("it claims something else")
	}
	for _, place := range p.Places {
		raw, err := place.Entry.Encode()
		if err != nil {
			return tlog.Checkpoint{}, err
		}
		if err := tlog.CheckInclusion(place.Hashes, p.Size, p.Root, place.Position, attest.LeafHash(raw)); err != nil {
			return fail(err.Error())
		}
	}
	if _, seen := p.Entry(); seen {
		return c, nil
	}
	before := func(i int) bool { return p.Places[i].Entry.Host < p.Host }
	behind := func(i int) bool { return p.Places[i].Entry.Host > p.Host }
	switch n := len(p.Places); {
	case p.Size == 0 && n == 0 && p.Root == attest.MerkleRoot(nil):
	case n == 1 && p.Places[0].Position == 0 && behind(0):
	case n == 1 && p.Places[0].Position == p.Size-1 && before(0):
	case n == 2 && p.Places[1].Position == p.Places[0].Position+1 && before(0) && behind(1):
	default:
		return fail("neither its entry nor that it is absent is shown")
	}
	return c, nil
}
