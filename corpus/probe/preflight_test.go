package probe

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/corpus/exchange"

	"github.com/google/go-cmp/cmp"
)

const refused = "status 405\nnoheader\nheader Allow: POST, OPTIONS"

// TestVerdicts walks the kinds of doors: verdict, level, fault, method and what the other battery
// says.
func TestVerdicts(t *testing.T) {
	posts := "set extensions.bazaar.info.input.method \"POST\"\nset " +
		"extensions.bazaar.schema.properties.input.properties.method {\"enum\":[\"POST\"]}"
	catalog := Declaration{Method: "POST", By: "catalog"}
	type want struct {
		Verdict, Level, Fault, Used, By, Also string
		Failed                                []string
		Attempted                             int
		Protocols                             string
	}
	for name, c := range map[string]struct {
		version, script string
		declared        Declaration
		want            want
	}{
		"ready": {V2, "", Declaration{}, want{"ready", "L4", "none", "GET", "", "ready", nil, 1, "x402"}},
		"ready under v1, unpayable under v2": {V1, "set accepts.0.payTo \"shop.eth\"", Declaration{},
			want{"ready", "L3", "none", "GET", "", "not_ready", nil, 1, "x402"}},
		"unpayable": {V2, "set accepts.0.payTo \"shop.eth\"", Declaration{},
			want{"not_ready", "L3", "door", "GET", "", "ready", []string{"payto-payable"}, 1, "x402"}},
		"offers and contract agree": {V2, "offers", Declaration{}, want{"ready", "L5", "none", "GET", "", "ready", nil,
			1, "x402"}},
		"an offer for one of two": {V2, "offer 1 amount \"1\"", Declaration{},
			want{"ready", "L4", "none", "GET", "", "ready", nil, 1, "x402"}},
		"MPP beside x402": {V2, "mpp id=x1", Declaration{}, want{"ready", "L4", "none", "GET", "", "ready",
			nil, 1, "x402 mpp-v1"}},
		"MPP alone": {V2, "mpp id=x1\nnoheader", Declaration{},
			want{"not_ready", "L2", "none", "GET", "", "not_ready", []string{"payment-required-header"}, 1, "mpp-v1"}},
		"two headers": {V2, "again", Declaration{}, want{"not_ready", "L2", "door", "GET", "", "not_ready",
			[]string{"payment-required-header"}, 1, ""}},
		"version 1": {V2, "noheader\nmirror\nbodyset x402Version 1", Declaration{},
			want{"not_ready", "L2", "door", "GET", "", "not_ready", []string{"payment-required-header"}, 1, "x402-v1"}},
		"free": {V2, "status 200", Declaration{}, want{"not_ready", "L1", "door", "GET", "", "not_ready",
			[]string{"status-402"}, 1, "x402"}},
		"rate limited": {V2, "status 429\nnoheader", Declaration{}, want{"not_probed", "L1", "instrument", "GET", "",
			"not_ready", nil, 1, ""}},
		"a bot wall": {V2, "status 403\nnoheader\nheader Cf-Mitigated: challenge", Declaration{},
			want{"not_probed", "L1", "instrument", "GET", "", "not_ready", nil, 1, ""}},
		"a bot wall before a challenge": {V2, "status 403\nheader Cf-Mitigated: challenge", Declaration{},
			want{"not_ready", "L1", "none", "GET", "", "not_ready", []string{"status-402"}, 1, "x402"}},
		"upto alone": {V2, "set accepts.0.scheme \"upto\"\ndel accepts.1", Declaration{},
			want{"not_probed", "L3", "instrument", "GET", "", "ready", nil, 1, "x402"}},
		"Stellar alone": {V2, "set accepts.0.network \"stellar:pubnet\"\ndel accepts.1", Declaration{},
			want{"not_probed", "L3", "instrument", "GET", "", "ready", nil, 1, "x402"}},
		"not found": {V2, "status 404\nnoheader", Declaration{},
			want{"not_ready", "L1", "none", "GET", "", "not_ready", []string{"status-402"}, 1, ""}},
		"a slash at the end": {V2, "status 308\nnoheader\nheader Location: /weather/\nthen\nmethod GET\n" +
			"url https://door.example/weather/", Declaration{},
			want{"ready", "L4", "none", "GET", "", "not_ready", nil, 1, "x402"}},
		"to another host": {V2, "status 308\nnoheader\nheader Location: https://other.example/", Declaration{},
			want{"not_ready", "L1", "none", "GET", "", "not_ready", []string{"status-402"}, 1, ""}},
		"a proxy asks": {V2, "status 511\nnoheader", Declaration{}, want{"not_ready", "L1", "path", "GET", "",
			"not_ready", []string{"status-402"}, 1, ""}},
		"no name": {V2, "error resolve no such host", Declaration{},
			want{"unreachable", "L0", "path", "GET", "", "unreachable", []string{"reachable"}, 1, ""}},
		"bad certificate": {V2, "error tls expired", Declaration{},
			want{"unreachable", "L0", "door", "GET", "", "unreachable", []string{"reachable"}, 1, ""}},
		"refused by us": {V2, "error refused a private address", Declaration{},
			want{"unreachable", "L0", "instrument", "GET", "", "unreachable", []string{"reachable"}, 1, ""}},
		"plain http": {V2, "url http://door.example/weather", Declaration{},
			want{"ready", "L0", "none", "GET", "", "ready", nil, 1, "x402"}},
		"GET refused, nothing said": {V2, "status 405\nnoheader", Declaration{},
			want{"method_unresolved", "L1", "instrument", "GET", "", "method_unresolved", nil, 1, ""}},
		"GET refused, Allow without POST": {V2, "status 405\nnoheader\nheader Allow: PUT", Declaration{},
			want{"method_unresolved", "L1", "instrument", "GET", "", "method_unresolved", nil, 1, ""}},
		"POST by Allow": {V2, refused + "\nthen\n" + posts, Declaration{}, want{"ready", "L4", "none", "POST", "allow",
			"method_unresolved", nil, 2, "x402"}},
		"POST by Allow, all agrees": {V2, refused + "\nthen\noffers\n" + posts, Declaration{},
			want{"ready", "L5", "none", "POST", "allow", "method_unresolved", nil, 2, "x402"}},
		"POST by Allow, contract says GET": {V2, refused + "\nthen\noffers", Declaration{},
			want{"ready", "L4", "none", "POST", "allow", "method_unresolved", nil, 2, "x402"}},
		"v1 leaves POST alone": {V1, refused, Declaration{}, want{"method_unresolved", "L1", "instrument", "GET", "",
			"method_unresolved", nil, 1, ""}},
		"POST by Allow is broken": {V2, refused + "\nthen\nset accepts []", Declaration{},
			want{"not_ready", "L2", "door", "POST", "allow", "method_unresolved", []string{"accepts"}, 2, "x402"}},
		"POST by catalogue, GET not found": {V2, "status 404\nnoheader\nthen\n", catalog,
			want{"ready", "L4", "none", "POST", "catalog", "method_unresolved", nil, 2, "x402"}},
		"POST by catalogue, GET asks too": {V2, "", catalog, want{"ready", "L4", "none", "GET", "", "ready", nil, 1,
			"x402"}},
		"POST by catalogue is free": {V2, "status 404\nnoheader\nthen\nstatus 200\nnoheader", catalog,
			want{"not_ready", "L1", "door", "POST", "catalog", "method_unresolved", []string{"status-402"}, 2, ""}},
		"POST could not be made": {V2, refused + "\nthen\nerror connect reset", Declaration{},
			want{"method_unresolved", "L1", "instrument", "GET", "", "method_unresolved", nil, 2, ""}},
		"POST refused as well": {V2, refused + "\nthen\n" + refused, Declaration{},
			want{"method_unresolved", "L1", "instrument", "POST", "allow", "method_unresolved", nil, 2, ""}},
	} {
		r := look(t, c.version, door(t, c.script), c.declared)
		got := want{string(r.Verdict), r.ReachedLevel, string(r.Fault), r.ProbeMethod.Used, r.ProbeMethod.DeclaredBy,
			string(r.AlsoUnder.Verdict), r.Reading().Failed,
			len(r.ProbeMethod.Attempted), strings.Join(r.ProtocolsSpoken, " ")}
		if len(got.Failed) == 0 {
			got.Failed = nil
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if problem := valid(r); problem != "" && name != "plain http" {
			t.Errorf("%s: %s", name, problem)
		}
		if strings.HasPrefix(r.URL, "http:") != strings.Contains(r.ReachedLevelMeaning, "plain http") {
			t.Errorf("%s: %s", name, r.ReachedLevelMeaning)
		}
		agree := r.Verdict == r.AlsoUnder.Verdict
		if agree != (r.AlsoUnder.Difference == "") {
			t.Errorf("%s: verdicts %s and %s, difference %q", name, r.Verdict, r.AlsoUnder.Verdict,
				r.AlsoUnder.Difference)
		}
	}
}

// TestBlocked: what lies behind a failed check is not reached, and says because of what.
func TestBlocked(t *testing.T) {
	r := look(t, V2, door(t, "status 200"), Declaration{})
	for i, e := range r.ChecksVector {
		switch {
		case i == 0 && e.State != Pass, i == 1 && e.State != Fail, i > 1 &&
			(e.State != NotReached || e.BlockedBy != "status-402"):
			t.Errorf("%+v", e)
		}
	}
	// A declaration that cannot be judged blocks nothing else.
	r = look(t, V2, door(t, "set extensions.bazaar 1"), Declaration{})
	if got := r.Reading().Failed; !slices.Equal(got, []string{"bazaar-extension"}) {
		t.Errorf("failed %v", got)
	}
}

// TestRequests is what the checker asks for, and under which kind.
func TestRequests(t *testing.T) {
	p, err := NewPreflight(V2, "https://door.example/weather", Declaration{})
	if err != nil {
		t.Fatal(err)
	}
	_, next, err := p.Step(nil)
	if err != nil || next == nil || next.Kind != KindGet || next.Request.Method != "GET" ||
		next.Request.URL != "https://door.example/weather" || next.Request.Body != nil {
		t.Fatalf("first: %+v, %v", next, err)
	}
	recording := door(t, refused)
	_, next, err = p.Step(recording)
	if err != nil || next == nil || next.Kind != KindDeclaredPost || next.Request.Method != "POST" ||
		string(next.Request.Body) != "{}" ||
		next.Request.Header.Get("Content-Type") != "application/json" ||
		next.Request.URL != "https://door.example/weather" {
		t.Fatalf("second: %+v, %v", next, err)
	}
	if p.MaxRequests() != 5 || p.Name() != "preflight/v2" {
		t.Errorf("%s asks at most %d times", p.Name(), p.MaxRequests())
	}
	for name, script := range map[string]string{"another door": "url https://other.example/",
		"another method": "method POST", "three": "then\nthen\n"} {
		if name == "three" {
			three := append(door(t, refused+"\nthen\n"), door(t, "")...)
			if _, _, err := p.Step(three); !errors.Is(err, ErrRecording) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if _, _, err := p.Step(door(t, script)); !errors.Is(err, ErrRecording) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewPreflight("v3", "https://door.example/", Declaration{}); err == nil {
		t.Error("there is no v3")
	}
	if _, err := NewPreflight(V1, "", Declaration{}); err == nil {
		t.Error("there is no door without a URL")
	}
}

// TestBeyondBounds: an exchange that no recorder makes is a head that could not be read, not an
// error.
func TestBeyondBounds(t *testing.T) {
	x := door(t, "")[0]
	x.Response.Header["Allow"] = make([]string, exchange.MaxHeaders+1)
	r := look(t, V2, []exchange.Exchange{x}, Declaration{})
	if r.Verdict != Unreachable || r.Fault != FaultDoor {
		t.Errorf("%s, %s", r.Verdict, r.Fault)
	}
}

func TestControlFailed(t *testing.T) {
	dead := look(t, V2, door(t, "error deadline silence"), Declaration{}).ControlFailed()
	if dead.Verdict != NotProbed || dead.Fault != FaultInstrument || !strings.Contains(dead.SingleProbeNote,
		"control") {
		t.Errorf("%s, %s, %s", dead.Verdict, dead.Fault, dead.SingleProbeNote)
	}
	alive := look(t, V2, door(t, "status 200"), Declaration{})
	if diff := cmp.Diff(encode(t, alive), encode(t, alive.ControlFailed())); diff != "" {
		t.Errorf("an answer was taken back:\n%s", diff)
	}
}

// TestReportShape is one whole report as it is served.
func TestReportShape(t *testing.T) {
	r := look(t, V2, door(t, "set accepts.0.payTo \"shop.eth\"\ndel accepts.1\nmpp id=x1"), Declaration{})
	writeGolden(t, "testdata/report.golden", encode(t, r)+"\n")
	if strings.Contains(encode(t, r), "shop.eth") {
		t.Error("the payee stands in the report")
	}
	if len(r.Terms) != 1 || r.Terms[0].Network != "eip155:8453" || r.Terms[0].PayToForm != exchange.FormName ||
		len(r.Terms[0].PayToDigest) != 64 {
		t.Errorf("terms %+v", r.Terms)
	}
}

// TestAChallengeThatIsLong: a report does not repeat what is too long; the checks have read all of
// it.
func TestAChallengeThatIsLong(t *testing.T) {
	r := look(t, V2, door(t, "noheader\nmirror\nset error \""+strings.Repeat("x", maxShownChallenge)+"\""),
		Declaration{})
	if r.Evidence.Challenge.From != exchange.FromBody || r.Evidence.Challenge.Value != nil ||
		len(encode(t, r)) > 20_000 {
		t.Errorf("%s, %d bytes", r.Verdict, len(encode(t, r)))
	}
}
