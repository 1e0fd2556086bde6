package view

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/durable"
	"store.example/agentstore/corpus/extsort"
	"store.example/agentstore/corpus/record"
)

// bounds bound what a build holds and writes.
type bounds struct {
	file int64 // bytes of a file, after which another is begun
	sort int   // bytes of entries that are sorted in memory
}

// Build makes the view of a record in a folder of views and puts it in force, whole or not at all,
// unless it is there. Of the view before it takes what did not change (see segment); the files are
// those that it would make without one. Memory holds one part of each round and what is sorted at a
// time; it does not follow the number of hosts. Builders of one folder wait for each other.
func Build(ctx context.Context, r *record.Record, dir string) error {
	return build(ctx, r, dir, bounds{file: 256 << 20, sort: 64 << 20})
}

func build(ctx context.Context, r *record.Record, dir string, sizes bounds) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("building view: %w", err)
	}
	f, err := durable.Open(dir)
	if err != nil {
		return fmt.Errorf("building view: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	head, err := headOf(r, len(r.Rounds()))
	if err != nil {
		return fmt.Errorf("building view: %w", err)
	}
	name := fmt.Sprintf("%d-%s", head.Size, head.Root.String()[:16])
	before := ""
	// A view that cannot be opened, or is of another record, is built anew.
	held, err := Open(f.Root.FS())
	if err == nil {
		if held.name == name && held.head.Root == head.Root && held.head.Origin == head.Origin {
			return nil
		}
		before = held.name
		if _, err := held.Check(r); err != nil {
			held = nil
		}
	}
	raw, err := writeFresh(ctx, r, f, head, sizes, held)
	if err != nil && held != nil && ctx.Err() == nil {
		// What is taken from a view may be damaged: the record is asked.
		raw, err = writeFresh(ctx, r, f, head, sizes, nil)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("building view: %w", err), f.Root.RemoveAll(fresh))
	}
	sum := sha256.Sum256(raw)
	err = f.Put(path.Join(fresh, headName), raw)
	if err == nil {
		// What stands in the place of a view that is not in force was left by a crash.
		err = errors.Join(f.SyncUp(fresh), f.Root.RemoveAll(name))
	}
	if err == nil {
		err = f.Root.Rename(fresh, name)
	}
	if err == nil {
		err = f.Put(pointerName, fmt.Appendf(nil, "%s %s\n", name, attest.Digest(sum)))
	}
	if err == nil {
		err = f.SyncUp(".")
	}
	if err != nil {
		return fmt.Errorf("building view: %w", err)
	}
	return removeViews(f, name, before)
}

// removeViews removes all views but the one in force and the one before it, which may be being
// read.
func removeViews(f *durable.Folder, keep ...string) error {
	entries, err := fs.ReadDir(f.Root.FS(), ".")
	if err != nil {
		return fmt.Errorf("building view: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() && strings.Contains(e.Name(), "-") && !slices.Contains(keep, e.Name()) {
			if err := f.Root.RemoveAll(e.Name()); err != nil {
				return fmt.Errorf("building view: %w", err)
			}
		}
	}
	return nil
}

// fresh is the folder of a view that is being made.
const fresh = ".new"

// writeFresh writes the files of a view and returns its head. held is an older view of the same
// record to take from, nil for none.
func writeFresh(ctx context.Context, r *record.Record, f *durable.Folder, head Head, sizes bounds,
	held *View) (_ []byte, err error) {
	if err := errors.Join(f.Root.RemoveAll(fresh), f.Root.Mkdir(fresh, 0o755)); err != nil {
		return nil, err
	}
	into, err := f.Root.OpenRoot(fresh)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, into.Close()) }()
	file := headFile{Head: head, Segments: []segment{}}
	for _, s := range spans(head.Sequence()) {
		if !s.takeFrom(held, f.Root) {
			if err := s.write(ctx, r, into, sizes); err != nil {
				return nil, err
			}
		}
		file.Rows, file.RowsCut = file.Rows+s.Rows, file.RowsCut+s.RowsCut
		file.Segments = append(file.Segments, s)
	}
	if file.Hosts, err = r.Hosts(); err != nil {
		return nil, err
	}
	of := file.open(into.FS(), ".")
	sums := &treeWriter{root: into, name: "sums", most: sizes.file}
	defer func() { err = errors.Join(err, sums.close()) }()
	if err := writeSums(ctx, sums, of.doors.from("")); err != nil {
		return nil, err
	}
	if err := file.rankNetworks(ctx, of.nets.from("")); err != nil {
		return nil, err
	}
	file.Addresses = sums.entries
	if file.SumFiles, err = sums.finish(); err != nil {
		return nil, err
	}
	return attest.Canonical(file)
}

// addDoors adds, for each address that a host ever advertised, the rounds in which it did.
func addDoors(into *extsort.Sorter, h record.History) error {
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

// addNetworks adds each network that a host named beside an address, and counts rows that leave
// addresses out.
func (s *segment) addNetworks(into *extsort.Sorter, h record.History) error {
	seen := map[string]bool{}
	for _, row := range h.Rows {
		if row.Offer == nil {
			continue
		}
		if row.Offer.PayToLeftOut > 0 {
			s.RowsCut++
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
func (h *Head) rankNetworks(ctx context.Context, sorted iter.Seq2[entry, error]) error {
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
	for e, err := range sorted {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		// No host's name holds a space.
		if name := e.key[:strings.LastIndexByte(e.key, ' ')]; name != last.name || last.hosts == 0 {
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

// writeSums counts sorted doors for each address.
func writeSums(ctx context.Context, sums *treeWriter, doors iter.Seq2[entry, error]) error {
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
	for e, err := range doors {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		// No host's name holds a space.
		if of := e.key[:strings.LastIndexByte(e.key, ' ')+1]; of != address {
			if err := finish(); err != nil {
				return err
			}
			address = of
		}
		hosts++
		for c := (cursor{rest: e.value}); len(c.rest) > 0; {
			in[int64(c.number())]++
		}
	}
	return finish()
}

func appendNumber(b []byte, n int64) []byte { return binary.AppendUvarint(b, uint64(n)) }
