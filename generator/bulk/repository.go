package bulk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tlog"
	"store.example/agentstore/generator/publish"
)

// The repository is bare and has one branch. Its files are enough for git's dumb protocol, which
// needs nothing of a server but to send files:
//
//	HEAD, config, refs/heads/main, info/refs     where the branch is
//	objects/info/packs                           the packs, newest first
//	objects/pack/pack-<sha1>.pack, .idx          written once
//
// Its history is that of the record's log: a commit for every checkpoint, which is one for each
// round and one for each batch of observations between rounds, with the log's files as they were at
// that size. Proofs of time, cosignatures and keys have no place in the log; what is new of them
// comes in a commit behind those of the checkpoints. So the commits of checkpoints that come before
// any such commit are the same bytes whenever the repository is made, and a repository that stands
// only ever gets more commits, in packs of their own: who pulls fetches the new packs alone.

// branch is the only branch.
const branch = "main"

// ErrHistory is returned for a repository whose history is not the beginning of the record's.
var ErrHistory = errors.New("the repository holds another history than the record")

// RepositoryOptions says who commits.
type RepositoryOptions struct {
	Name, Email string // of author and committer
	Signer      publish.Signer
	// Beside are files that no signature of the record covers, by path: what it is, how it is
	// checked, on what terms it is used. Those that are named no more are gone from the newest
	// tree.
	Beside map[string][]byte
}

// RepositoryReport says what Repository did.
type RepositoryReport struct {
	Head    string   // the newest commit
	Commits int      // that are new
	Packs   []string // that are new, oldest first, without extension
	Written []string // files that are new or changed, in the order in which they were
}

// Repository brings the bare repository in dir, which need not exist, to the state of the record in
// fsys, of which rec was opened. It never rewrites a commit or a pack. Only one Repository may work
// on a folder at a time. What a crash leaves is not seen by git, and the next call goes on.
func Repository(ctx context.Context, fsys fs.FS, rec *record.Record, dir string,
	o RepositoryOptions) (_ RepositoryReport, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing the record's repository: %w", err)
		}
	}()
	if o.Signer == nil || o.Name == "" || o.Email == "" {
		return RepositoryReport{}, errors.New("it needs a signer, a name and an address")
	}
	r := &repository{fsys: fsys, rec: rec, dir: dir, o: o, w: publish.NewWriter(), files: make(publish.Files)}
	if err := r.open(); err != nil {
		return RepositoryReport{}, err
	}
	marks, err := r.marks()
	if err != nil {
		return RepositoryReport{}, err
	}
	if r.parent == plumbing.ZeroHash { // the first commit has it, so that who begins later commits the same
		if err := r.beside(); err != nil {
			return RepositoryReport{}, err
		}
	}
	for _, m := range marks {
		if err := r.add(ctx, m); err != nil {
			return RepositoryReport{}, err
		}
		if m.round > 0 {
			if err := r.flush(); err != nil {
				return RepositoryReport{}, err
			}
		}
	}
	if err := r.undated(); err != nil {
		return RepositoryReport{}, err
	}
	if err := r.flush(); err != nil {
		return RepositoryReport{}, err
	}
	if r.parent == plumbing.ZeroHash {
		return r.report, nil // an empty record has no repository
	}
	r.report.Head = r.parent.String()
	err = r.refer()
	return r.report, err
}

// repository is one call of Repository.
type repository struct {
	fsys   fs.FS
	rec    *record.Record
	dir    string
	o      RepositoryOptions
	w      *publish.Writer
	files  publish.Files // of the tree
	parent publish.Hash  // zero before the first commit
	when   time.Time     // of parent
	size   int64         // of the log in files
	noted  int64         // observations in files
	report RepositoryReport
}

// open reads the repository that is there and sees that the record goes on from it.
func (r *repository) open() (err error) {
	for _, pattern := range []string{filepath.Join("objects", "pack", publish.TempPrefix), workPrefix} {
		leftovers, err := filepath.Glob(filepath.Join(r.dir, pattern+"*"))
		if err != nil {
			return err
		}
		for _, l := range leftovers {
			if err := os.Remove(l); err != nil {
				return err
			}
		}
	}
	head, closed, err := publish.OpenHead(r.dir, branch)
	defer func() { err = errors.Join(err, closed()) }()
	if err != nil || head == nil {
		return err
	}
	// What a stranger committed must not become the past of what is signed here.
	signed := &plumbing.MemoryObject{}
	if err := head.EncodeWithoutSignature(signed); err != nil {
		return err
	}
	body, err := signed.Reader()
	if err != nil {
		return err
	}
	if err := attest.VerifySSH(body, []byte(head.PGPSignature), r.rec.Ring()); err != nil {
		return fmt.Errorf("%w: commit %s: %w; hint: put the repository back as it was published", ErrHistory,
			head.Hash, err)
	}
	checkpoint, err := head.File("log/checkpoint")
	if err != nil {
		return err
	}
	raw, err := checkpoint.Contents()
	if err != nil {
		return err
	}
	held, _, err := tlog.OpenCheckpoint([]byte(raw), r.rec.Ring())
	if err != nil {
		return err
	}
	now, err := fs.ReadFile(r.fsys, checkpointPath(held.Size))
	if errors.Is(err, fs.ErrNotExist) || err == nil && string(now) != raw {
		return fmt.Errorf("%w, at log size %d; hint: if the record was begun anew on purpose, remove %s", ErrHistory,
			held.Size, r.dir)
	}
	if err != nil {
		return err
	}
	if r.files, err = r.w.List(head); err != nil {
		return err
	}
	for name := range r.files {
		if strings.HasPrefix(name, "observations/") {
			r.noted++
		}
	}
	r.parent, r.when, r.size = head.Hash, head.Committer.When.UTC(), held.Size
	return nil
}

func checkpointPath(size int64) string { return "log/checkpoints/" + strconv.FormatInt(size, 10) }

// revision is a state of the record that gets a commit.
type revision struct {
	size  int64 // of the log
	round int64 // sequence of the round that ends there, 0 for observations
	noted int64 // observations up to there
}

// marks are the checkpoints that have no commit yet, oldest first.
func (r *repository) marks() ([]revision, error) {
	list, err := fs.ReadDir(r.fsys, "log/checkpoints")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []revision
	for _, e := range list {
		size, err := strconv.ParseInt(e.Name(), 10, 64)
		if err != nil || size > r.rec.Log.Head().Size {
			continue // left by a crash, or in the making
		}
		m := revision{size: size, noted: size}
		for _, round := range r.rec.Rounds() {
			if round.LeavesEnd() > size {
				break
			}
			m.noted -= round.Rows + 2
			if round.LeavesEnd() == size {
				m.round = round.Sequence
			}
		}
		if size > r.size {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b revision) int { return cmp.Compare(a.size, b.size) })
	return out, nil
}

// add commits the record as it was at a mark.
func (r *repository) add(ctx context.Context, m revision) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	when, subject, err := r.describe(m)
	if err != nil {
		return err
	}
	for n := r.noted + 1; n <= m.noted; n++ {
		if err := r.file(path.Join("observations", record.Observation{Number: n}.File())); err != nil {
			return err
		}
	}
	if m.round > 0 {
		// What may be withdrawn, evidence and words, is in no commit: a history keeps everything
		// for ever.
		if err := r.folder(path.Join("rounds", strconv.FormatInt(m.round, 10))); err != nil {
			return err
		}
	}
	if err := r.log(m.size); err != nil {
		return err
	}
	// A tree without its keys could not be checked by itself.
	if err := r.folder("keys"); err != nil {
		return err
	}
	r.noted = m.noted
	return r.commit(when, subject)
}

// describe says when the newest thing of a mark is from, and what it is.
func (r *repository) describe(m revision) (time.Time, string, error) {
	root, err := r.rec.Log.Root(m.size)
	if err != nil {
		return time.Time{}, "", err
	}
	at := ""
	var about string
	if round, ok := r.rec.Round(m.round); ok {
		at = round.TakenAt
		about = fmt.Sprintf("Round %d, %s\n\n%d rows. Digest %s.", round.Sequence, round.Week, round.Rows, round.Digest)
	} else {
		raw, err := fs.ReadFile(r.fsys, path.Join("observations", record.Observation{Number: m.noted}.File()))
		if err != nil {
			return time.Time{}, "", err
		}
		last, err := record.VerifyObservation(raw, r.rec.Ring())
		if err != nil {
			return time.Time{}, "", err
		}
		at = last.At
		about = fmt.Sprintf("Observation %d\n\n", m.noted)
		if first := r.noted + 1; first < m.noted {
			about = fmt.Sprintf("Observations %d to %d\n\n", first, m.noted)
		}
		about = strings.TrimSuffix(about, "\n")
	}
	when, err := time.Parse(time.RFC3339, at)
	return when, fmt.Sprintf("%s\nLog of %d leaves, root %s.\n", about, m.size, root), err
}

// log brings the log's files to a size.
func (r *repository) log(size int64) error {
	for _, t := range partial(r.size) {
		delete(r.files, t.path())
	}
	for _, t := range grown(r.size, size) {
		if err := r.file(t.path()); err != nil {
			return err
		}
	}
	for _, t := range partial(size) {
		raw, err := readTile(r.fsys, t, r.rec.Log.Head().Size)
		if err != nil {
			return err
		}
		r.body(t.path(), raw)
	}
	raw, err := fs.ReadFile(r.fsys, checkpointPath(size))
	if err != nil {
		return err
	}
	r.size = size
	r.body(checkpointPath(size), raw)
	r.body("log/checkpoint", raw)
	return nil
}

// undated commits what is new of proofs of time, cosignatures and keys.
func (r *repository) undated() error {
	if r.parent == plumbing.ZeroHash {
		return nil
	}
	before := maps.Clone(r.files)
	for _, dir := range []string{"proofs", "log/cosignatures", "keys"} {
		if err := r.folder(dir); err != nil {
			return err
		}
	}
	if err := r.beside(); err != nil {
		return err
	}
	if maps.Equal(r.files, before) {
		return nil
	}
	return r.commit(r.when, "Proofs of time, cosignatures, keys, and what stands beside the record\n")
}

// folder adds every file below a folder, which need not exist.
func (r *repository) folder(dir string) error {
	return fs.WalkDir(r.fsys, dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name == dir:
			return nil
		case err != nil:
			return err
		case strings.HasPrefix(d.Name(), "."):
			return nil // left half written by a crash
		case d.IsDir():
			return nil
		}
		return r.file(name)
	})
}

// file adds a file of the record as it stands.
func (r *repository) file(name string) error {
	raw, err := fs.ReadFile(r.fsys, name)
	if err != nil {
		return err
	}
	hash := plumbing.ComputeHash(plumbing.BlobObject, raw)
	r.files.Set(name, hash)
	r.w.File(hash, int64(len(raw)), name, func(name string) ([]byte, error) { return fs.ReadFile(r.fsys, name) })
	return nil
}

// body adds a file of these bytes.
func (r *repository) body(name string, raw []byte) { r.files.Set(name, r.w.Body(raw)) }

// commit commits the tree, dated when, or like the commit before if that is later.
func (r *repository) commit(when time.Time, message string) error {
	if when.Before(r.when) {
		when = r.when
	}
	tree, err := r.w.Tree(r.files)
	if err != nil {
		return err
	}
	who := object.Signature{Name: r.o.Name, Email: r.o.Email, When: when.UTC()}
	c := &object.Commit{Author: who, Committer: who, Message: message, TreeHash: tree}
	if r.parent != plumbing.ZeroHash {
		c.ParentHashes = []publish.Hash{r.parent}
	}
	if r.parent, err = r.w.Commit(c, r.o.Signer); err != nil {
		return err
	}
	r.when = when
	r.report.Commits++
	return nil
}

// flush writes what is pending as a pack.
func (r *repository) flush() error {
	if len(r.w.Pending()) == 0 {
		return nil
	}
	name, err := r.w.WritePack(filepath.Join(r.dir, "objects", "pack"))
	if err != nil {
		return err
	}
	r.report.Packs = append(r.report.Packs, name)
	r.report.Written = append(r.report.Written, "objects/pack/"+name+".pack", "objects/pack/"+name+".idx")
	return nil
}

// refer makes what was written visible: the list of packs first, the branch last.
func (r *repository) refer() error {
	packs, err := r.packs()
	if err != nil {
		return err
	}
	for _, f := range []struct{ name, body string }{
		{"config", "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"},
		{"objects/info/packs", packs},
		{"refs/heads/" + branch, r.parent.String() + "\n"},
		{"info/refs", r.parent.String() + "\trefs/heads/" + branch + "\n"},
		{"HEAD", "ref: refs/heads/" + branch + "\n"},
	} {
		if err := r.replace(f.name, f.body); err != nil {
			return err
		}
	}
	return nil
}

// packs is the list of packs: the new ones, newest first, then the others as they were listed.
func (r *repository) packs() (string, error) {
	names := slices.Clone(r.report.Packs)
	slices.Reverse(names)
	listed, err := os.ReadFile(filepath.Join(r.dir, "objects", "info", "packs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for line := range strings.Lines(string(listed)) {
		if name, ok := strings.CutPrefix(strings.TrimSuffix(line, ".pack\n"), "P "); ok &&
			!slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var b strings.Builder
	for _, name := range names {
		b.WriteString("P " + name + ".pack\n")
	}
	return b.String() + "\n", nil
}

// replace writes a small file whole or not at all, and not at all if it is the same. A file that is
// shared with another tree by a hard link is not touched.
func (r *repository) replace(path, body string) error {
	name := filepath.Join(r.dir, filepath.FromSlash(path))
	if held, err := os.ReadFile(name); err == nil && string(held) == body {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(r.dir, workPrefix)
	if err != nil {
		return err
	}
	_, err = f.WriteString(body)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	r.report.Written = append(r.report.Written, path)
	return nil
}
