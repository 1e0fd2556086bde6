package probe

import (
	"fmt"
	"strings"
	"time"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/stockclient"
)

// buyer is what the stock client does at a view whose spend controls are off and that has
// everything registered that is judged: the entry that it picks is the one that battery v2 judges.
func (v *View) buyer() stockclient.Answer {
	return v.buys(stockclient.Model{Profile: stockclient.Profile{SpendControlsDisabled: true}})
}

// bought is what a client does at a view.
type bought struct {
	by     stockclient.Model
	answer stockclient.Answer
}

// buys is what a client does at a view.
func (v *View) buys(m stockclient.Model) stockclient.Answer {
	a := v.replayed(m)
	switch {
	case m.NodeHTTP && a.Stage == stockclient.StageFetch:
		return viaNodeHTTP(*a, v.Evidence.HeadFault)
	case !m.Foreign && (!m.Whole || a.Outcome != stockclient.WouldSign):
	case v.Evidence.Error.Stage == exchange.StageBody, v.Evidence.Body.Truncated:
		// Some broken bodies it takes for whole, and some it throws at.
		return stockclient.Answer{Outcome: stockclient.CannotSimulate,
			ThrowsWith: "it reads the whole body, which was " +
				"not read to its end here"}
	case m.Foreign && v.marked():
		return stockclient.Answer{Outcome: stockclient.CannotSimulate, ThrowsWith: "whether it passes over the " +
			"byte order mark before these terms was not read in its sources"}
	case m.Foreign:
		return v.met().Abroad(*a)
	}
	return *a
}

// viaNodeHTTP is what becomes of an answer whose head fetch refuses: node:http has errors of its
// own, and takes a 100 for what it is.
func viaNodeHTTP(a stockclient.Answer, fault string) stockclient.Answer {
	if fault == exchange.HeadContinue {
		return stockclient.Answer{Outcome: stockclient.CannotSimulate, ThrowsWith: "node:http goes on behind a 100, " +
			"which is not replayed"}
	}
	a.ThrowsWith, a.Exact, a.Cause = "node:http refuses the answer's head", false, ""
	return a
}

// replayed replays a client, once for all clients that choose and sign alike.
func (v *View) replayed(m stockclient.Model) *stockclient.Answer {
	alike := stockclient.Model{V1: m.V1, Profile: m.Profile, Configured: m.Configured}
	for _, b := range v.bought {
		if b.by == alike {
			return &b.answer
		}
	}
	a, err := alike.Judge(v.met())
	if err != nil || v.unreadable() || v.headUnread() {
		a = stockclient.Answer{Outcome: stockclient.CannotSimulate,
			ThrowsWith: "what this client reads was not read here"}
	}
	v.bought = append(v.bought, &bought{alike, a})
	return &v.bought[len(v.bought)-1].answer
}

// met is the answer as a client met it, with stand-ins in the place of addresses, of which a client
// looks at the form alone.
func (v *View) met() *stockclient.Door {
	if v.asMet != nil {
		return v.asMet
	}
	r := v.Evidence
	seen := stockclient.Seen{URL: r.URL, At: v.startedAt().Add(time.Duration(r.DurationMS) * time.Millisecond),
		Status: r.Status, HeadBytes: r.HeadBytes, HeadFault: r.HeadFault, Header: len(v.headers) > 0, Padded: true}
	if len(v.headers) == 1 {
		c := v.headers[0]
		seen.Padded = c.Encoding != "base64-unpadded"
		if c.Value != nil && !strings.HasPrefix(c.Encoding, "base64url") {
			seen.Terms = &c.parsed
		}
	}
	if v.body != nil && v.body.Value != nil {
		seen.Body = &v.body.parsed
	}
	v.asMet = stockclient.ReadSeen(seen)
	return v.asMet
}

// headUnread reports whether an answer has a head that this program did not take whole, with terms
// perhaps in what is missing.
func (v *View) headUnread() bool {
	return len(v.headers) == 0 && v.Evidence.Error.Stage == exchange.StageHeaders
}

// unreadable reports whether a client may read terms that this program does not: JSON that is not
// strict.
func (v *View) unreadable() bool {
	return len(v.headers) == 1 && v.headers[0].Lenient
}

// marked reports whether a byte order mark stands before the terms.
func (v *View) marked() bool { return len(v.headers) == 1 && v.headers[0].Marked }

// chosen is the entry that the stock client picks, false where it picks none.
func (v *View) chosen() (Requirement, bool) {
	a := v.buyer()
	if a.Chosen == nil || a.Chosen.Index >= len(v.accepts) {
		return Requirement{}, false
	}
	return v.accepts[a.Chosen.Index], true
}

// ofChosen makes a check of the entry that the client picks: problem says what is wrong with it. A
// client that throws fails the check that its exception is about.
func ofChosen(about string, problem func(*View, Requirement) string) func(*View) Finding {
	return func(v *View) Finding {
		a := v.buyer()
		r, picked := v.chosen()
		switch {
		case a.Outcome == stockclient.CannotSimulate:
			return notJudged("what a client makes of these terms is not known")
		case !picked && v.unjudged() != "":
			return notJudged("%s", v.unjudged())
		case !picked && a.About != about:
			return nothing("the stock client picks no entry")
		case !picked:
			return fail("the stock client picks no entry: %s", after("", v.thrown(a)))
		}
		if said := problem(v, r); said != "" {
			return fail("accepts[%d]: %s", r.Index, said)
		}
		if a.Outcome == stockclient.WouldThrow && a.About == about {
			return fail("accepts[%d]: the stock client throws: %s", r.Index, after("", v.thrown(a)))
		}
		return pass("accepts[%d], which the stock client signs", r.Index)
	}
}

// thrown is what a client throws, without the terms that it repeats.
func (v *View) thrown(a stockclient.Answer) string {
	said, _, _ := strings.Cut(strings.TrimPrefix(a.ThrowsWith, "Failed to create payment payload: "), "\n")
	if a.Stage == stockclient.StageScheme {
		var seen []string
		for _, r := range v.accepts[:min(len(v.accepts), 8)] {
			seen = append(seen, quoted(r.Scheme)+" on "+quoted(r.Network))
		}
		return "nothing is registered for " + strings.Join(seen, ", ")
	}
	if a.Cause != "" {
		said += " (" + a.Cause + ")"
	}
	return said
}

// BlockedNotJudged stands in BlockedBy of a check whose object this battery cannot judge.
const BlockedNotJudged = "not_judged"

func notJudged(format string, args ...any) Finding {
	f := nothing(format, args...)
	f.NotJudged = true
	return f
}

// unjudgedFamilies are namespaces of networks on which x402 is specified and that this battery
// cannot judge, as of 2026-11-22.
var unjudgedFamilies = []string{"algorand", "aptos", "cip34", "concordium", "cosmos", "hedera", "keeta", "near",
	"starknet", "stellar", "sui", "tvm", "xrpl"}

// unjudged says which way of paying is specified and cannot be judged here, "" for none.
func (v *View) unjudged() string {
	for _, r := range v.accepts {
		for _, name := range unjudgedFamilies {
			if family(r.Network) == name {
				return fmt.Sprintf("accepts[%d]: what can be signed on %s is not judged", r.Index, quoted(r.Network))
			}
		}
		if r.Scheme != "exact" && isScheme(r.Scheme) && (family(r.Network) == familyEVM ||
			family(r.Network) == familySolana) {
			return fmt.Sprintf("accepts[%d]: scheme %s is paid by clients whose owner registered it, and is not judged",
				r.Index, quoted(r.Scheme))
		}
	}
	return ""
}
