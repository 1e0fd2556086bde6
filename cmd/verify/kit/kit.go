// Package kit is the command line of the stranger's verifier, which the binary verify and the verb
// store verify share, and the check that the verifier in a browser makes: of a clone of a published
// store or of its record, or of one exported bundle, with no network and no server code. It judges
// with corpus and corpus/verify alone.
package kit

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"store.example/agentstore/cmd/args"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/verify"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/corpus/tlog"
)

// The exit codes.
const (
	ExitVerified = 0
	ExitTrouble  = 1 // it could not be read
	ExitUsage    = 2
	ExitRefused  = 3 // something does not hold; each line names a file, or a place in a bundle
	ExitUnproven = 4 // what is there holds, and it does not show all that it has to, or that was demanded
	ExitForked   = 5 // the log signed two histories
	ExitUnjudged = 6 // everything holds, and verdicts whose walks are kept were not reached again: by no Judge
)

const usage = `usage: %s [flags] DIR         check a clone: a published tree, a record, or both
       %[1]s [flags] FILE        check an exported bundle, or a clone in a zip file
       %[1]s -artifact FILE      check a signed artifact: the answer of /api/verify/{id}, or of a purchase
       %[1]s [-leaf FILE] -ring FILE|-policy FILE FILE.tlog-proof
                                 check that a leaf stands in the log (c2sp.org/tlog-proof)
       %[1]s -proof LEAF [-o FILE] DIR
                                 write such a proof, with the leaf: LEAF is host@SEQUENCE or host@WEEK (a row),
                                 @SEQUENCE or @WEEK (a round), or the number of a leaf, such as an observation's
       %[1]s -export WHAT [-export WHAT…] [-o FILE] DIR
                                 put evidence from a record into a bundle
       %[1]s -follow URL|DIR -remember FILE [-host NAME]… [-exec PROGRAM]
                                 go on with a published record from where the last run left it, and say what changed:
                                 one step, for cron

No network is used, but by -follow. WHAT is a host (all that the record says of it), host@SEQUENCE or host@WEEK (one row, or that there
is none), or the file of a signed artifact, such as a certificate.

`

// settings are the flags.
type settings struct {
	ring, remember, out string
	record              string
	asOf, proof, leaf   string
	exports             []string
	witnesses           []tlog.Witness
	policy              *tlog.Policy
	follow, exec        string
	hosts, mirrors      []string
	json, noJudge       bool
	judge               record.Judge
	single              bool
}

// Program is a program of the check: how it was called, and what reaches verdicts again, nil for
// one that knows no batteries.
type Program struct {
	Name  string
	Judge record.Judge
}

// Run is the whole command; name is how it was called, and judge reaches verdicts again, nil for a
// program that knows no batteries. It returns the exit code.
func Run(ctx context.Context, p Program, words []string, stdout, stderr io.Writer) int {
	s := settings{judge: p.Judge}
	flags := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&s.ring, "ring", "",
		"file with the keys to trust: a key ring, or a copy of /.well-known/store-signing-key that you got "+
			"elsewhere; without it the keys that came with the thing are used and the identity is printed for "+
			"comparison")
	flags.StringVar(&s.remember, "remember", "", "file in which the last verified checkpoint is kept; a history that "+
		"does not go on from it is refused, and a bundle that ends before it is unproven; with -follow, what is "+
		"remembered from one run to the next")
	flags.Func("as-of", "ISO week, such as 2026-W47, up to which rounds are demanded: what ends before it is unproven",
		func(v string) error {
			s.asOf = v
			return verify.CheckAsOf(v)
		})
	flags.BoolVar(&s.json, "json", false, "print the report as JSON")
	flags.BoolVar(&s.single, "artifact", false, "FILE is a signed artifact as the store gave it: a certificate, a "+
		"context "+
		"anchor, a pass, an order, or the answer to a purchase; without -ring it is unproven whose signature it is")
	flags.StringVar(&s.record, "record", "", "with -artifact and -ring, the folder of a clone: the key of a delivery "+
		"receipt is looked up at the leaf of its log that the receipt names")
	flags.BoolVar(&s.noJudge, "no-judge", false, "leave out judging verdicts again, and exit with 0 all the same")
	flags.Func("export", "put a host, a row or an artifact into a bundle; may be given several times",
		func(v string) error {
			s.exports = append(s.exports, v)
			return nil
		})
	flags.Func("witness", "verifier key, name+id+base64, of a witness that you know: its cosignatures of the log are "+
		"checked and counted; may be given several times", func(v string) error {
		w, err := tlog.ParseWitness(v)
		s.witnesses = append(s.witnesses, w)
		return err
	})
	flags.StringVar(&s.proof, "proof", "", "write the proof of one leaf of the log of the record in DIR, under the "+
		"newest head that witnesses cosigned")
	flags.StringVar(&s.leaf, "leaf", "", "file with the exact bytes of the leaf of a proof, where the proof does not "+
		"bring them")
	flags.Func("policy", "file with a policy (c2sp.org/tlog-policy): the head of the log must be signed by one of its "+
		"logs, and without cosignatures as its quorum demands it is unproven", s.readPolicy)
	flags.StringVar(&s.out, "o", "-", "file of the exported bundle; - is standard output")
	s.followFlags(flags)
	flags.Usage = func() {
		fmt.Fprintf(stderr, usage, p.Name)
		flags.PrintDefaults()
		fmt.Fprint(stderr, "\nExit codes: 0 everything holds; 3 something does not; 4 what is there holds, and it "+
			"does not show all that it has to;\n5 the log signed two histories; 6 everything holds, and verdicts "+
			"whose walks are kept were not judged again;\n1 it could not be read; 2 called wrongly.\n")
	}
	if err := args.Parse(flags, words); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return ExitVerified
		}
		return ExitUsage
	}
	if s.noJudge {
		s.judge = nil
	}
	if !s.wellCalled(flags) {
		flags.Usage()
		return ExitUsage
	}
	var err error
	code := ExitVerified
	if s.follow != "" {
		code, err = s.step(ctx, stdout, stderr)
	} else if s.proof != "" {
		err = s.writeProof(flags.Arg(0), stdout)
	} else if len(s.exports) > 0 {
		err = s.export(flags.Arg(0), stdout, stderr)
	} else {
		code, err = s.verify(ctx, flags.Arg(0), stdout, stderr)
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %s\n", p.Name, said(err))
		if code != ExitRefused && code != ExitForked { // which is worse
			return ExitTrouble
		}
	}
	return code
}

// readPolicy is the flag -policy.
func (s *settings) readPolicy(name string) error {
	raw, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	p, err := tlog.ParsePolicy(raw)
	s.policy = &p
	return err
}

// said is an error as it may stand on a screen: it may repeat names that a stranger gave to files.
func said(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i := range lines {
		lines[i] = screen.Text(lines[i])
	}
	return strings.Join(lines, "\n")
}

// Report is of a clone or of a bundle. What is neither sound nor refused is unproven.
type Report interface {
	Print(w io.Writer, name string)
	Sound() bool
	Refused() bool
}

// verify checks what an argument names, prints the report and returns the exit code.
func (s *settings) verify(ctx context.Context, name string, stdout, stderr io.Writer) (int, error) {
	o := verify.CloneOptions{AsOf: s.asOf, Judge: s.judge,
		Witnesses: s.witnesses, Policy: s.policy, Now: time.Now(), Progress: progress(stderr)}
	var err error
	if s.ring != "" {
		if o.Ring, err = os.ReadFile(s.ring); err != nil {
			return ExitTrouble, err
		}
	}
	if s.remember != "" {
		if o.Remembered, err = verify.ReadRemembered(s.remember); err != nil {
			return ExitTrouble, err
		}
	}
	info, err := os.Stat(name)
	if err != nil {
		return ExitTrouble, err
	}
	if s.leaf != "" && !isProof(name) {
		return ExitTrouble, fmt.Errorf("%s is no %s, which -leaf is for", name, tlog.ProofFormat)
	}
	var report Report
	if s.single {
		report, err = artifact(name, o.Ring, s.record)
	} else if isProof(name) {
		report, err = s.checkProof(name, o.Ring)
	} else if info.IsDir() {
		if l, err := os.Lstat(filepath.Join(name, "current")); err == nil && l.Mode()&fs.ModeSymlink != 0 {
			if _, err := os.Stat(filepath.Join(name, "trees")); err == nil {
				return ExitTrouble, fmt.Errorf("%s holds the trees of a store, one for each build: name one, such as "+
					"%s", name, filepath.Join(name, "current"))
			}
		}
		var clone verify.CloneReport
		o.Commits = commits(ctx, name)
		clone, err = verify.Clone(ctx, os.DirFS(name), o)
		report = clone
	} else if info.Size() > verify.MaxBundle && !strings.HasSuffix(name, ".zip") {
		return ExitTrouble, fmt.Errorf("%s: %d bytes, and a bundle has at most %d", name, info.Size(), verify.MaxBundle)
	} else {
		var raw []byte
		if raw, err = os.ReadFile(name); err == nil {
			report, err = Check(ctx, raw, o)
		}
	}
	_, proof := report.(ProofReport)
	if clone, ok := report.(verify.CloneReport); err == nil && !proof && (len(s.witnesses) > 0 || s.policy != nil) {
		if !ok {
			return ExitTrouble, fmt.Errorf("%s is no clone, and holds no cosignatures: name the witness or the policy "+
				"with a clone", name)
		}
		if clone.Record == nil && !clone.Refused() {
			return ExitTrouble, fmt.Errorf("%s holds no record that a witness could have seen", name)
		}
	}
	if errors.Is(err, verify.ErrBundle) {
		fmt.Fprintf(stdout, "%s: NOT verified: %s\n", name, said(err))
		return ExitRefused, nil
	}
	if err != nil {
		return ExitTrouble, err
	}
	if s.json {
		err = json.NewEncoder(stdout).Encode(report)
	} else {
		report.Print(stdout, name)
	}
	u, ok := report.(interface{ Unjudged() int64 })
	unjudged := ok && u.Unjudged() > 0 && !s.noJudge
	if unjudged && err == nil && !report.Refused() {
		_, err = fmt.Fprintf(stderr, "note: this program knows no battery and judged no verdict again; `store verify "+
			"%s` does all of this and that\n", screen.Text(name))
	}
	if clone, ok := report.(verify.CloneReport); ok && err == nil && clone.Sound() && s.remember != "" &&
		clone.Record != nil {
		err = clone.Record.Remember(s.remember)
	}
	f, ok := report.(interface{ Forked() bool })
	switch {
	case ok && f.Forked():
		return ExitForked, err
	case report.Refused():
		return ExitRefused, err
	case !report.Sound():
		return ExitUnproven, err
	}
	if unjudged {
		return ExitUnjudged, err
	}
	return ExitVerified, err
}

// Check checks the bytes of a bundle or of a zip file of a clone. The error is verify.ErrBundle
// for what is neither.
func Check(ctx context.Context, raw []byte, o verify.CloneOptions) (Report, error) {
	if !bytes.HasPrefix(raw, []byte("PK")) {
		r, err := verify.VerifyBundle(raw, verify.BundleOptions{Ring: o.Ring, Remembered: o.Remembered, AsOf: o.AsOf,
			Difficulty: o.Difficulty, Judge: o.Judge})
		return r, err
	}
	tree, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return nil, fmt.Errorf("%w, and no zip file: %w", verify.ErrBundle, err)
	}
	if problems := astray(tree); len(problems) > 0 {
		return verify.CloneReport{Trusted: len(o.Ring) > 0, LeftOut: []string{},
			Problems: problems}, nil
	}
	r, err := verify.Clone(ctx, within(tree), o)
	return r, err
}

// astray are the entries of a zip file that would not stand where they are read, or not once: names
// that lead out of it, names twice, and what is neither a file nor a folder. Programs that unpack
// such a file differ in what they make of it.
func astray(z *zip.Reader) (out []verify.Problem) {
	seen := make(map[string]bool, len(z.File))
	for _, f := range z.File {
		problem := func(detail string) {
			out = append(out, verify.Problem{Path: f.Name, Kind: attest.ProblemAdded, Detail: detail})
		}
		switch name := strings.TrimSuffix(f.Name, "/"); {
		case !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\\\x00"):
			problem("its name leads elsewhere than into the folder")
		case seen[name]:
			problem("it is there twice")
		case !f.Mode().IsRegular() && !f.Mode().IsDir() || f.Mode().IsDir() != strings.HasSuffix(f.Name, "/"):
			problem("neither a file nor a directory")
		default:
			seen[name] = true
		}
	}
	return out
}

// within is the one folder that a zip file holds, if it holds nothing else.
func within(tree fs.FS) fs.FS {
	entries, err := fs.ReadDir(tree, ".")
	if err == nil && len(entries) == 1 && entries[0].IsDir() {
		if sub, err := fs.Sub(tree, entries[0].Name()); err == nil {
			return within(sub)
		}
	}
	return tree
}

// progress writes how far a check is, on a terminal alone.
func progress(w io.Writer) func(done, all int64) {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return func(done, all int64) {
		end := "\r"
		if done == all {
			end = "\x1b[K\r"
		}
		fmt.Fprintf(f, "  %d of %d rows%s", done, all, end)
	}
}
