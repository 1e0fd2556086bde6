package api

import (
	"cmp"
	"path"
	"strings"
)

// FilePattern tells the files of a representation by their paths below public/: Prefix, a value of
// the parameter, Suffix.
type FilePattern struct {
	Prefix, Suffix string
	Fixed          bool // there is no parameter, and one file: Prefix
	Deep           bool // the parameter takes slashes
}

// Pattern is that of the representation's path.
func (r Representation) Pattern() FilePattern {
	prefix, rest, holds := strings.Cut(r.Path, "{")
	name, suffix, _ := strings.Cut(rest, "}")
	return FilePattern{Prefix: prefix, Suffix: suffix, Fixed: !holds, Deep: strings.HasSuffix(name, "...")}
}

// Value is that of the parameter in the path of a file, false for a file that is none of these.
func (p FilePattern) Value(file string) (string, bool) {
	if p.Fixed {
		return "", file == p.Prefix
	}
	value, ok := strings.CutPrefix(file, p.Prefix)
	if !ok {
		return "", false
	}
	value, ok = strings.CutSuffix(value, p.Suffix)
	return value, ok && value != "" && (p.Deep || !strings.Contains(value, "/"))
}

// Find says which document of Documents a file represents, in which media type. A path that has no
// parameter comes before one that has.
func Find(file string) (d Document, mediaType string, found bool) {
	for _, fixed := range []bool{true, false} {
		for _, d := range Documents {
			for _, f := range d.Files {
				p := f.Pattern()
				if p.Fixed != fixed {
					continue
				}
				if _, ok := p.Value(file); ok {
					return d, f.MediaType, true
				}
			}
		}
	}
	return Document{}, "", false
}

// types are the media types of files by their endings.
var types = map[string]string{
	".html":  HTML,
	".md":    Markdown,
	".json":  JSON,
	".jsonl": JSONLines,
	".css":   CSS,
	".svg":   SVG,
	".png":   PNG,
	".ico":   ICO,
	".xml":   XML,
	".txt":   PlainText,
	".csv":   "text/csv; charset=utf-8",
	".js":    JavaScript,
	".wasm":  WebAssembly,
}

// TypeOf is the media type of a file that is no document.
func TypeOf(file string) string { return cmp.Or(types[path.Ext(file)], Binary) }
