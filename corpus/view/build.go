package view

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
// unless it is there. Memory holds one part of each round and what is sorted at a time; it does not
// follow the number of hosts. Builders of one folder wait for each other.
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
	// A view that cannot be opened is built anew.
	if held, err := Open(f.Root.FS()); err == nil {
		if held.name == name && held.head.Root == head.Root && held.head.Origin == head.Origin {
			return nil
		}
		before = held.name
	}
	const fresh = ".new"
	if err := errors.Join(f.Root.RemoveAll(fresh), f.Root.Mkdir(fresh, 0o755)); err != nil {
		return fmt.Errorf("building view: %w", err)
	}
	into, err := f.Root.OpenRoot(fresh)
	if err != nil {
		return fmt.Errorf("building view: %w", err)
	}
	raw, err := writeView(ctx, r, into, head, sizes)
	if err = errors.Join(err, into.Close()); err != nil {
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

// writeView writes the files of a view and returns its head.
func writeView(ctx context.Context, r *record.Record, into *os.Root, head Head, sizes bounds) (_ []byte, err error) {
	hosts := &treeWriter{root: into, name: "hosts", most: sizes.file}
	doors := &treeWriter{root: into, name: "doors", most: sizes.file}
	sums := &treeWriter{root: into, name: "sums", most: sizes.file}
	names := &treeWriter{root: into, name: "names", most: sizes.file}
	sorted, hashed, nets := extsort.New(sizes.sort), extsort.New(sizes.sort/8), extsort.New(sizes.sort/8)
	defer func() {
		err = errors.Join(err, hosts.close(), doors.close(), sums.close(), names.close(), sorted.Close(),
			hashed.Close(), nets.Close())
	}()
	var value []byte
	for h, err := range r.Histories() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		value = encodeHistory(value[:0], h)
		if err := hosts.add(h.Host, value); err != nil {
			return nil, err
		}
		head.Rows += int64(len(h.Rows))
		if err := addDoors(sorted, h); err != nil {
			return nil, err
		}
		if err := addNetworks(nets, h, &head); err != nil {
			return nil, err
		}
		if sum := sha256.Sum256([]byte(h.Host)); !isPlain(h.Host) {
			if err := hashed.Add([]byte(hex.EncodeToString(sum[:])), []byte(h.Host)); err != nil {
				return nil, err
			}
		}
	}
	for e, err := range hashed.Sorted() {
		if err == nil {
			err = names.add(string(e.Key), e.Value)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := writeDoors(ctx, doors, sums, sorted.Sorted()); err != nil {
		return nil, err
	}
	if err := head.rankNetworks(nets.Sorted()); err != nil {
		return nil, err
	}
	head.Hosts, head.Addresses = hosts.entries, sums.entries
	file := headFile{Head: head}
	var errs [4]error
	file.HostFiles, errs[0] = hosts.finish()
	file.DoorFiles, errs[1] = doors.finish()
	file.SumFiles, errs[2] = sums.finish()
	file.NameFiles, errs[3] = names.finish()
	if err := errors.Join(errs[:]...); err != nil {
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

// addNetworks adds each network that a host ever named beside an address, and counts rows that
// leave addresses out.
func addNetworks(into *extsort.Sorter, h record.History, head *Head) error {
	seen := map[string]bool{}
	for _, row := range h.Rows {
		if row.Offer == nil {
			continue
		}
		if row.Offer.PayToLeftOut > 0 {
			head.RowsCut++
		}
		for _, p := range row.Offer.PayTo {
			if seen[p.Network] {
				continue
			}
			seen[p.Network] = true
			if err := into.Add([]byte(p.Network), nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// rankNetworks takes from sorted names, one for each host that named it, those of most hosts.
func (h *Head) rankNetworks(sorted iter.Seq2[extsort.Record, error]) error {
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
		if err != nil {
			return err
		}
		if name := string(e.Key); name != last.name {
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

// writeDoors writes sorted doors, and beside them their counts for each address.
func writeDoors(ctx context.Context, doors, sums *treeWriter, sorted iter.Seq2[extsort.Record, error]) error {
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
	for e, err := range sorted {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = doors.add(string(e.Key), e.Value)
		}
		if err != nil {
			return err
		}
		// No host's name holds a space.
		of := e.Key[:bytes.LastIndexByte(e.Key, ' ')+1]
		if string(of) != address {
			if err := finish(); err != nil {
				return err
			}
			address = string(of)
		}
		hosts++
		for c := (cursor{rest: e.Value}); len(c.rest) > 0; {
			in[int64(c.number())]++
		}
	}
	return finish()
}

func appendNumber(b []byte, n int64) []byte { return binary.AppendUvarint(b, uint64(n)) }
