package generator

import (
	"bytes"
	"fmt"
	"iter"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/derive"
)

// shardUnits streams the shards of the search index. A shard depends on what it holds and on
// nothing else.
func shardUnits(s *source) iter.Seq2[unit, error] {
	return func(yield func(unit, error) bool) {
		x, err := s.search()
		if err != nil {
			yield(unit{}, err)
			return
		}
		for i := range x.Len() {
			shard := x.Shard(i)
			u := unit{key: shard.Shard, value: i, made: func(d *digester) {
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

func (s *source) indexHosts() (*derive.SearchIndex, error) {
	b, err := s.book()
	if err != nil {
		return nil, err
	}
	return derive.IndexHosts(b.Roll), nil
}

func renderShard(s *source, u unit, _ string, _ attest.Digest) ([]byte, error) {
	x, err := s.search()
	if err != nil {
		return nil, err
	}
	shard := x.Shard(u.value.(int))
	return indented(shard)
}

func renderSearch(s *source, _ unit, _ string, _ attest.Digest) ([]byte, error) {
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
func asScript(render func(*source, unit, string, attest.Digest) ([]byte, error)) func(*source, unit, string,
	attest.Digest) ([]byte, error) {
	return func(s *source, u unit, mediaType string, made attest.Digest) ([]byte, error) {
		doc, err := render(s, u, mediaType, made)
		if err != nil {
			return nil, err
		}
		name := "corpus/search.json"
		if u.key != "" {
			name = "corpus/search/" + u.key + ".json"
		}
		return fmt.Appendf(nil, "(window.storeSearch = window.storeSearch || {})[%q] = %s;\n", name,
			bytes.TrimSpace(doc)), nil
	}
}
