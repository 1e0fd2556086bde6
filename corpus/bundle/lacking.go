package bundle

import (
	"errors"
	"fmt"
	"strings"

	"agentstore/corpus/record"
	"agentstore/corpus/tlog"
)

// What a bundle lacks is told from what is signed, and never from what it says of itself: whoever cuts one refits that.

func (v *verifier) unproven(u Unproven) { v.out.Unproven = append(v.out.Unproven, u) }

// handovers checks that the log goes on from each head at which its key changed hands. A bundle that ends before one
// cannot show that: whoever holds a key that was given up could have signed a log of his own up to there.
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
			v.unproven(Unproven{Detail: fmt.Sprintf("that its log is the beginning of the one whose key was handed over at %d leaves, as this bundle ends at %d: get a newer one, or check it with the keys of its time", h.Size, v.head.Size)})
		case h.Size == v.head.Size: // whose root is that of the ring, or it had not been opened
		case at >= len(v.b.Handovers) || v.b.Handovers[at].Size != h.Size:
			v.problem(place, fmt.Errorf("the log changed hands at %d leaves, and nothing leads from there to the checkpoint", h.Size))
			return
		default:
			from := tlog.Checkpoint{Origin: v.head.Origin, Size: h.Size, Root: h.Root}
			if err := tlog.CheckConsistency(v.b.Handovers[at].Consistency, from, v.head); err != nil {
				v.problem(place, fmt.Errorf("rewritten: the log does not go on from the head of %d leaves at which it changed hands: %w", h.Size, err))
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
		v.history(&v.out.Hosts[i], newest.Sequence)
	}
	v.after(v.rounds[newest.Sequence])
	if v.before != nil && v.before.Size > v.head.Size {
		v.unproven(Unproven{Detail: fmt.Sprintf("anything behind round %d: the log was seen at %d leaves before, and this bundle knows %d of them", newest.Sequence, v.before.Size, v.head.Size)})
	}
	if v.o.AsOf > newest.Week {
		v.unproven(Unproven{Detail: fmt.Sprintf("anything as of %s: its newest round, %d, is of %s", v.o.AsOf, newest.Sequence, newest.Week)})
	}
}

// history demands that a host is spoken of in every round from its first sighting to the newest round of the bundle, and
// follows its rows from one to the next. Each row was signed with the place of the one before it.
func (v *verifier) history(h *HostReport, newest int64) {
	var gaps []Span
	next := int64(1) // the round that is not spoken of yet
	skip := func(to int64) {
		if to > next {
			gaps = append(gaps, Span{next, to - 1})
		}
		next = to + 1
	}
	shown := make(map[int64]bool, len(h.Present))
	for _, n := range h.Present {
		shown[n] = true
	}
	var last *placed
	for _, n := range merged(h.Present, h.Absent) {
		if !shown[n] {
			skip(n)
			continue
		}
		row := v.placed[Want{h.Host, n}]
		wrong := func(format string, args ...any) {
			v.problem(fmt.Sprintf("rows[%d]", row.at), fmt.Errorf("following the rows of %s: "+format, append([]any{h.Host}, args...)...))
		}
		if last == nil && row.previous == nil {
			// Signed: no round before has it, so that those need not be here.
			h.First, gaps, next = n, nil, n
		}
		before := len(gaps)
		skip(n)
		switch cut := len(gaps) > before || last == nil && len(gaps) > 0; {
		case last == nil && row.previous == nil:
		case row.previous == nil:
			wrong("it names no row before it, and there is one")
		case *row.previous >= v.rounds[n].FirstLeaf || last != nil && *row.previous < last.leaf:
			wrong("it names leaf %d before it, which cannot be", *row.previous)
		case !cut && last == nil:
			wrong("it names leaf %d before it, and no round before it has one", *row.previous)
		case !cut && *row.previous != last.leaf:
			wrong("it names leaf %d before it, which is %d", *row.previous, last.leaf)
		}
		last = &row
	}
	skip(newest + 1)
	if h.Whole = len(gaps) == 0; !h.Whole {
		v.unproven(Unproven{Host: h.Host, Rounds: gaps, Detail: "its history: " + spans(gaps) + " not here"})
	}
}

// merged are two sorted lists in one.
func merged(a, b []int64) []int64 {
	out := make([]int64, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		if len(b) == 0 || len(a) > 0 && a[0] < b[0] {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return out
}

// maxSpans is how many spans are written out for people; the JSON form has all.
const maxSpans = 12

// spans are rounds in words, with the verb.
func spans(gaps []Span) string {
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
		return "rounds " + text + " are"
	}
	return "round " + text + " is"
}

// after demands that no round stands between the newest one and the head: that there is nothing, or observations alone.
// They are numbered without a gap, so that the numbers of the first and the last count them.
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
		v.unproven(Unproven{Detail: fmt.Sprintf("that round %d is the newest: of the leaves behind it, %d to %d, it does not show that all are observations", newest.Sequence, first, last)})
	}
}

// errElsewhere is returned for an observation that stands at another place than is looked at.
var errElsewhere = errors.New("it stands elsewhere in the log")

// observation checks an observation under the head and returns its number.
func (v *verifier) observation(l Leaf, index int64) (int64, error) {
	proof, err := tlog.ParseProof([]byte(l.Proof))
	if err != nil {
		return 0, err
	}
	c, err := proof.Verify([]byte(l.Leaf), v.ring)
	if err != nil {
		return 0, err
	}
	if c.Size != v.head.Size || c.Root != v.head.Root || c.Origin != v.head.Origin {
		return 0, fmt.Errorf("checking proof: under a head of %d leaves of %s, want %d of %s", c.Size, c.Origin, v.head.Size, v.head.Origin)
	}
	if proof.Index != index {
		return 0, errElsewhere
	}
	o, err := record.VerifyObservation([]byte(l.Leaf), v.ring)
	return o.Number, err
}
