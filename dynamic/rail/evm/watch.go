package evm

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

const (
	maxBlocks = 8192    // blocks that the index remembers
	maxUses   = 200_000 // authorizations that it remembers, about 50 MB
	catchUp   = 256     // blocks that one poll reads; a larger gap starts the index anew
)

// index is what the watcher knows of the newest blocks: their uses of authorizations. It makes the
// cost of following any number of waiting payments one request a block.
type index struct {
	mu     sync.RWMutex // guards what follows
	blocks []block      // without gaps, oldest first
	uses   map[authorization]use
	spent  map[uint64][]authorization // block number → what it spent
	now    state
}

// state is what the watcher knows besides.
type state struct {
	head  block
	deep  *block   // newest block at the network's depth; nil while the index is shorter
	low   uint64   // oldest block in the index
	tip   *big.Int // suggested tip, nil if unknown
	mined counts   // our transactions up to head
	final uint64   // newest final block, 0 if none is known
	at    time.Time
}

func newIndex() *index {
	return &index{uses: map[authorization]use{}, spent: map[uint64][]authorization{}}
}

// state is what is known, and whether the watcher is live: had an answer within patience.
func (x *index) state(now time.Time, patience time.Duration) (state, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.now, len(x.blocks) > 0 && now.Sub(x.now.at) < patience
}

// find is the use of an authorization within the index.
func (x *index) find(a authorization) (use, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	u, ok := x.uses[a]
	return u, ok
}

// hash is the hash of a block within the index; zero if it is not.
func (x *index) hash(number uint64) common.Hash {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if b := x.block(number); b != nil {
		return b.Hash
	}
	return common.Hash{}
}

func (x *index) block(number uint64) *block {
	if len(x.blocks) == 0 || number < x.blocks[0].Number || number-x.blocks[0].Number >= uint64(len(x.blocks)) {
		return nil
	}
	return &x.blocks[number-x.blocks[0].Number]
}

// touch notes that the node answered and that the head is as it was, and returns whether more of
// the chain is final: a node may move its final block after its head, and who waits for finality
// must hear of it.
func (x *index) touch(now time.Time, tip *big.Int, final uint64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	more := final > x.now.final
	x.now.at, x.now.tip, x.now.final = now, tip, max(final, x.now.final)
	return more
}

// replace puts blocks in the place of everything from the first of them on.
func (x *index) replace(blocks []block, found map[authorization]use, s state, depth uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	first := blocks[0].Number
	if b := x.block(first); b == nil && (len(x.blocks) == 0 || x.blocks[len(x.blocks)-1].Number+1 != first) {
		x.blocks, x.uses, x.spent = nil, map[authorization]use{}, map[uint64][]authorization{}
	}
	for len(x.blocks) > 0 && x.blocks[len(x.blocks)-1].Number >= first {
		x.forget(x.blocks[len(x.blocks)-1].Number)
		x.blocks = x.blocks[:len(x.blocks)-1]
	}
	x.blocks = append(x.blocks, blocks...)
	for a, u := range found {
		u.time = x.block(u.block).Time
		x.uses[a] = u
		x.spent[u.block] = append(x.spent[u.block], a)
	}
	for len(x.blocks) > maxBlocks || len(x.uses) > maxUses && len(x.blocks) > 1 {
		x.forget(x.blocks[0].Number)
		x.blocks = x.blocks[1:]
	}
	s.low, s.deep = x.blocks[0].Number, nil
	if s.head.Number+1 >= depth {
		if b := x.block(s.head.Number + 1 - depth); b != nil {
			deep := *b
			s.deep = &deep
		}
	}
	x.now = s
}

func (x *index) forget(number uint64) {
	for _, a := range x.spent[number] {
		if x.uses[a].block == number {
			delete(x.uses, a)
		}
	}
	delete(x.spent, number)
}

// Run implements rail.Rail: it asks for the head every Poll, and a few times more often after a
// Send. It returns nil when ctx ends.
func (r *Rail) Run(ctx context.Context) error {
	defer r.Close()
	hurry := 0
	failing := false
	timer := time.NewTimer(0)
	defer timer.Stop()
	next := time.Now() // when the timer fires
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.nudge:
			hurry = 4
			// Sooner, but never later: Sends that keep coming must not put the poll off for ever.
			if soon := time.Now().Add(r.cfg.Poll / 16); soon.Before(next) {
				next = soon
				timer.Reset(r.cfg.Poll / 16)
			}
			continue
		case <-timer.C:
		}
		news, err := r.poll(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !errors.Is(err, errBehind):
			if !failing {
				r.log.Warn("cannot follow the chain", "network", r.cfg.Network, "err", err)
			}
			failing = true
		case err == nil && failing:
			failing = false
			r.log.Info("following the chain again", "network", r.cfg.Network)
		}
		if news {
			r.announce()
		}
		wait := r.cfg.Poll
		if hurry > 0 {
			hurry--
			wait = r.cfg.Poll / 8
		}
		next = time.Now().Add(wait)
		timer.Reset(wait)
	}
}

// poll reads the head and, where it is new, what happened since the last one.
func (r *Rail) poll(ctx context.Context) (news bool, err error) {
	var head, final block
	var tip hexutil.Big
	calls := []*call{headCall(&head), {method: "eth_maxPriorityFeePerGas", out: &tip}}
	if r.cfg.Finality == 0 {
		calls = append(calls, finalCall(&final))
	}
	began := time.Now()
	if err := r.rpc.batch(ctx, calls...); err != nil {
		return false, err
	}
	if calls[0].err != nil {
		return false, fmt.Errorf("reading the newest block: %w", calls[0].err)
	}
	s := state{head: head, at: began, final: r.finalAt(head, final)}
	if calls[1].err == nil {
		s.tip = (*big.Int)(&tip)
	}
	if r.index.hash(head.Number) == head.Hash { // the same head, or a node that is behind
		return r.index.touch(began, s.tip, s.final), nil
	}
	last, _ := r.index.state(began, 0)
	first := min(last.head.Number+1, head.Number)
	if last.at.IsZero() || head.Number-first >= catchUp {
		first = head.Number
	}
	for back := uint64(1); ; back *= 2 {
		blocks, found, err := r.read(ctx, first, &s)
		if err != nil {
			return false, err
		}
		before := r.index.hash(first - 1)
		if first == 0 || before == blocks[0].Parent || before == (common.Hash{}) {
			r.index.replace(blocks, found, s, r.cfg.Depth)
			return true, nil
		}
		r.log.Warn("the chain was reorganised", "network", r.cfg.Network, "block", first-1)
		if first -= min(first, back); head.Number-first >= 2*catchUp {
			first = head.Number
		}
	}
}

// finalAt is the number of the newest final block: counted, or named by the node.
func (r *Rail) finalAt(head, final block) uint64 {
	if n := r.cfg.Finality; n > 0 {
		return head.Number + 1 - min(n, head.Number+1)
	}
	return final.Number
}

// read reads the blocks from first to the head with their logs, and the relayer's nonce there.
func (r *Rail) read(ctx context.Context, first uint64, s *state) ([]block, map[authorization]use, error) {
	n := s.head.Number - first
	blocks := make([]block, n+1)
	blocks[n] = s.head
	var spent, paid []entry
	calls := []*call{
		r.logsCall(first, s.head.Number, &spent, []string{topicUsed.Hex(), topicCanceled.Hex()}),
		r.logsCall(first, s.head.Number, &paid, topicTransfer.Hex(), nil, common.BytesToHash(r.payTo[:]).Hex()),
	}
	counted, mined := r.countCalls(hexutil.EncodeUint64(s.head.Number))
	calls = append(calls, counted...)
	for i := range n {
		calls = append(calls, blockCall(first+i, &blocks[i]))
	}
	if err := r.rpc.batch(ctx, calls...); err != nil {
		return nil, nil, err
	}
	for _, k := range calls {
		if k.err != nil {
			return nil, nil, fmt.Errorf("%s: %w", k.method, k.err)
		}
	}
	s.mined = mined()
	for i := range blocks {
		if blocks[i].Number != first+uint64(i) || i > 0 && blocks[i].Parent != blocks[i-1].Hash {
			return nil, nil, errBehind
		}
	}
	logs := append(spent, paid...)
	for _, l := range logs {
		if i := uint64(l.Block) - first; i > n || blocks[i].Hash != l.BlockHash {
			return nil, nil, errBehind
		}
	}
	return blocks, uses(r.asset, logs), nil
}
