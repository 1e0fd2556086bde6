package generator

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

// output is a row of the table: one published file or a family of them. The
// paths and media types of its files are those of the document of the same
// name in content/api; a row whose document has a parameter is a family with
// one unit for each value. A parameter {name...} takes values with slashes.
//
// A unit's files depend on what was added to its digest and on nothing else;
// every unit depends on the shared parts of the pages besides. A dependency
// that is left out shows as a difference between an incremental build and a
// full one, which a test over random edits looks for.
type output struct {
	// name of the row, and of its document.
	name string
	// keys lists the values of a small family in increasing byte order, and deps
	// adds what its unit i depends on. Without keys there is a single unit, 0.
	keys func(s *source) []string
	deps func(s *source, i int, d *digester)
	// stream yields the units of a family that may be too large to be held, such
	// as one over hosts, in increasing byte order of their keys. It stands in
	// place of keys and deps. A row without a parameter may stream one unit with
	// an empty key, or none.
	stream func(s *source) iter.Seq2[unit, error]

	// list yields the keys of a stream alone, where that takes less; nil for none.
	list func(s *source) iter.Seq2[string, error]

	// place is what stands for a key in paths; nil: the key itself.
	place func(key string) string

	// One of three makes the representations of a unit. render returns one, which
	// stands until the next is made; made is the digest of what the unit was made
	// from. write is for what may be too
	// large for memory. copy names the file of the record's folder that is
	// published as it stands.
	render func(s *source, u unit, mediaType string, made attest.Digest) ([]byte, error)
	write  func(s *source, u unit, mediaType string, w io.Writer) error
	copy   func(u unit) string
	// sum is the SHA-256 of a file that was rendered, where its renderer has worked
	// it out; nil for nowhere.
	sum func(u unit, mediaType string) (attest.Digest, bool)

	// prose names the page of the site whose text is all that a row's page holds, and program is
	// the one whose text comes with the program: either stands in place of deps and render.
	prose   string
	program *programPage

	// bare says that the units do not depend on the shared parts of the pages.
	bare bool
	// files are the representations when the row has no document.
	files []api.Representation
	// parameter is filled in when the table is made: "{item_id}".
	parameter string
}

// unit is one member of a family, or the single one of a row.
type unit struct {
	// key is the value of the parameter.
	key string
	// at is the unit's place in a family that lists its keys.
	at int
	// made adds what a streamed unit depends on. It is called by a worker, at
	// most once, and must not touch what the stream goes on with.
	made func(d *digester)
	// value is what the stream hands to the renderer.
	value any
	// row is the unit's, and scratch memory of the worker.
	row     *output
	scratch *scratch
}

// scratch is memory that a worker uses again for each unit.
type scratch struct {
	file []byte            // a renderer may make a file in it, which is done with when the next one is made
	page *derive.TiersView // the page of the list of hosts that was made last
}

// units yields what a row consists of, in increasing byte order of the keys.
func (o *output) units(s *source) iter.Seq2[unit, error] {
	if o.stream != nil {
		return o.stream(s)
	}
	return func(yield func(unit, error) bool) {
		keys := []string{""}
		if o.keys != nil {
			keys = o.keys(s)
		}
		for i, key := range keys {
			if !yield(unit{key: key, at: i}, nil) {
				return
			}
		}
	}
}

// names yields the keys of a row alone.
func (o *output) names(s *source) iter.Seq2[string, error] {
	if o.list != nil {
		return o.list(s)
	}
	return func(yield func(string, error) bool) {
		for u, err := range o.units(s) {
			if !yield(u.key, err) {
				return
			}
		}
	}
}

// path is the file of a unit.
func (o *output) path(f api.Representation, key string) string {
	if o.parameter == "" {
		return f.Path
	}
	return strings.Replace(f.Path, o.parameter, o.placed(key), 1)
}

func (o *output) placed(key string) string {
	if o.place == nil {
		return key
	}
	return o.place(key)
}

// digest is of everything that a unit is made from.
func (o *output) digest(s *source, u unit, d *digester) attest.Digest {
	d.text(o.name)
	if !o.bare {
		d.digest(s.shared)
	}
	switch {
	case o.stream != nil:
		u.made(d)
	case o.deps != nil:
		o.deps(s, u.at, d)
	}
	return d.sum()
}

// twin is a page in one of its two forms, in the memory of the worker.
func (u unit) twin(v templates.View, mediaType string) (body []byte, err error) {
	switch mediaType {
	case api.HTML:
		body, err = templates.AppendHTML(u.scratch.file[:0], v)
	case api.Markdown:
		body, err = templates.AppendMarkdown(u.scratch.file[:0], v)
	default:
		return unknown(mediaType)
	}
	u.scratch.file = body
	return body, err
}

// unknown is the error of a renderer that is asked for a media type it does
// not make.
func unknown(mediaType string) ([]byte, error) {
	return nil, fmt.Errorf("no renderer for %s", mediaType)
}

// viewOf is the head of the page of a unit.
func (s *source) viewOf(u unit, title, summary string, made attest.Digest) templates.Page {
	p := templates.Page{Title: title, Summary: summary, Made: made.String(), Reload: s.reload}
	p.Path = strings.Replace(documents[u.row.name].Path, u.row.parameter, u.key, 1)
	for _, f := range u.row.files {
		switch f.MediaType {
		case api.Markdown:
			p.Twin = "/" + u.row.path(f, u.key)
		case api.JSON:
			p.Data = "/" + u.row.path(f, u.key)
		}
	}
	return p
}

// programPage is a page whose text comes with the program. Its body is Markdown.
type programPage struct {
	title, summary string
	body           func(in *Input) string
}
