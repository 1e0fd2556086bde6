package probe

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/stockclient"
)

// wall names the bot wall that answered in the door's place, "" where the answer is the door's own
// or holds a challenge.
func (v *View) wall() string { return wall(v.Evidence) }

func wall(r exchange.Redacted) string {
	if r.Status == 0 || r.Status == http.StatusPaymentRequired || len(r.Challenges) > 0 {
		return ""
	}
	for _, name := range []string{"Cf-Mitigated", "X-Vercel-Mitigated", "X-Amzn-Waf-Action"} {
		if value := r.Header(name); value != "" {
			return strings.ToLower(name) + ": " + quoted(value)
		}
	}
	switch {
	case r.Status == http.StatusTooManyRequests:
		return "429"
	case r.Status == http.StatusForbidden && strings.EqualFold(r.Header("Server"), "AkamaiGHost"):
		return "403 of Akamai"
	}
	return ""
}

// inputsSince is the day from which a door that refuses an empty object has no verdict: what was
// recorded before gives what it gave.
const inputsSince = "2026-11-30"

// inputsLacking reports whether the door, which takes POST, refused what it was sent for want of
// inputs, and asked for no money.
func (v *View) inputsLacking() bool {
	e := v.Evidence
	return e.Method == http.MethodPost && (e.Status == http.StatusBadRequest || e.Status ==
		http.StatusUnprocessableEntity) && len(e.Challenges) == 0 && e.StartedAt >= inputsSince
}

// fault says on whose side the reason for a verdict lies, as far as one look from one place can
// tell. It is nobody's where somebody can pay all the same.
func fault(v *View, o outcome) Fault {
	r := v.Evidence
	switch o.verdict {
	case Ready:
		return FaultNone
	case MethodUnresolved, NotProbed:
		return FaultInstrument // we did not know how to ask, or were not let in
	case Unreachable:
		return stageFault(r.Error.Stage)
	}
	switch {
	case r.Status == http.StatusTooManyRequests:
		return FaultInstrument // the door turned us away, not the buyer
	case r.Status == http.StatusProxyAuthRequired, r.Status == http.StatusNetworkAuthenticationRequired:
		return FaultPath // a proxy between us asks for a login
	case r.Status == http.StatusForbidden, r.Status == http.StatusNotFound && !v.redirected, v.leaves():
		return FaultNone // others may be served, by another method or at another place
	case v.unreadable(), v.paidOtherwise(), v.forgiven(o.failed):
		return FaultNone
	}
	return FaultDoor
}

// leaves reports whether the door sends its callers to another host, where clients follow it.
func (v *View) leaves() bool {
	at, errAt := url.Parse(v.Evidence.URL)
	to, errTo := url.Parse(v.Evidence.Header("Location"))
	if !exchange.IsRedirect(v.Evidence.Status) || errAt != nil || errTo != nil {
		return false
	}
	_, address := netip.ParseAddr(to.Hostname())
	return to.Scheme == "https" && to.Host != "" && to.Host != at.Host && address != nil
}

// paidOtherwise reports whether another protocol than x402 version 2 is spoken, or version 1 in a
// form that is paid.
func (v *View) paidOtherwise() bool {
	return v.v1Client() != "" || slices.ContainsFunc(v.spoken(), func(p Protocol) bool {
		return p.Name != "x402" && p.Verdict != NotReady
	})
}

// forgiven reports whether the stock client signs in spite of what failed, and what it signs can
// settle.
func (v *View) forgiven(failed []string) bool {
	r, picked := v.chosen()
	if !picked || v.buyer().Outcome != stockclient.WouldSign {
		return false
	}
	return !slices.ContainsFunc(failed, func(name string) bool {
		switch name {
		case "bazaar-extension", "signed-offers", "accepts":
			return false
		case "amount-atomic":
			return isDigits(r.Amount)
		case "network-mainnet":
			return !testnet(r.Network)
		case "payto-payable":
			return r.PayToForm != exchange.FormEVMBadChecksum
		}
		return true
	})
}

// stageFault maps where an exchange stopped to a side. A name that does not resolve, a connection
// that does not open and silence may lie anywhere on the way; a bad certificate or a broken
// response head is the door's own word.
func stageFault(stage string) Fault {
	switch stage {
	case exchange.StageRefused:
		return FaultInstrument
	case exchange.StageTLS, exchange.StageHeaders, exchange.StageBody:
		return FaultDoor
	}
	return FaultPath
}

// ControlFailed returns the report as it stands when the control door of the same batch could not
// be read either: then nothing is called unreachable, because the instrument itself is in doubt.
// Other verdicts rest on an answer and stay.
func (r Report) ControlFailed() Report {
	if r.Verdict == Unreachable {
		r.Verdict, r.Fault = NotProbed, FaultInstrument
		r.SingleProbeNote = "The control door could not be read at the same time, so this look says nothing about " +
			"the door."
	}
	return r
}
