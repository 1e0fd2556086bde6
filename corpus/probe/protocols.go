package probe

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/stockclient"
)

// Protocol is a way of asking for payment, judged by itself.
type Protocol struct {
	Name    string  `json:"name"`    // x402, mpp or l402
	Verdict Verdict `json:"verdict"` // ready, not_ready or not_judged
	Why     string  `json:"why"`
}

// NotJudged is the verdict on a protocol that this battery cannot judge whole.
const NotJudged Verdict = "not_judged"

// spoken judges each protocol that the answer speaks.
func (v *View) spoken() []Protocol {
	out := []Protocol{}
	if v.Evidence.Status != http.StatusPaymentRequired {
		return out
	}
	switch {
	case len(v.headers) > 0 || number(v.bodyForm, "x402Version") == 2:
		out = append(out, v.spokenX402())
	case v.v1Client() != "":
		out = append(out, Protocol{"x402", NotReady, "version 1 alone, in the body: " + v.v1Client() +
			" still pays it, clients of version 2 do not"})
	case number(v.bodyForm, "x402Version") == 1:
		out = append(out, Protocol{"x402", NotReady, "version 1 alone, in the body, and not in a form that its " +
			"clients take"})
	}
	if len(v.mpp) > 0 {
		out = append(out, v.spokenMPP())
	}
	for _, c := range v.Evidence.Challenges {
		if c.From == exchange.FromL402 {
			p := Protocol{"l402", NotJudged, "a macaroon and an invoice of Lightning, which are not judged"}
			if c.Problem != "" {
				p.Verdict, p.Why = NotReady, c.Problem
			}
			return append(out, p)
		}
	}
	return out
}

func (v *View) spokenX402() Protocol {
	b, err := batteryOf(V2)
	if err != nil {
		return Protocol{"x402", NotJudged, "no battery"}
	}
	o := b.judge(v)
	if o.verdict == Ready {
		r, _ := v.chosen()
		return Protocol{"x402", Ready, fmt.Sprintf("the stock client signs accepts[%d]", r.Index)}
	}
	for _, e := range o.vector {
		if o.verdict == NotReady && e.State == Fail || o.verdict == NotProbed && e.BlockedBy == BlockedNotJudged {
			word := NotReady
			if o.verdict == NotProbed {
				word = NotJudged
			}
			return Protocol{"x402", word, e.Name + ": " + e.Detail}
		}
	}
	return Protocol{"x402", NotJudged, "the door was not judged"}
}

// v1Client names a client of version 1 that signs for the body, "" for none.
func (v *View) v1Client() string {
	for _, m := range stockclient.Models() {
		if !m.V1 || len(v.headers) > 0 {
			continue
		}
		if a := v.buys(m); a.Outcome == stockclient.WouldSign && len(a.Hazards) == 0 {
			return m.Package + " (" + m.Configured + ")"
		}
	}
	return ""
}

// spokenMPP judges the challenges of MPP: the stock client refuses all of them for one that it
// cannot read, and takes the first whose method it knows.
func (v *View) spokenMPP() Protocol {
	out := Protocol{"mpp", NotJudged, "no method of these challenges is judged"}
	for i, m := range v.mpp {
		problem := cmp.Or(m.id(), m.realm(), m.intent(), m.undecodable())
		if problem == "" && m.params["method"] == "evm" {
			problem = cmp.Or(m.amount(), m.currency(), m.recipient(), m.expired(), m.unpayable())
			if problem == "" && m.token() == nil {
				out.Why = fmt.Sprintf("challenge %d is paid in a token that is not known here", i)
				continue
			}
			if problem == "" && out.Verdict != Ready {
				out = Protocol{"mpp", Ready, fmt.Sprintf("mppx signs challenge %d: evm, charge", i)}
				if field := m.params["header"]; field != "" {
					out.Why += ", and sends it in " + quoted(field)
				}
			}
		}
		if problem == "" && m.params["method"] == "usdc" && out.Verdict != Ready {
			out.Why = fmt.Sprintf("challenge %d is of method usdc, which no stock client has", i)
		}
		if problem != "" {
			return Protocol{"mpp", NotReady, fmt.Sprintf("challenge %d: %s", i, problem)}
		}
	}
	return out
}

// network is the chain that an evm challenge names, "" for none.
func (m mppChallenge) network() string {
	id := number(obj(m.request, "methodDetails"), "chainId")
	if id < 1 || id != math.Trunc(id) || id > 1<<53 {
		return ""
	}
	return familyEVM + ":" + strconv.FormatFloat(id, 'f', -1, 64)
}

func (m mppChallenge) token() *networks.Token {
	if t, ok := networks.FindToken(m.network(), str(m.request, "currency")); ok {
		return &t
	}
	return nil
}

// unpayable says why mppx 0.11.0 signs nothing for an evm challenge that is whole.
func (m mppChallenge) unpayable() string {
	types, listed := member(obj(m.request, "methodDetails"), "credentialTypes").([]any)
	switch {
	case m.params["intent"] != "charge":
		return "intent " + quoted(m.params["intent"]) + ", and charge alone is paid"
	case m.network() == "":
		return "methodDetails.chainId is no chain number"
	case !listed || !slices.Contains(types, any("authorization")):
		return "credentialTypes does not list authorization, the one that mppx signs"
	}
	return ""
}

// A ClientRow is what one client does at the door.
type ClientRow struct {
	Client     string `json:"client"`
	Package    string `json:"package"`
	Configured string `json:"configured"` // default or unlimited
	Outcome    string `json:"outcome"`    // would_sign, would_throw or cannot_simulate
	Index      *int   `json:"index"`      // of the entry that it picks, null for none
	Network    string `json:"network,omitzero"`
	Amount     string `json:"amount,omitzero"` // atomic units
	Scheme     string `json:"scheme,omitzero"` // of the entry, "" for exact
	Stage      string `json:"stage,omitzero"`  // where it stops
	Why        string `json:"why,omitzero"`    // what it throws, or what it does not do here
	Checked    bool   `json:"checked"`         // the model was run beside the program itself
}

// Does is what the client does at the door, as a table says it: signs and what, or throws or ? and
// why.
func (c ClientRow) Does() (word, what string) {
	switch {
	case c.Outcome == stockclient.WouldSign && c.Index != nil && c.Scheme != "":
		return "signs", fmt.Sprintf("accepts[%d], %s on %s by %s", *c.Index, c.Amount, c.Network, c.Scheme)
	case c.Outcome == stockclient.WouldSign && c.Index != nil:
		return "signs", fmt.Sprintf("accepts[%d], %s on %s", *c.Index, c.Amount, c.Network)
	case c.Outcome == stockclient.WouldSign:
		return "signs", c.Why
	case c.Outcome == stockclient.WouldThrow:
		return "throws", c.Why
	}
	return "?", c.Why
}

// clients are the rows of a report: x402 over HTTP, then MPP, then what pays no doors of HTTP.
func (v *View) clients() []ClientRow {
	if v.Evidence.Status != http.StatusPaymentRequired {
		return []ClientRow{}
	}
	models := stockclient.Models()
	out := make([]ClientRow, 0, len(models)+len(others))
	for _, m := range models {
		row := ClientRow{Client: m.Name, Package: m.Package, Configured: m.Configured, Checked: m.Checked}
		a := v.buys(m)
		row.Outcome, row.Stage, row.Why = a.Outcome, a.Stage, after("", v.thrown(a))
		if a.Chosen != nil {
			row.Index, row.Network, row.Amount = &a.Chosen.Index, a.Chosen.Network, a.Chosen.AmountAtomic
			if a.Chosen.Scheme != schemeExact {
				row.Scheme = a.Chosen.Scheme
			}
		}
		out = append(out, row)
	}
	for _, o := range others {
		row := ClientRow{Client: o.Client, Package: o.Package, Configured: o.Configured, Checked: o.Checked,
			Outcome: stockclient.CannotSimulate, Why: o.Why}
		if o.Client == clientMPPX && len(v.mpp) > 0 {
			row.judgeMPP(v.spokenMPP())
		}
		out = append(out, row)
	}
	return out
}

// judgeMPP is what mppx does where a door speaks MPP.
func (r *ClientRow) judgeMPP(p Protocol) {
	r.Why = p.Why
	switch p.Verdict {
	case Ready:
		r.Outcome = stockclient.WouldSign
	case NotReady:
		r.Outcome, r.Stage = stockclient.WouldThrow, stockclient.StageChallenge
	}
}

// A KnownClient is a client of which reports tell what it does at a door (ClientRow).
type KnownClient struct {
	Client     string `json:"client"`
	Package    string `json:"package"`
	Configured string `json:"configured"` // default or unlimited
	Signs      string `json:"signs"`      // which entry it signs, in words
	Checked    bool   `json:"checked"`    // the model was run beside the program itself
	Why        string `json:"-"`          // what is said of it where it does not pay the door
}

const clientMPPX = "mppx/0.11.0"

// others are the clients that pay by other ways than x402 over HTTP, or of which too little was
// read to replay them.
var others = []KnownClient{
	{Client: clientMPPX, Package: "mppx 0.11.0, method evm", Configured: stockclient.ConfiguredDefault,
		Signs: "the first evm charge whose credentialTypes list authorization; none where one challenge of the " +
			"answer cannot be read", Checked: true, Why: "the door speaks no MPP"},
	{Client: "x402-mcp/2.10.0", Package: "@x402/mcp 2.10.0, read from its sources",
		Configured: stockclient.ConfiguredDefault, Signs: "terms of a tool of MCP; no door of HTTP",
		Why: "it pays tools of MCP, and no door of HTTP"},
	{Client: "pay", Package: "pay of solana-foundation, read in part from its sources",
		Configured: stockclient.ConfiguredDefault,
		Signs:      "on Solana, the main network before others; which of several entries was not read",
		Why:        "it pays on Solana; which of several entries it signs was not read"},
}

// KnownClients returns the clients of which reports tell, in the order of Report.Clients.
func KnownClients() []KnownClient {
	var out []KnownClient
	for _, m := range stockclient.Models() {
		out = append(out, KnownClient{Client: m.Name, Package: m.Package, Configured: m.Configured, Signs: m.Signs,
			Checked: m.Checked})
	}
	return append(out, others...)
}
