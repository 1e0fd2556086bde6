// Package gitpack makes git's objects in bulk: trees, signed commits and packs, without a work tree
// and without a file for each object. What is written with it is a function of its input, so that
// equal objects give equal packs.
//
//	w, files := gitpack.NewWriter(), gitpack.Files{}
//	files.Set("rounds/1/header.json", w.Body(raw))
//	tree, err := w.Tree(files)
//	commit, err := w.Commit(&object.Commit{TreeHash: tree, …}, signer)
//	name, err := w.WritePack("corpus.git/objects/pack")
package gitpack
