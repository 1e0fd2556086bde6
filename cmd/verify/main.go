// Verify checks, with no server code and, but for -follow, no network, a clone of a published store
// or of its record, or one exported bundle: every byte of a tree is covered by the signature of the
// store's key, or named as left out; each row of a record is signed and in its place, the rounds
// form one chain, nothing is missing from the log, each host index is what the rows give; and what
// the proofs of time show. Where git is installed, the signatures of a clone's commits are checked.
// It knows no battery: verdicts whose walks are kept beside them are judged again by `store
// verify`, which is this program with package rejudge, and takes the same flags.
//
//	verify [-ring FILE] [-remember FILE] [-as-of WEEK] [-policy FILE] [-json] [-no-judge] DIR|FILE
//	verify -export HOST|HOST@ROUND|FILE [-o FILE] DIR
//	verify -proof HOST@ROUND|@ROUND|LEAF [-o FILE] DIR
//	verify [-ring FILE] [-policy FILE] [-leaf FILE] FILE.tlog-proof
//	verify [-ring FILE] -release FILE DIR|FILE.tlog-proof
//	verify [-ring FILE] -artifact FILE
//	verify -follow URL -remember FILE [-host NAME]… [-exec PROGRAM] [-ring FILE] [-policy FILE] [-as-of WEEK] [-json]
//
// With -remember it keeps the last checkpoint it verified in a file and refuses, from then on, a
// history that does not go on from it, even if the store itself signed it. With -export it puts
// evidence from a record into one file (store-bundle/v1) that can be checked by itself for years to
// come.
//
// A bundle may have been cut: one that lacks a row of a host, from its first to the bundle's newest
// round, is unproven, and so is one that ends before the remembered checkpoint or before the week
// of -as-of.
//
// With -policy it reads a file of c2sp.org/tlog-policy: a log whose head is signed by none of the
// logs that it names does not hold (3), and a head that lacks cosignatures of the quorum is
// unproven (4), with the witnesses named that did not sign. Without it, anybody may have been shown
// a log of his own.
//
// With -proof it writes that one leaf stands in the log, a row, a round or any by its number, as a
// file of c2sp.org/tlog-proof, under the newest head that witnesses cosigned. The leaf is in the
// file's extra line; where it is not, as in the store's answers, -leaf gives its bytes. Such a file
// brings no keys: they are those of -ring, or the log of -policy, whose quorum it must meet.
//
// With -release it says besides in which version a file of a release stands in the log, an archive
// or SHA256SUMS: 3 for one that stands there with other bytes, 4 for one that does not.
//
// With -artifact it checks what was bought, in the answer to a purchase or of /api/verify/{id}.
// Where that shows in which tree of certificates one stands, it says which observation of the log
// has the root: the certificate was there by then.
//
// With -follow it reads a published record over HTTP, static files alone, and goes on from what it
// remembers: one step, for cron. It says what changed, and of each host that is named it checks the
// new rows and the index that commits to them. Of a log that signed two histories it keeps both
// heads beside what it remembers; -exec names a program that is told of that, and of what does not
// hold.
//
// It exits with 0 when everything holds, 3 when something does not (each line names a file), 4 when
// what is there holds and does not show all that it has to, 5 when the log signed two histories, 6
// when everything holds and verdicts whose walks are kept were not judged again (-no-judge asks for
// that, and gives 0), 1 when the tree could not be read and 2 when it was called wrongly.
package main

import (
	"context"
	"io"
	"os"

	"store.example/agentstore/cmd/verify/kit"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	return kit.Run(context.Background(), kit.Program{Name: "verify", Judge: nil}, args, stdout, stderr)
}
