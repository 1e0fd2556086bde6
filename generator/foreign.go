package generator

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"store.example/agentstore/corpus/attest"
)

// ErrForeign is wrapped when a folder that is to be built into holds what no
// build made.
var ErrForeign = errors.New("not a folder to build into")

// ours refuses a folder that is not a published tree, or one of a newer release. A full build
// removes whatever its manifest does not name, so that a slip in the name of the folder would cost
// somebody's sources and keys. A tree with a manifest was built, and its strays are swept; one
// that was cut off before it had one holds only what rows of the table name.
func (b *build) ours() error {
	if err := errors.Join(b.in.memoryIsNewer(), b.in.treeIsNewer(b.in.OutDir)); err != nil || b.tree.Fresh {
		return err
	}
	layout := attest.PublicLayout()
	if _, err := b.tree.Root.Lstat(layout.Head()); err == nil {
		return nil
	} else if !isMissing(err) {
		return fmt.Errorf("reading the published tree: %w", err)
	}
	named := namedBy(b.rows)
	return fs.WalkDir(b.tree.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("listing the published tree: %w", err)
		case d.IsDir(), strings.HasPrefix(name, layout.Place), strings.HasPrefix(name, bulkFolder+"/"),
			named.MatchString(finished(name)):
			return nil
		}
		return fmt.Errorf("%w: %s holds %s, which no build made, and a build removes what is not the site's; hint: "+
			"name an empty folder, or one that was built before",
			ErrForeign, b.in.OutDir, name)
	})
}

// finished is the name of the file that package tree is making under a name, and any other name as
// it is.
func finished(name string) string {
	dir, base := path.Split(name)
	if rest, ok := strings.CutPrefix(base, "."); ok {
		if rest, ok = strings.CutSuffix(rest, ".new"); ok {
			return dir + rest
		}
	}
	return name
}

// namedBy matches the paths that the rows of a table can give a file.
func namedBy(rows []output) *regexp.Regexp {
	var all []string
	for _, row := range rows {
		if row.name == "own_page" {
			continue // its pages may have any name, so that a name is no sign of a build
		}
		for _, f := range row.files {
			before, rest, holds := strings.Cut(f.Path, "{")
			pattern := regexp.QuoteMeta(before)
			if holds {
				parameter, after, _ := strings.Cut(rest, "}")
				any := "[^/]+"
				if strings.HasSuffix(parameter, "...") {
					any = ".+"
				}
				pattern += any + regexp.QuoteMeta(after)
			}
			all = append(all, pattern)
		}
	}
	return regexp.MustCompile("^(?:" + strings.Join(all, "|") + ")$")
}
