package pages

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"iter"
	"slices"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/generator/bulk"
	"store.example/agentstore/templates"
)

// shardUnits streams the shards of the search index. A shard depends on what it holds and on
// nothing else.
func shardUnits(s *Source) iter.Seq2[Unit, error] {
	return func(yield func(Unit, error) bool) {
		x, err := s.search()
		if err != nil {
			yield(Unit{}, err)
			return
		}
		for i := range x.Len() {
			shard := x.Shard(i)
			u := Unit{Key: shard.Shard, value: i, Made: func(d *Digester) {
				for _, h := range shard.Hits {
					d.text(h.Host, h.Line)
					d.number(int64(h.At))
				}
				d.number(shard.More)
			}}
			if !yield(u, nil) {
				return
			}
		}
	}
}

func (s *Source) indexHosts() (*derive.SearchIndex, error) {
	b, err := s.book()
	if err != nil {
		return nil, err
	}
	return derive.IndexHosts(b.Roll), nil
}

func renderShard(s *Source, u Unit, _ string, _ attest.Digest) ([]byte, error) {
	x, err := s.search()
	if err != nil {
		return nil, err
	}
	shard := x.Shard(u.value.(int))
	return indented(shard)
}

func renderSearch(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	b, err := s.book()
	if err != nil {
		return nil, err
	}
	x, err := s.search()
	if err != nil {
		return nil, err
	}
	return indented(b.SearchHead(x))
}

// asScript makes a script of a file of the index, which puts what it holds where the search looks
// for it.
func asScript(render func(*Source, Unit, string, attest.Digest) ([]byte, error)) func(*Source, Unit, string,
	attest.Digest) ([]byte, error) {
	return func(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
		doc, err := render(s, u, mediaType, made)
		if err != nil {
			return nil, err
		}
		name := "corpus/search.json"
		if u.Key != "" {
			name = "corpus/search/" + u.Key + ".json"
		}
		return fmt.Appendf(nil, "(window.storeSearch = window.storeSearch || {})[%q] = %s;\n", name,
			bytes.TrimSpace(doc)), nil
	}
}

// The page that asks the database of a year in the reader's browser, and the program that it runs.

// programFile is the name of the SQLite program: another version stands at another address, so that
// caches may keep it for ever.
func programFile() string { return "sqlite-" + bulk.ProgramDigest() }

// programUnit streams the program, if there are databases.
func programUnit(s *Source) iter.Seq2[Unit, error] {
	return func(yield func(Unit, error) bool) {
		if s.inBulk() {
			yield(Unit{Key: programFile(), value: bulk.Program(),
				Made: func(d *Digester) { d.digest(sha256.Sum256(bulk.Program())) }}, nil)
		}
	}
}

// years are those of which there is a database, the newest first.
func (s *Source) years() (out []string) {
	if !s.inBulk() {
		return nil
	}
	for _, r := range slices.Backward(s.Rounds) {
		if year := r.Week[:4]; !slices.Contains(out, year) {
			out = append(out, year)
		}
	}
	return out
}

func depsQuery(s *Source, _ int, d *Digester) {
	d.text(query.title, query.summary, query.body(s.Input))
	d.text(strings.Join(s.years(), " "))
	d.text(s.firstHost)
	d.text(programFile())
	for _, q := range bulk.Questions("") {
		d.text(q.Title)
		d.text(q.Query)
	}
}

func renderQuery(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	v := templates.QueryView{Chrome: s.chrome, Page: s.viewOf(u, query.title, query.summary, made), Years: s.years()}
	// A year and a host that the record has, so that the commands are not for show.
	year := "2026"
	if len(v.Years) > 0 {
		year, v.Program = v.Years[0], "/corpus/query/"+programFile()+".wasm"
	}
	host := cmp.Or(s.firstHost, "host.example")
	body, err := s.prose(strings.NewReplacer("YEAR", year, "HOST", host).Replace(query.body(s.Input)), fullFrame)
	if err != nil {
		return nil, err
	}
	v.Body = body
	for _, q := range bulk.Questions(host) {
		v.Questions = append(v.Questions, templates.Question(q))
	}
	return u.twin(&v, mediaType)
}
