// Package monitor follows a published record: step by step it takes what was added to the log since
// the last step, and remembers the head that it took. It reads static files alone, in the layout of
// a record's folder, and asks no server for an answer made for it.
//
// A step checks that the head is signed by a log key in force, that the log goes on from the head
// that was taken before, that each new round follows from the one before it and stands in the log,
// and that every other new leaf is an observation. Of each host that is followed it looks up the
// entry in the newest host index, reads the rows behind the one that it saw last, and demands that
// the entry is the fold of the one before and these rows, and that a round in which the index has
// no row of the host has none. It does not read the rows of other hosts: that is for package audit.
//
// The first step has nothing to compare with, and takes what it sees; the keys may be pinned.
//
// It owns the format of what it remembers (store-monitor/v1): a State as canonical JSON and a
// newline, closed with its own digest. Nothing in it is secret.
//
//	source, err := monitor.Get(ctx, "https://store.example/corpus")
//	report, next, err := monitor.Step(source, before, monitor.Options{Hosts: hosts})
package monitor
