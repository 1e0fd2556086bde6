package specimen

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/corpus/record"
)

// withoutBlock is the week in which no block can be had, so that the census draws its own lot.
const withoutBlock = 40

// closes is when a week's roster is closed: half an hour before the first walk, and the block that
// orders it is made in between.
func closes(week int) time.Time { return moment(week, walkDay, walkHour).Add(-30 * time.Minute) }

// chain tells of the blocks that order a week's roster. They were made at home, and say so by their
// difficulty.
type chain struct {
	week int
	at   time.Time // when the roster is closed
}

// tip is the newest block when a week's census begins: 1,008 in a week.
func (c chain) tip() int64 { return 964_000 + 1008*int64(c.week-firstWeek) }

// Tip implements census.Headers.
func (c chain) Tip(context.Context) (int64, error) { return c.tip(), nil }

// Header implements census.Headers.
func (c chain) Header(_ context.Context, height int64) (ots.Header, error) {
	if height != c.tip()+2 {
		return ots.Header{}, fmt.Errorf("there is no block %d yet", height)
	}
	block := calendar{height: height, time: uint32(c.at.Add(23 * time.Minute).Unix())}
	block.mine(sha256.Sum256(fmt.Append(nil, "what stands in block ", height)))
	return block.header, nil
}

// publish puts the closing of a roster on the record, once for a week.
func (m *maker) publish(ctx context.Context, closed record.ClosedRoster, at time.Time) (time.Time, error) {
	if at, done := m.closed[closed.Week]; done {
		return at, nil
	}
	_, err := m.writer().Observe(ctx, record.Observation{At: at.Format(time.RFC3339), Kind: record.ObservationRoster,
		Roster: &closed})
	if err == nil {
		m.closed[closed.Week] = at
	}
	return at, err
}
