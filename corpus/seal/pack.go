package seal

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/durable"
	"store.example/agentstore/corpus/record"
)

// packer collects the judgements of one part.
type packer struct {
	most    int      // bytes of a pack
	members []member // in the order of the rows
	bytes   int      // of all that are kept
}

// member is one judgement in a pack, or one that was not kept.
type member struct {
	host, digest string
	zipped       []byte // nil where it is not kept
}

func newPacker(most int) *packer { return &packer{most: cmp.Or(most, record.MaxPack)} }

// add takes one judgement. Where all do not fit, the largest gives way: it may be another.
func (p *packer) add(host, digest string, raw []byte) error {
	if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:]) != digest {
		return fmt.Errorf("keeping evidence of %s: it is not what the row names", host)
	}
	m := member{host: host, digest: digest}
	if len(raw) <= record.MaxJudgement {
		var err error
		if m.zipped, err = Gzip(raw); err != nil {
			return fmt.Errorf("keeping evidence of %s: %w", host, err)
		}
	}
	p.members = append(p.members, m)
	for p.bytes += len(m.zipped); p.bytes > p.most; {
		largest := slices.MaxFunc(p.members, func(a, b member) int { return cmp.Compare(len(a.zipped), len(b.zipped)) })
		for i := range p.members { // all of its host, whose row loses its verdict
			if m := &p.members[i]; m.host == largest.host {
				p.bytes, m.zipped = p.bytes-len(m.zipped), nil
			}
		}
	}
	return nil
}

// lost yields the hosts whose judgements are not kept.
func (p *packer) lost() map[string]bool {
	out := map[string]bool{}
	for _, m := range p.members {
		if m.zipped == nil {
			out[m.host] = true
		}
	}
	return out
}

// put writes what was collected of a part, nothing for nothing, and begins anew.
func (p *packer) put(dir *durable.Folder, sequence int64, part int) error {
	err := putPack(dir, record.EvidenceIndexPath(sequence, part), p.members)
	p.members, p.bytes = p.members[:0], 0
	return err
}

// putPack writes a pack, then the index that is named: nothing for nothing.
func putPack(dir *durable.Folder, indexPath string, members []member) error {
	index := record.EvidenceIndex{Format: record.EvidenceIndexFormat}
	var pack []byte
	for _, m := range members {
		if m.zipped != nil {
			index.Entries = append(index.Entries, record.EvidenceEntry{Host: m.host, SHA256: m.digest,
				Offset: int64(len(pack)), Bytes: int64(len(m.zipped))})
			pack = append(pack, m.zipped...)
		}
	}
	if len(index.Entries) == 0 {
		return nil
	}
	raw, err := attest.Canonical(index)
	if err != nil {
		return err
	}
	return errors.Join(dir.Put(record.PackOf(indexPath), pack), dir.Put(indexPath, append(raw, '\n')))
}
