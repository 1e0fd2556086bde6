package content

import (
	"strings"
)

const directoryFile = "directory.toml"

// Neighbour is a line of the directory: what the keeper has to say of a service, a project or a
// kind of endpoint nearby. It is a review and no reading: what was measured stands in the record.
type Neighbour struct {
	Name string `toml:"name"`
	// Kind is a word or two: client library, chain node.
	Kind string `toml:"kind"`
	// Where it is found, plain text, "" for a kind of endpoint. It is not linked.
	Where  string `toml:"where"`
	Review string `toml:"review"`
}

// directory reads the reviews, of which there may be none.
func (l *loader) directory() []Neighbour {
	text, ok := l.text(directoryFile)
	if !ok {
		return nil
	}
	var raw struct {
		Reviews []Neighbour `toml:"review_of"`
	}
	if !l.decode(directoryFile, text, &raw) {
		return nil
	}
	lines := linesOf(text, "review_of")
	seen := make(map[string]bool)
	for i, n := range raw.Reviews {
		f := sourceFile{l: l, name: directoryFile, text: text}
		if i < len(lines) {
			f.line = lines[i]
		}
		f.prose("name", n.Name, 80)
		f.prose("kind", n.Kind, 40)
		f.optional("where", n.Where, 120)
		f.prose("review", n.Review, 320)
		if key := strings.ToLower(n.Name); seen[key] {
			f.fail("name", "%q stands twice", n.Name)
		} else {
			seen[key] = true
		}
	}
	return raw.Reviews
}
