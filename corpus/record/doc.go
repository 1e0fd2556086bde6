// Package record is the signed record: what was observed at each door, week after week, written
// once and in a form that a stranger can check alone.
//
// It owns the formats of all that is signed in it. A Row (store-row/v1) is one host in one weekly
// round, signed by itself, saying where it belongs, so that it can be cited alone and cannot be
// moved. A Round (store-round/v1) is the signed header that commits to a week's rows through the
// digests of its parts and to the round before it through previous_digest. An Observation
// (store-observation/v1) is what was born between rounds; a stranger's words in it stand by salted
// digest, in files that can be withdrawn (store-words/v1). What rows were judged by stands in packs
// (store-evidence-index/v1), and anchors (store-anchor-log/v1) follow from the keys and the counts.
// All are canonical JSON in declared order: their exact bytes are what is signed, hashed and
// logged.
//
//	leaf, err := record.SignRow(row, key)        // exact bytes, one log leaf
//	row, err = record.VerifyRow(leaf, key.Public())
//
// A Record is opened and read; package seal appends to it. The log itself is package tlog's. That
// nothing is missing from a record, and nothing was added, is for package verify to find; package
// hostindex answers for one host without reading the rest.
package record
