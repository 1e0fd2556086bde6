package hostindex

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/durable"

	"store.example/agentstore/corpus/record"
)

// fresh is the file of an index that is being made.
const fresh = ".new"

// memory is how many bytes of entries are sorted, or wait to be written.
const memory = 16 << 20

// Build makes the index of a record in a folder of indexes and puts it in force, whole or not at
// all, unless it is there. Memory does not follow the number of hosts. Builders of one folder wait
// for each other.
func Build(ctx context.Context, r *record.Record, dir string) error {
	if err := build(ctx, r, dir, memory); err != nil {
		return fmt.Errorf("building host index: %w", err)
	}
	return nil
}

func build(ctx context.Context, r *record.Record, dir string, memory int) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := durable.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	head, err := headOf(r, len(r.Rounds()))
	if err != nil {
		return err
	}
	// An index that cannot be opened is built anew.
	before := ""
	if held, err := Open(dir); err == nil {
		before = held.head.name()
		same := held.head.Root == head.Root && held.head.Size == head.Size && held.head.Origin == head.Origin
		if err := held.db.Close(); err != nil || same {
			return err
		}
	}
	// What stands in the place of a file that is not in force was left by a crash.
	if err := f.Root.RemoveAll(fresh); err != nil {
		return err
	}
	if err := write(ctx, r, filepath.Join(dir, fresh), head, memory); err != nil {
		return errors.Join(err, f.Root.RemoveAll(fresh))
	}
	err = f.Root.RemoveAll(head.name())
	if err == nil {
		err = f.Root.Rename(fresh, head.name())
	}
	if err == nil {
		err = f.Put(pointerName, []byte(head.name()+"\n"))
	}
	if err == nil {
		err = f.SyncUp(".")
	}
	if err != nil {
		return err
	}
	return removeOthers(f, head.name(), before)
}

// removeOthers removes all indexes but the one in force and the one before it, which another
// process may be about to open.
func removeOthers(f *durable.Folder, keep ...string) error {
	entries, err := fs.ReadDir(f.Root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), "-") && !slices.Contains(keep, e.Name()) {
			if err := f.Root.RemoveAll(e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// write makes the file of an index.
func write(ctx context.Context, r *record.Record, path string, head Head, memory int) (err error) {
	f, err := create(path, memory)
	if err != nil {
		return err
	}
	doors, names, networks := newSorter(memory), newSorter(memory), newSorter(memory)
	defer func() {
		err = errors.Join(err, f.close(err == nil), doors.Close(), names.Close(), networks.Close())
	}()
	hosts := f.table(tableHosts)
	for h, err := range r.Histories() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		head.count(h)
		if err := errors.Join(hosts.add(h.Host, encodeHistory(h)), addDoors(doors, h), addNetworks(networks, h),
			addName(names, h.Host)); err != nil {
			return err
		}
	}
	if err := hosts.finish(); err != nil {
		return err
	}
	if head.Addresses, err = writeDoors(ctx, f, doors); err != nil {
		return err
	}
	hashed := f.table(tableNames)
	for e, err := range names.Sorted() {
		if err == nil {
			err = hashed.add(string(e.Key), bytes.Clone(e.Value))
		}
		if err != nil {
			return err
		}
	}
	if err := errors.Join(hashed.finish(), head.rankNetworks(ctx, networks)); err != nil {
		return err
	}
	raw, err := attest.Canonical(head)
	if err != nil {
		return err
	}
	heads := f.table(tableHead)
	return errors.Join(heads.add(headKey, raw), heads.finish())
}

// count counts a host and its rows.
func (h *Head) count(of record.History) {
	h.Hosts++
	h.Rows += int64(len(of.Rows))
	for _, row := range of.Rows {
		if row.Offer != nil && row.Offer.PayToLeftOut > 0 {
			h.RowsCut++
		}
	}
}

// addName adds a host that may not be written as it is everywhere.
func addName(into *sorter, host string) error {
	if isPlain(host) {
		return nil
	}
	sum := sha256.Sum256([]byte(host))
	return into.Add([]byte(hex.EncodeToString(sum[:])), []byte(host))
}

// addDoors adds, for each address that a host ever advertised, the rounds in which it did.
func addDoors(into *sorter, h record.History) error {
	seen := map[string][]byte{}
	for _, row := range h.Rows {
		if row.Offer == nil {
			continue
		}
		in := map[string]bool{}
		for _, p := range row.Offer.PayTo {
			if key := addressKey(p) + h.Host; !in[key] {
				in[key] = true
				seen[key] = appendNumber(seen[key], row.Sequence)
			}
		}
	}
	for key, sequences := range seen {
		if err := into.Add([]byte(key), sequences); err != nil {
			return err
		}
	}
	return nil
}

// addNetworks adds each network that a host named beside an address.
func addNetworks(into *sorter, h record.History) error {
	seen := map[string]bool{}
	for _, row := range h.Rows {
		if row.Offer == nil {
			continue
		}
		for _, p := range row.Offer.PayTo {
			if seen[p.Network] {
				continue
			}
			seen[p.Network] = true
			if err := into.Add([]byte(p.Network+" "+h.Host), nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// rankNetworks takes from sorted names, each with every host that named it, those of most hosts.
func (h *Head) rankNetworks(ctx context.Context, networks *sorter) error {
	type ranked struct {
		name  string
		hosts int64
	}
	var all []ranked
	first := func(a, b ranked) int { return cmp.Or(cmp.Compare(b.hosts, a.hosts), strings.Compare(a.name, b.name)) }
	keep := func() {
		slices.SortFunc(all, first)
		all = all[:min(len(all), MaxNetworks)]
	}
	var last ranked
	for e, err := range networks.Sorted() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		// No host's name holds a space.
		if name := string(e.Key[:bytes.LastIndexByte(e.Key, ' ')]); name != last.name || last.hosts == 0 {
			if last.hosts > 0 {
				all = append(all, last)
			}
			if len(all) == 2*MaxNetworks {
				keep()
			}
			last = ranked{name: name}
			h.NetworksAll++
		}
		last.hosts++
	}
	if last.hosts > 0 {
		all = append(all, last)
	}
	keep()
	h.Networks = make([]string, len(all))
	for i, n := range all {
		h.Networks[i] = n.name
	}
	return nil
}

// writeDoors writes sorted doors, and counts them for each address. It returns how many addresses
// there are.
func writeDoors(ctx context.Context, f *file, sorted *sorter) (int64, error) {
	doors, sums := f.table(tableDoors), f.table(tableSums)
	address, hosts, in := "", int64(0), map[int64]int64{}
	finish := func() error {
		if hosts == 0 {
			return nil
		}
		value := appendNumber(nil, hosts)
		for _, sequence := range slices.Sorted(maps.Keys(in)) {
			value = appendNumber(appendNumber(value, sequence), in[sequence])
		}
		hosts = 0
		clear(in)
		return sums.add(address, value)
	}
	for e, err := range sorted.Sorted() {
		if err == nil {
			err = cmp.Or(ctx.Err(), doors.add(string(e.Key), bytes.Clone(e.Value)))
		}
		if err != nil {
			return 0, err
		}
		// No host's name holds a space.
		if of := string(e.Key[:bytes.LastIndexByte(e.Key, ' ')+1]); of != address {
			if err := finish(); err != nil {
				return 0, err
			}
			address = of
		}
		hosts++
		for c := (cursor{rest: e.Value}); len(c.rest) > 0; {
			in[int64(c.number())]++
		}
	}
	return sums.entries, errors.Join(finish(), doors.finish(), sums.finish())
}

func appendNumber(b []byte, n int64) []byte { return binary.AppendUvarint(b, uint64(n)) }
