// Package corpus has no code. Its folder holds the signed record of this store, what was observed
// at each door week after week in a form that a stranger can check alone, and beside it the
// packages that make, keep and check such a record:
//
//	record    rows, rounds and observations, and their folder
//	seal      what is appended to it
//	tlog      the transparency log under it: tiles, checkpoints, proofs, witnesses
//	hostindex the record by host and by address, in one file
//	tier      the history and the tier of one host
//	derive    what is shown of the record
//	audit     the check of a whole record or of a whole clone
//	durable   files that outlive a crash
//
// The others walk doors and judge what these answer.
package corpus
