package probe

import (
	"testing"
	"time"

	"store.example/agentstore/corpus/exchange"

	"github.com/google/go-cmp/cmp"
)

func TestCompare(t *testing.T) {
	ready := Reading{Ready, nil, V2}
	broken := Reading{NotReady, []string{"amount-atomic", "payto-payable"}, V2}
	for name, c := range map[string]struct {
		before, after  Reading
		class          string
		added, cleared []string
	}{
		"same": {broken, Reading{NotReady, []string{"payto-payable", "amount-atomic", "amount-atomic"},
			V2}, ClassSame, nil, nil},
		"broke":  {ready, broken, ClassMoved, broken.Failed, nil},
		"mended": {broken, ready, ClassMoved, nil, broken.Failed},
		"another failure": {broken, Reading{NotReady, []string{"accepts"}, V2}, ClassMoved, []string{"accepts"},
			broken.Failed},
		"gone": {ready, Reading{Unreachable, []string{"reachable"}, V2}, ClassMoved,
			[]string{"reachable"}, nil},
		"another battery":     {Reading{Ready, nil, V1}, broken, ClassInstrumentMoved, broken.Failed, nil},
		"another, same words": {Reading{Ready, nil, V1}, ready, ClassInstrumentMoved, nil, nil},
		"not probed":          {Reading{NotProbed, nil, V2}, ready, ClassNotComparable, nil, nil},
		"unresolved":          {ready, Reading{MethodUnresolved, nil, V2}, ClassNotComparable, nil, nil},
		"no battery":          {Reading{Ready, nil, ""}, ready, ClassNotComparable, nil, nil},
	} {
		got := Compare(c.before, c.after)
		if got.Class != c.class || got.Detail == "" || !sameNames(got.FailedAdded, c.added) ||
			!sameNames(got.FailedCleared, c.cleared) ||
			got.VerdictSame != (c.before.Verdict == c.after.Verdict) ||
			got.BatterySame != (c.before.Battery == c.after.Battery) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func sameNames(a, b []string) bool { return len(a) == len(b) && (len(a) == 0 || cmp.Equal(a, b)) }

// TestRejudge judges bytes of v1 again by v2: the instrument moved, not the door.
func TestRejudge(t *testing.T) {
	recording := door(t, "set accepts.0.payTo \"shop.eth\"")
	before := look(t, V1, recording, Declaration{}).Reading()
	v2, err := NewPreflight(V2, recording[0].Request.URL, Declaration{})
	if err != nil {
		t.Fatal(err)
	}
	report, err := Replay(recording, Checker[Report](v2))
	if err != nil {
		t.Fatal(err)
	}
	now := report.Reading()
	if c := Compare(before, now); c.Class != ClassInstrumentMoved || now.Verdict != NotReady ||
		!cmp.Equal(c.FailedAdded, []string{"payto-payable"}) {
		t.Errorf("%+v", c)
	}
	again, err := Replay(recording, Checker[Report](v2))
	if c := Compare(now, again.Reading()); err != nil || c.Class != ClassSame {
		t.Errorf("%+v, %v", c, err)
	}
	if c := Compare(Reading{Ready, nil, V2}, now); c.Class != ClassMoved {
		t.Errorf("a forged reading: %+v", c)
	}
	if _, err := Replay(nil, Checker[Report](v2)); err == nil {
		t.Error("nothing was judged again")
	}
}

// TestRejudgeWithoutPost: a recording of v1 holds no POST; v2 cannot make one and says that it did
// not judge.
func TestRejudgeWithoutPost(t *testing.T) {
	recording := door(t, refused)
	r := look(t, V2, recording, Declaration{})
	if r.Verdict != MethodUnresolved || len(r.ProbeMethod.Attempted) != 2 {
		t.Errorf("%s after %v", r.Verdict, r.ProbeMethod.Attempted)
	}
	if len(recording) != 1 {
		t.Error("the recording grew")
	}
}

// restless never ends.
type restless struct{}

func (restless) Name() string     { return "restless" }
func (restless) MaxRequests() int { return 3 }
func (restless) Step([]exchange.Exchange) (Report, *Next, error) {
	return Report{}, &Next{Kind: KindGet}, nil
}

func TestReplayEnds(t *testing.T) {
	if _, err := Replay[Report](door(t, ""), restless{}); err == nil {
		t.Error("a checker that never ends has reported")
	}
}

// TestInputsLacking: a door that takes POST and refuses the empty object for want of inputs has no
// verdict, from the day on that this is told; what was recorded before gives what it gave, and a
// refusal with terms, or of another kind, is judged.
func TestInputsLacking(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		day    int
		want   Verdict
		reason string
	}{
		"unprocessable": {422, 30, NotProbed, ReasonInputs}, "bad request": {400, 30, NotProbed, ReasonInputs},
		"the day before": {422, 29, NotReady, ""}, "forbidden": {403, 30, NotReady, ""},
	} {
		get := door(t, refused)[0]
		get.Response.Header.Set("Allow", "POST")
		get.StartedAt = time.Date(2026, 11, c.day, 1, 2, 3, 0, time.UTC)
		post := get
		post.Request = exchange.Request{Method: "POST", URL: get.Request.URL, Body: []byte("{}")}
		post.Response = exchange.Response{Status: c.status, Proto: "HTTP/2.0"}
		r := look(t, V2, []exchange.Exchange{get, post}, Declaration{})
		if r.Verdict != c.want || r.Reason != c.reason || c.reason != "" && len(r.Reading().Failed) > 0 {
			t.Errorf("%s: %s for %q, failed %v", name, r.Verdict, r.Reason, r.Reading().Failed)
		}
	}
}
