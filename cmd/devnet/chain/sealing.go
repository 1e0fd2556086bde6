package chain

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/txpool"
)

// watch wakes the sealing loop whenever the pool takes transactions. It is a goroutine of its own
// because the pool stands still until its events are received, and sealing waits for the pool.
func (c *Chain) watch(ctx context.Context) {
	arrived := make(chan core.NewTxsEvent, 64)
	sub := c.eth.TxPool().SubscribeTransactions(arrived, true)
	defer sub.Unsubscribe()
	for {
		select {
		case <-ctx.Done():
			return
		case <-sub.Err():
			return
		case <-arrived:
			c.poke()
		}
	}
}

// look is how often the sealing loop looks at the pool unasked. The pool tells nobody of a
// transaction that it takes while it moves to a new head, about once in some hundred runs of ten
// payments.
const look = time.Second

// seals is the sealing loop. It sleeps until the pool gets something, the head grows old, or the
// next second makes room.
func (c *Chain) seals(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		case <-timer.C:
		}
		if c.automine.Load() {
			timer.Reset(min(c.sealDue(), look))
		}
	}
}

// poke makes the sealing loop look again.
func (c *Chain) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// sealDue seals a block if one is due, and returns how long the loop may sleep if nothing wakes it.
func (c *Chain) sealDue() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting, head := c.pending(), c.Head()
	wait := c.untilRoom(head.Time)
	if waiting == 0 {
		wait = c.untilHeartbeat(head.Time)
	}
	if wait > 0 {
		return wait
	}
	h, err := c.seal(nil, false)
	if err != nil {
		return time.Second // the chain is stopping, or the next try meets another pool
	}
	if waiting > 0 && h.GasUsed == 0 {
		return time.Second // what waits cannot be included now: do not spin
	}
	return 0
}

// untilRoom returns how long until a block after one at parent may be sealed: at once while its
// time leads the clock by at most Lead seconds.
func (c *Chain) untilRoom(parent uint64) time.Duration {
	now := c.now()
	earliest := time.Unix(int64(parent)+1-int64(max(c.cfg.Lead, 0)), 0)
	return max(earliest.Sub(now), 0)
}

// untilHeartbeat returns how long until a head sealed at the given time is too old to be the
// latest.
func (c *Chain) untilHeartbeat(head uint64) time.Duration {
	if c.cfg.Heartbeat <= 0 {
		return time.Hour
	}
	return max(time.Unix(int64(head), 0).Add(c.cfg.Heartbeat).Sub(c.now()), 0)
}

// pending counts the transactions that could be in the next block. Holds c.mu.
func (c *Chain) pending() int {
	n := 0
	txs, _ := c.eth.TxPool().Pending(txpool.PendingFilter{})
	for _, list := range txs {
		n += len(list)
	}
	return n
}
