package pages

import (
	"errors"
	"io/fs"
	"runtime"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/tlog"
	"store.example/agentstore/generator/publish"
	"store.example/agentstore/templates"
)

// Input is what the pages say. The same Input gives the same bytes.
type Input struct {
	// Site is what the keeper says and sells.
	Site *content.Site
	// API describes the routes of the server.
	API []api.Route
	// Ring holds the published keys; Key is the identity key in force and
	// signs what is signed of the pages.
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
	// Settings are the tables of a store's configuration, in their order, for the page about them.
	Settings []Setting
	// Networks are those on which payments are taken, CAIP-2, in the order in
	// which they are offered; none is Base alone.
	Networks []string
	// Workers is how many files are made at once, 0 for one a processor.
	Workers int
	// Reload is put into the head of each page while the site is watched.
	Reload templates.Markup
}

// ErrInput is wrapped by what is wrong with an Input.
var ErrInput = errors.New("incomplete build input")

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

// Concurrency is how many files are made at once.
func (in *Input) Concurrency() int {
	if in.Workers > 0 {
		return in.Workers
	}
	return runtime.GOMAXPROCS(0)
}
