package corpus

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"strconv"

	"golang.org/x/mod/sumdb/tlog"

	"agentstore/corpus/attest"
)

// appendLog adds entries behind the log's head and publishes the new checkpoint: entries and tiles first, then the
// checkpoint, so that after a crash the old one stands, and the same call again does the rest. The caller holds the
// lock of dir, and sees to it that what it adds follows from files that are written once.
func appendLog(ctx context.Context, dir *folder, log *Log, origin string, k *attest.Key, entries iter.Seq2[[]byte, error]) (*Log, error) {
	head := log.head
	if head.Origin != "" && head.Origin != origin {
		return nil, fmt.Errorf("appending to log: it is %s, not %s", head.Origin, origin)
	}
	t, err := openTower(head.Size, head.Root, log.read)
	if err != nil {
		return nil, err
	}
	t.write = func(name string, data []byte) error { return dir.put(inLog(name), data) }
	for entry, err := range entries {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = t.add(entry, attest.LeafHash(entry))
		}
		if err != nil {
			return nil, fmt.Errorf("appending to log: %w", err)
		}
	}
	if t.size == head.Size && head.Raw != nil {
		return log, nil
	}
	if err := t.flush(); err != nil {
		return nil, err
	}
	if err := syncLog(dir, head.Size, t.size); err != nil {
		return nil, err
	}
	root, err := t.root()
	if err != nil {
		return nil, err
	}
	next, err := signCheckpoint(origin, t.size, root, k)
	if err != nil {
		return nil, err
	}
	if err := publish(dir, next); err != nil {
		return nil, err
	}
	if err := prune(dir, head.Size); err != nil {
		return nil, err
	}
	return &Log{fsys: log.fsys, head: next}, nil
}

// publish makes next the head. A log never signs two checkpoints of one size: the file of its size is written once.
func publish(dir *folder, next Checkpoint) error {
	name := inLog("checkpoints/" + strconv.FormatInt(next.Size, 10))
	if err := dir.once(name, next.Raw); err != nil {
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		// Left by a crash between this file and the next.
		held, err := dir.root.ReadFile(name)
		if err != nil {
			return err
		}
		if string(held) != string(next.Raw) {
			return fmt.Errorf("appending to log: %s was signed before, and differs", name)
		}
	}
	if err := dir.put(inLog("checkpoint"), next.Raw); err != nil {
		return err
	}
	return dir.syncUp("log")
}

// changedDirs yields the directories that growing from one size to another wrote tiles or bundles into.
func changedDirs(from, to int64) map[string]bool {
	dirs := make(map[string]bool)
	see := func(name string) {
		for dir := path.Dir(inLog(name)); !dirs[dir] && dir != "."; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	for _, t := range tlog.NewTiles(tileHeight, from, to) {
		see(tilePath(t))
		if t.L == 0 {
			see(bundlePath(t.N, t.W))
		}
	}
	return dirs
}

func syncLog(dir *folder, from, to int64) error {
	for name := range changedDirs(from, to) {
		d, err := dir.root.Open(name)
		if err != nil {
			return err
		}
		if err := errors.Join(d.Sync(), d.Close()); err != nil {
			return fmt.Errorf("syncing %s: %w", name, err)
		}
	}
	return nil
}

// prune removes the partial tiles and bundles of those that were full at the checkpoint that was replaced: any older head
// is read by the full ones (C2SP tlog-tiles, Partial Tiles). Those that became full with the new head stay until the next
// one, so that whoever reads while the head moves still finds his.
func prune(dir *folder, before int64) error {
	var prior int64
	entries, err := fs.ReadDir(dir.root.FS(), inLog("checkpoints"))
	if err != nil {
		return fmt.Errorf("pruning log: %w", err)
	}
	for _, e := range entries {
		if n, err := strconv.ParseInt(e.Name(), 10, 64); err == nil && n < before {
			prior = max(prior, n)
		}
	}
	for level := 0; before>>(tileHeight*level) > 0; level++ {
		full := before >> (tileHeight * (level + 1))
		for n := prior >> (tileHeight * (level + 1)); n < full; n++ {
			names := []string{tilePath(tlog.Tile{H: tileHeight, L: level, N: n, W: 1})}
			if level == 0 {
				names = append(names, bundlePath(n, 1))
			}
			for _, name := range names {
				if err := dir.root.RemoveAll(path.Dir(inLog(name))); err != nil {
					return fmt.Errorf("pruning log: %w", err)
				}
			}
		}
	}
	return nil
}

// cosign keeps beside the log's head the cosignatures by witnesses that are good and not there yet, and returns them. The
// caller holds the lock of dir.
func (l *Log) cosign(dir *folder, lines []byte, witnesses []Witness) ([]Cosignature, error) {
	fresh, err := Cosignatures(l.head, lines, witnesses)
	if err != nil {
		return nil, err
	}
	text, err := l.cosigned(l.head.Size)
	if err != nil {
		return nil, err
	}
	held, err := Cosignatures(l.head, text, witnesses)
	if err != nil {
		return nil, err
	}
	var added []Cosignature
	for _, c := range fresh {
		known := false
		for _, h := range held {
			known = known || h.Witness == c.Witness
		}
		if !known {
			text = append(text, c.Line...)
			added = append(added, c)
		}
	}
	if len(added) == 0 {
		return nil, nil
	}
	if err := dir.put(inLog(fmt.Sprintf("cosignatures/%d", l.head.Size)), text); err != nil {
		return nil, err
	}
	return added, dir.syncUp("log/cosignatures")
}
