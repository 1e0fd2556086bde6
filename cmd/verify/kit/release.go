package kit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/audit"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/visible"
)

// maxSums bounds the file SHA256SUMS, whose reader refuses less.
const maxSums = 1 << 20

// releaseFiles are the files whose digests are looked for: those that SHA256SUMS lists, or the one
// that is there.
func releaseFiles(name string) ([]record.ReleaseFile, error) {
	base := filepath.Base(name)
	if base == "SHA256SUMS" {
		raw, err := readFile(name, maxSums)
		if err != nil {
			return nil, err
		}
		return record.ParseSums(raw)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return nil, err
	}
	return []record.ReleaseFile{{Name: base, SHA256: hex.EncodeToString(sum.Sum(nil))}}, nil
}

// released says in which release the file of -release is.
func (s *settings) released(name string, report Report, w io.Writer) (int, error) {
	files, err := releaseFiles(s.release)
	if err != nil {
		return ExitTrouble, err
	}
	all, err := told(name, report)
	if err != nil {
		return ExitTrouble, err
	}
	return inReleases(files, all, w), nil
}

// told are the releases that what was verified tells of: those of a record, or the one that is the
// leaf of a proof.
func told(name string, report Report) ([]record.Observation, error) {
	if p, ok := report.(ProofReport); ok {
		var o record.Observation
		if err := attest.ParseCanonical([]byte(p.Leaf), &o); err != nil || o.Release == nil {
			return nil, fmt.Errorf("the leaf of %s is no release: prove the leaf of its observation", name)
		}
		return []record.Observation{o}, o.Check()
	}
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s is neither a folder with a record nor a proof, in which releases are found", name)
	}
	found, ok := audit.FindRecord(audit.Plain(os.DirFS(name)))
	if !ok {
		return nil, fmt.Errorf("no record in %s", name)
	}
	keys, err := fs.ReadFile(found, record.RingFile)
	if err != nil {
		return nil, err
	}
	ring, err := audit.TrustedKeys(keys, nil)
	if err != nil {
		return nil, err
	}
	var all []record.Observation
	for n := int64(1); ; n++ {
		o, _, err := record.OpenObservation(found, n, ring)
		if errors.Is(err, fs.ErrNotExist) {
			return all, nil // the report says that none is missing
		}
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
}

// inReleases says of each file of a release in which version it stands, and gives the exit code:
// ExitRefused where a file of its name stands there with other bytes only, ExitUnproven where none
// does.
func inReleases(files []record.ReleaseFile, all []record.Observation, w io.Writer) int {
	code := ExitVerified
	for _, f := range files {
		var in, other *record.Observation
		for i, o := range all {
			if o.Release == nil {
				continue
			}
			for _, held := range o.Release.Files {
				switch {
				case held == f:
					in = &all[i]
				case held.Name == f.Name:
					other = &all[i]
				}
			}
		}
		name := visible.Text(f.Name)
		switch {
		case in != nil:
			fmt.Fprintf(w, "%s: released as %s of commit %s, observation %d of %s\n", name, in.Release.Version,
				in.Release.Commit, in.Number, in.At)
		case other != nil:
			fmt.Fprintf(w, "%s: NOT what was released as %s: observation %d has another digest than %s\n", name,
				other.Release.Version, other.Number, f.SHA256)
			code = ExitRefused
		default:
			fmt.Fprintf(w, "%s: UNPROVEN: no release here has it with SHA-256 %s; get a newer clone, or see that it "+
				"has the name that it was released under\n", name, f.SHA256)
			if code == ExitVerified {
				code = ExitUnproven
			}
		}
	}
	return code
}
