// Package bundle makes and checks self-contained files of evidence (store-bundle/v1): rows of the
// record with all that shows, without a network and without the store, where they stand and who
// signed them.
//
// A bundle is one JSON object on one line, in the order and spelling in which Encode writes it, and
// a newline; there is no other spelling. Texts that were signed stand in it as JSON strings that
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
//	b, err := bundle.Export(record, keys, []bundle.Want{{Host: "door.example"}})
//	raw, err := b.Encode()
//	report, err := bundle.Verify(raw, bundle.Options{Ring: learnedElsewhere})
package bundle
