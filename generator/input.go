package generator

import (
	"fmt"

	"store.example/agentstore/generator/pages"
)

// Input is everything a build depends on: what the pages say, and where they go. The same Input
// gives the same bytes.
type Input struct {
	pages.Input
	// OutDir is the published tree.
	OutDir string
	// TwinsDir is where precompressed twins are kept, "" for none.
	TwinsDir string
	// Cache is the file that remembers what the last build made from what,
	// "" for a full build every time. It is trusted as long as the tree's
	// signed root is the one it remembers; edits by hand inside the tree are
	// found and undone by a build without it.
	Cache string
	// Full says that Cache is not looked at, only written.
	Full bool
	// PublicPools says that the site's pools are public on purpose, as the
	// specimen's are. Otherwise a published file that holds 64 bytes in a row
	// of a pool's text fails the build.
	PublicPools bool
	// Progress is called now and then, never twice at once, with the files
	// looked at, made or not, and as many as there may be; nil for no one to tell.
	Progress func(done, total int)

	// aside says that the tree is thrown away if the build fails, so that the
	// cache stays as it is until then.
	aside bool
	// outputs replaces the table, for tests.
	outputs []pages.Output
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

func (in *Input) check() error {
	switch {
	case in.Site == nil:
		return fmt.Errorf("%w: no site", pages.ErrInput)
	case in.Key == nil:
		return fmt.Errorf("%w: no key to sign with", pages.ErrInput)
	case in.OutDir == "":
		return fmt.Errorf("%w: no folder to write to", pages.ErrInput)
	}
	if err := in.Ring.Check(); err != nil {
		return err
	}
	if in.Ring.Identity().KID != in.Key.KID() {
		return fmt.Errorf("%w: the key %s is not the identity in force, %s", pages.ErrInput, in.Key.KID(),
			in.Ring.Identity().KID)
	}
	return nil
}
