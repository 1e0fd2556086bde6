// Package corpus has no code. Its folder holds the signed record of this store, what was observed
// at each door week after week in a form that a stranger can check alone, and beside it the
// packages that make, keep and check such a record:
//
//	record    rows, rounds and observations, their folder and their seal
//	tlog      the transparency log under it: tiles, checkpoints, proofs, witnesses
//	view      the record by host and by address, in sorted files
//	audit     the check of a whole record or of a whole clone
//	durable   files that outlive a crash
//
// The others walk doors, judge what these answer, and derive figures.
package corpus
