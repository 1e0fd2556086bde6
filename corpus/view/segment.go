package view

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"os"
	"path"
	"slices"

	"store.example/agentstore/corpus/extsort"
	"store.example/agentstore/corpus/record"
)

// A segment is what a view holds of the rounds from one to another: it follows from them alone, so
// that a view of more rounds takes it as it is. Segments have 1, 4, 16, … rounds: four of a size
// make way for one of the next. A week's view therefore costs the week, but for every fourth, which
// writes four, every sixteenth, and so on: of ten years a row is written five times, and a look-up
// asks thirteen segments at most. What is counted over all rounds, the sums and the networks, is
// merged anew from the segments, which have an entry for an address of a host and not for its rows.
type segment struct {
	First     int64   `json:"first"` // sequence
	Last      int64   `json:"last"`
	Rows      int64   `json:"rows"`
	RowsCut   int64   `json:"rows_cut"`
	HostFiles []shard `json:"host_files"`
	DoorFiles []shard `json:"door_files"`
	NameFiles []shard `json:"name_files"`
	NetFiles  []shard `json:"net_files"`
}

// segmentsOfASize is how many segments of a size make one of the next.
const segmentsOfASize = 4

// spans are the segments of a view of so many rounds, oldest first, without what they hold.
func spans(rounds int64) (out []segment) {
	size := int64(1)
	for size*segmentsOfASize <= rounds {
		size *= segmentsOfASize
	}
	for at := int64(0); at < rounds; at += size {
		for size > rounds-at {
			size /= segmentsOfASize
		}
		out = append(out, segment{First: at + 1, Last: at + size})
	}
	return out
}

// takeFrom links the files of a segment from a view that has it, and reports whether it did.
func (s *segment) takeFrom(held *View, views *os.Root) bool {
	if held == nil {
		return false
	}
	i := slices.IndexFunc(held.segments, func(o segment) bool { return o.First == s.First && o.Last == s.Last })
	if i < 0 {
		return false
	}
	of := held.segments[i]
	var linked []string
	for _, sh := range slices.Concat(of.HostFiles, of.DoorFiles, of.NameFiles, of.NetFiles) {
		to := path.Join(fresh, sh.File)
		if err := views.Link(path.Join(held.name, sh.File), to); err != nil {
			// The file is gone, or there are no links here: the segment is written.
			for _, name := range linked {
				if views.Remove(name) != nil {
					break // writing it finds the file in its way, and says so
				}
			}
			return false
		}
		linked = append(linked, to)
	}
	*s = of
	return true
}

// write makes the files of a segment from the record.
func (s *segment) write(ctx context.Context, r *record.Record, into *os.Root, sizes bounds) (err error) {
	writer := func(name string) *treeWriter {
		return &treeWriter{root: into, name: fmt.Sprintf("%s-%d-%d", name, s.First, s.Last), most: sizes.file}
	}
	hosts, doors, names, nets := writer("hosts"), writer("doors"), writer("names"), writer("nets")
	addresses, hashed, networks := extsort.New(sizes.sort), extsort.New(sizes.sort/8), extsort.New(sizes.sort/8)
	defer func() {
		err = errors.Join(err, hosts.close(), doors.close(), names.close(), nets.close(), addresses.Close(),
			hashed.Close(), networks.Close())
	}()
	var value []byte
	for h, err := range r.HistoriesOf(s.First, s.Last) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		value = encodeHistory(value[:0], h)
		if err := hosts.add(h.Host, value); err != nil {
			return err
		}
		s.Rows += int64(len(h.Rows))
		if err := errors.Join(addDoors(addresses, h), s.addNetworks(networks, h)); err != nil {
			return err
		}
		if sum := sha256.Sum256([]byte(h.Host)); !isPlain(h.Host) {
			if err := hashed.Add([]byte(hex.EncodeToString(sum[:])), []byte(h.Host)); err != nil {
				return err
			}
		}
	}
	for _, sorted := range []struct {
		from *extsort.Sorter
		to   *treeWriter
	}{{addresses, doors}, {hashed, names}, {networks, nets}} {
		for e, err := range sorted.from.Sorted() {
			if err == nil {
				err = ctx.Err()
			}
			if err == nil {
				err = sorted.to.add(string(e.Key), e.Value)
			}
			if err != nil {
				return err
			}
		}
	}
	var errs [4]error
	s.HostFiles, errs[0] = hosts.finish()
	s.DoorFiles, errs[1] = doors.finish()
	s.NameFiles, errs[2] = names.finish()
	s.NetFiles, errs[3] = nets.finish()
	return errors.Join(errs[:]...)
}

// trees are those of the segments, oldest first, read as one: the value of a key is its values in
// all of them, one behind the other.
type trees []tree

// get returns the value of a key.
func (t trees) get(key string) (value []byte, found bool, err error) {
	for i := range t {
		var ok bool
		if value, ok, err = t[i].get(value, key); err != nil {
			return nil, false, err
		}
		found = found || ok
	}
	return value, found, nil
}

// from yields the entries from the first that is not before key, in order, until an error. Their
// values are lent until the next is asked for.
func (t trees) from(key string) iter.Seq2[entry, error] {
	if len(t) == 1 {
		return t[0].from(key)
	}
	return func(yield func(entry, error) bool) {
		type head struct {
			entry
			ok   bool
			next func() (entry, error, bool)
		}
		heads := make([]head, len(t))
		advance := func(h *head) (err error) {
			h.entry, err, h.ok = h.next()
			return err
		}
		for i := range t {
			next, stop := iter.Pull2(t[i].from(key))
			defer stop()
			heads[i].next = next
			if err := advance(&heads[i]); err != nil {
				yield(entry{}, err)
				return
			}
		}
		for {
			var low entry
			n := 0
			for _, h := range heads {
				switch {
				case !h.ok || n > 0 && h.key > low.key:
				case n == 0 || h.key < low.key:
					low, n = h.entry, 1
				default:
					low.value, n = slices.Concat(low.value, h.value), n+1
				}
			}
			if n == 0 || !yield(low, nil) {
				return
			}
			for i := range heads {
				if h := &heads[i]; h.ok && h.key == low.key {
					if err := advance(h); err != nil {
						yield(entry{}, err)
						return
					}
				}
			}
		}
	}
}
