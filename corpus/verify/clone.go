package verify

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/durable"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rule"
)

// SigningKeyFile is where a published tree keeps its own keys.
const SigningKeyFile = ".well-known/store-signing-key"

// CloneReport says what a check of a cloned tree found.
type CloneReport struct {
	BaseURL string `json:"base_url"`
	KID     string `json:"kid"` // of the identity
	Keys
	SignedBy string   `json:"signed_by"` // kid
	Status   string   `json:"signed_by_status"`
	Files    int64    `json:"files"`
	LeftOut  []string `json:"left_out"`
	// Record is there if the tree holds the record itself, as its manifest says.
	Record *RecordReport `json:"record,omitempty"`
	// Bare says that the record came as git brings it, without a manifest: everything that was
	// signed is checked, and nothing tells whether a proof of time or what a row was judged by was
	// taken away.
	Bare bool `json:"without_manifest"`
	// NotChecked says what could not be, in words.
	NotChecked []string `json:"not_checked,omitempty"`
	// Beside names what stands beside a published tree and a record, and was not looked at.
	Beside []string `json:"not_looked_at,omitempty"`
	// Commits is there if the commits of a clone by git could be read.
	Commits *CommitsReport `json:"commits,omitempty"`
	// LineEnds says that nothing else is wrong than that git changed the ends of lines.
	LineEnds bool `json:"line_ends_changed,omitzero"`
	// Problems name files. None: every byte is covered by the signature or named as left out.
	Problems []Problem `json:"problems"`
}

// Problem is one thing that is wrong with one file.
type Problem struct {
	Path   string `json:"path"`
	Kind   string `json:"kind"`
	Detail string `json:"detail,omitempty"`
	// Rule is the one of store-corpus/v1 that is broken; none for what stands around a record.
	Rule rule.Rule `json:"rule,omitempty"`
}

// CloneOptions says whom the one who checks a clone trusts. The zero value trusts the tree's own
// keys, which shows that the tree is whole and was signed by the key it names, and leaves it to the
// caller to compare that key with one learned elsewhere.
type CloneOptions struct {
	// Ring is the file form of a key ring or a copy of a signing-key document. A tree whose keys
	// follow from it by signed handovers is as good.
	Ring []byte
	// Commits yields those that stand below the head of a clone by git, the newest first; nil where
	// they cannot be read.
	Commits iter.Seq2[Commit, error]
	RecordOptions
}

// PublishedFolder is where a publication repository keeps the published tree, beside the record.
const PublishedFolder = "public"

// Clone checks, without any network, a published tree, a record, or what holds both: a record
// stands at the top or under corpus, a published tree at the top or, in a publication repository,
// under public.
func Clone(ctx context.Context, tree fs.FS, o CloneOptions) (CloneReport, error) {
	tree = Plain(tree)
	out, err := clone(ctx, tree, o)
	if err == nil && out.Refused() {
		out.LineEnds = lineEnds(ctx, tree, o, out.Problems)
	}
	return out, err
}

func clone(ctx context.Context, tree fs.FS, o CloneOptions) (CloneReport, error) {
	// The folder is the sign, and not a file in it that could be taken away.
	if info, err := fs.Stat(tree, PublishedFolder); err == nil && info.IsDir() {
		if _, err := fs.Stat(tree, SigningKeyFile); errors.Is(err, fs.ErrNotExist) {
			return verifyRepository(ctx, tree, o)
		}
	}
	return verifyTree(ctx, tree, o)
}

// verifyRepository checks both halves of a publication repository, each by itself and one against
// the other.
func verifyRepository(ctx context.Context, tree fs.FS, o CloneOptions) (out CloneReport, err error) {
	site, err := fs.Sub(tree, PublishedFolder)
	if err != nil {
		return out, err
	}
	place, holdsRecord := recordPlace(tree)
	siteOptions := o
	if holdsRecord {
		if out, err = verifyTree(ctx, tree, o); err != nil {
			return out, err
		}
		// Both are of one store: the keys of the one follow from those of the other.
		if raw, err := fs.ReadFile(tree, place+record.RingFile); err == nil && len(o.Ring) == 0 && out.Identity != "" {
			siteOptions.Ring = raw
		}
	}
	half, err := verifyTree(ctx, site, siteOptions)
	if err != nil {
		return out, err
	}
	for i := range half.Problems {
		half.Problems[i].Path = PublishedFolder + "/" + half.Problems[i].Path
	}
	for i := range half.LeftOut {
		half.LeftOut[i] = PublishedFolder + "/" + half.LeftOut[i]
	}
	if holdsRecord {
		half.Trusted, half.Record, half.Bare, half.NotChecked = out.Trusted, out.Record, out.Bare, out.NotChecked
		half.Commits = out.Commits
		half.Files += out.Files
		half.LeftOut = append(half.LeftOut, out.LeftOut...)
		half.Problems = append(half.Problems, out.Problems...)
	}
	if record, ok := FindRecord(tree); ok && len(half.Problems) == 0 {
		keys, err := fs.ReadFile(site, SigningKeyFile)
		if err != nil {
			return half, err
		}
		ring, err := parseKeys(keys)
		if err != nil {
			return half, err
		}
		if err := half.anchorLog(site, record, ring); err != nil {
			return half, err
		}
	}
	if half.Beside = out.Beside; holdsRecord {
		half.Beside = slices.DeleteFunc(half.Beside, func(name string) bool { return name == PublishedFolder })
		return half, nil
	}
	entries, err := fs.ReadDir(tree, ".")
	for _, e := range entries {
		if name := e.Name(); name != PublishedFolder && name != ".git" {
			half.Beside = append(half.Beside, name)
		}
	}
	return half, err
}

// verifyTree checks a published tree, a record, or a published tree that holds the record itself.
func verifyTree(ctx context.Context, tree fs.FS, o CloneOptions) (CloneReport, error) {
	out := CloneReport{Trusted: len(o.Ring) > 0, LeftOut: []string{}, Problems: []Problem{}}
	var keys attest.Ring
	if out.Trusted {
		var err error
		if keys, err = parseKeys(o.Ring); err != nil {
			return out, fmt.Errorf("reading the keys to trust: %w", err)
		}
	}
	place, holdsRecord := recordPlace(tree)
	// A record without a site around it has its keys in a file of its own.
	file := SigningKeyFile
	_, err := fs.Stat(tree, file)
	site := err == nil || !holdsRecord
	if !site {
		file = place + record.RingFile
	}
	if err := out.spelling(tree, place, site); err != nil || len(out.Problems) > 0 {
		return out, err
	}
	raw, err := fs.ReadFile(tree, file)
	var own attest.Ring
	if err == nil {
		own, err = parseKeys(raw)
	}
	if err == nil && !site {
		err = spelt(own, raw)
	}
	if err == nil {
		if !out.Trusted {
			keys = own
		}
		keys, err = successor(keys, own)
	}
	if err != nil && (!out.Trusted || own.Format != "") {
		broken := rule.Or(err, rule.RingForm)
		if errors.Is(err, fs.ErrNotExist) {
			broken = rule.FileMissing
		}
		out.Problems = append(out.Problems, Problem{Path: file, Kind: "unreadable", Detail: err.Error(), Rule: broken})
		return out, nil
	}
	out.KID, out.Keys = keys.Identity().KID, KeysOf(keys, out.Trusted)
	if site {
		if _, err := out.cover(ctx, tree, attest.PublicLayout(), rings{keys, own}, ""); err != nil {
			return out, err
		}
	}
	if holdsRecord {
		if err := out.checkRecord(ctx, tree, place, rings{keys, own}, o); err != nil {
			return out, err
		}
		if err := out.beside(tree, place, site); err != nil {
			return out, err
		}
		if record, _ := FindRecord(tree); len(out.Problems) == 0 && site {
			if err := out.anchorLog(tree, record, keys); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// Keys are those that a check rests on.
type Keys struct {
	Identity string `json:"identity"` // in force
	LogKey   string `json:"log_key"`  // in force; "" for none
	// Trusted says that the ring came from the caller and not with what was checked: then the keys
	// need no further look.
	Trusted  bool `json:"trusted_ring"`
	Specimen bool `json:"specimen"`
}

// KeysOf are those of a ring.
func KeysOf(ring attest.Ring, trusted bool) Keys {
	identity := ring.Identity()
	k := Keys{Identity: identity.Public.String(), Trusted: trusted,
		Specimen: attest.IsSpecimen([]byte(identity.Public))}
	if log, ok := ring.For(attest.PurposeLog); ok {
		k.LogKey = log.Public.String()
	}
	return k
}

// spelt demands that a ring stands in a file in its one spelling.
func spelt(r attest.Ring, raw []byte) error {
	if again, err := r.Encode(); err != nil || !bytes.Equal(again, raw) {
		return rule.RingForm.Errorf("not written the way rings are written")
	}
	return nil
}

// TrustedKeys returns the newer of two rings, where own, which came with what is to be checked,
// follows by signed handovers from trusted, or the other way round. Both may be the file form of a
// ring or a signing-key document. Without trusted it is own that speaks for itself.
func TrustedKeys(own, trusted []byte) (attest.Ring, error) {
	keys, err := parseKeys(own)
	if err != nil || len(trusted) == 0 {
		return keys, err
	}
	held, err := parseKeys(trusted)
	if err != nil {
		return attest.Ring{}, fmt.Errorf("reading the keys to trust: %w", err)
	}
	return successor(held, keys)
}

// parseKeys reads a ring in either of its forms.
func parseKeys(raw []byte) (attest.Ring, error) {
	r, err := attest.ParseRing(raw)
	if err == nil {
		return r, nil
	}
	doc, docErr := attest.ParseSigningKeyDocument(raw)
	if docErr != nil {
		return attest.Ring{}, errors.Join(err, docErr)
	}
	return doc, nil
}

// FindRecord returns the record that stands in a tree, at its top or under corpus.
func FindRecord(tree fs.FS) (fs.FS, bool) {
	place, ok := recordPlace(tree)
	sub, err := at(tree, place)
	return sub, ok && err == nil
}

// at is the folder at a place of a tree, as recordPlace names it.
func at(tree fs.FS, place string) (fs.FS, error) {
	if place == "" {
		return tree, nil
	}
	return fs.Sub(tree, strings.TrimSuffix(place, "/"))
}

// recordPlace finds the record in a tree: by any part of it, so that none can be missing unseen.
func recordPlace(tree fs.FS) (place string, found bool) {
	for _, sign := range []string{"manifest.json", "rounds", "observations", "log", "proofs", "corpus/manifest.json",
		"corpus/rounds", "corpus/observations"} {
		if _, err := fs.Stat(tree, sign); err == nil {
			if rest, ok := strings.CutPrefix(sign, "corpus/"); ok {
				return strings.TrimSuffix(sign, rest), true
			}
			return "", true
		}
	}
	return "", false
}

// beside names what stands beside the files of a record and is none of them: by no means an error,
// as a record may live in a folder with others, but for the one who asks to know. A published
// tree's manifest covers what is around it.
func (r *CloneReport) beside(tree fs.FS, place string, site bool) error {
	top, err := fs.ReadDir(tree, ".")
	if err != nil {
		return err
	}
	inner := top
	if place != "" {
		if inner, err = fs.ReadDir(tree, strings.TrimSuffix(place, "/")); err != nil {
			return err
		}
	}
	for _, e := range inner {
		if name := e.Name(); !record.Owns(name) && name != durable.LockFile &&
			(place != "" || !site && name != ".git") {
			r.Beside = append(r.Beside, place+name)
		}
	}
	for _, e := range top {
		if name := e.Name(); place != "" && !site && name+"/" != place && name != PublishedFolder && name != ".git" {
			r.Beside = append(r.Beside, name)
		}
	}
	return nil
}

// spelling refuses what not every machine could hold as it is here: names that differ in case
// alone, of which some keep one and some the other, and what is neither a file nor a directory.
// Beside a record only the names at its top are looked at, as it may live in a folder with others.
func (r *CloneReport) spelling(tree fs.FS, place string, site bool) error {
	if site {
		place = ""
	}
	tree, err := at(tree, place)
	if err != nil {
		return err
	}
	seen := make(map[string]string)
	return fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch folded := strings.ToLower(strings.ToUpper(name)); {
		case notPlain(d, err):
			r.Problems = append(r.Problems, Problem{Path: place + name, Kind: attest.ProblemAdded,
				Detail: "neither a file nor a directory", Rule: rule.FileKind})
			return nil
		case err != nil:
			return err
		case name == ".git" && d.IsDir():
			return fs.SkipDir
		case seen[folded] != "":
			twin := seen[folded]
			if !site && record.Owns(name) {
				name, twin = twin, name // it is the other one that does not belong here
			}
			r.Problems = append(r.Problems, Problem{Path: place + name, Kind: attest.ProblemAdded,
				Detail: "its name differs from " + twin + " in case alone", Rule: rule.FileName})
		default:
			seen[folded] = name
		}
		if d.IsDir() && !site && !record.Owns(name) {
			return fs.SkipDir
		}
		return nil
	})
}

// rings are the keys that a clone is checked with, and those that it names itself.
type rings struct {
	keys attest.Ring
	own  attest.Ring
}

// cover checks the manifest of a tree whose paths begin with place and whose own keys are own, and
// reports whether every file of it is as it was signed.
func (r *CloneReport) cover(ctx context.Context, tree fs.FS, l attest.Layout, k rings, place string) (bool, error) {
	report, err := attest.VerifyTree(ctx, tree, l, k.keys)
	if err != nil {
		return false, err
	}
	// Whoever holds a key that was given up may sign what he likes. A tree that was made before
	// that does not know of it.
	if by, ok := k.own.ByPublic(ed25519.PublicKey(report.Signer.Public)); ok && by.Status == attest.SignerRetired {
		report.Problems = append(report.Problems, attest.Problem{Path: l.Head(), Kind: attest.ProblemUnsigned,
			Detail: fmt.Sprintf("signed by %s, which the keys of this tree say was retired on %s", by.Key,
				by.RetiredOn), Rule: rule.ManifestKey})
	}
	r.Files += report.Files
	if r.BaseURL == "" {
		r.BaseURL, r.SignedBy, r.Status = report.Manifest.BaseURL, report.Signer.Key, report.Signer.Status
	}
	for _, name := range report.LeftOut {
		r.LeftOut = append(r.LeftOut, place+name)
	}
	// The manifest of a published tree that holds the record covers its files, and so does the
	// record's own: what both found is told once, by the one that says more.
	type what struct{ path, kind string }
	told := make(map[what]int, len(r.Problems))
	for i, p := range r.Problems {
		told[what{p.Path, p.Kind}] = i
	}
	for _, p := range report.Problems {
		p.Path = place + p.Path
		if i, ok := told[what{p.Path, p.Kind}]; !ok {
			r.Problems = append(r.Problems, Problem(p))
		} else if r.Problems[i].Detail == "" {
			r.Problems[i].Detail = p.Detail
		}
	}
	return len(report.Problems) == 0, nil
}

// checkRecord checks the record's manifest and, if every file is as it was signed, what the files
// say.
func (r *CloneReport) checkRecord(ctx context.Context, tree fs.FS, place string, k rings, o CloneOptions) error {
	_, err := fs.Stat(tree, ".git")
	byGit := err == nil
	if tree, err = at(tree, place); err != nil {
		return err
	}
	tree = record.FS{FS: tree}
	if place == "" && bare(tree) {
		r.Bare = true
		r.NotChecked = append(r.NotChecked, "whether a proof of time, or what a verdict was reached from, was taken "+
			"away, because there is no manifest")
		switch {
		case !byGit:
			r.NotChecked = append(r.NotChecked, "the signatures of commits, because there is no .git here")
		case o.Commits == nil:
			r.NotChecked = append(r.NotChecked, "the signatures of commits, which git verify-commit checks")
		}
	} else if sound, err := r.cover(ctx, tree, attest.CorpusLayout(), rings{k.keys, k.own}, place); err != nil ||
		!sound {
		return err
	}
	if byGit && o.Commits != nil {
		r.commits(o.Commits, k.keys)
	}
	report, err := Record(ctx, tree, k.keys, o.RecordOptions)
	if err != nil {
		return err
	}
	for _, p := range report.Problems {
		p.Path = place + p.Path
		r.Problems = append(r.Problems, p)
	}
	r.Record = &report
	return nil
}

// bare reports whether a record has no part of a manifest, as git and an archive made of its clone
// bring it.
func bare(record fs.FS) bool {
	l := attest.CorpusLayout()
	for _, name := range []string{l.Head(), l.Cosignatures(), l.Place} {
		if _, err := fs.Stat(record, name); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// anchorLog checks the anchor log of a published tree against the record in it.
func (r *CloneReport) anchorLog(site, tree fs.FS, keys attest.Ring) error {
	raw, err := fs.ReadFile(site, record.AnchorFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	rec, err := record.Open(tree, keys)
	if err != nil {
		return err
	}
	feed, err := rec.Observations()
	if err != nil {
		return err
	}
	if err := record.CheckAnchorLog(raw, keys, feed); err != nil {
		r.Problems = append(r.Problems, Problem{Path: record.AnchorFile, Kind: attest.ProblemChanged,
			Detail: err.Error()})
	}
	return nil
}
