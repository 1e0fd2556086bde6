package tlog

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strconv"

	sumdb "golang.org/x/mod/sumdb/tlog"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/durable"
)

// Signer signs a log's checkpoints, under the log's name.
type Signer struct {
	Origin string
	Key    *attest.Key
}

// Append adds entries behind the log's head and publishes the new checkpoint: entries and tiles
// first, then the checkpoint, so that after a crash the old one stands, and the same call again
// does the rest. The caller holds the lock of dir, and sees to it that what it adds follows from
// files that are written once.
func Append(ctx context.Context, dir *durable.Folder, log *Log, by Signer, entries iter.Seq2[[]byte, error]) (*Log,
	error) {
	head := log.head
	if head.Origin != "" && head.Origin != by.Origin {
		return nil, fmt.Errorf("appending to log: it is %s, not %s", head.Origin, by.Origin)
	}
	t, err := openTower(head.Size, head.Root, log.read)
	if err != nil {
		return nil, err
	}
	t.Write = func(name string, data []byte) error { return dir.Put(Path(name), data) }
	for entry, err := range entries {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = t.Add(entry, attest.LeafHash(entry))
		}
		if err != nil {
			return nil, fmt.Errorf("appending to log: %w", err)
		}
	}
	if t.Size == head.Size && head.Raw != nil {
		return log, nil
	}
	if err := t.Flush(); err != nil {
		return nil, err
	}
	if err := syncLog(dir, head.Size, t.Size); err != nil {
		return nil, err
	}
	root, err := t.Root()
	if err != nil {
		return nil, err
	}
	next, err := signCheckpoint(by.Origin, t.Size, root, by.Key)
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

// publish makes next the head. A log never signs two checkpoints of one size: the file of its size
// is written once.
func publish(dir *durable.Folder, next Checkpoint) error {
	// One that is there was left by a crash between this file and the next.
	if err := dir.Keep(Path("checkpoints/"+strconv.FormatInt(next.Size, 10)), next.Raw); err != nil {
		return fmt.Errorf("appending to log: %w", err)
	}
	if err := dir.Put(Path("checkpoint"), next.Raw); err != nil {
		return err
	}
	return dir.SyncUp("log")
}

// changedDirs yields the directories that growing from one size to another wrote tiles or bundles
// into.
func changedDirs(from, to int64) map[string]bool {
	dirs := make(map[string]bool)
	see := func(name string) {
		for dir := path.Dir(Path(name)); !dirs[dir] && dir != "."; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	for _, t := range sumdb.NewTiles(tileHeight, from, to) {
		see(tilePath(t))
		if t.L == 0 {
			see(bundlePath(t.N, t.W))
		}
	}
	return dirs
}

func syncLog(dir *durable.Folder, from, to int64) error {
	for name := range changedDirs(from, to) {
		if err := dir.Sync(name); err != nil {
			return err
		}
	}
	return nil
}

// prune removes the partial tiles and bundles of those that were full at the checkpoint that was
// replaced: any older head is read by the full ones (C2SP tlog-tiles, Partial Tiles). Those that
// became full with the new head stay until the next one, so that whoever reads while the head moves
// still finds his.
func prune(dir *durable.Folder, before int64) error {
	var prior int64
	entries, err := fs.ReadDir(dir.Root.FS(), Path("checkpoints"))
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
			names := []string{tilePath(sumdb.Tile{H: tileHeight, L: level, N: n, W: 1})}
			if level == 0 {
				names = append(names, bundlePath(n, 1))
			}
			for _, name := range names {
				if err := dir.Root.RemoveAll(path.Dir(Path(name))); err != nil {
					return fmt.Errorf("pruning log: %w", err)
				}
			}
		}
	}
	return nil
}

// Cosign keeps beside the log's head the cosignatures by witnesses that are good and not there yet,
// and returns them. The caller holds the lock of dir.
func (l *Log) Cosign(dir *durable.Folder, lines []byte, witnesses []Witness) ([]Cosignature, error) {
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
		if !slices.ContainsFunc(held, func(h Cosignature) bool { return h.Witness == c.Witness }) {
			text = append(text, c.Line...)
			added = append(added, c)
		}
	}
	if len(added) == 0 {
		return nil, nil
	}
	if err := dir.Put(Path(fmt.Sprintf("cosignatures/%d", l.head.Size)), text); err != nil {
		return nil, err
	}
	return added, dir.SyncUp("log/cosignatures")
}
