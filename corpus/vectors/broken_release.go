package vectors

import (
	"strings"

	"store.example/agentstore/corpus/rule"
)

// formOf makes bad observations of a base, none of its form.
func formOf(prefix, base string) func(name, why string, e edit) bad {
	return func(name, why string, e edit) bad {
		return bad{rule: rule.ObservationForm, name: prefix + name, why: why, base: base, edits: []edit{e}}
	}
}

// brokenReleases are of the record of two releases.
func brokenReleases() []bad {
	form := formOf("release-", "released")
	const first = "observation 1"
	return []bad{
		form("version", "a version with a space", member(first, "version", `"v1.0.0 x"`)),
		form("version-long", "a version of 65 characters", member(first, "version", `"`+strings.Repeat("v", 65)+`"`)),
		form("commit", "a commit of 41 digits", member(first, "commit", `"`+strings.Repeat("a", 41)+`"`)),
		form("none", "a release of no files", member("observation 2", "files", "[]")),
		form("name", "a file in a folder", swap("observation 2", `"name":"a"`, `"name":"a/b"`)),
		form("name-long", "a name of 101 characters", swap("observation 2", `"name":"a"`, `"name":"`+
			strings.Repeat("a", 101)+`"`)),
		form("digest", "a digest in upper case", swap("observation 2", `"sha256":"ab`, `"sha256":"AB`)),
		form("order", "files that are not sorted", swap(first, "store-v1.0.0-linux", "zstore-v1.0.0-linux")),
		form("same", "two files of one name", swap(first, "windows-amd64.zip", "linux-amd64.tar.gz")),
		form("many", "a release of 65 files", swap("observation 2", `{"name":"a","sha256":"`+strings.Repeat("ab", 32)+`"}`,
			manyFiles(65))),
		{rule: rule.ReleaseTwice, why: "another release of a version that was told", base: "released",
			edits: []edit{member("observation 2", "version", `"v1.0.0"`)}},
	}
}

// manyFiles are files of a release as JSON, sorted, with no brackets about them.
func manyFiles(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = `{"name":"` + strings.Repeat("a", i+1) + `","sha256":"` + strings.Repeat("ab", 32) + `"}`
	}
	return strings.Join(all, ",")
}
