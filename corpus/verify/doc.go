// Package verify checks what a store published, with keys and nothing else, in three ways that
// share their steps and the head of their reports: a whole record or clone (Record, Clone), a file
// of
// evidence that stands by itself (VerifyBundle), and a log that is followed (Follow).
//
// It owns no format but those of its reports, of bundles and of what a follower remembers. One row,
// round or proof by itself is checked by the package that defines it.
//
// # A clone
//
// Every signature is checked, the chain, the log recomputed from its leaves, proofs of time, every
// verdict judged again from what is kept, and that no file is missing and none was added. That
// needs no network and writes nothing but the head that a verifier wants remembered.
//
// # A bundle
//
// A bundle (store-bundle/v1) holds rows of the record with all that shows, without a network and
// without the store, where they stand and who signed them. It is one JSON object on one line, in
// the order and spelling in which Encode writes it, and a newline; there is no other spelling.
// Texts that were signed stand in it as JSON strings that
// hold their exact bytes:
//
//	format      store-bundle/v1
//	keys        the store's key ring: current keys, retired ones, signed handovers
//	checkpoint  the log's head when the bundle was made, a signed note (c2sp.org/tlog-checkpoint); "" without rounds
//	handovers   for each handover of the log's key before the checkpoint: its size in leaves, and the hashes from the last
//	            head of the outgoing key to the checkpoint
//	rounds      for each round: header (store-round/v1), proof (c2sp.org/tlog-proof of the leaf that commits to it, under
//	            the checkpoint that was signed when the round was sealed), consistency (hashes from that checkpoint to
//	            the one above), and, where there is one, time: an OpenTimestamps proof of the round's digest, in
//	            base64, and the block headers that it rests on, in hexadecimal
//	after       what shows that behind the newest round no other stands: the first and the last observation between it and
//	            the head, with their proofs; their numbers count what is between
//	rows        for each row: row (store-row/v1), proof (its own inclusion), judgement (store-judgement/v1, what its
//	            verdict was reached from; absent where that is not kept)
//	hosts       for each host: its entry in the host index of the newest round here, which commits to all its rows up to
//	            there, or that it was never seen, by its neighbours in the index
//	artifacts   certificates and other signed artifacts, with the exact bytes that were signed
//	sha256      of everything before it, closed with a brace
//
// Rounds are sorted by sequence, hosts by name and rows by both. The rounds are those of the rows
// and the newest. The digest makes any changed byte plain; what is stated rests on signatures
// alone: of the identity key on headers, rows and artifacts, and of the log key on checkpoints.
//
//	b, err := Export(record, keys, []Want{{Host: "door.example"}})
//	raw, err := b.Encode()
//	report, err := VerifyBundle(raw, BundleOptions{Ring: learnedElsewhere})
//
// # A log that is followed
//
// A follower takes step by step what was added to the log since the last one, and remembers the
// head that it took. It reads static files alone, in the layout of
// a record's folder, and asks no server for an answer made for it.
//
// A step checks that the head is signed by a log key in force, that the log goes on from the head
// that was taken before, that each new round follows from the one before it and stands in the log,
// and that every other new leaf is an observation. Of each host that is followed it looks up the
// entry in the newest host index, reads the rows behind the one that it saw last, and demands that
// the entry is the fold of the one before and these rows, and that a round in which the index has
// no row of the host has none, and it
// reads no rows of other hosts.
//
// The first step has nothing to compare with, and takes what it sees; the keys may be pinned.
//
// It owns the format of what it remembers (store-monitor/v1): a State as canonical JSON and a
// newline, closed with its own digest. Nothing in it is secret.
//
//	source, err := OpenLogSource(ctx, "https://store.example/corpus")
//	report, next, err := Follow(source, before, FollowOptions{Hosts: hosts})
package verify
