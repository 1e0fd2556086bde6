package ledger

import (
	"errors"
	"fmt"
	"time"
)

// Errors of leases.
var (
	// ErrLeaseHeld is returned by Take while somebody holds the lease.
	ErrLeaseHeld = errors.New("ledger: lease is held")
	// ErrLeaseLost is returned by Renew, Release and Check when the lease has
	// expired or been taken by another.
	ErrLeaseLost = errors.New("ledger: lease is lost")
)

// A Lease is the right to do a job until it expires, by the ledger's clock. A
// lease alone excludes nobody (a process can sleep through its end), therefore
// every Update of the job calls [Check] first: then a late writer's Update
// fails, because it is serializable with the Update in which another took over.
// For effects outside the ledger, send Fence along and refuse lower ones.
type Lease struct {
	Job     string    `json:"job"`
	Owner   string    `json:"owner"`   // unique to the process that took it; empty when free
	Expires time.Time `json:"expires"` // from this instant on nobody holds it
	Fence   int64     `json:"fence"`   // 1 at the first taking, one more at each; never reused
}

// Take takes the lease of a job for ttl. While it is held, also by the same
// owner, it returns ErrLeaseHeld.
func Take(tx Tx, job, owner string, ttl time.Duration) (Lease, error) {
	if owner == "" || ttl <= 0 {
		return Lease{}, fmt.Errorf("ledger: lease %s needs an owner and a positive duration", job)
	}
	held, _, err := FindJSON[Lease](tx, LeaseKey(job))
	if err != nil {
		return Lease{}, err
	}
	now := tx.Now()
	if held.Owner != "" && now.Before(held.Expires) {
		return Lease{}, fmt.Errorf("%w: %s by %s until %s", ErrLeaseHeld, job, held.Owner,
			held.Expires.Format(time.RFC3339))
	}
	l := Lease{Job: job, Owner: owner, Expires: now.Add(ttl), Fence: held.Fence + 1}
	return l, SetJSON(tx, LeaseKey(job), l)
}

// Renew makes a lease that is still held last for ttl from now, never shorter
// than before. The fencing number stays.
func Renew(tx Tx, l Lease, ttl time.Duration) (Lease, error) {
	held, err := current(tx, l)
	if err != nil {
		return Lease{}, err
	}
	if end := tx.Now().Add(ttl); end.After(held.Expires) {
		held.Expires = end
	}
	return held, SetJSON(tx, LeaseKey(held.Job), held)
}

// Release gives a lease back, so that it can be taken at once.
func Release(tx Tx, l Lease) error {
	held, err := current(tx, l)
	if err != nil {
		return err
	}
	// The record stays, because it remembers the fencing number.
	return SetJSON(tx, LeaseKey(l.Job), Lease{Job: held.Job, Fence: held.Fence})
}

// Check returns nil if l is still held at this moment, else ErrLeaseLost. It
// belongs at the head of every Update that the job makes.
func Check(tx Tx, l Lease) error {
	_, err := current(tx, l)
	return err
}

// current returns the record of l if l is the lease that holds now.
func current(tx Tx, l Lease) (Lease, error) {
	held, _, err := FindJSON[Lease](tx, LeaseKey(l.Job))
	if err != nil {
		return Lease{}, err
	}
	if l.Owner == "" || held.Owner != l.Owner || held.Fence != l.Fence || !tx.Now().Before(held.Expires) {
		return Lease{}, fmt.Errorf("%w: %s, fence %d", ErrLeaseLost, l.Job, l.Fence)
	}
	return held, nil
}
