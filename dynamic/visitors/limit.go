package visitors

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/dynamic/schedule"
)

// Limit is how often something may be done in a day of UTC, by the ledger's clock: by one visitor,
// by all who come from one address (a network of 64 bits for IPv6), and by everybody. The counts
// are exact over all processes that share the ledger.
type Limit struct {
	Kind                     string // permanent: it stands in keys
	Visitor, Place, Everyone int
	What                     string // what is limited, for people
}

// What visitors do.
const (
	KindLetter    = "letter"
	KindBell      = "bell"
	KindGuestbook = "guestbook"
	KindStamp     = "stamp"
	KindTip       = "tip"
	KindRequest   = "request"
)

// Limits is the table. A crowd behind one address is a thousand visitors at most, so that one
// machine with many names fills neither the ledger nor the keeper's day.
var Limits = []Limit{
	{KindLetter, 1, 1000, 20_000, "letters"},
	{KindBell, 1, 1000, 1_000_000, "rings of the bell"},
	{KindGuestbook, 3, 1000, 20_000, "guestbook entries"},
	{KindStamp, 1, 1000, 100_000, "stamps"},
	{KindTip, 3, 100, 5_000, "tips"},
	{KindRequest, 3, 100, 5_000, "requests"},
}

// What visitors leave is kept without anybody paying for it, so that all of it together has a bound
// of bytes a day of UTC, and of one address (package till, M19).
const (
	MaxBytes      = 64 << 20
	MaxBytesPlace = MaxBytes / 16
	kindBytes     = "bytes" // permanent: it stands in keys
)

// visitor is who sends a request, as far as that is looked at: the address through trusted proxies,
// and the key that signed it, or else the user agent. An address has its share once, whoever signs
// there: keys cost nothing. It is never stored.
type visitor struct{ address, agent string }

func visitorOf(r *http.Request) visitor {
	return visitor{route.Address(r), cmp.Or(route.Of(r).Key, r.UserAgent())}
}

// The counts of a day. The salt is made with the first of them and forgotten when the day is over;
// then nobody can tell whose the digests were.
//
//	visit/salt/<day>                                 32 random bytes
//	visit/once/<day>/<kind>                          how often by everybody
//	visit/once/<day>/<kind>/<place>                  by one address
//	visit/once/<day>/<kind>/<place>/<visitor>        by one visitor
const (
	partSalt = "salt"
	partOnce = "once"
)

func dayOf(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// keys are those of the three counts of a visitor, the widest first.
func (v visitor) keys(salt []byte, day, kind string) [3][]byte {
	mac := hmac.New(sha256.New, salt)
	digest := func(more string) string {
		fmt.Fprintf(mac, "%d:%s", len(more), more)
		return hex.EncodeToString(mac.Sum(nil)[:16])
	}
	place := digest(v.address)
	return [3][]byte{
		ledger.VisitKey(partOnce, day, kind), ledger.VisitKey(partOnce, day, kind, place),
		ledger.VisitKey(partOnce, day, kind, place, digest(v.agent)), // of the address and the agent
	}
}

// daysSalt is the salt of a day. The last one seen is kept in memory until Forget, as a guess of
// where the counts are: what the ledger holds is read and decides all the same.
type daysSalt struct {
	day  string
	salt []byte
}

// counts reads the three counts, all 0 where the day has no salt yet. The caller reads more in the
// same transaction.
func (d *Service) counts(tx ledger.Tx, v visitor, l Limit, more ...ledger.Range) (keys [3][]byte, n [3]int, err error) {
	guess := d.guess.Load()
	if guess != nil {
		keys = v.keys(guess.salt, guess.day, l.Kind)
		ledger.Ahead(tx, append(more, ledger.At(ledger.VisitKey(partSalt, guess.day)), ledger.At(keys[0]),
			ledger.At(keys[1]), ledger.At(keys[2]))...)
	}
	day := dayOf(tx.Now())
	salt, err := tx.Get(ledger.VisitKey(partSalt, day))
	if err != nil {
		return keys, n, err
	}
	if guess == nil || guess.day != day || !bytes.Equal(guess.salt, salt) {
		d.guess.Store(&daysSalt{day, salt})
		keys = v.keys(salt, day, l.Kind)
		ledger.Ahead(tx, ledger.At(keys[0]), ledger.At(keys[1]), ledger.At(keys[2]))
	}
	for i, key := range keys {
		held, err := ledger.Count(tx, key)
		if err != nil {
			return keys, n, err
		}
		n[i] = int(held)
	}
	return keys, n, l.refusal(n, tx.Now())
}

// refusal is the answer to one more than the limit, nil below it.
func (l Limit) refusal(n [3]int, now time.Time) error {
	var who string
	var most int
	switch {
	case n[2] >= l.Visitor:
		who, most = "a visitor", l.Visitor
	case n[1] >= l.Place:
		who, most = "an address", l.Place
	case n[0] >= l.Everyone:
		who, most = "everybody", l.Everyone
	default:
		return nil
	}
	e := tomorrow(fmt.Sprintf("Nothing was kept: %s are limited to %d for %s in a day of UTC.", l.What, most, who),
		now)
	e.OfClient = n[1] < l.Place && n[0] < l.Everyone
	return e
}

// tomorrow refuses what may be done again on the next day.
func tomorrow(detail string, now time.Time) *problem.Error {
	next := ledger.Tomorrow(now)
	return &problem.Error{Code: "rate_limited", Retry: next.Sub(now), Detail: detail,
		Next:  "Come back after " + next.Format(time.RFC3339) + ".",
		Extra: map[string]any{"again_at": next.Format(time.RFC3339)}}
}

// may refuses who is over the limit already, before anything is done for him.
func (d *Service) may(ctx context.Context, v visitor, kind string) error {
	return down(d.cfg.DB.View(ctx, func(tx ledger.Tx) error {
		_, _, err := d.counts(tx, v, d.limit(kind))
		if errors.Is(err, ledger.ErrNotFound) {
			return nil // the first of the day
		}
		return err
	}))
}

// take counts one use of so many bytes in the transaction that stores what it is for, or refuses
// it. It returns how many there were today with this one. The caller reads more in the same
// transaction.
func (d *Service) take(tx ledger.Tx, v visitor, kind string, size int, more ...ledger.Range) (today int, err error) {
	l := d.limit(kind)
	keys, n, err := d.counts(tx, v, l, more...)
	if errors.Is(err, ledger.ErrNotFound) {
		if err := newDay(tx); err != nil {
			return 0, err
		}
		keys, n, err = d.counts(tx, v, l)
	}
	if err != nil {
		return 0, err
	}
	for i, key := range keys {
		if err := ledger.SetCount(tx, key, int64(n[i]+1)); err != nil {
			return 0, err
		}
	}
	return n[0] + 1, d.weigh(tx, v, size)
}

// weigh counts the bytes of what a visitor leaves, and tells the keeper when half of a day's are
// used. What has a handful of them, as the bell has, is bounded by its number.
func (d *Service) weigh(tx ledger.Tx, v visitor, size int) error {
	if size == 0 {
		return nil
	}
	at := d.guess.Load() // which counts has set to the day that the ledger is in
	keys := v.keys(at.salt, at.day, kindBytes)
	for i, l := range []struct {
		most int
		who  string
	}{{MaxBytes, "everybody"}, {MaxBytesPlace, "an address"}} {
		held, err := ledger.Count(tx, keys[i])
		if err != nil {
			return err
		}
		n := int(held)
		if n+size > l.most {
			return tomorrow(fmt.Sprintf("Nothing was kept: what visitors leave is limited to %d bytes for %s in a day "+
				"of UTC.", l.most, l.who), tx.Now())
		}
		if i == 0 && n < l.most/2 && n+size >= l.most/2 {
			d.cfg.Log.Warn("half of what visitors may leave in a day is used", "bytes", n+size, "most", l.most)
		}
		if err := ledger.SetCount(tx, keys[i], int64(n+size)); err != nil {
			return err
		}
	}
	return nil
}

// newDay makes the salt of the day and forgets those before it.
func newDay(tx ledger.Tx) error {
	if err := forget(tx, partSalt); err != nil {
		return err
	}
	salt := make([]byte, 32)
	rand.Read(salt)
	return tx.Set(ledger.VisitKey(partSalt, dayOf(tx.Now())), salt)
}

// forget deletes at most forgetBatch entries of a part whose day is before today.
func forget(tx ledger.Tx, part string) error {
	from, _ := ledger.Prefix(ledger.VisitKey(part))
	_, err := ledger.Forget(tx, from, ledger.VisitKey(part, dayOf(tx.Now())), forgetBatch)
	return err
}

const (
	// forgetEvery is how long after the end of a day its salt is there at most.
	forgetEvery = 10 * time.Minute
	forgetBatch = 500
)

// Run forgets whoever came yesterday, until ctx ends.
func (d *Service) Run(ctx context.Context) error {
	return schedule.Every(ctx, forgetEvery, func(ctx context.Context) {
		if err := d.Forget(ctx); err != nil && ctx.Err() == nil {
			d.cfg.Log.Error("what is kept of yesterday's visitors was not forgotten", "err", err)
		}
	})
}

// Forget deletes the salts and the counts of the days before today.
func (d *Service) Forget(ctx context.Context) error {
	d.guess.Store(nil)
	for {
		n := 0
		err := d.cfg.DB.View(ctx, func(tx ledger.Tx) error { // nothing is written where nothing is old
			n = 0
			for _, part := range []string{partSalt, partOnce} {
				from, _ := ledger.Prefix(ledger.VisitKey(part))
				for _, err := range tx.Scan(from, ledger.VisitKey(part, dayOf(tx.Now()))) {
					if err != nil {
						return err
					}
					n++
					break
				}
			}
			return nil
		})
		if err != nil || n == 0 {
			return err
		}
		err = d.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
			return errors.Join(forget(tx, partSalt), forget(tx, partOnce))
		})
		if err != nil {
			return fmt.Errorf("forgetting yesterday's visitors: %w", err)
		}
	}
}

// down is the answer to an error of the ledger's; a refusal passes as it is.
func down(err error) error {
	if _, said := errors.AsType[*problem.Error](err); err == nil || said {
		return err
	}
	detail := "Nothing was kept: the ledger cannot be reached. Try again shortly."
	if errors.Is(err, ledger.ErrUnknown) {
		detail = "The ledger did not say whether this was kept. Try again shortly: what was kept counts as done today."
	}
	return &problem.Error{Code: "ledger_unavailable", Retry: 5 * time.Second, Detail: detail, Err: err}
}
