package templates

import (
	"strings"
	"unicode/utf8"
)

// Wide begins the box in which a table scrolls by itself and by the keyboard; </div> ends it.
const Wide = `<div class="wide" tabindex="0" role="group" aria-label="A table, which may scroll">`

// maxWord is the longest word, in characters, that a table shows whole.
const maxWord = 40

// narrow shortens the words of a table's cell that are longer than maxWord in the middle, so that
// no name of a stranger's can widen a table, and reports whether there were any: then the whole
// text belongs into the title. The end of a name is kept, since that of a host says whose it is.
func narrow(s string) (shown string, cut bool) {
	if len(s) <= maxWord {
		return s, false
	}
	words := strings.Split(s, " ")
	for i, w := range words {
		if utf8.RuneCountInString(w) > maxWord {
			r := []rune(w)
			words[i], cut = string(r[:maxWord/2-1])+"…"+string(r[len(r)-maxWord/2:]), true
		}
	}
	return strings.Join(words, " "), cut
}
