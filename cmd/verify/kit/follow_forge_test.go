package kit

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/durable"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/tlog"
)

// TestFollowTellsAFalseIndex has whoever holds all keys seal a host index that is not what the rows
// give, and log it.
func TestFollowTellsAFalseIndex(t *testing.T) {
	row := func(e *record.HostEntry) bool { return e.Host == "door.example" }
	for name, c := range map[string]struct {
		forge func(entries, before []record.HostEntry) []record.HostEntry
		says  string
	}{
		"a head that is no fold": {func(e, _ []record.HostEntry) []record.HostEntry {
			for i := range e {
				if row(&e[i]) {
					e[i].Head[0] ^= 1
				}
			}
			return e
		}, "is not the fold of its rows"},
		"a week left out": {func(e, before []record.HostEntry) []record.HostEntry {
			for i := range e {
				if row(&e[i]) {
					e[i] = before[i]
				}
			}
			return e
		}, "round 3 has a row of door.example, at leaf 12, which its index leaves out"},
		"a host left out": {func(e, _ []record.HostEntry) []record.HostEntry {
			return slices.DeleteFunc(e, func(e record.HostEntry) bool { return row(&e) })
		}, "of hosts"},
		"a host left out for another": {func(e, _ []record.HostEntry) []record.HostEntry {
			for i := range e {
				if row(&e[i]) {
					e[i].Host = "e.example"
				}
			}
			return e
		}, "the entry of door.example is gone"},
		"another row in its place": {func(e, _ []record.HostEntry) []record.HostEntry {
			for i := range e {
				if row(&e[i]) {
					e[i].LastLeaf++
				}
			}
			return e
		}, "it is of z.example"},
		"rows that went": {func(e, _ []record.HostEntry) []record.HostEntry {
			for i := range e {
				if row(&e[i]) {
					e[i].Rows = 1
				}
			}
			return e
		}, "2 were seen"},
		"rows that were added": {func(e, _ []record.HostEntry) []record.HostEntry {
			for i := range e {
				if row(&e[i]) {
					e[i].Rows++
				}
			}
			return e
		}, "do not lead to the one at leaf"},
		"two hosts in the wrong order": {func(e, _ []record.HostEntry) []record.HostEntry {
			e[0], e[1] = e[1], e[0]
			return e
		}, "the entry of door.example is gone"},
	} {
		w := watched(t)
		s := serve(t, w)
		s.want("before", 0, nil, onDoor...)
		recordtest.Seal(t, w, recordtest.Draft(3, offering("a.example", "first"), offering("door.example", "second"),
			offering("z.example", "third")))
		forgeIndex(t, w, 3, c.forge)
		s.show(recordtest.MapFS(t, w.Dir))
		if name == "a host left out" {
			c.says = "rule index.fold"
		}
		s.want(name, 3, []string{c.says, "(rule "}, onDoor...)
	}
}

// leavesOf are the leaves of the log of a record.
func leavesOf(t *testing.T, r *record.Record) (leaves [][]byte) {
	t.Helper()
	for raw, err := range r.Log.Entries() {
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, slices.Clone(raw))
	}
	return leaves
}

// logAnew puts a log of such leaves, signed by the log's key, in the place of the log.
func logAnew(t *testing.T, w *seal.Writer, leaves [][]byte) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(w.Dir, "log")); err != nil {
		t.Fatal(err)
	}
	dir, err := durable.Open(w.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	empty, err := tlog.Open(os.DirFS(w.Dir), w.Ring)
	if err == nil {
		_, err = tlog.Append(t.Context(), dir, empty, tlog.Signer{Origin: w.Origin, Key: w.LogKey},
			recordtest.Each(leaves...))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// forgeIndex puts another host index in the place of that of the newest round, and the log that
// commits to it in the place of the log.
func forgeIndex(t *testing.T, w *seal.Writer, sequence int64,
	forge func(entries, before []record.HostEntry) []record.HostEntry) {
	t.Helper()
	r := recordtest.Open(t, w)
	leaves := leavesOf(t, r)
	entries := func(n int64) (out []record.HostEntry) {
		round, _ := r.Round(n)
		size, root, err := record.ParseHostsLeaf(leaves[round.HostsLeaf()], n)
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range record.HostEntries(os.DirFS(w.Dir), n, size, root) {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, e)
		}
		return out
	}
	forged := forge(entries(sequence), entries(sequence-1))
	if err := os.RemoveAll(filepath.Join(w.Dir, record.HostsPath(sequence, ""))); err != nil {
		t.Fatal(err)
	}
	put := func(name string, data []byte) error {
		file := filepath.Join(w.Dir, record.HostsPath(sequence, name))
		return errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, data, 0o644))
	}
	tree := tlog.Tower{Write: put, Bundles: true}
	for _, e := range forged {
		raw, err := e.Encode()
		if err == nil {
			err = tree.Add(raw, attest.LeafHash(raw))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := tree.Root()
	if err = errors.Join(err, tree.Flush(), put("first.txt", []byte(forged[0].Host+"\n"))); err != nil {
		t.Fatal(err)
	}
	round, _ := r.Round(sequence)
	if leaves[round.HostsLeaf()], err = record.EncodeHostsLeaf(sequence, tree.Size, root); err != nil {
		t.Fatal(err)
	}
	logAnew(t, w, leaves)
}

// TestFollowTellsAFalseLog has whoever holds all keys put into the log, behind what was seen, what
// does not belong there. Leaves 11 and 12 are the row and the header of round 3, 13 its index, 14
// and 15 observations.
func TestFollowTellsAFalseLog(t *testing.T) {
	type forgery func(t *testing.T, w *seal.Writer, leaves [][]byte) [][]byte
	for name, c := range map[string]struct {
		forge forgery
		says  string
	}{
		"another header": {func(_ *testing.T, _ *seal.Writer, l [][]byte) [][]byte {
			l[12] = bytes.Replace(l[12], []byte(`"file_sha256":"`), []byte(`"file_sha256":"0`), 1)
			return l
		}, "leaf 12 of the log does not commit to it (rule log.tile)"},
		"an index that lost hosts": {func(t *testing.T, _ *seal.Writer, l [][]byte) [][]byte {
			leaf, err := record.EncodeHostsLeaf(3, 2, attest.Digest{1})
			if err != nil {
				t.Fatal(err)
			}
			l[13] = leaf
			return l
		}, "it has 2 hosts: the index before had 3"},
		"the index of another round": {func(t *testing.T, _ *seal.Writer, l [][]byte) [][]byte {
			leaf, err := record.EncodeHostsLeaf(2, 3, attest.Digest{1})
			if err != nil {
				t.Fatal(err)
			}
			l[13] = leaf
			return l
		}, "it is not that of the host index of round 3"},
		"an observation left out": {func(_ *testing.T, _ *seal.Writer, l [][]byte) [][]byte {
			return append(l[:14:14], l[15])
		}, "leaf 14 holds observation 3 in the place of 2 (rule observation.number)"},
		"an observation twice": {func(_ *testing.T, _ *seal.Writer, l [][]byte) [][]byte {
			return append(l, l[15])
		}, "leaf 16 holds observation 3 in the place of 4 (rule observation.number)"},
		"something else": {func(_ *testing.T, _ *seal.Writer, l [][]byte) [][]byte {
			return append(l, []byte("a row that nobody is to see"))
		}, "leaf 16: "},
		"a round that does not follow": {func(t *testing.T, w *seal.Writer, l [][]byte) [][]byte {
			round, _ := recordtest.Open(t, w).Round(3)
			round.PreviousDigest[0] ^= 1
			round, raw := recordtest.SignRound(t, round, w.Identity)
			file := filepath.Join(w.Dir, record.HeaderPath(3))
			if err := errors.Join(os.Remove(file), os.WriteFile(file, raw, 0o644)); err != nil {
				t.Fatal(err)
			}
			leaf, err := record.EncodeRoundLeaf(round, raw)
			if err != nil {
				t.Fatal(err)
			}
			l[12] = leaf
			return l
		}, "(rule round.previous)"},
		"a round by a stranger": {func(t *testing.T, w *seal.Writer, l [][]byte) [][]byte {
			round, _ := recordtest.Open(t, w).Round(3)
			_, raw := recordtest.SignRound(t, round, recordtest.Key(t, 7))
			file := filepath.Join(w.Dir, record.HeaderPath(3))
			if err := errors.Join(os.Remove(file), os.WriteFile(file, raw, 0o644)); err != nil {
				t.Fatal(err)
			}
			return l
		}, "(rule round.key)"},
		"a row that is not signed": {func(_ *testing.T, _ *seal.Writer, l [][]byte) [][]byte {
			l[11] = bytes.Replace(l[11], []byte(`"L4"`), []byte(`"L5"`), 1)
			return l
		}, "(rule row.signature)"},
	} {
		w := watched(t)
		s := serve(t, w)
		s.want("before", 0, nil, onDoor...)
		recordtest.Seal(t, w, recordtest.Draft(3, offering("door.example", "first")))
		recordtest.Observe(t, w, "seamless")
		recordtest.Observe(t, w, "leverage")
		logAnew(t, w, c.forge(t, w, leavesOf(t, recordtest.Open(t, w))))
		s.show(recordtest.MapFS(t, w.Dir))
		s.want(name, 3, []string{c.says}, onDoor...)
	}
}
