package kit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/screen"
)

// text writes the reports for a terminal or a build's log: the word first, then every check, each
// failure with its fix.
func text(all []found) []byte {
	var b bytes.Buffer
	for i, f := range all {
		if i > 0 {
			b.WriteByte('\n')
		}
		one(&b, f)
	}
	return b.Bytes()
}

func one(b *bytes.Buffer, f found) {
	r := f.report
	show(b, "%s\n%s under battery %s at %s\n", r.URL, strings.ToUpper(string(r.Verdict)), r.Version,
		r.Evidence.ObservedAt)
	show(b, "  %s: %s\n  fault: %s; %s under %s", r.ReachedLevel, r.ReachedLevelMeaning, r.Fault, r.AlsoUnder.Verdict,
		r.AlsoUnder.Version)
	if r.AlsoUnder.Difference != "" {
		show(b, " (%s)", r.AlsoUnder.Difference)
	}
	b.WriteByte('\n')
	if by := r.ProbeMethod.DeclaredBy; by != "" {
		show(b, "  asked with %s, declared by %s\n", r.ProbeMethod.Used, by)
	}
	if f.private {
		b.WriteString("  private: read with allowances for your own network; not for publication\n")
	}
	b.WriteByte('\n')
	for _, c := range r.ChecksVector {
		switch {
		case c.State == probe.Pass:
			show(b, "  pass  %-24s %s\n", c.Name, c.Detail)
		case c.State == probe.Fail:
			show(b, "  FAIL  %-24s %s\n        fix: %s\n", c.Name, c.Detail, fixOf(r, c.Name))
		default:
			show(b, "  -     %-24s %s\n", c.Name, notReached(c))
		}
	}
	for i, n := range r.Advisories {
		if i == 0 {
			b.WriteString("\n  advisories, none of which changes the verdict:\n")
		}
		fix := advisoryFix(n.Name)
		if toldByCheck(r, n.Name) {
			fix = "see " + statusCheck
		}
		show(b, "  note  %-24s %s\n        fix: %s\n", n.Name, n.Detail, fix)
	}
	if r.Verdict == probe.MethodUnresolved {
		show(b, "\n  fix: %s\n", methodFix(r))
	}
	clientsText(b, r.Clients)
	stakesText(b, r)
	boughtText(b, f.bought)
	driftText(b, f.drift)
	show(b, "\n  evidence %s\n", r.Evidence.Digest)
}

// clientsText writes what each known client would do at the door.
func clientsText(b *bytes.Buffer, all []probe.ClientRow) {
	for i, c := range all {
		if i == 0 {
			b.WriteString("\n  clients, and what each would sign here:\n")
		}
		word, what := c.Does()
		show(b, "  %-6s  %-18s %-9s  %s\n", word, c.Client, c.Configured, what)
	}
}

// stakesText writes what entries of vouchers and holds put at risk.
func stakesText(b *bytes.Buffer, r probe.Report) {
	for i, s := range r.Stakes {
		if i == 0 {
			b.WriteString("\n  vouchers and holds, and what a buyer risks by them:\n")
		}
		show(b, "  accepts[%d] %s on %s\n        signs: %s\n        at risk: %s\n        taken by: %s\n"+
			"        comes back: %s\n", s.Index, s.Scheme, s.Network, s.Signs, s.Until, s.Taker, s.Back)
	}
}

// otherMethod is the advisory of a door that may take another method than GET.
const otherMethod = "maybe-other-method"

// fixOf is what to change about a failed check, or about a verdict that no check stands for. Where
// GET found nothing, the method that the door takes is more likely wrong than its gate.
func fixOf(r probe.Report, check string) string {
	if check == string(probe.MethodUnresolved) {
		return methodFix(r)
	}
	for _, m := range r.Remediation {
		if m.Check != check {
			continue
		}
		if check == statusCheck && slices.ContainsFunc(r.Advisories, func(n probe.Note) bool {
			return n.Name == otherMethod
		}) {
			return "If the door takes POST: " + advisoryFix(otherMethod) + " If it takes GET: " + m.Fix
		}
		return m.Fix
	}
	return ""
}

// statusCheck is the check that a door fails which was asked with another method than it takes.
const statusCheck = "status-402"

// toldByCheck reports whether the fix of a failed check says already what an advisory is about, so
// that one thing to mend is one result.
func toldByCheck(r probe.Report, advisory string) bool {
	return advisory == otherMethod && fixOf(r, statusCheck) != ""
}

// show writes as Fprintf does, whatever a door says in its answers or a recording in its members.
func show(b *bytes.Buffer, format string, args ...any) {
	for i, a := range args {
		if text, ok := a.(string); ok {
			args[i] = screen.Text(text)
		}
	}
	fmt.Fprintf(b, format, args...)
}

func advisoryFix(name string) string {
	for _, a := range probe.Advisories() {
		if a.Name == name {
			return a.Fix
		}
	}
	return ""
}

// methodFix is what the owner of a door does that refused to be asked and said nothing of how.
func methodFix(r probe.Report) string {
	fix := strings.TrimPrefix(strings.Join(r.NextSteps, " "), "Sellers: ")
	return strings.ToUpper(fix[:min(1, len(fix))]) + fix[min(1, len(fix)):]
}
