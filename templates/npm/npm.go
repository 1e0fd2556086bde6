// Package npm holds the store's npm package, which checks what a store signs and buys there, and
// says what stands in its archive. Its programs are JavaScript, in the files beside this one; each
// says what it is for.
package npm

import (
	"embed"
	"fmt"
	"regexp"
	"strings"

	"store.example/agentstore/corpus/rule"
)

//go:embed *.js *.d.ts package.json README.md
var files embed.FS

// File is a file of the package, by its path in it.
type File struct {
	Name string
	Data []byte
}

// formTable is the module that has the forms of the record.
const formTable = "// The forms of the record, as the store publishes them at /spec/store-corpus/v1/forms.txt.\n" +
	"import { readForms } from \"./forms.js\";\n\nexport const fits = readForms(String.raw`\n%s`);\n"

// Files are the files of the package in the order of their names. version is one of the store; the
// licence is the repository's.
func Files(version string, licence []byte) ([]File, error) {
	all := []File{{"LICENSE", licence}, {"formtable.js", fmt.Appendf(nil, formTable, rule.Forms())}}
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		data, err := files.ReadFile(e.Name())
		if err != nil {
			return nil, err
		}
		if e.Name() == "package.json" {
			data = []byte(strings.Replace(string(data), `"0.0.0"`, `"`+Version(version)+`"`, 1))
		}
		all = append(all, File{e.Name(), data})
	}
	return all, nil
}

// semantic is a version as npm takes it.
var semantic = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)

// Version is the npm form of what git describes a commit by: v1.2.3 is 1.2.3, and a commit without
// a tag before it is 0.0.0-g and its digest.
func Version(described string) string {
	if v := strings.TrimPrefix(described, "v"); semantic.MatchString(v) {
		return v
	}
	return "0.0.0-g" + described
}
