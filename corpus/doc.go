// Package corpus is the signed record: what was observed at each door, week
// after week, in a form that a stranger can check alone.
//
// It owns two formats. A Row (store-row/v1) is one host in one weekly round,
// signed by itself, saying where it belongs, so that it can be cited alone and
// cannot be moved. A Round (store-round/v1) is the signed header that commits
// to a week's rows through the digests of its parts and to the round before it
// through previous_digest. Both are canonical JSON in declared order: their
// exact bytes are what is signed, hashed and logged.
//
//	leaf, err := corpus.SignRow(row, key)        // exact bytes, one log leaf
//	row, err = corpus.VerifyRow(leaf, key.Public())
package corpus
