package verify

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/corpus/screen"
)

// maxBeside is how many names of what was not looked at are written out for people; the JSON form
// has all.
const maxBeside = 12

// Print writes the report for people, dir being the tree's name.
func (r CloneReport) Print(w io.Writer, dir string) {
	for _, p := range r.Problems {
		fmt.Fprintf(w, "%s: %s", screen.Text(p.Path), p.Kind)
		if p.Detail != "" {
			fmt.Fprintf(w, ": %s", screen.Text(p.Detail))
		}
		if p.Rule != "" {
			fmt.Fprintf(w, " (rule %s)", p.Rule)
		}
		fmt.Fprintln(w)
	}
	if len(r.Problems) > 0 {
		fmt.Fprintf(w, "%s: NOT verified: %s\n", dir, screen.Count(len(r.Problems), "problem"))
		if r.LineEnds {
			fmt.Fprintln(w, "  Nothing else is wrong than that line ends were changed by git: clone with git -c "+
				"core.autocrlf=false clone …, and check that copy.")
		}
		return
	}
	for _, what := range r.Lacking() {
		fmt.Fprintf(w, "%s: UNPROVEN: %s\n", dir, screen.Text(what))
	}
	verified := Verified(r.Unjudged(), len(r.Lacking()) > 0)
	if r.Bare {
		fmt.Fprintf(w, "%s: %s: the record alone, without a manifest\n", dir, verified)
	} else {
		fmt.Fprintf(w, "%s: %s: %d files of %s are as %s signed them", dir, verified, r.Files, screen.Text(r.BaseURL),
			screen.Text(r.SignedBy))
		if r.Status != attest.SignerCurrent {
			fmt.Fprintf(w, " (a %s key)", r.Status)
		}
		fmt.Fprintln(w)
	}
	if c := r.Commits; c != nil {
		fmt.Fprintf(w, "  Commits to %.12s: %d signed by the store's git key in its time, %d not signed by anybody.\n",
			screen.Text(c.Head), c.Signed, c.Unsigned)
	}
	for _, what := range r.NotChecked {
		fmt.Fprintf(w, "  not checked: %s\n", what)
	}
	for _, f := range r.LeftOut {
		fmt.Fprintf(w, "  not covered, and named as such: %s\n", screen.Text(f))
	}
	if len(r.Beside) > 0 {
		some := r.Beside[:min(maxBeside, len(r.Beside))]
		fmt.Fprintf(w, "  beside them, and not looked at: %s", screen.Text(strings.Join(some, ", ")))
		if more := len(r.Beside) - len(some); more > 0 {
			fmt.Fprintf(w, " and %d more", more)
		}
		fmt.Fprintln(w)
	}
	if r.Record != nil {
		r.Record.print(w)
	}
	if r.Trusted || r.Specimen || r.Bare {
		r.Keys.Print(w, "record", "tree")
		return
	}
	// A manifest, which the identity signs, covers the ring.
	fmt.Fprintf(w, "  The keys were taken from the tree itself. Compare the identity with one you learned "+
		"elsewhere, or pass it with -ring:\n  %s\n", r.Identity)
}

// Print says of keys that are not trusted what they came with, such as the record, and of a
// specimen's what is whole by them, such as the tree.
func (k Keys) Print(w io.Writer, with, whole string) {
	switch {
	case k.Specimen:
		fmt.Fprintf(w, "  This is a specimen: its key is public by design, so the signature shows that the %s is "+
			"whole and nothing more.\n", whole)
	case !k.Trusted:
		fmt.Fprintf(w, "  The keys were taken from the %s itself. Compare the identity and the key of the log with "+
			"those you learned elsewhere, or pass them with -ring:\n  identity %s\n  log      %s\n", with,
			k.Identity, k.LogKey)
	}
}

// Verified says what came of a check that found nothing wrong: how many verdicts were not reached
// again, and whether anything that has to be shown is not.
func Verified(unjudged int64, lacking bool) string {
	switch {
	case lacking:
		return "UNPROVEN, while what is here is as it was signed"
	case unjudged > 0:
		return fmt.Sprintf("verified, but for %s, NOT judged again from the walks here",
			screen.Count(int(unjudged), "verdict"))
	}
	return "verified"
}

// print writes what was found of a record without problems.
func (r *RecordReport) print(w io.Writer) {
	if r.Leaves == 0 {
		fmt.Fprintln(w, "  The record is empty so far.")
		return
	}
	fmt.Fprintf(w, "  The record of %s: %d rounds", screen.Text(r.Origin), r.Rounds)
	if r.Rounds > 0 {
		fmt.Fprintf(w, " (%s to %s)", r.FirstWeek, r.LastWeek)
	}
	fmt.Fprintf(w, ", %d rows and %d observations, each signed and in its place; all rows in the index committed at "+
		"size %d, recomputed here.\n", r.Rows, r.Observations, r.Leaves)
	r.Lots.print(w)
	r.Verdicts.print(w)
	r.printErrata(w)
	if c := r.Control; c.Again+c.Unjudged+c.NotKept+c.Withdrawn > 0 {
		fmt.Fprintf(w, "  Control door: %d walks judged again; %d kept and not judged again; of %d the "+
			"walk is not kept here; %d withdrawn.\n", c.Again, c.Unjudged, c.NotKept, c.Withdrawn)
	}
	if r.Remembered > 0 {
		fmt.Fprintf(w, "  Its log goes on from the checkpoint of size %d that was seen before.\n", r.Remembered)
	}
	for _, by := range r.Cosigned {
		if by.Checkpoints == 0 {
			fmt.Fprintf(w, "  Witness %s cosigned none of its checkpoints.\n", by.Witness)
			continue
		}
		at := " at " + by.At.Format(time.RFC3339)
		if by.At.IsZero() {
			at = "" // an ML-DSA-44 cosignature may name no time
		}
		fmt.Fprintf(w, "  Witness %s cosigned %d of its checkpoints, the newest of size %d%s.\n", by.Witness,
			by.Checkpoints, by.Size, at)
	}
	if r.Quorum != nil && r.Quorum.Met {
		fmt.Fprintf(w, "  The quorum %s of the policy is met by its head of %d leaves.\n", screen.Text(r.Quorum.Name),
			r.Leaves)
	}
	waits := map[string]int{} // proofs of time that show nothing yet, by their state
	for _, p := range r.Proofs {
		switch p.State {
		case ots.StateVerified:
			fmt.Fprintf(w, "  %s: %s existed by %s, in Bitcoin block %d. Compare its hash with any explorer: %s\n",
				screen.Text(p.Path), p.subject(), p.Time.Format("2006-01-02"), p.Height, p.Block)
		default:
			waits[p.State]++
		}
	}
	for _, state := range slices.Sorted(maps.Keys(waits)) {
		means := state
		switch state {
		case ots.StatePending:
			means = "are pending: a calendar has promised a Bitcoin block and not named it yet"
		case ots.StateUnchecked:
			means = "name a Bitcoin block whose header is not here or shows too little work: get the record's newest " +
				"headers, or compare the block with any explorer (--json names each)"
		}
		fmt.Fprintf(w, "  Of the proofs of time, %d %s.\n", waits[state], screen.Text(means))
	}
}

// print says by what the orders of rounds were drawn.
func (l LotReport) print(w io.Writer) {
	if l.Block+l.Own == 0 {
		return
	}
	fmt.Fprintf(w, "  Orders: of %d rounds drawn again by a Bitcoin block that was fixed before it was made; of %d "+
		"by a value of the census's own, fixed with the roster", l.Block, l.Own)
	if l.Weak > 0 {
		fmt.Fprintf(w, "; %d of the blocks show too little work to be of the main chain", l.Weak)
	}
	if l.None > 0 {
		fmt.Fprintf(w, "; %d rounds do not say", l.None)
	}
	fmt.Fprintln(w, ".")
}

// maxErrata is how many errata are written out for people; the JSON form has all.
const maxErrata = 12

// restsWords says for people what an erratum rests on.
var restsWords = map[string]string{
	RestsOnAgain:     "judged again from a look of that week that is kept",
	RestsOnAlone:     "judged again from a look that is kept, while the row's own is NOT here",
	RestsOnKept:      "on a look of that week that is kept, NOT judged again",
	RestsOnWalk:      "on a purchase there in that week",
	RestsOnNotKept:   "on a look that is NOT kept here",
	RestsOnWithdrawn: "on a look that was withdrawn; another erratum took its place",
	RestsOnNothing:   "nothing gives another verdict",
}

// printErrata says which rows are corrected, and what that rests on.
func (r *RecordReport) printErrata(w io.Writer) {
	if len(r.Errata) == 0 {
		return
	}
	fmt.Fprintf(w, "  Errata: %d, which say what rows should have said:\n", len(r.Errata))
	for _, e := range r.Errata[:min(maxErrata, len(r.Errata))] {
		fmt.Fprintf(w, "    %s of %s: signed %s, now %s; %s (observation %d).\n", screen.Text(e.Host), e.Week,
			e.Signed,
			e.Now, restsWords[e.Rests], e.Observation)
	}
	if more := len(r.Errata) - maxErrata; more > 0 {
		fmt.Fprintf(w, "    and %d more\n", more)
	}
}

// subject names what a proof is about.
func (p ProofReport) subject() string {
	if p.Anchor > 0 {
		return fmt.Sprintf("anchor %d", p.Anchor)
	}
	return fmt.Sprintf("round %d", p.Sequence)
}

// print says how many verdicts were reached again, and why others were not.
func (r Rejudged) print(w io.Writer) {
	fmt.Fprintf(w, "  Verdicts: %d judged again from what is kept of the walk, each with the signed result", r.Again)
	if r.Unjudged > 0 {
		fmt.Fprintf(w, "; %d kept and not judged again", r.Unjudged)
	}
	if r.Withdrawn > 0 {
		fmt.Fprintf(w, "; %d whose walk was withdrawn", r.Withdrawn)
	}
	fmt.Fprintf(w, "; of %d the walk is not kept here; %d rows have no verdict because the host was not probed.\n",
		r.NotKept, r.Without)
}

// Head returns the signed checkpoint that was verified: what to remember for the next check, or to
// compare with others.
func (r *RecordReport) Head() []byte { return r.head.Raw }
