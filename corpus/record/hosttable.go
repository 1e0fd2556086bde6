package record

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"
	"sort"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/rule"
	"store.example/agentstore/corpus/tlog"
)

// HostTable looks hosts up in the host index of a round: in first.txt, which leads to the bundle in
// which a host stands or would stand, and in that bundle. What it finds is shown by the tiles to
// stand under the index's root, so that first.txt need not be trusted.
type HostTable struct {
	sequence, size int64
	record         fs.FS
	log            *tlog.Log
	first          [][]byte // the first host of each bundle; nil until it was read
}

// OpenHostTable opens the host index of a round in the folder of a record, whose size and root the
// caller knows. Nothing is read yet.
func OpenHostTable(record fs.FS, sequence, size int64, root attest.Digest) *HostTable {
	return &HostTable{sequence: sequence, size: size, record: record,
		log: tlog.OpenAt(hostsFS{record, sequence}, size, root)}
}

// Find returns where a host stands, or its neighbours, which show that the index lacks it: both,
// one at an end of the index, or none in an empty one. Hashes are left out.
func (t *HostTable) Find(host string) ([]PlacedHost, error) {
	out := []PlacedHost{}
	if t.size == 0 {
		return out, nil
	}
	from, to, err := t.bundle(host)
	if err != nil {
		return nil, err
	}
	var fault error
	at := from + int64(sort.Search(int(to-from), func(i int) bool {
		p, err := t.place(from + int64(i))
		if err != nil {
			fault = err
		}
		return p.Entry.Host >= host
	}))
	for position := max(0, at-1); fault == nil && position <= min(at, t.size-1); position++ {
		var p PlacedHost
		if p, fault = t.place(position); p.Entry.Host == host {
			return []PlacedHost{p}, fault
		}
		if fault == nil && (p.Entry.Host < host) != (position < at) {
			fault = rule.IndexFold.Errorf("%s leads to another place than that of %s", HostsPath(t.sequence,
				firstHosts), host)
		}
		out = append(out, p)
	}
	return out, fault
}

// bundle is the bundle in which a host stands or would stand, from one position up to another.
func (t *HostTable) bundle(host string) (from, to int64, err error) {
	if t.first == nil {
		raw, err := fs.ReadFile(t.record, HostsPath(t.sequence, firstHosts))
		if err != nil {
			return 0, 0, err
		}
		t.first = bytes.Split(bytes.TrimSuffix(raw, []byte("\n")), []byte("\n"))
	}
	if n := (t.size + tlog.TileWidth - 1) / tlog.TileWidth; int64(len(t.first)) != n {
		return 0, 0, rule.IndexFold.Errorf("%s has %d lines, and %d bundles have %d hosts", HostsPath(t.sequence,
			firstHosts), len(t.first), n, t.size)
	}
	i, found := slices.BinarySearchFunc(t.first, host, func(first []byte, host string) int {
		return bytes.Compare(first, []byte(host))
	})
	if !found {
		i = max(0, i-1)
	}
	from = int64(i) * tlog.TileWidth
	return from, min(from+tlog.TileWidth, t.size), nil
}

func (t *HostTable) place(position int64) (PlacedHost, error) {
	p := PlacedHost{Position: position}
	raw, err := t.log.Entry(position)
	if err == nil {
		p.Entry, err = ParseHostEntry(raw)
	}
	if err != nil {
		return p, fmt.Errorf("host index of round %d: %w", t.sequence, err)
	}
	return p, nil
}
