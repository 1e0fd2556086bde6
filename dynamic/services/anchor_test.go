package services

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/schedule"
)

// calendar is one that commits to SHA-256 of what it takes, in a block once it has mined.
type calendar struct {
	uri string

	mu     sync.Mutex // guards what follows
	down   bool
	junk   []byte           // what it answers in place of a tree
	height int64            // of the block; 0: not yet
	taken  map[string]int   // digest → how often
	blocks map[int64]string // height → Merkle root
}

func newCalendar(uri string) *calendar {
	return &calendar{uri: uri, taken: map[string]int{}, blocks: map[int64]string{}}
}

func (c *calendar) set(f func(*calendar)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c)
}

func (c *calendar) URI() string { return c.uri }

func (c *calendar) Submit(_ context.Context, digest []byte) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down {
		return nil, errors.New("away")
	}
	c.taken[hex.EncodeToString(digest)]++
	if c.junk != nil {
		return c.junk, nil
	}
	pending := slices.Concat([]byte{0x08, 0, 0x83, 0xdf, 0xe3, 0x0d, 0x2e, 0xf9, 0x0c, 0x8e, byte(len(c.uri) + 1),
		byte(len(c.uri))}, []byte(c.uri))
	return pending, nil
}

func (c *calendar) Upgrade(_ context.Context, commitment []byte) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down {
		return nil, errors.New("away")
	}
	if c.height == 0 {
		return nil, ots.ErrNotYet
	}
	c.blocks[c.height] = string(commitment)
	return []byte{0, 0x05, 0x88, 0x96, 0x0d, 0x73, 0xd7, 0x19, 0x01, 1, byte(c.height)}, nil
}

// header is that of a block of next to no work.
func (c *calendar) header(_ context.Context, height int64) (h ots.Header, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	root, ok := c.blocks[height]
	if !ok {
		return h, errors.New("no such block")
	}
	binary.LittleEndian.PutUint32(h[68:], uint32(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC).Unix()))
	copy(h[36:], root)
	copy(h[72:], []byte{0xff, 0xff, 0x7f, 0x20})
	for nonce := uint32(0); h.Work(1e-12) != nil; nonce++ {
		binary.LittleEndian.PutUint32(h[76:], nonce)
	}
	return h, nil
}

// office is stampers of several replicas on one ledger.
type office struct {
	t         *testing.T
	db        ledger.DB
	calendars []*calendar
	stop      func()
}

func openOffice(t *testing.T, replicas int, checks bool) *office {
	t.Helper()
	o := &office{t: t, db: ledger.NewMem(ledger.MemOptions{}),
		calendars: []*calendar{newCalendar("https://a.example"), newCalendar("https://b.example")}}
	cfg := AnchorConfig{Calendars: []ots.Calendar{o.calendars[0], o.calendars[1]}, Difficulty: 1e-12}
	if checks {
		cfg.Header = o.calendars[0].header
	}
	o.stop = run(t, o.db, time.Minute, nil, several(replicas, Config{DB: o.db, Anchors: cfg, Log: quiet})...)
	return o
}

// want asks for the digest of a text.
func (o *office) want(text string) string {
	o.t.Helper()
	sum := sha256.Sum256([]byte(text))
	digest := hex.EncodeToString(sum[:])
	if err := o.db.Update(o.t.Context(), func(tx ledger.Tx) error { return wantStamp(tx, digest) }); err != nil {
		o.t.Fatal(err)
	}
	return digest
}

// after lets time pass, and is what is known of a digest then, and whether it is still worked on.
func (o *office) after(d time.Duration, digest string) (rec Timestamp, due bool) {
	o.t.Helper()
	time.Sleep(d) // the bubble's clock
	synctest.Wait()
	if err := o.db.View(o.t.Context(), func(tx ledger.Tx) (err error) {
		tasks, err := schedule.Tasks(tx, timestamps.job)
		due = slices.ContainsFunc(tasks, func(t schedule.Task) bool { return t.ID == digest })
		if err == nil {
			rec, err = timestamps.read(tx, digest)
		}
		return err
	}); err != nil {
		o.t.Fatal(err)
	}
	return rec, due
}

// proves demands that a record's proof is of its digest and says what its status says.
func (o *office) proves(rec Timestamp, state string) {
	o.t.Helper()
	p, err := ots.Parse(rec.Proof)
	if err != nil || hex.EncodeToString(p.Digest[:]) != rec.Digest || rec.Status.State != state {
		o.t.Fatalf("%s: %+v, %v", state, rec, err)
	}
}

// A digest is handed in once at each calendar by any number of replicas, is pending, then in a
// block, and then nobody asks any more.
func TestADigestIsTimestamped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, 3, true)
		defer o.stop()
		digest := o.want("a")
		o.want("a") // another buyer of the same
		rec, due := o.after(10*time.Minute, digest)
		o.proves(rec, ots.StatePending)
		if !due || len(rec.Calendars) != 2 || len(rec.Status.Calendars) != 2 {
			t.Errorf("pending: %+v, due %v", rec, due)
		}
		o.calendars[0].set(func(c *calendar) { c.height = 7 })
		rec, due = o.after(time.Hour, digest)
		o.proves(rec, ots.StateVerified)
		if due || rec.Status.Height != 7 || rec.Status.Time.IsZero() {
			t.Errorf("in a block: %+v, due %v", rec, due)
		}
		for _, c := range o.calendars {
			if c.taken[digest] != 1 {
				t.Errorf("%s was handed the digest %d times", c.uri, c.taken[digest])
			}
		}
		if known, err := o.known(digest); !known || err != nil {
			t.Errorf("known %v, %v", known, err)
		}
	})
}

func (o *office) known(digest string) (known bool, err error) {
	err = o.db.View(o.t.Context(), func(tx ledger.Tx) (err error) {
		known, err = stampKnown(tx, digest)
		return err
	})
	return known, err
}

// Calendars that are away for ten days lose nothing, and are told one by one.
func TestCalendarsAwayForTenDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, 1, false)
		defer o.stop()
		for _, c := range o.calendars {
			c.set(func(c *calendar) { c.down = true })
		}
		digests := []string{o.want("a"), o.want("b"), o.want("c")}
		rec, due := o.after(10*24*time.Hour, digests[0])
		if !due || rec.Proof != nil || rec.Status.State != stampWaiting || len(rec.Calendars) != 2 ||
			rec.Calendars[0].State != "failed" || rec.Calendars[0].Problem == "" {
			t.Errorf("while they are away: %+v, due %v", rec, due)
		}
		o.calendars[1].set(func(c *calendar) { c.down = false })
		rec, _ = o.after(7*time.Hour, digests[0])
		o.proves(rec, ots.StatePending)
		if rec.Calendars[0].State != "failed" || rec.Calendars[1].State != "submitted" {
			t.Errorf("one is back: %+v", rec.Calendars)
		}
		o.calendars[0].set(func(c *calendar) { c.down = false })
		o.calendars[1].set(func(c *calendar) { c.height = 9 })
		for _, d := range digests {
			rec, due = o.after(13*time.Hour, d)
			o.proves(rec, ots.StateUnchecked)
			if due || rec.Status.Height != 9 || rec.Calendars[0].State != "submitted" {
				t.Errorf("both are back: %+v, due %v", rec, due)
			}
		}
	})
}

// After thirty days nobody is asked any more, and it is told. What a calendar answers that is no
// tree, or promises nothing, counts as no answer and is in nothing that is told.
func TestCalendarsThatNeverAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, 1, false)
		defer o.stop()
		o.calendars[0].set(func(c *calendar) { c.junk = []byte("<script>alert(1)</script>") })
		o.calendars[1].set(func(c *calendar) { c.junk = bytes.Repeat([]byte{0x08}, 20_000) })
		digest := o.want("a")
		rec, due := o.after(stampPatience-time.Hour, digest)
		if !due || rec.Status.State != stampWaiting {
			t.Errorf("on the last day: %+v, due %v", rec, due)
		}
		rec, due = o.after(13*time.Hour, digest)
		if due || rec.Status.State != stampAbandoned || rec.Proof != nil || strings.Contains(rec.Calendars[0].Problem,
			"script") {
			t.Errorf("after it: %+v, due %v", rec, due)
		}
	})
}
