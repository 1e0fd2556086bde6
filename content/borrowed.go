package content

import (
	"iter"
	"maps"
	"slices"
)

// Borrowed returns the files, sorted, that still hold at least one text of other sites: of the
// specimen and of the shop that store init makes. Those are public, and speak for nobody, so a shop
// that sells for real money must have none.
func (s *Site) Borrowed(from ...*Site) []string {
	public := make(map[string]bool)
	for _, other := range from {
		for text := range other.own() {
			public[text] = true
		}
	}
	files := make(map[string]bool)
	for text, file := range s.own() {
		if public[text] {
			files[lies(s.stock, file)] = true
		}
	}
	return slices.Sorted(maps.Keys(files))
}

// own yields the texts that are a keeper's own to write, with the file that each stands in: what is
// sold, what the porch says, what is said of neighbours, and the first page.
func (s *Site) own() iter.Seq2[string, string] {
	return func(yield func(text, file string) bool) {
		for name, p := range s.Pools {
			for _, e := range p.Entries {
				if !yield(e.Digest, poolFolder+name+".toml") {
					return
				}
			}
		}
		for _, i := range s.Issues {
			if !yield(i.Body, paidFolder+i.Publication.Name) {
				return
			}
		}
		for _, g := range s.Goods {
			if g.Text != "" && !yield(g.Text, g.File()) {
				return
			}
		}
		for _, n := range s.Directory {
			if !yield(n.Review, directoryFile) {
				return
			}
		}
		said := s.Porch
		for _, lists := range []map[string][]string{said.Parts, said.Seasons, said.Weathers, said.Weekdays} {
			for _, list := range lists {
				for _, line := range list {
					if !yield(line, porchFile) {
						return
					}
				}
			}
		}
		if p, ok := s.Page("index"); ok {
			yield(p.Body, p.File())
		}
	}
}
