package generator

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/tlog"
	"store.example/agentstore/generator/publish"
	"store.example/agentstore/templates"
)

// Input is everything a build depends on. The same Input gives the same bytes.
type Input struct {
	// Site is what the keeper says and sells.
	Site *content.Site
	// API describes the routes of the server.
	API []api.Route
	// Ring holds the published keys; Key is the identity key in force and
	// signs the manifest.
	Ring attest.Ring
	Key  *attest.Key
	// Corpus is the folder of the signed record (rounds, observations, proofs,
	// log, evidence, keys), nil for none.
	Corpus fs.FS
	// Witnesses are those to whom the head of the record's log is shown; the published policy
	// demands more than half of them.
	Witnesses []tlog.Witness
	// Bulk asks for the bulk files of the record and for its repository, nil
	// for neither. They are exempt from what is said above of equal bytes.
	Bulk *Bulk
	// Verifier holds the verifier for browsers, verify.wasm and wasm_exec.js, made
	// outside the build; nil for a site without it, whose page says so.
	Verifier fs.FS
	// MaxHostFiles is up to how many hosts of the record have files; above it
	// the server renders their pages on request. 0 for no limit.
	MaxHostFiles int
	// OutDir is the published tree.
	OutDir string
	// TwinsDir is where precompressed twins are kept, "" for none.
	TwinsDir string
	// Cache is the file that remembers what the last build made from what,
	// "" for a full build every time. It is trusted as long as the tree's
	// signed root is the one it remembers; edits by hand inside the tree are
	// found and undone by a build without it.
	Cache string
	// Settings are the tables of a store's configuration, in their order, for the page about them.
	Settings []Setting
	// Networks are those on which payments are taken, CAIP-2, in the order in
	// which they are offered; none is Base alone.
	Networks []string
	// Full says that Cache is not looked at, only written.
	Full bool
	// PublicPools says that the site's pools are public on purpose, as the
	// specimen's are. Otherwise a published file that holds 64 bytes in a row
	// of a pool's text fails the build.
	PublicPools bool
	// Workers is how many files are made at once, 0 for one a processor.
	Workers int
	// Progress is called now and then, never twice at once, with the files
	// looked at, made or not, and as many as there may be; nil for no one to tell.
	Progress func(done, total int)

	// aside says that the tree is thrown away if the build fails, so that the
	// cache stays as it is until then.
	aside bool
	// reload is put into the head of each page while the site is watched.
	reload templates.Markup
	// outputs replaces the table, for tests.
	outputs []output
}

// Report says what a build did.
type Report struct {
	Files    int   // in the tree, manifest included
	Rendered int   // files rendered
	Written  int   // files whose bytes changed
	Deleted  int   // files the table no longer names
	Bytes    int64 // of all files
	Root     string
}

// ErrInput is wrapped by what is wrong with an Input.
var ErrInput = errors.New("incomplete build input")

func (in *Input) check() error {
	switch {
	case in.Site == nil:
		return fmt.Errorf("%w: no site", ErrInput)
	case in.Key == nil:
		return fmt.Errorf("%w: no key to sign with", ErrInput)
	case in.OutDir == "":
		return fmt.Errorf("%w: no folder to write to", ErrInput)
	}
	if err := in.Ring.Check(); err != nil {
		return err
	}
	if in.Ring.Identity().KID != in.Key.KID() {
		return fmt.Errorf("%w: the key %s is not the identity in force, %s", ErrInput, in.Key.KID(),
			in.Ring.Identity().KID)
	}
	return nil
}

func (in *Input) workers() int {
	if in.Workers > 0 {
		return in.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// Bulk asks for the bulk files of the record and for its git repository.
//
// They depend on the versions of libraries, and git's history on what was committed before. So they
// are made in the tree and kept there for as long as the record is what it was: a build takes them
// as they stand, and a clone of the tree has them. They are in the manifest; that they would come
// out the same elsewhere is not promised.
type Bulk struct {
	// Signer signs the commits of Name and Email, nil for no repository.
	Signer      publish.Signer
	Name, Email string
}

// Setting is a table of the configuration, or, without a name, the keys that stand before all
// tables.
type Setting struct {
	// Name is what stands between the brackets.
	Name string
	// Text is TOML with what each key means above it.
	Text string
}
