package roster

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/ledger"
)

func shardJob(n int) string { return "shard-" + strconv.Itoa(n) }

func shardNumber(l census.Lease) (int, error) {
	text, ok := strings.CutPrefix(l.Job, "shard-")
	n, err := strconv.Atoi(text)
	if !ok || err != nil || n < 0 {
		return 0, fmt.Errorf("roster: %s is no shard", l.Job)
	}
	return n, nil
}

// TakeShard implements census.Store.
func (s *Store) TakeShard(ctx context.Context, week, owner string, ttl time.Duration) (census.Shard, error) {
	var out census.Shard
	for {
		// Which shards are left is read apart, so that processes which look for one do not conflict
		// with those that write.
		var open []int
		err := s.view(ctx, func(tx ledger.Tx) error {
			open = open[:0]
			head, ok, err := ledger.FindJSON[weekRecord](tx, weekKey(week))
			if err != nil || !ok || head.Phase != census.PhaseOpen {
				return err
			}
			return eachShard(tx, week, func(n int, c shardRecord) error {
				if c.Done < c.Hosts {
					open = append(open, n)
				}
				return nil
			})
		})
		if err != nil {
			return out, err
		}
		if len(open) == 0 {
			return out, census.ErrDone
		}
		finished := false
		for _, n := range open {
			err = s.update(ctx, func(tx ledger.Tx) (err error) {
				out, err = takeShard(tx, week, n, owner, ttl)
				return err
			})
			finished = finished || errors.Is(err, census.ErrDone)
			if !errors.Is(err, ledger.ErrLeaseHeld) && !errors.Is(err, census.ErrDone) {
				return out, err
			}
		}
		if !finished {
			return out, said(err)
		}
	}
}

// takeShard takes one shard: census.ErrDone if it is finished by now.
func takeShard(tx ledger.Tx, week string, n int, owner string, ttl time.Duration) (census.Shard, error) {
	out := census.Shard{Number: n}
	c, err := ledger.GetJSON[shardRecord](tx, shardKey(week, n))
	if err != nil {
		return out, err
	}
	if c.Done >= c.Hosts {
		return out, census.ErrDone
	}
	if out.Lease, err = take(tx, week, shardJob(n), owner, ttl); err != nil {
		return out, err
	}
	if out.Todo, err = entries(tx, entryKey(week, n)); err != nil {
		return out, err
	}
	out.Stale, err = entries(tx, intentKey(week, n))
	return out, err
}

func entries(tx ledger.Tx, prefix []byte) (out []census.Entry, err error) {
	for e, err := range tx.Scan(ledger.Prefix(prefix)) {
		if err != nil {
			return nil, err
		}
		name, r, err := hostOf[entryRecord](e)
		if err != nil {
			return nil, err
		}
		out = append(out, r.entry(name))
	}
	return out, nil
}

// Commit implements census.Store.
func (s *Store) Commit(ctx context.Context, sh census.Shard, c census.Commit, ttl time.Duration) error {
	n, err := shardNumber(sh.Lease)
	if err != nil {
		return err
	}
	judged := make([][]byte, len(c.Results))
	for i, r := range c.Results {
		if judged[i], err = compress(r.Evidence); err != nil {
			return err
		}
	}
	control := make([][]byte, len(c.Control))
	for i, walked := range c.Control {
		if control[i], err = compress(walked.Judgement); err != nil {
			return err
		}
	}
	week := sh.Week
	return said(s.update(ctx, func(tx ledger.Tx) error {
		if _, err := ledger.Renew(tx, lease(sh.Lease), ttl); err != nil {
			return err
		}
		for _, e := range c.Claims {
			if err := errors.Join(tx.Delete(entryKey(week, n, e.Host)), ledger.SetJSON(tx, intentKey(week, n, e.Host),
				recordOf(e))); err != nil {
				return err
			}
		}
		for _, e := range c.Returned {
			if err := errors.Join(tx.Delete(intentKey(week, n, e.Host)), ledger.SetJSON(tx, entryKey(week, n, e.Host),
				recordOf(e))); err != nil {
				return err
			}
		}
		for i, r := range c.Results {
			// A host that is finished without having been begun, because the week is over, still is
			// an entry.
			if err := errors.Join(tx.Delete(entryKey(week, n, r.Row.Host)), tx.Delete(intentKey(week, n, r.Row.Host)),
				setRow(tx, week, r.Row)); err != nil {
				return err
			}
			if judged[i] != nil {
				if err := tx.Set(judgedKey(week, r.Row.Host), judged[i]); err != nil {
					return err
				}
			}
			for network, list := range r.Addresses {
				for _, a := range list {
					if err := tx.Set(addressKey(week, network, a), nil); err != nil {
						return err
					}
				}
			}
		}
		if len(c.Results) == 0 && len(c.Control) == 0 {
			return nil
		}
		count, err := ledger.GetJSON[shardRecord](tx, shardKey(week, n))
		if err != nil {
			return err
		}
		count.Done += int64(len(c.Results))
		for i, walked := range c.Control {
			count.Walks++
			if walked.Failed {
				count.Failed++
			}
			if control[i] != nil {
				if err := tx.Set(controlKey(week, fmt.Sprintf("%x", sha256.Sum256(walked.Judgement))),
					control[i]); err != nil {
					return err
				}
			}
		}
		if count.Done > count.Hosts {
			return fmt.Errorf("roster: %d of %d hosts of shard %d are finished", count.Done, count.Hosts, n)
		}
		return ledger.SetJSON(tx, shardKey(week, n), count)
	}))
}

func setRow(tx ledger.Tx, week string, row record.Row) error {
	b, err := json.Marshal(row)
	if err != nil {
		return fmt.Errorf("roster: row of %s: %w", row.Host, err)
	}
	return tx.Set(rowKey(week, row.Host), b)
}

// writers are kept because each has a large window of its own.
var writers = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a good one
	}
	return z
}}

// compress returns nil for nothing.
func compress(raw []byte) ([]byte, error) {
	if raw == nil {
		return nil, nil
	}
	var b bytes.Buffer
	z := writers.Get().(*gzip.Writer)
	defer writers.Put(z)
	z.Reset(&b)
	_, err := z.Write(raw)
	if err := errors.Join(err, z.Close()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func expand(b []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("roster: judgement: %w", err)
	}
	raw, err := io.ReadAll(io.LimitReader(z, probe.MaxJudgement+1))
	if err != nil {
		return nil, fmt.Errorf("roster: judgement: %w", err)
	}
	return raw, nil
}
