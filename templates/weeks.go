package templates

import (
	"iter"
	"strconv"

	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
)

// WeekMark is one week of a timeline: the word first, then its mark, then its colour.
type WeekMark struct {
	Week  string // 2026-W47
	Word  string // in words a reader knows
	Mark  string // one character
	Class string // good, bad, unknown or faint
}

// The marks of a timeline, in the order of their legend.
var weekMarks = []WeekMark{
	{Word: "ready", Mark: "■", Class: "good"},
	{Word: "not ready", Mark: "×", Class: "bad"},
	{Word: "unreachable", Mark: "–", Class: "bad"},
	{Word: "not observed", Mark: "○", Class: "unknown"},
	{Word: "before the first sighting", Mark: "·", Class: "faint"},
}

// markWeek gives a week of a host its mark.
func markWeek(w *derive.HostWeek) WeekMark {
	i := 3
	switch {
	case w.Probed == derive.BeforeFirst:
		i = 4
	case w.Verdict == record.VerdictReady:
		i = 0
	case w.Verdict == record.VerdictNotReady:
		i = 1
	case w.Verdict == record.VerdictUnreachable:
		i = 2
	}
	m := weekMarks[i]
	m.Week = w.Week
	return m
}

// counted yields the kinds of marks that are there, in the order of their legend, and how many.
func counted(marks []WeekMark) iter.Seq2[WeekMark, int64] {
	return func(yield func(WeekMark, int64) bool) {
		for _, kind := range weekMarks {
			n := int64(0)
			for i := range marks {
				if marks[i].Word == kind.Word {
					n++
				}
			}
			if n > 0 && !yield(kind, n) {
				return
			}
		}
	}
}

// legend counts the marks: "■ ready: 7, ○ not observed: 1".
func legend(marks []WeekMark) string {
	b := make([]byte, 0, 128)
	for kind, n := range counted(marks) {
		if len(b) > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendInt(add(b, kind.Mark, " ", kind.Word, ": "), n, 10)
	}
	return string(b)
}
