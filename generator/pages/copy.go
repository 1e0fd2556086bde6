package pages

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
)

// The log and the evidence of the record are published as they stand: tiles, bundles, checkpoints,
// cosignatures, packs.

// recordFiles streams the files below a folder of the record's whose name, from there, cut takes;
// the key of each is what cut leaves of it. Files that are written once are known by their size and
// time; once says so of a folder. Others are known by what they hold.
func recordFiles(folder string, once bool, cut func(name string) (key string, ok bool)) func(*Source) iter.Seq2[Unit,
	error] {
	return func(s *Source) iter.Seq2[Unit, error] {
		return func(yield func(Unit, error) bool) {
			if s.Record == nil {
				return
			}
			for name, err := range filesBelow(s.Corpus, folder) {
				if err != nil {
					yield(Unit{}, err)
					return
				}
				key, ok := cut(strings.TrimPrefix(name, folder+"/"))
				if !ok {
					continue
				}
				u, err := s.recordFile(name, key, once)
				if !yield(u, err) || err != nil {
					return
				}
			}
		}
	}
}

// recordFile is the unit of one file.
func (s *Source) recordFile(name, key string, once bool) (Unit, error) {
	u := Unit{Key: key, value: name}
	if !once {
		b, err := fs.ReadFile(s.Corpus, name)
		if err != nil {
			return u, fmt.Errorf("reading the record: %w", err)
		}
		u.Made = func(d *Digester) { d.text(name, string(b)) }
		return u, nil
	}
	info, err := fs.Stat(s.Corpus, name)
	if err != nil {
		return u, fmt.Errorf("reading the record: %w", err)
	}
	u.Made = func(d *Digester) {
		d.text(name, info.ModTime().UTC().Format(time.RFC3339Nano))
		d.number(info.Size())
	}
	return u, nil
}

// copied is the file of a unit of recordFiles.
func copied(u Unit) string { return u.value.(string) }

func wholeName(name string) (string, bool) { return name, true }

func suffixed(end string) func(string) (string, bool) {
	return func(name string) (string, bool) { return strings.CutSuffix(name, end) }
}

// recordCheckpoint streams the log's checkpoint with the cosignatures that there are, if there is a
// log.
func recordCheckpoint(s *Source) iter.Seq2[Unit, error] {
	return func(yield func(Unit, error) bool) {
		if s.Record == nil {
			return
		}
		raw, err := s.Record.Log.Published()
		if err != nil || len(raw) > 0 {
			yield(Unit{value: raw, Made: func(d *Digester) { d.text(string(raw)) }}, err)
		}
	}
}

// recordRing streams the keys of the record as they stand in it.
func recordRing(s *Source) iter.Seq2[Unit, error] {
	return func(yield func(Unit, error) bool) {
		if s.Record == nil {
			return
		}
		raw, err := fs.ReadFile(s.Corpus, record.RingFile)
		if !errors.Is(err, fs.ErrNotExist) {
			yield(Unit{value: raw, Made: func(d *Digester) { d.text(string(raw)) }}, err)
		}
	}
}

// sealedFiles streams files of the rounds that were sealed, of the newest so many or, at 0, of all:
// those with a mark behind the number of their round, which is left out of their keys but for a
// slash.
func sealedFiles(mark string, newest int64) func(*Source) iter.Seq2[Unit, error] {
	return func(s *Source) iter.Seq2[Unit, error] {
		return recordFiles("rounds", true, func(name string) (string, bool) {
			number, rest, marked := strings.Cut(name, mark)
			n, err := strconv.ParseInt(number, 10, 64)
			_, sealed := s.Record.Round(n)
			if sealed && newest > 0 && n <= s.Rounds[len(s.Rounds)-1].Sequence-newest {
				sealed = false
			}
			if rest != "" {
				number += "/" + rest
			}
			return number, marked && err == nil && sealed
		})(s)
	}
}

// filesBelow yields the files below a folder, which need not exist, in the byte order of their
// paths. What is hidden was left by a writer that was cut off and is no part of the record. One
// folder's list is in memory at a time, and the lists of those above it.
func filesBelow(fsys fs.FS, folder string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) { walkBelow(fsys, folder, yield) }
}

func walkBelow(fsys fs.FS, folder string, yield func(string, error) bool) bool {
	entries, err := fs.ReadDir(fsys, folder)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		yield("", fmt.Errorf("listing the record: %w", err))
		return false
	}
	// A folder stands among its neighbours as its name with a slash does.
	full := func(e fs.DirEntry) string {
		if e.IsDir() {
			return e.Name() + "/"
		}
		return e.Name()
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(full(a), full(b)) })
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			if !walkBelow(fsys, name, yield) {
				return false
			}
		default:
			if !yield(name, nil) {
				return false
			}
		}
	}
	return true
}

// anchorLogUnit streams the anchor log, where there is a record for it to follow from.
func anchorLogUnit(s *Source) iter.Seq2[Unit, error] {
	return func(yield func(Unit, error) bool) {
		if s.Record == nil {
			return
		}
		l, err := s.Record.AnchorLog(s.Feed)
		if err != nil {
			yield(Unit{}, err)
			return
		}
		raw, err := l.Encode()
		if err != nil {
			yield(Unit{}, err)
			return
		}
		yield(Unit{value: raw, Made: func(d *Digester) { d.text(string(raw)) }}, nil)
	}
}

// renderHeld hands out the bytes that a unit holds.
func renderHeld(_ *Source, u Unit, _ string, _ attest.Digest) ([]byte, error) {
	return u.value.([]byte), nil
}
