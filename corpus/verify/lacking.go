package verify

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/corpus/tlog"
)

// What a bundle lacks is told from what is signed, and never from what it says of itself: whoever
// cuts one refits that.

func (v *verifier) unproven(u Unproven) { v.out.Unproven = append(v.out.Unproven, u) }

// handovers checks that the log goes on from each head at which its key changed hands. A bundle
// that ends before one cannot show that: whoever holds a key that was given up could have signed a
// log of his own up to there.
func (v *verifier) handovers() {
	if v.head.Size == 0 {
		if len(v.b.Handovers) > 0 {
			v.problem("handovers[0]", errors.New("there is no checkpoint that it could lead to"))
		}
		return
	}
	at := 0
	for _, h := range v.ring.LogHandovers() {
		place := fmt.Sprintf("handovers[%d]", at)
		switch {
		case h.Size > v.head.Size:
			v.unproven(Unproven{Detail: fmt.Sprintf("that its log is the beginning of the one whose key was handed "+
				"over at %d leaves, as this bundle ends at %d: get a newer one, or check it with the keys of its time",
				h.Size, v.head.Size)})
		case h.Size == v.head.Size: // whose root is that of the ring, or it had not been opened
		case at >= len(v.b.Handovers) || v.b.Handovers[at].Size != h.Size:
			v.problem(place, fmt.Errorf("the log changed hands at %d leaves, and nothing leads from there to the "+
				"checkpoint", h.Size))
			return
		default:
			from := tlog.Checkpoint{Origin: v.head.Origin, Size: h.Size, Root: h.Root}
			if err := tlog.CheckConsistency(v.b.Handovers[at].Consistency, from, v.head); err != nil {
				v.problem(place, fmt.Errorf("rewritten: the log does not go on from the head of %d leaves at which "+
					"it changed hands: %w", h.Size, err))
			}
			at++
		}
	}
	if at < len(v.b.Handovers) {
		v.problem(fmt.Sprintf("handovers[%d]", at), errors.New("the log did not change hands there"))
	}
}

// lacking says what the bundle does not show and has to.
func (v *verifier) lacking() {
	if len(v.out.Rounds) == 0 {
		switch {
		case v.b.Checkpoint != "" || len(v.b.Artifacts) == 0:
			v.unproven(Unproven{Detail: "anything: it holds no round"})
		case v.o.AsOf != "":
			v.unproven(Unproven{Detail: "anything as of " + v.o.AsOf + ": it holds no round"})
		}
		if len(v.b.After) > 0 {
			v.problem("after[0]", errors.New("there is no round that it could stand behind"))
		}
		return
	}
	newest := v.out.Rounds[len(v.out.Rounds)-1]
	v.out.CompleteTo, v.out.Week = newest.Sequence, newest.Week
	if len(v.out.Hosts) == 0 {
		v.unproven(Unproven{Detail: "anything: it holds rounds and says of no host what stands in them"})
	}
	for i := range v.out.Hosts {
		v.history(&v.out.Hosts[i])
	}
	v.after(v.rounds[newest.Sequence])
	if v.before != nil && v.before.Size > v.head.Size {
		v.unproven(Unproven{Detail: fmt.Sprintf("anything behind round %d: the log was seen at %d leaves before, and "+
			"this bundle knows %d of them", newest.Sequence, v.before.Size, v.head.Size)})
	}
	if v.o.AsOf > newest.Week {
		v.unproven(Unproven{Detail: fmt.Sprintf("anything as of %s: its newest round, %d, is of %s", v.o.AsOf,
			newest.Sequence, newest.Week)})
	}
}

// history demands the rows that a host's entry in the newest round commits to. Whoever leaves some
// out cannot make the others give the entry; where they stood is told by what is here, as each row
// was signed with the place of the one before it.
func (v *verifier) history(h *BundleHost) {
	rows := v.placed[h.Host]
	wrong := func(format string, args ...any) {
		v.problem(fmt.Sprintf("hosts[%d]", h.at), fmt.Errorf("following the rows of %s: "+format,
			append([]any{h.Host}, args...)...))
	}
	var gaps []BundleSpan
	var fold record.HostEntry
	missing := func(from int64, leaf *int64) {
		to := v.roundOf(*leaf)
		if gaps = append(gaps, BundleSpan{from, to}); to < from {
			wrong("leaf %d, which comes before, is of round %d at most", *leaf, to)
		}
	}
	next := &h.entry.LastLeaf // of the row that is due, from the newest back
	if h.entry.Rows == 0 {
		next = nil
	}
	for _, row := range slices.Backward(rows) {
		switch {
		case next == nil:
			wrong("there is one in round %d, and none is due", row.sequence)
		case row.leaf > *next:
			wrong("leaf %d stands before that of round %d, which is %d", *next, row.sequence, row.leaf)
		case row.leaf < *next:
			missing(row.sequence+1, next)
		}
		next = row.previous
	}
	if next != nil {
		missing(h.entry.FirstSequence, next)
	}
	for _, row := range rows {
		fold = fold.Next(h.Host, row.sequence, row.leaf, row.sum)
	}
	switch lacks := h.entry.Rows - int64(len(rows)); {
	case len(gaps) == 0 && fold != h.entry, len(gaps) > 0 && lacks < 1,
		next == nil && fold.FirstSequence != h.entry.FirstSequence:
		wrong("they do not give what the index of the newest round says of it")
	case len(gaps) == 0:
		h.Whole = true
	default:
		slices.Reverse(gaps)
		detail := fmt.Sprintf("its history: %d of its %s not here, of %s", lacks,
			screen.Count(int(h.entry.Rows), "row"), spans(gaps))
		v.unproven(Unproven{Host: h.Host, Rounds: gaps, Detail: detail})
	}
}

// roundOf is the newest round that a leaf may be of, as far as the rounds that are here tell.
func (v *verifier) roundOf(leaf int64) int64 {
	at, _ := slices.BinarySearchFunc(v.out.Rounds, leaf, func(r RoundReport, leaf int64) int {
		return cmp.Compare(v.rounds[r.Sequence].LeavesEnd(), leaf+1)
	})
	if at == len(v.out.Rounds) {
		return v.out.CompleteTo
	}
	round := v.rounds[v.out.Rounds[at].Sequence]
	if leaf < round.FirstLeaf {
		return round.Sequence - 1
	}
	return round.Sequence
}

// maxSpans is how many spans are written out for people; the JSON form has all.
const maxSpans = 12

// spans are rounds in words.
func spans(gaps []BundleSpan) string {
	var out []string
	many := len(gaps) > 1
	for i, g := range gaps {
		if i == maxSpans {
			out = append(out, fmt.Sprintf("%d more gaps", len(gaps)-i))
			break
		}
		if g.From == g.To {
			out = append(out, fmt.Sprint(g.From))
			continue
		}
		many = true
		out = append(out, fmt.Sprintf("%d to %d", g.From, g.To))
	}
	text := out[len(out)-1]
	if len(out) > 1 {
		text = strings.Join(out[:len(out)-1], ", ") + " and " + text
	}
	if many {
		return "rounds " + text
	}
	return "round " + text
}

// after demands that no round stands between the newest one and the head: that there is nothing, or
// observations alone. They are numbered without a gap, so that the numbers of the first and the
// last count them.
func (v *verifier) after(newest record.Round) {
	first, last := newest.LeavesEnd(), v.head.Size-1
	var numbers []int64
	for i, l := range v.b.After {
		n, err := v.observation(l, []int64{first, last}[min(i, 1)])
		switch {
		case errors.Is(err, errElsewhere): // as if it were not here
			continue
		case err == nil && i > 0 && first == last:
			err = errors.New("there is but one leaf")
		}
		if err != nil {
			v.problem(fmt.Sprintf("after[%d]", i), err)
			return
		}
		numbers = append(numbers, n)
	}
	switch {
	case first > last && len(v.b.After) > 0:
		v.problem("after[0]", fmt.Errorf("nothing stands behind round %d", newest.Sequence))
	case first > last:
	case first == last && len(numbers) == 1, len(numbers) == 2 && numbers[1]-numbers[0] == last-first:
	default:
		v.unproven(Unproven{Detail: fmt.Sprintf("that round %d is the newest: of the leaves behind it, %d to %d, it "+
			"does not show that all are observations", newest.Sequence, first, last)})
	}
}

// errElsewhere is returned for an observation that stands at another place than is looked at.
var errElsewhere = errors.New("it stands elsewhere in the log")

// observation checks an observation under the head and returns its number.
func (v *verifier) observation(l BundleLeaf, index int64) (int64, error) {
	o, at, err := v.observed(l)
	if at >= 0 && at != index {
		err = errElsewhere
	}
	return o.Number, err
}

// observed checks an observation under the head and returns where its proof places it, -1 if that
// proves nothing.
func (v *verifier) observed(l BundleLeaf) (o record.Observation, index int64, err error) {
	proof, err := tlog.ParseProof([]byte(l.Proof))
	if err != nil {
		return o, -1, err
	}
	c, err := proof.Verify([]byte(l.Leaf), v.ring)
	if err != nil {
		return o, -1, err
	}
	if c.Size != v.head.Size || c.Root != v.head.Root || c.Origin != v.head.Origin {
		return o, -1, fmt.Errorf("checking proof: under a head of %d leaves of %s, want %d of %s", c.Size, c.Origin,
			v.head.Size, v.head.Origin)
	}
	o, err = record.VerifyObservation([]byte(l.Leaf), v.ring)
	return o, proof.Index, err
}

// errata says beside each row what an erratum here says of it. That there are no others is not
// shown.
func (v *verifier) errata() {
	next := 0 // row that may be corrected
	for i, l := range v.b.Errata {
		o, at, err := v.observed(l)
		if err == nil && (o.Erratum == nil || at <= o.Erratum.Leaf) {
			err = fmt.Errorf("observation %d corrects no row before it", o.Number)
		}
		if err == nil {
			n := slices.IndexFunc(v.out.Rows[next:], func(r RowReport) bool { return r.Leaf == o.Erratum.Leaf })
			if next += n + 1; n < 0 {
				err = fmt.Errorf("it corrects leaf %d, which is no row here behind the one before", o.Erratum.Leaf)
			}
		}
		if err != nil {
			v.problem(fmt.Sprintf("errata[%d]", i), err)
			return
		}
		row := &v.out.Rows[next-1]
		row.Corrected = &record.Correction{Observation: o.Number, At: o.At, Signed: row.Verdict,
			Now: o.Erratum.VerdictNow, Reason: o.Erratum.Reason, Evidence: o.Erratum.EvidenceDigest,
			Kind: o.Erratum.Kind, Cause: o.Erratum.Cause, Checks: o.Erratum.Checks}
	}
}
