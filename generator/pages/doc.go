// Package pages is what is published, and how it is rendered: a row of its table for each file or
// family of files, which says what the file is made from and makes it. It writes nothing; package
// generator walks the table, makes what changed and signs the tree.
//
//	rows, err := pages.Prepare(pages.Table())
//	s, err := pages.NewSource(&pages.Input{Site: site, API: routes, Ring: ring, Key: key}, rows)
//	for u, err := range rows[0].Units(s) {
//		body, err := rows[0].Render(s, u, api.HTML, made)
//	}
//
// A page for people is a view of package templates, and its Markdown the same view in text.
package pages
