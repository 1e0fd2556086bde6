// Package audit checks a whole record, or a whole clone of what a store published, with keys and
// nothing else: every signature, the chain, the log recomputed from its leaves, proofs of time,
// every verdict judged again from what is kept, and that no file is missing and none was added. It
// needs no network and writes nothing but the head that a verifier wants remembered.
//
// It owns no format but that of its reports. One row, round or proof by itself is checked by the
// package that defines it.
package audit
