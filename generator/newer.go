package generator

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/generator/buildcache"
)

// ErrNewerRelease is wrapped when a newer release has written what a build would go on from. This
// program would take the tree for one to be made anew, and sweep out of it what it does not know.
var ErrNewerRelease = errors.New("a newer release has written it")

// backward is what to do about a published tree that is newer than the program.
const backward = "build with the newer release again, or, to stay with this one, run store build -full, which makes " +
	"the whole tree anew"

// treeIsNewer refuses a published tree of a newer release. A full build asks for nothing of it.
func (in *Input) treeIsNewer(dir string) error {
	if in.Full {
		return nil
	}
	if err := newer(os.DirFS(dir), dir, attest.PublicLayout().Head(), attest.ManifestFormat); err != nil {
		return fmt.Errorf("%w; hint: %s", err, backward)
	}
	return nil
}

// memoryIsNewer refuses the memory of a build by a newer release.
func (in *Input) memoryIsNewer() error {
	if in.Full || in.Cache == "" {
		return nil
	}
	f, err := os.Open(in.Cache)
	if err != nil {
		return nil // it is no record then, and a full build follows
	}
	defer f.Close()
	mark, _ := bufio.NewReaderSize(f, 64).ReadSlice('\n') // without an end it is no mark
	if err := higher(in.Cache, string(mark), buildcache.Format); err != nil {
		return fmt.Errorf("%w; hint: %s", err, backward)
	}
	return nil
}

// RecordIsNewer refuses a signed record of which a newer release has written the manifest or a
// round. Whoever writes into a record, or answers from it, asks first.
func RecordIsNewer(fsys fs.FS) error {
	const where = "the signed record"
	err := newer(fsys, where, attest.CorpusLayout().Head(), attest.ManifestFormat)
	rounds, _ := fs.Glob(fsys, "rounds/*/header.json") // the pattern is sound, which is all it can fail for
	for _, name := range rounds {
		if err == nil {
			err = newer(fsys, where, name, record.RoundFormat)
		}
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; hint: start the newer release again, or restore the backup of the record that was made "+
		"before the upgrade", err)
}

// newer refuses a JSON file whose format is of a higher number than the one that is known. In
// signed files the format stands first; what has none, or another one, is for its reader to refuse.
func newer(fsys fs.FS, where, name, known string) error {
	f, err := fsys.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	d := json.NewDecoder(io.LimitReader(f, 4096))
	var tokens [3]json.Token
	for i := range tokens {
		if tokens[i], err = d.Token(); err != nil {
			return nil
		}
	}
	if mark, ok := tokens[2].(string); ok && tokens[1] == "format" {
		return higher(name+" of "+where, mark, known)
	}
	return nil
}

// higher compares two marks of one format, which end in its number.
func higher(name, mark, known string) error {
	mark, known = strings.TrimSuffix(mark, "\n"), strings.TrimSuffix(known, "\n")
	format := strings.TrimRight(known, "0123456789")
	number, ok := strings.CutPrefix(mark, format)
	theirs, err := strconv.ParseUint(number, 10, 31)
	if ours, _ := strconv.ParseUint(known[len(format):], 10, 31); !ok || err != nil || theirs <= ours {
		return nil
	}
	return fmt.Errorf("%s: %w: it is of format %s, and this program reads up to %s", name, ErrNewerRelease, mark, known)
}
