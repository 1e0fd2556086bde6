// Wasm is the stranger's verifier for a browser: the check of cmd/verify, called from a worker script. It sets one
// global function,
//
//	verifyStore(files, options, progress) → Promise of {sound, text, report, head}
//
// files is an array of {name, bytes}: one file without a folder in its name is a bundle or a zip file, more are a clone.
// options holds keys and checkpoint, texts that may be empty, as for verify -ring and -remember. progress(done, all) is
// called now and then. sound is true when everything holds; text and report say what was found, for people and as JSON;
// head is the verified checkpoint of a clone. The promise is rejected for what could not be read.
package main
