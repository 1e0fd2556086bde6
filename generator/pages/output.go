package pages

import (
	"fmt"
	"io"
	"iter"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/templates"
)

// Output is a row of the table: one published file or a family of them. The
// paths and media types of its files are those of the document of the same
// name in content/api; a row whose document has a parameter is a family with
// one unit for each value. A parameter {name...} takes values with slashes.
//
// A unit's files depend on what was added to its digest and on nothing else;
// every unit depends on the shared parts of the pages besides. A dependency
// that is left out shows as a difference between an incremental build and a
// full one, which a test over random edits looks for.
type Output struct {
	// Name of the row, and of its document.
	Name string
	// keys lists the values of a small family in increasing byte order, and deps
	// adds what its unit i depends on. Without keys there is a single unit, 0.
	keys func(s *Source) []string
	deps func(s *Source, i int, d *Digester)
	// Stream yields the units of a family that may be too large to be held, such
	// as one over hosts, in increasing byte order of their keys. It stands in
	// place of keys and deps. A row without a parameter may stream one unit with
	// an empty key, or none.
	Stream func(s *Source) iter.Seq2[Unit, error]

	// list yields the keys of a stream alone, where that takes less; nil for none.
	list func(s *Source) iter.Seq2[string, error]

	// place is what stands for a key in paths; nil: the key itself.
	place func(key string) string

	// One of three makes the representations of a unit. render returns one, which
	// stands until the next is made; made is the digest of what the unit was made
	// from. write is for what may be too
	// large for memory. copy names the file of the record's folder that is
	// published as it stands.
	Render func(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error)
	Write  func(s *Source, u Unit, mediaType string, w io.Writer) error
	Copy   func(u Unit) string
	// Sum is the SHA-256 of a file that was rendered, where its renderer has worked
	// it out; nil for nowhere.
	Sum func(u Unit, mediaType string) (attest.Digest, bool)

	// prose names the page of the site whose text is all that a row's page holds, and program is
	// the one whose text comes with the program: either stands in place of deps and render.
	prose   string
	program *programPage

	// bare says that the units do not depend on the shared parts of the pages.
	bare bool
	// Files are the representations when the row has no document.
	Files []api.Representation
	// parameter is filled in when the table is made: "{item_id}".
	parameter string
}

// Unit is one member of a family, or the single one of a row.
type Unit struct {
	// Key is the value of the parameter.
	Key string
	// at is the unit's place in a family that lists its keys.
	at int
	// Made adds what a streamed unit depends on. It is called by a worker, at
	// most once, and must not touch what the stream goes on with.
	Made func(d *Digester)
	// value is what the stream hands to the renderer.
	value any
	// Row is the unit's, and scratch memory of the worker.
	Row     *Output
	Scratch *Scratch
}

// Scratch is memory that a worker uses again for each unit.
type Scratch struct {
	File []byte            // a renderer may make a file in it, which is done with when the next one is made
	page *derive.TiersView // the page of the list of hosts that was made last
}

// Units yields what a row consists of, in increasing byte order of the keys.
func (o *Output) Units(s *Source) iter.Seq2[Unit, error] {
	if o.Stream != nil {
		return o.Stream(s)
	}
	return func(yield func(Unit, error) bool) {
		keys := []string{""}
		if o.keys != nil {
			keys = o.keys(s)
		}
		for i, key := range keys {
			if !yield(Unit{Key: key, at: i}, nil) {
				return
			}
		}
	}
}

// names yields the keys of a row alone.
func (o *Output) names(s *Source) iter.Seq2[string, error] {
	if o.list != nil {
		return o.list(s)
	}
	return func(yield func(string, error) bool) {
		for u, err := range o.Units(s) {
			if !yield(u.Key, err) {
				return
			}
		}
	}
}

// Path is the file of a unit.
func (o *Output) Path(f api.Representation, key string) string {
	if o.parameter == "" {
		return f.Path
	}
	return strings.Replace(f.Path, o.parameter, o.placed(key), 1)
}

func (o *Output) placed(key string) string {
	if o.place == nil {
		return key
	}
	return o.place(key)
}

// Digest is of everything that a unit is made from.
func (o *Output) Digest(s *Source, u Unit, d *Digester) attest.Digest {
	d.text(o.Name)
	if !o.bare {
		d.digest(s.shared)
	}
	switch {
	case o.Stream != nil:
		u.Made(d)
	case o.deps != nil:
		o.deps(s, u.at, d)
	}
	return d.sum()
}

// twin is a page in one of its two forms, in the memory of the worker.
func (u Unit) twin(v templates.View, mediaType string) (body []byte, err error) {
	switch mediaType {
	case api.HTML:
		body, err = templates.AppendHTML(u.Scratch.File[:0], v)
	case api.Markdown:
		body, err = templates.AppendMarkdown(u.Scratch.File[:0], v)
	default:
		return unknown(mediaType)
	}
	u.Scratch.File = body
	return body, err
}

// unknown is the error of a renderer that is asked for a media type it does
// not make.
func unknown(mediaType string) ([]byte, error) {
	return nil, fmt.Errorf("no renderer for %s", mediaType)
}

// viewOf is the head of the page of a unit.
func (s *Source) viewOf(u Unit, title, summary string, made attest.Digest) templates.Page {
	p := templates.Page{Title: title, Summary: summary, Made: made.String(), Reload: s.Reload}
	p.Path = strings.Replace(Documents[u.Row.Name].Path, u.Row.parameter, u.Key, 1)
	for _, f := range u.Row.Files {
		switch f.MediaType {
		case api.Markdown:
			p.Twin = "/" + u.Row.Path(f, u.Key)
		case api.JSON:
			p.Data = "/" + u.Row.Path(f, u.Key)
		}
	}
	return p
}

// programPage is a page whose text comes with the program. Its body is Markdown.
type programPage struct {
	title, summary string
	body           func(in *Input) string
}
