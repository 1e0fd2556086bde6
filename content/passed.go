package content

import "path"

// unwritten are the names of what no keeper wrote, as patterns of path.Match: hidden files, and
// what editors, systems and merges leave beside the files they work on.
var unwritten = []string{
	".*",                       // hidden
	"*~",                       // a backup by Emacs, Vim, nano or gedit
	"#*#",                      // unsaved work of Emacs
	"4913",                     // Vim tries by it whether it may write in a folder
	"Thumbs.db", "desktop.ini", // Windows Explorer
	"*.orig", "*.rej", // git mergetool, patch
}

// PassedOver reports whether a file or folder of this name, without its folder, is none of the
// sources: nothing reads it, and what is written to it builds nothing.
func PassedOver(name string) bool {
	for _, pattern := range unwritten {
		if ok, err := path.Match(pattern, name); ok || err != nil {
			return ok
		}
	}
	return false
}
