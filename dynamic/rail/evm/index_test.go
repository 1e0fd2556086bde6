package evm

import (
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

func numbered(n uint64) block {
	return block{Number: n, Hash: common.BigToHash(new(big.Int).SetUint64(n + 1)), Time: time.Unix(int64(n), 0)}
}

// used are so many authorizations spent in a block, none of them known from another.
func used(n uint64, many int) map[authorization]use {
	out := make(map[authorization]use)
	for i := range many {
		a := authorization{payer: common.BigToAddress(new(big.Int).SetUint64(n))}
		a.nonce = common.BigToHash(big.NewInt(int64(i)))
		out[a] = use{block: n}
	}
	return out
}

// The index holds so many blocks and no more, the newest, and forgets what the others spent.
func TestIndexIsBounded(t *testing.T) {
	x := newIndex()
	const beyond = 3
	for n := range uint64(maxBlocks + beyond) {
		x.replace([]block{numbered(n)}, used(n, 1), state{head: numbered(n)}, 2)
	}
	if len(x.blocks) != maxBlocks || len(x.uses) != maxBlocks || len(x.spent) != maxBlocks || x.now.low != beyond {
		t.Errorf("%d blocks from %d on, %d uses, %d spent; want %d from %d on", len(x.blocks), x.now.low, len(x.uses),
			len(x.spent), maxBlocks, beyond)
	}
	if x.hash(beyond-1) != (common.Hash{}) || x.hash(beyond) != numbered(beyond).Hash {
		t.Error("the oldest blocks are not those that were forgotten")
	}
	if d := x.now.deep; d == nil || d.Number != maxBlocks+beyond-2 {
		t.Errorf("the block at depth 2 is %+v", d)
	}
}

// The index holds so many authorizations, but for those of the newest block, which it always knows.
func TestUsesAreBounded(t *testing.T) {
	x := newIndex()
	put := func(n uint64, many, blocks, uses int) {
		t.Helper()
		x.replace([]block{numbered(n)}, used(n, many), state{head: numbered(n)}, 1)
		if len(x.blocks) != blocks || len(x.uses) != uses {
			t.Errorf("after block %d: %d blocks and %d uses, want %d and %d", n, len(x.blocks), len(x.uses), blocks,
				uses)
		}
	}
	put(1, 10, 1, 10)
	put(2, maxUses-10, 2, maxUses)
	put(3, 1, 2, maxUses-9)
	put(4, maxUses+1, 1, maxUses+1)
}

// A gap begins the index anew, and a block in the place of another takes what that spent with it.
func TestIndexHasNoGaps(t *testing.T) {
	x := newIndex()
	for n := range uint64(5) {
		x.replace([]block{numbered(n)}, used(n, 2), state{head: numbered(n)}, 1)
	}
	x.replace([]block{numbered(3)}, nil, state{head: numbered(3)}, 1)
	if len(x.blocks) != 4 || len(x.uses) != 6 {
		t.Errorf("after a reorganisation: %d blocks, %d uses", len(x.blocks), len(x.uses))
	}
	x.replace([]block{numbered(5)}, used(5, 1), state{head: numbered(5)}, 1)
	if len(x.blocks) != 1 || len(x.uses) != 1 || x.now.low != 5 {
		t.Errorf("after a gap: %d blocks, %d uses", len(x.blocks), len(x.uses))
	}
}
