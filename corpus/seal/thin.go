package seal

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"store.example/agentstore/corpus/durable"
	"store.example/agentstore/corpus/record"
)

// Kept names the file of a record that tells of a judgement by its digest: that of an observation,
// or the index of the pack that holds it; "" where none is kept. The digest is salted, so that no
// other pack holds it too. The newest packs are looked through first.
func Kept(fsys fs.FS, digest string) (string, error) {
	name := record.ObservedEvidence(digest)
	if _, err := fs.Stat(fsys, name); !errors.Is(err, fs.ErrNotExist) {
		return name, err
	}
	name, _, err := indexOf(fsys, digest)
	return name, err
}

func indexOf(fsys fs.FS, digest string) (string, record.EvidenceIndex, error) {
	names, err := fs.Glob(fsys, "evidence/*/*"+record.IndexSuffix)
	if err != nil {
		return "", record.EvidenceIndex{}, err
	}
	slices.Sort(names)
	for _, name := range slices.Backward(names) {
		raw, err := fs.ReadFile(fsys, name)
		if err != nil {
			return "", record.EvidenceIndex{}, err
		}
		index, err := record.ParseEvidenceIndex(raw)
		if err != nil {
			return "", index, fmt.Errorf("%s: %w", name, err)
		}
		if slices.ContainsFunc(index.Entries, func(e record.EvidenceEntry) bool { return e.SHA256 == digest }) {
			return name, index, nil
		}
	}
	return "", record.EvidenceIndex{}, nil
}

// thin takes what was judged, and is withdrawn, out of the pack that holds it, if one does.
func thin(dir *durable.Folder, digest string) error {
	name, index, err := indexOf(dir.Root.FS(), digest)
	if err != nil || name == "" {
		return err
	}
	return rewrite(dir, name, index, digest)
}

// rewrite leaves one judgement out of a pack, then out of its index. Where a crash came between the
// two, the pack says what is left.
func rewrite(dir *durable.Folder, indexPath string, index record.EvidenceIndex, without string) error {
	pack, err := dir.Root.ReadFile(record.PackOf(indexPath))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	hosts := make(map[string]string, len(index.Entries))
	for _, e := range index.Entries {
		hosts[e.SHA256] = e.Host
	}
	var members []member
	var zip gzip.Reader
	for len(pack) > 0 {
		sum, rest := sha256.New(), bytes.NewReader(pack)
		if err := zip.Reset(rest); err != nil {
			return fmt.Errorf("%s: %w", record.PackOf(indexPath), err)
		}
		zip.Multistream(false)
		if _, err := io.Copy(sum, &zip); err != nil {
			return fmt.Errorf("%s: %w", record.PackOf(indexPath), err)
		}
		m := member{digest: hex.EncodeToString(sum.Sum(nil)), zipped: pack[:len(pack)-rest.Len()]}
		pack = pack[len(m.zipped):]
		host, known := hosts[m.digest]
		if m.host = host; !known {
			return fmt.Errorf("%s: its index does not tell of %s", record.PackOf(indexPath), m.digest)
		}
		if m.digest != without {
			members = append(members, m)
		}
	}
	if len(members) > 0 {
		return putPack(dir, indexPath, members)
	}
	for _, name := range []string{record.PackOf(indexPath), indexPath} {
		if err := dir.Root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
