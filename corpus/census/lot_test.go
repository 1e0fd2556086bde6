package census

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/corpus/record"
)

// leastWork lets headers pass that were made at home.
const leastWork = 1e-12

// chain is a source of headers that does as a test says.
type chain struct {
	tip    func(ctx context.Context) (int64, error)
	header func(ctx context.Context, height int64) (ots.Header, error)
}

func (c chain) Tip(ctx context.Context) (int64, error) { return c.tip(ctx) }
func (c chain) Header(ctx context.Context, height int64) (ots.Header, error) {
	return c.header(ctx, height)
}

// mined makes a block at home.
func mined(at time.Time) (h ots.Header) {
	binary.LittleEndian.PutUint32(h[68:], uint32(at.Unix()))
	binary.LittleEndian.PutUint32(h[72:], 0x207fffff)
	for n := uint32(0); ; n++ {
		if binary.LittleEndian.PutUint32(h[76:], n); h.Work(leastWork) == nil {
			return h
		}
	}
}

// TestTheBlockOfALot draws by sources of headers that are late, lie, fail and hang: an honest block
// that comes in time decides, and nothing delays a week longer than HeaderTime.
func TestTheBlockOfALot(t *testing.T) {
	none := errors.New("there is none")
	for name, c := range map[string]struct {
		tip    int64
		tipErr bool
		hang   bool
		header func(since time.Duration, began time.Time) (ots.Header, error)
		own    bool
		height int64
		within time.Duration
	}{
		"at once": {tip: 100, height: 102, within: time.Second, header: func(_ time.Duration, b time.Time) (ots.Header,
			error) {
			return mined(b.Add(time.Minute)), nil
		}},
		"late": {tip: 100, height: 102, within: 41 * time.Minute,
			header: func(s time.Duration, b time.Time) (ots.Header, error) {
				if s < 40*time.Minute {
					return ots.Header{}, none
				}
				return mined(b.Add(38 * time.Minute)), nil
			}},
		"never": {tip: 100, height: 102, own: true, within: DefaultHeaderTime + time.Minute,
			header: func(time.Duration, time.Time) (ots.Header, error) { return ots.Header{}, none }},
		"an old block": {tip: 100, height: 102, own: true, within: DefaultHeaderTime + time.Minute,
			header: func(_ time.Duration, b time.Time) (ots.Header, error) {
				return mined(b.Add(-5 * time.Hour)),
					nil
			}},
		"no work": {tip: 100, height: 102, own: true, within: DefaultHeaderTime + time.Minute,
			header: func(_ time.Duration, b time.Time) (ots.Header, error) {
				h := mined(b)
				h[75] = 3
				return h, nil
			}},
		"a lie, then none": {tip: 100, height: 102, within: 3 * time.Minute,
			header: func(s time.Duration, b time.Time) (ots.Header, error) {
				if s < time.Minute {
					return mined(b.Add(-5 * time.Hour)), nil
				}
				return mined(b.Add(time.Minute)), nil
			}},
		"it hangs":      {tip: 100, height: 102, own: true, hang: true, within: 2*DefaultHeaderTime + time.Minute},
		"the tip hangs": {tipErr: true, hang: true, own: true, within: 2 * time.Minute},
		"no such tip":   {tip: -7, own: true, within: time.Minute},
		"an absurd tip": {tip: 1 << 60, own: true, within: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				forever := make(chan struct{})
				defer close(forever)
				source := chain{
					tip: func(context.Context) (int64, error) {
						if c.tipErr {
							<-forever // deaf to its context
						}
						return c.tip, nil
					},
					header: func(_ context.Context, height int64) (ots.Header, error) {
						if height != c.tip+2 {
							t.Errorf("asked for block %d", height)
						}
						if c.hang {
							<-forever
							return ots.Header{}, none
						}
						return c.header(time.Since(began), began)
					},
				}
				r, err := newRun(Config{Owner: "x", Store: struct{ Store }{}, Client: api(nil), Headers: source,
					Difficulty: leastWork, Log: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				w := Week{Week: r.Week}
				if w.Closed, w.Own, err = r.close(t.Context(), []string{"b.example", "a.example"}); err != nil {
					t.Fatal(err)
				}
				w.OpenedAt = time.Now()
				lot, err := r.draw(t.Context(), w, w.OpenedAt)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > c.within {
					t.Errorf("it took %s", took)
				}
				if lot.IsOwn() != c.own || lot.Height != c.height || sha256.Sum256(w.Own) != w.Closed.Own {
					t.Errorf("own %v, block %d: %+v", lot.IsOwn(), lot.Height, w.Closed)
				}
				if err := lot.Of(w.Closed, w.OpenedAt, leastWork); err != nil {
					t.Errorf("a stranger says of it: %v", err)
				}
			})
		})
	}
}

// TestAKilledWaitGoesOn: a process that takes a closed week over after the time has passed waits no
// second time.
func TestAKilledWaitGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := chain{header: func(context.Context, int64) (ots.Header, error) {
			return ots.Header{},
				errors.New("none")
		}}
		r, err := newRun(Config{Owner: "x", Store: struct{ Store }{}, Client: api(nil), Headers: source})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		own := make([]byte, ownBytes)
		closed := record.ClosedRoster{Week: r.Week, Height: 7, Own: sha256.Sum256(own)}
		lot, err := r.draw(t.Context(), Week{OpenedAt: began.Add(-3 * time.Hour), Closed: closed, Own: own},
			began.Add(-3*time.Hour))
		if err != nil || !lot.IsOwn() || time.Since(began) > time.Second {
			t.Errorf("%+v after %s, %v", lot, time.Since(began), err)
		}
	})
}
