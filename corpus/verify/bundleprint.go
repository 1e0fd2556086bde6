package verify

import (
	"fmt"
	"io"
	"strings"

	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/corpus/screen"
)

// Unjudged is how many verdicts were not reached again though what they rest on is here.
func (r BundleReport) Unjudged() int64 { return r.Verdicts.Unjudged }

// Print writes the report for people, name being the bundle's file.
func (r BundleReport) Print(w io.Writer, name string) {
	for _, p := range r.Problems {
		fmt.Fprintf(w, "%s: %s: %s: %s\n", name, screen.Text(p.Path), p.Kind, screen.Text(p.Detail))
	}
	if len(r.Problems) > 0 {
		fmt.Fprintf(w, "%s: NOT verified: %s\n", name, screen.Count(len(r.Problems), "problem"))
		return
	}
	for _, u := range r.Unproven {
		fmt.Fprintf(w, "%s: UNPROVEN: ", name)
		if u.Host != "" {
			fmt.Fprintf(w, "%s: ", screen.Text(u.Host))
		}
		fmt.Fprintln(w, screen.Text(u.Detail))
	}
	fmt.Fprintf(w, "%s: %s: %d rounds, %d rows and %d artifacts are as %s signed them", name,
		Verified(r.Unjudged(), len(r.Unproven) > 0), len(r.Rounds), len(r.Rows), len(r.Artifacts), r.KID)
	if len(r.Rounds) > 0 {
		fmt.Fprintf(w, ", in the log of %s at size %d", screen.Text(r.Origin), r.Size)
	}
	fmt.Fprintln(w, ".")
	switch {
	case len(r.Rounds) == 0:
		fmt.Fprintln(w, "  It holds no rounds, and says nothing of any host.")
	case len(r.Unproven) == 0:
		fmt.Fprintf(w, "  It is complete to round %d (%s). Whether the record goes on behind that, a newer "+
			"checkpoint tells (-remember), and -as-of WEEK demands.\n", r.CompleteTo, r.Week)
	}
	for _, h := range r.Hosts {
		switch {
		case !h.Whole:
			fmt.Fprintf(w, "  %s: %d of its %s.\n", screen.Text(h.Host), len(h.Present),
				screen.Count(int(h.Rows), "row"))
		case h.Rows == 0:
			fmt.Fprintf(w, "  %s: no row in any round from 1 to %d.\n", screen.Text(h.Host), r.CompleteTo)
		default:
			fmt.Fprintf(w, "  %s: all its rows to round %d, which are %d, the first in round %d.\n",
				screen.Text(h.Host), r.CompleteTo, h.Rows, h.First)
		}
		for _, row := range r.Rows {
			if row.Host == h.Host {
				fmt.Fprintf(w, "    %s round %d: %s, leaf %d: %s\n", row.Week, row.Sequence,
					strings.TrimSpace(row.Verdict+" "+row.Level), row.Leaf, said(row.Judged))
				if c := row.Corrected; c != nil {
					fmt.Fprintf(w, "      observation %d (%s) says that it should have said %s: %s\n", c.Observation,
						c.At, c.Now, screen.Text(c.Reason))
				}
			}
		}
	}
	for _, round := range r.Rounds {
		if t := round.Time; t != nil {
			fmt.Fprintf(w, "  Round %d (%s): ", round.Sequence, round.Week)
			switch t.State {
			case ots.StateVerified:
				fmt.Fprintf(w, "existed by %s, in Bitcoin block %d. Compare its hash with any explorer: %s\n",
					t.Time.Format("2006-01-02"), t.Height, t.Block)
			case ots.StateUnchecked:
				fmt.Fprintf(w, "names Bitcoin block %d, whose header is not here or shows too little work\n", t.Height)
			default:
				fmt.Fprintln(w, t.State)
			}
		}
	}
	for _, a := range r.Artifacts {
		fmt.Fprintf(w, "  Artifact %s, signed by %s (%s): %s\n", screen.Text(a.ID), screen.Text(a.KID), a.Status,
			screen.Text(a.Payload))
	}
	if r.Remembered > 0 {
		fmt.Fprintf(w, "  At size %d the log is the one that was seen before.\n", r.Remembered)
	}
	r.Keys.Print(w, "bundle", "file")
}

// said is what became of a verdict, in words.
func said(judged string) string {
	switch judged {
	case "again":
		return "judged again here, with the same result"
	case "kept":
		return "what it was judged by is here, and was not judged again"
	case "not_kept":
		return "what it was judged by is not here"
	}
	return "not probed, so there is no verdict"
}
