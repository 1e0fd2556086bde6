// Wasm is the stranger's verifier for a browser: the check of cmd/verify, called from a worker
// script. It sets one global function,
//
//	verifyStore(files, options, progress) → Promise of {sound, unproven, text, report, head}
//
// files is an array of {name, bytes}: one file without a folder in its name is a bundle or a zip
// file, more are a clone. options holds keys, checkpoint and asOf, texts that may be empty, as for
// verify -ring, -remember and -as-of. progress(done, all) is called now and then. sound is true
// when everything holds; unproven when what is there holds and does not show all that it has to;
// text and report say what was found, for people and as JSON; head is the verified checkpoint of a
// clone. The promise is rejected for what could not be read.
package main
