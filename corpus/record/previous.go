package record

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"iter"
	"strconv"
)

// feed is a sorted stream that holds its next value.
type feed[T any] struct {
	held T
	ok   bool
	err  error
	pull func() (T, error, bool)
	stop func()
}

func newFeed[T any](seq iter.Seq2[T, error]) *feed[T] {
	f := &feed[T]{}
	f.pull, f.stop = iter.Pull2(seq)
	f.next()
	return f
}

func (f *feed[T]) next() {
	f.held, f.err, f.ok = f.pull()
	f.ok = f.ok && f.err == nil
}

// least is the lowest host that stands next in any feed.
func least[T any](feeds []*feed[T], host func(T) string) (low string, any bool, err error) {
	for _, f := range feeds {
		if f.err != nil {
			return "", false, f.err
		}
		if f.ok && (!any || host(f.held) < low) {
			low, any = host(f.held), true
		}
	}
	return low, any, nil
}

// sighting is where a host's row stands, read from the row without parsing the whole of it.
type sighting struct {
	host           string
	leaf, previous int64 // previous is -1 for none
	raw            []byte
}

// sightings yields the hosts of a round in order.
func (r *Record) sightings(round Round) iter.Seq2[sighting, error] {
	return func(yield func(sighting, error) bool) {
		leaf := round.FirstLeaf
		for raw, err := range r.raws(round) {
			var s sighting
			if err == nil {
				s, err = glance(raw)
			}
			s.leaf, s.raw = leaf, raw
			if !yield(s, err) || err != nil {
				return
			}
			leaf++
		}
	}
}

// glance finds host and previous leaf in a canonical row. Neither can be hidden in another member: quotes inside JSON
// strings are escaped, what stands before the host is fixed by its round, and the previous leaf stands last but two.
func glance(raw []byte) (sighting, error) {
	host, err := hostOf(raw)
	if err != nil {
		return sighting{}, err
	}
	s := sighting{host: string(host), previous: -1}
	if _, tail, ok := bytes.Cut(raw[max(0, len(raw)-320):], []byte(`,"previous_leaf":`)); ok {
		digits, _, _ := bytes.Cut(tail, []byte{','})
		n, err := strconv.ParseInt(string(digits), 10, 64)
		if err != nil {
			return sighting{}, fmt.Errorf("reading row of %s: %w", host, err)
		}
		s.previous = n
	}
	return s, nil
}

// lastSeen answers, for hosts asked in order, where the record saw each last: the log index of its newest row.
type lastSeen struct{ feeds []*feed[sighting] }

func (r *Record) lastSeen() *lastSeen {
	var l lastSeen
	for _, round := range r.rounds {
		l.feeds = append(l.feeds, newFeed(r.sightings(round)))
	}
	return &l
}

func (l *lastSeen) stop() {
	for _, f := range l.feeds {
		f.stop()
	}
}

// leaf returns nil for a host that was never seen. Hosts must be asked in ascending order.
func (l *lastSeen) leaf(host string) (*int64, error) {
	var newest *int64
	for _, f := range l.feeds {
		for f.ok && f.held.host < host {
			f.next()
		}
		if f.err != nil {
			return nil, f.err
		}
		if f.ok && f.held.host == host {
			newest = new(f.held.leaf)
		}
	}
	return newest, nil
}

// ahead yields the hosts of a round in order, of which the next part is read while one is looked through, so that many
// rounds are read on all cores.
func ahead(ctx context.Context, r *Record, round Round) iter.Seq2[sighting, error] {
	type batch struct {
		seen []sighting
		err  error
	}
	read := make(chan batch, 1)
	go func() {
		defer close(read)
		leaf := round.FirstLeaf
		for i := range round.Parts {
			var b batch
			var rows [][]byte
			rows, b.err = r.Part(round.Sequence, i)
			for _, raw := range rows {
				s, err := glance(raw)
				if err != nil {
					b.err = err
					break
				}
				s.leaf = leaf
				leaf++
				b.seen = append(b.seen, s)
			}
			select {
			case read <- b:
			case <-ctx.Done():
				return
			}
			if b.err != nil {
				return
			}
		}
	}()
	return func(yield func(sighting, error) bool) {
		for b := range read {
			for _, s := range b.seen {
				if !yield(s, nil) {
					return
				}
			}
			if b.err != nil {
				yield(sighting{}, b.err)
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(sighting{}, err)
		}
	}
}

// PreviousLeaves demands of rounds that were verified that every row names its host's row before it. The first that does
// not is told by the path of its part and by what is wrong with it; "" for none.
func PreviousLeaves(ctx context.Context, fsys fs.FS, rounds []Round) (name, detail string, err error) {
	r := &Record{fsys: fsys, rounds: rounds, reread: newReread(rounds)}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var feeds []*feed[sighting]
	for _, round := range rounds {
		f := newFeed(ahead(ctx, r, round))
		defer f.stop()
		feeds = append(feeds, f)
	}
	for {
		host, any, err := least(feeds, func(s sighting) string { return s.host })
		if err != nil || !any {
			return "", "", err
		}
		previous := int64(-1)
		for i, f := range feeds {
			if !f.ok || f.held.host != host {
				continue
			}
			if f.held.previous != previous {
				part := int((f.held.leaf - rounds[i].FirstLeaf) / MaxPartRows)
				return PartPath(rounds[i].Sequence, part), fmt.Sprintf("%s names leaf %d before it, which is %d", host, f.held.previous, previous), nil
			}
			previous = f.held.leaf
			f.next()
		}
		if err := ctx.Err(); err != nil {
			return "", "", err
		}
	}
}
