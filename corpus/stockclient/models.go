package stockclient

import "slices"

// A Model is a client as somebody installs it: a program, a version, and whether its own limits are
// on.
type Model struct {
	Name       string // permanent: answers mention it
	Package    string // as its registry names it, with the version
	Configured string // ConfiguredDefault or ConfiguredUnlimited
	// Checked says that the model was run beside the program itself; a model that was not is read
	// from its sources.
	Checked bool
	// V1 says that it pays by version 1 of x402, by the terms in the body; Profile is for the
	// others.
	V1 bool
	// Foreign says that it is no program of JavaScript: see Abroad.
	Foreign bool
	// Whole says that it reads the body to its end before it looks at the terms in the head.
	Whole bool
	// NodeHTTP says that it asks by node:http and not by fetch.
	NodeHTTP bool
	// Signs says in words which entry it signs.
	Signs   string
	Profile Profile
}

// How a modelled client is configured.
const (
	ConfiguredDefault   = "default"
	ConfiguredUnlimited = "unlimited"
)

// Models returns the modelled clients of x402 over HTTP, the newest first.
func Models() []Model { return slices.Clone(models) }

// Judge is what the client does at what a door answered.
func (m Model) Judge(d *Door) (Answer, error) {
	if m.V1 {
		return d.judgeV1(m.Configured == ConfiguredUnlimited), nil
	}
	rep, err := d.Judge(m.Profile)
	if err == nil && m.Foreign {
		return d.Abroad(rep.YourClient), nil
	}
	return rep.YourClient, err
}

// Abroad turns what a client of JavaScript without limits does at the door into what those of other
// languages do. They sign the first entry that is registered too. At odd offers each differs in its
// own way: of these nothing is said.
func (d *Door) Abroad(a Answer) Answer {
	if d.Padded && wellFormed(d.challenge) && (a.Outcome == WouldSign || a.Stage == StageScheme) {
		return a
	}
	return Answer{Outcome: CannotSimulate, ThrowsWith: "what it does at such an offer was not read in its sources"}
}

// What the clients of JavaScript sign of version 2, and of version 1.
const (
	signsDefault = "the first entry with a scheme and network that are registered, in a default asset of its table, " +
		"of at most $1; an authorization before other payment flows"
	signsBatch = signsDefault + "; of exact and batch-settlement the one that stands first, with a deposit " +
		"of at most $5"
	signsCapture   = signsDefault + "; so auth-capture behind escrow is signed only where no exact is offered"
	signsUnlimited = signsFirst + "; an authorization before other payment flows"
	signsFirst     = "the first entry with a scheme and network that are registered, in any asset and of any amount"
	signsAbroad    = signsFirst + "; later versions have limits, which were not read here"
	signsV1        = "the first entry of the body in USDC of its table, else the first, of at most 100000 atomic units"
	signsV1NoEnd   = "the first entry of the body in USDC of its table, else the first, of any amount"
)

var models = []Model{
	{Name: "x402-fetch/2.27.0", Package: "@x402/fetch 2.27.0", Configured: ConfiguredDefault, Checked: true,
		Signs: signsDefault},
	{Name: "x402-fetch/2.27.0", Package: "@x402/fetch 2.27.0", Configured: ConfiguredUnlimited, Checked: true,
		Signs: signsUnlimited, Profile: Profile{SpendControlsDisabled: true}},
	{Name: "x402-fetch-batch/2.27.0", Package: "@x402/fetch 2.27.0 with batch-settlement of @x402/evm registered",
		Configured: ConfiguredDefault, Checked: true, Signs: signsBatch,
		Profile: Profile{Client: "x402-js-batch/2.27.0"}},
	{Name: "x402-fetch-capture/2.27.0", Package: "@x402/fetch 2.27.0 with auth-capture of @x402/evm registered",
		Configured: ConfiguredDefault, Checked: true, Signs: signsCapture,
		Profile: Profile{Client: "x402-js-capture/2.27.0"}},
	// It brings along a client of its own version, which knows no spend controls.
	{Name: "x402-axios/2.11.0", Package: "@x402/axios 2.11.0 with @x402/core 2.11.0",
		Configured: ConfiguredUnlimited, Checked: true, Whole: true, NodeHTTP: true, Signs: signsFirst,
		Profile: Profile{Client: "x402-js/2.21.0"}},
	{Name: "x402-js/2.21.0", Package: "@x402/core 2.21.0", Configured: ConfiguredUnlimited, Checked: true,
		Signs: signsFirst, Profile: Profile{Client: "x402-js/2.21.0"}},
	{Name: "x402-fetch/1.2.0", Package: "x402-fetch 1.2.0", Configured: ConfiguredDefault, Checked: true, V1: true,
		Signs: signsV1},
	{Name: "x402-fetch/1.2.0", Package: "x402-fetch 1.2.0", Configured: ConfiguredUnlimited, Checked: true, V1: true,
		Signs: signsV1NoEnd},
	// It has no limit to lift.
	{Name: "x402-axios/0.7.2", Package: "x402-axios 0.7.2 with x402 0.7.3", Configured: ConfiguredUnlimited,
		Checked: true, V1: true, NodeHTTP: true, Signs: signsV1NoEnd},
	// Versions after these have limits, which nobody here has read.
	{Name: "x402-python/2.8.0", Package: "x402 2.8.0 of PyPI, read from its sources",
		Configured: ConfiguredUnlimited, Foreign: true, Whole: true, Signs: signsAbroad,
		Profile: Profile{Client: "x402-js/2.21.0"}},
	{Name: "x402-go/2.9.0", Package: "github.com/x402-foundation/x402/go 2.9.0, read from its sources",
		Configured: ConfiguredUnlimited, Foreign: true, Whole: true, Signs: signsAbroad,
		Profile: Profile{Client: "x402-js/2.21.0"}},
}
