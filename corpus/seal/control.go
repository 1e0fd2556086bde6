package seal

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"iter"
	"net/url"
	"slices"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/durable"
	"store.example/agentstore/corpus/record"
)

// keepControl writes the pack of the walks to the control door and names them in the round. Those
// that do not fit are counted.
func (w *Writer) keepControl(dir *durable.Folder, round *record.Round, walks iter.Seq2[[]byte, error]) error {
	keep := newPacker(record.MaxPack)
	if walks != nil {
		for raw, err := range walks {
			if err != nil {
				return fmt.Errorf("reading control walks: %w", err)
			}
			if len(keep.members) == record.MaxControl {
				break
			}
			if w.Judge == nil {
				return fmt.Errorf("reading control walks: %w", errNoJudge)
			}
			at, err := w.Judge.Door(raw)
			if err != nil {
				return fmt.Errorf("reading control walks: %w", err)
			}
			door, err := url.Parse(at)
			if err != nil || door.Host == "" {
				return fmt.Errorf("reading control walks: %.200q is no door", at)
			}
			if err := keep.add(door.Host, attest.Digest(sha256.Sum256(raw)).String(), raw); err != nil {
				return err
			}
		}
	}
	kept := slices.DeleteFunc(keep.members, func(m member) bool { return m.zipped == nil })
	slices.SortFunc(kept, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.digest, b.digest))
	})
	round.Control.Evidence = nil
	for _, m := range kept {
		round.Control.Evidence = append(round.Control.Evidence, m.digest)
	}
	slices.Sort(round.Control.Evidence)
	round.Control.EvidenceLeftOut = round.Control.Walks - int64(len(kept))
	return putPack(dir, record.ControlIndexPath(round.Sequence), kept)
}
