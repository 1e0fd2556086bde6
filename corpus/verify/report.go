package verify

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"store.example/agentstore/corpus/attest"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/screen"
)

// FollowReport says what a step found.
type FollowReport struct {
	Origin string        `json:"origin"`
	Leaves int64         `json:"leaves"` // of the log's head as it is now
	Root   attest.Digest `json:"root"`
	// Remembered is the size of the head that was taken before, 0 for none: then this step took
	// what it saw.
	Remembered int64 `json:"remembered"`
	Keys
	Rounds   int64            `json:"rounds"`
	LastWeek string           `json:"last_week"`
	Changes  []FollowedChange `json:"changes"`
	// Hosts are those that are followed, as they stand now.
	Hosts  []FollowedHost `json:"hosts"`
	Quorum *QuorumReport  `json:"quorum,omitempty"`
	// Mirrors are those that were asked and whose head the log was held against.
	Mirrors []MirrorReport `json:"mirrors"`
	// Unproven says what was demanded, or has to be shown, and was not: nothing of this step was
	// taken then, but for a week that is lacking, and a mirror that says nothing or more.
	Unproven []string `json:"unproven"`
	// Problems name files. With one, nothing of this step was taken.
	Problems []Problem `json:"problems"`
	// Fork is there where the log signed two heads of which not both can be true.
	Fork     *Fork `json:"fork,omitempty"`
	Requests int64 `json:"requests,omitzero"`
	Bytes    int64 `json:"bytes,omitzero"`
}

// FollowedHost is how a host stands.
type FollowedHost struct {
	Host string `json:"host"`
	Rows int64  `json:"rows"`
	Tier string `json:"tier,omitzero"`
	Line string `json:"tier_line,omitzero"`
}

// FollowedChange is something that was added since the last step.
type FollowedChange struct {
	Kind     string         `json:"kind"`           // round, row, no_row, pay_to, tier, or the kind of an observation
	Host     string         `json:"host,omitzero"`  // "" of a round
	Sequence int64          `json:"round,omitzero"` // of a round or a row
	Week     string         `json:"week,omitzero"`
	Leaf     *int64         `json:"leaf,omitempty"`
	From     string         `json:"from,omitzero"` // verdict or tier before
	To       string         `json:"to,omitzero"`   // and now
	Level    string         `json:"reached_level,omitzero"`
	Added    []record.PayTo `json:"added,omitzero"`   // addresses that money is asked to, by digest
	Removed  []record.PayTo `json:"removed,omitzero"` // and no more
	Number   int64          `json:"observation,omitzero"`
	Detail   string         `json:"detail,omitzero"`
}

// Fork is the proof that a log signed two histories: two heads, and, where they are of different
// sizes, that the larger one does not go on from the smaller.
type Fork struct {
	Mirror string    `json:"mirror,omitzero"` // the address of the mirror that showed the head seen, "" for none
	Seen   string    `json:"seen"`            // the head that was taken before, as the log signed it
	Shown  string    `json:"shown"`           // the one that is shown now
	Size   int64     `json:"size"`            // of the smaller of them
	Roots  [2]string `json:"roots"`           // of the log at that size: by the head seen, and by the one shown
	// Consistency leads from the root at that size to the larger head (RFC 6962, section 2.1.2):
	// the root is that of the larger head's log, and not the one of the smaller head. Nil for heads
	// of one size.
	Consistency []attest.Digest `json:"consistency,omitempty"`
}

// Sound reports whether nothing was found wrong, and nothing that was demanded is lacking.
func (r FollowReport) Sound() bool { return !r.Refused() && len(r.Unproven) == 0 }

// Refused reports whether something was found wrong.
func (r FollowReport) Refused() bool { return r.Fork != nil || len(r.Problems) > 0 }

// Print writes the report for people, name being where the record is.
func (r FollowReport) Print(w io.Writer, name string) {
	if f := r.Fork; f != nil {
		by := "was seen"
		if f.Mirror != "" {
			by = f.Mirror + " shows"
		}
		fmt.Fprintf(w, "%s: FORKED: the log of %s signed two histories: at %d leaves its root is %s by the head that "+
			"%s, and %s by the one that is shown here\n", name, screen.Text(r.Origin), f.Size, f.Roots[0],
			screen.Text(by), f.Roots[1])
		return
	}
	for _, p := range r.Problems {
		fmt.Fprintf(w, "%s: %s: %s", name, screen.Text(p.Path), screen.Text(p.Detail))
		if p.Rule != "" {
			fmt.Fprintf(w, " (rule %s)", p.Rule)
		}
		fmt.Fprintln(w)
	}
	if len(r.Problems) > 0 {
		fmt.Fprintf(w, "%s: NOT verified: %s; nothing of it was taken\n", name,
			screen.Count(len(r.Problems), "problem"))
		return
	}
	for _, c := range r.Changes {
		fmt.Fprintln(w, screen.Text(c.line()))
	}
	for _, u := range r.Unproven {
		fmt.Fprintf(w, "%s: UNPROVEN: %s\n", name, screen.Text(u))
	}
	if r.Sound() {
		r.summary(w, name)
	}
}

func (r FollowReport) summary(w io.Writer, name string) {
	fmt.Fprintf(w, "%s: the log of %s has %d leaves and %s", name, screen.Text(r.Origin), r.Leaves,
		screen.Count(int(r.Rounds), "round"))
	switch {
	case r.Remembered == 0:
		fmt.Fprint(w, ". Nothing was remembered: what is there now is taken as it is, and what comes must follow from "+
			"it")
	case r.Remembered == r.Leaves:
		fmt.Fprint(w, ", as before")
	default:
		fmt.Fprintf(w, ", and goes on from the %d that were seen", r.Remembered)
	}
	fmt.Fprintln(w, ".")
	for _, m := range r.Mirrors {
		fmt.Fprintf(w, "  %s shows its %d leaves, of the same history.\n", screen.Text(m.Address), m.Leaves)
	}
	for _, h := range r.Hosts {
		if h.Rows == 0 {
			fmt.Fprintf(w, "  %s: no row in any round.\n", screen.Text(h.Host))
			continue
		}
		fmt.Fprintf(w, "  %s: %s, %s.\n", screen.Text(h.Host), screen.Count(int(h.Rows), "row"), h.Line)
	}
	switch {
	case r.Specimen:
		fmt.Fprintln(w, "  This is a specimen: its key is public by design, so that a signature shows nothing of who "+
			"made it.")
	case r.Remembered == 0 && !r.Trusted:
		fmt.Fprintf(w, "  The keys were taken from the record itself. Compare them with those you learned elsewhere, "+
			"or begin anew with -ring:\n  identity %s\n  log      %s\n", r.Identity, r.LogKey)
	}
}

// line is a change in words.
func (c FollowedChange) line() string {
	at := fmt.Sprintf("round %d (%s)", c.Sequence, c.Week)
	switch c.Kind {
	case "round":
		return fmt.Sprintf("%s: %s", at, c.Detail)
	case "no_row":
		return fmt.Sprintf("%s: %s: no row", c.Host, at)
	case "row":
		was := ""
		if c.From != "" && c.From != c.To {
			was = ", was " + c.From
		}
		return fmt.Sprintf("%s: %s: %s%s, leaf %d", c.Host, at, strings.TrimSpace(c.To+" "+c.Level), was, *c.Leaf)
	case "pay_to":
		return fmt.Sprintf("%s: %s: asks for money at %s", c.Host, at, strings.Join(slices.Concat(
			signed("+", c.Added), signed("-", c.Removed)), ", "))
	case "tier":
		return fmt.Sprintf("%s: tier %s, was %s", c.Host, c.To, c.From)
	}
	return strings.TrimSuffix(fmt.Sprintf("%s: observation %d, %s: %s", c.Host, c.Number, c.Kind, c.Detail), ": ")
}

func signed(sign string, addresses []record.PayTo) (out []string) {
	for _, a := range addresses {
		out = append(out, sign+a.Network+" "+a.Digest)
	}
	return out
}
