package record

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Release is what a version of the store's programs was released as. A build is reproducible, so
// whoever builds the commit again gets files of these digests.
type Release struct {
	Version string        `json:"version"` // the commit's tag, such as v1.2.0
	Commit  string        `json:"commit"`  // 40 or 64 hexadecimal digits
	Files   []ReleaseFile `json:"files"`   // sorted by name
}

// ReleaseFile is one file of a release.
type ReleaseFile struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// The bounds of a release: an observation with all of them fits.
const (
	maxReleaseFiles = 64
	maxSums         = maxReleaseFiles * (64 + 2 + 100 + 1) // bytes of a file of digests
)

var (
	releaseVersion = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._+-]{0,63}$`)
	releaseCommit  = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	releaseName    = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._+-]{0,99}$`)
	sumsLine       = regexp.MustCompile(`^([0-9a-f]{64})  (.+)$`)
)

// Same reports whether two releases are of one version, one commit and the same files.
func (r Release) Same(o Release) bool {
	return r.Version == o.Version && r.Commit == o.Commit && slices.Equal(r.Files, o.Files)
}

func (r *Release) check() error {
	switch {
	case !releaseVersion.MatchString(r.Version):
		return fmt.Errorf("version %.80q, where a tag such as v1.2.0 belongs, of at most 64 characters", r.Version)
	case !releaseCommit.MatchString(r.Commit):
		return fmt.Errorf("commit %.80q, where 40 or 64 lower-case hexadecimal digits belong", r.Commit)
	case len(r.Files) == 0 || len(r.Files) > maxReleaseFiles:
		return fmt.Errorf("a release of %d files, where 1 to %d belong", len(r.Files), maxReleaseFiles)
	}
	for i, f := range r.Files {
		switch {
		case !releaseName.MatchString(f.Name):
			return fmt.Errorf("a file named %.120q, where 1 to 100 letters, digits and . _ + - belong", f.Name)
		case !IsDigest(f.SHA256):
			return fmt.Errorf("%s has %.80q, where a SHA-256 belongs", f.Name, f.SHA256)
		case i > 0 && r.Files[i-1].Name >= f.Name:
			return errors.New("files that are not sorted by name, or twice of one name")
		}
	}
	return nil
}

// ParseSums reads the file SHA256SUMS of a release, as sha256sum writes it, and sorts it by name.
func ParseSums(raw []byte) ([]ReleaseFile, error) {
	if len(raw) > maxSums {
		return nil, fmt.Errorf("reading SHA256SUMS: %d bytes, more than %d: is it the file that a release holds?",
			len(raw), maxSums)
	}
	text, ended := strings.CutSuffix(string(raw), "\n")
	if !ended {
		return nil, errors.New("reading SHA256SUMS: its last line has no end: it is empty, or was cut; get it again")
	}
	var files []ReleaseFile
	for i, line := range strings.Split(text, "\n") {
		m := sumsLine.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("reading SHA256SUMS: line %d is %.120q, where a SHA-256, two spaces and a name "+
				"belong", i+1, line)
		}
		files = append(files, ReleaseFile{m[2], m[1]})
	}
	slices.SortFunc(files, func(a, b ReleaseFile) int { return strings.Compare(a.Name, b.Name) })
	// The bounds of files are the release's.
	r := Release{Version: "v0", Commit: strings.Repeat("0", 40), Files: files}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("reading SHA256SUMS: %w", err)
	}
	return files, nil
}
