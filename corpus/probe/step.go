// Package probe judges what doors answered: checks, batteries, verdicts, the ladder, defects and
// advisories, all of them pure functions of recorded exchanges. It fetches nothing and reads no
// clock: the time of judgement is the time of the recording, so the same recording gives the same
// report for ever, and old bytes can be judged again by a newer battery.
package probe

import "store.example/agentstore/corpus/exchange"

// Next is what a checker wants after it has looked at the exchanges so far: another request, or
// nothing more because the report is ready. Kind names the rule under which the request may be made
// ("get", "declared-post", "did", "key"), so that whoever walks can refuse what was not asked for.
type Next struct {
	Request exchange.Request
	Kind    string
}

// A Checker is a step function over a recorded list of exchanges: it returns the report, or the
// next request that it needs. It is called again with one more exchange each time; a request that
// could not be made is recorded as an exchange with an Error. It returns the same answer for the
// same recording, whenever and wherever it is called.
type Checker[R any] interface {
	// Name says which checker and which version, as a report names it: "preflight/v2".
	Name() string
	// Step returns next == nil when report is final.
	Step(recorded []exchange.Exchange) (report R, next *Next, err error)
	// MaxRequests bounds the walk.
	MaxRequests() int
}
