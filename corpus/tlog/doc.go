// Package tlog is the transparency log of a record, in the formats of C2SP: tiles and bundles of
// entries (tlog-tiles), checkpoints as signed notes (signed-note, tlog-checkpoint), proofs of one
// entry (tlog-proof) and cosignatures of witnesses (tlog-cosignature). It appends, opens at a
// checkpoint whose log key was in force at that size, proves inclusion and consistency, and checks
// what others prove.
//
// Entries are bytes to it: what a row or a round is, package record knows.
package tlog
