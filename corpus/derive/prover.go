package derive

import (
	"sync"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tlog"
)

// Prover makes the proofs that pages hold, with each checkpoint read and its signature checked
// once. It keeps one checkpoint for each size that it is asked for, which are those of rounds. Any
// number of goroutines may use it.
type Prover struct {
	Record *record.Record

	checkpoints sync.Map // of tlog.Checkpoint, by size
}

// Prove is Log.Prove of the record.
func (p *Prover) Prove(leaf, size int64) (tlog.Proof, error) {
	kept, ok := p.checkpoints.Load(size)
	if !ok {
		c, err := p.Record.Log.Checkpoint(size, p.Record.Ring())
		if err != nil {
			return tlog.Proof{}, err
		}
		kept, _ = p.checkpoints.LoadOrStore(size, c)
	}
	hashes, err := p.Record.Log.Inclusion(leaf, size)
	return tlog.Proof{Index: leaf, Hashes: hashes, Note: kept.(tlog.Checkpoint).Raw}, err
}
