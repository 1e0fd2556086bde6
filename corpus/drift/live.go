package drift

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/probe"
)

// Live is what a door itself says.
type Live struct {
	Used    string   // the method with which it answered 402
	Names   string   // the method that its challenge names, "" for none
	Refused []string // the methods that it answered with 404, 405 or 501

	terms  []term
	inputs *inputs // nil where its challenge describes none
}

// method is the door's own.
func (l Live) method() string {
	if l.Names != "" {
		return l.Names
	}
	return l.Used
}

// ReadLive reads what a door said in a recorded walk to it; false where it never answered 402.
func ReadLive(recorded []exchange.Exchange) (Live, bool) {
	door := slices.Clone(probe.AtDoor(recorded))
	slices.Reverse(door)
	i := slices.IndexFunc(door, func(x exchange.Exchange) bool {
		return x.Error.Stage == "" && x.Response.Status == http.StatusPaymentRequired
	})
	if i < 0 {
		return Live{}, false
	}
	x := door[i]
	live := Live{Used: x.Request.Method}
	for _, o := range door {
		if s := o.Response.Status; o.Request.URL == x.Request.URL && (s == http.StatusNotFound ||
			s == http.StatusMethodNotAllowed || s == http.StatusNotImplemented) {
			live.Refused = append(live.Refused, o.Request.Method)
		}
	}
	if text, ok := exchange.DecodeBase64(x.Response.Header.Get("Payment-Required")); ok {
		live.take(text)
	}
	live.take(x.Response.Body)
	for _, field := range x.Response.Header.Values("Www-Authenticate") {
		for _, c := range exchange.AuthChallenges(field) {
			live.takeMPP(c)
		}
	}
	return live, true
}

// take reads a challenge of x402, of either version.
func (l *Live) take(text []byte) {
	v, err := exchange.ParseValue(text)
	n := node{value: v}
	if err != nil || len(n.accepts()) == 0 {
		return
	}
	for _, entry := range n.accepts() {
		l.terms = append(l.terms, termOf(entry, X402))
	}
	if l.Names == "" {
		l.Names = methodOf(n).text
	}
	if in := inputsOf(n); l.inputs == nil && in != nil && len(in.known) > 0 {
		l.inputs = in
	}
}

// takeMPP reads a challenge of MPP.
func (l *Live) takeMPP(c exchange.AuthChallenge) {
	if !strings.EqualFold(c.Scheme, "Payment") || c.Malformed {
		return
	}
	param := map[string]string{}
	for _, p := range c.Params {
		param[p.Name] = p.Value
	}
	text, ok := exchange.DecodeBase64(param["request"])
	v, err := exchange.ParseValue(text)
	if !ok || err != nil || param["method"] == "" || len(l.terms) > 3*probe.MaxEntries {
		return
	}
	n := node{value: v}
	t := termOf(n, MPP)
	t.network = said{text: param["method"]}
	if id, ok := n.get("methodDetails", "chainId").value.(float64); ok {
		t.chain = "eip155:" + strconv.FormatFloat(id, 'f', -1, 64)
	}
	if param["method"] == "solana" {
		t.chain = networks.Solana
	}
	l.terms = append(l.terms, t)
}
