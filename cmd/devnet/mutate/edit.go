package main

import (
	"cmp"
	"slices"
)

// mutant is one small fault that can be planted in a file.
type mutant struct {
	file  string // as the parser was given it
	line  int
	in    string // the function that it is in, or the constant
	what  string // the change, for people
	fixed bool   // not switchable: a constant, which needs a build of its own
	edits []edit
}

// id names a mutant in the list of those that are explained: it has no file and no line, and its
// text has no layout, so that it outlives edits elsewhere.
func (m mutant) id(pkg string) string { return pkg + " " + m.in + " " + m.what }

// edit replaces bytes of a file. Where several meet at one offset, what closes an expression comes
// before what opens one.
type edit struct {
	from, to int
	with     string // %d, where it stands, is the mutant's number
	rank     int    // among edits at one offset
}

// planted is a file with the mutants' edits, each with its number.
func planted(src []byte, list map[int]mutant) []byte {
	type numbered struct {
		edit
		n int
	}
	var all []numbered
	for n, m := range list {
		for _, e := range m.edits {
			all = append(all, numbered{e, n})
		}
	}
	slices.SortFunc(all, func(a, b numbered) int {
		// Of two that close at one place, the later number opened last.
		n := cmp.Compare(a.n, b.n)
		if a.rank < 0 {
			n = -n
		}
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.rank, b.rank), n)
	})
	var out []byte
	at := 0
	for _, e := range all {
		out = append(append(out, src[at:e.from]...), number(e.with, e.n)...)
		at = e.to
	}
	return append(out, src[at:]...)
}
