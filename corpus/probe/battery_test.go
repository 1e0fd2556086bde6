package probe

import (
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/corpus/exchange"

	"github.com/google/go-cmp/cmp"
)

// TestCases runs every case file through the whole battery: the named check or advisory must say
// what the section says.
func TestCases(t *testing.T) {
	for _, k := range cases(t) {
		r := look(t, V2, door(t, k.script), Declaration{})
		switch k.want {
		case "pass", "fail", "nothing":
			want := map[string]State{"pass": Pass, "fail": Fail, "nothing": NotReached}[k.want]
			i := slices.IndexFunc(r.ChecksVector, func(e VectorEntry) bool { return e.Name == k.file })
			if i < 0 {
				t.Errorf("%s: no such check", k)
				continue
			}
			if e := r.ChecksVector[i]; e.State != want || e.BlockedBy != "" || e.Detail == "" {
				t.Errorf("%s: %+v", k, e)
			}
		case "unjudged":
			i := slices.IndexFunc(r.ChecksVector, func(e VectorEntry) bool { return e.Name == k.file })
			if i < 0 || r.ChecksVector[i].State != NotReached || r.ChecksVector[i].BlockedBy != BlockedNotJudged ||
				r.Verdict != NotProbed || r.ReachedLevel != "L3" {
				t.Errorf("%s: %s, %+v", k, r.Verdict, r.ChecksVector)
			}
		case "raised", "silent":
			raised := slices.ContainsFunc(r.Advisories, func(n Note) bool { return n.Name == k.file })
			if raised != (k.want == "raised") {
				t.Errorf("%s: advisories %v", k, r.Advisories)
			}
			if !slices.ContainsFunc(Advisories(), func(a Advisory) bool { return a.Name == k.file }) {
				t.Errorf("%s: no such advisory", k)
			}
		default:
			t.Errorf("%s: nobody knows what %s means", k, k.want)
		}
		if err := valid(r); err != "" {
			t.Errorf("%s: %s", k, err)
		}
	}
}

// TestEveryRowHasCases demands a pass and a fail for each check, raised and silent for each
// advisory, and full rows.
func TestEveryRowHasCases(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range cases(t) {
		seen[k.file+" "+k.want] = true
	}
	names := map[string]bool{}
	row := func(name string, doc Doc, fix, since string, wants ...string) {
		if names[name] || name == "" || strings.ToLower(name) != name || strings.ContainsAny(name, " _") {
			t.Errorf("the name %q is taken or odd", name)
		}
		names[name] = true
		if doc.Title == "" || doc.Reason == "" || doc.Citation == "" || fix == "" || len(since) != 10 {
			t.Errorf("%s: a field of the row is empty", name)
		}
		for _, want := range wants {
			if !seen[name+" "+want] {
				t.Errorf("%s has no case for %s", name, want)
			}
		}
	}
	for _, c := range knownBattery(V2).Checks {
		row(c.Name, c.Doc, c.Fix, c.Since, "pass", "fail")
		if c.Run == nil || c.After != "" && !slices.ContainsFunc(knownBattery(V2).Checks,
			func(o Check) bool { return o.Name == c.After }) {
			t.Errorf("%s comes after %q", c.Name, c.After)
		}
	}
	for _, a := range Advisories() {
		row(a.Name, a.Doc, a.Fix, a.Since, "raised", "silent")
	}
}

// TestFrozenOrder holds the names and order of both batteries and of the advisories.
func TestFrozenOrder(t *testing.T) {
	var b strings.Builder
	for _, battery := range Batteries() {
		for _, c := range battery.Checks {
			b.WriteString("battery " + battery.Version + " " + c.Name + " after " + c.After + "\n")
		}
	}
	for _, a := range Advisories() {
		b.WriteString("advisory " + a.Name + "\n")
	}
	writeGolden(t, "testdata/names.golden", b.String())
}

// TestV1IsAPrefix: v2 asks everything that v1 asks, first and in the same order.
func TestV1IsAPrefix(t *testing.T) {
	v1, v2 := knownBattery(V1).Checks, knownBattery(V2).Checks
	if len(v2) != len(v1)+5 {
		t.Fatalf("%d and %d checks", len(v1), len(v2))
	}
	for i, c := range v1 {
		if v2[i].Name != c.Name || v2[i].After != c.After {
			t.Errorf("check %d: %s and %s", i, c.Name, v2[i].Name)
		}
	}
}

// TestSameOnRedacted: whoever holds the published evidence alone reaches the same report, for every
// case and version.
func TestSameOnRedacted(t *testing.T) {
	for _, k := range cases(t) {
		recording := door(t, k.script)
		for _, version := range []string{V1, V2} {
			p, err := NewPreflight(version, recording[0].Request.URL, Declaration{})
			if err != nil {
				t.Fatal(err)
			}
			var published []exchange.Redacted
			var digests []string
			for _, x := range walked(t, p, recording) {
				redacted, err := x.Redact()
				if err != nil {
					t.Fatal(err)
				}
				raw, err := redacted.Encode()
				if err != nil {
					t.Fatal(err)
				}
				back, err := exchange.DecodeRedacted(raw)
				if err != nil {
					t.Fatal(err)
				}
				published = append(published, back)
				digests = append(digests, back.Digest())
			}
			fromRaw, _, err := p.Step(walked(t, p, recording))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(encode(t, fromRaw), encode(t, p.Judge(published))); diff != "" {
				t.Errorf("%s under %s:\n%s", k, version, diff)
			}
			if !slices.Contains(digests, fromRaw.Evidence.Digest) {
				t.Errorf("%s: digest %s", k, fromRaw.Evidence.Digest)
			}
		}
	}
}

// TestSameOnAnotherDay: a saved recording gives the same bytes.
func TestSameOnAnotherDay(t *testing.T) {
	for _, k := range cases(t) {
		recording := door(t, k.script)
		first := encode(t, look(t, V2, recording, Declaration{}))
		var saved []exchange.Exchange
		for _, x := range recording {
			raw, err := x.Encode()
			if err != nil {
				t.Fatal(err)
			}
			back, err := exchange.Decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			saved = append(saved, back)
		}
		if again := encode(t, look(t, V2, saved, Declaration{})); first != again {
			t.Errorf("%s:\n%s", k, cmp.Diff(first, again))
		}
	}
}

// valid says what is wrong with a report's shape, "" for nothing.
func valid(r Report) string {
	b, err := batteryOf(r.Version)
	switch {
	case err != nil:
		return err.Error()
	case len(r.ChecksVector) != len(b.Checks):
		return "the vector has not the battery's length"
	case !slices.Contains([]Verdict{Ready, NotReady, Unreachable, MethodUnresolved, NotProbed}, r.Verdict):
		return "verdict " + string(r.Verdict)
	case !slices.Contains([]Fault{FaultNone, FaultDoor, FaultPath, FaultInstrument}, r.Fault) ||
		r.Verdict == Ready && r.Fault != FaultNone, r.Verdict == NotProbed && r.Reason == "":
		return "fault " + string(r.Fault) + " for " + string(r.Verdict)
	case len(r.Remediation) != len(r.Reading().Failed):
		return "not one remedy for each failed check"
	case r.Evidence.Digest == "" || r.SingleProbeNote == "" || len(r.CannotTell) == 0 || len(r.NextSteps) == 0:
		return "a field is empty"
	}
	rung := slices.IndexFunc(Levels(), func(l Level) bool { return l.Name == r.ReachedLevel })
	failed, judged := false, 0
	for i, e := range r.ChecksVector {
		if e.Name != b.Checks[i].Name || e.Detail == "" || (e.BlockedBy != "" && e.State != NotReached) {
			return "vector entry " + e.Name
		}
		failed = failed || e.State == Fail
		if e.State != NotReached {
			judged++
		}
	}
	switch {
	case judged != len(r.Checks):
		return "checks are not the judged part of the vector"
	case r.Verdict == Ready && (failed || rung < 3 && strings.HasPrefix(r.URL, "https:")), r.Verdict == NotReady &&
		!failed:
		return "verdict " + string(r.Verdict) + " at " + r.ReachedLevel
	case rung < 0 || rung > 5 || r.ReachedLevelMeaning != Levels()[rung].Meaning && rung > 0:
		return "level " + r.ReachedLevel
	}
	return ""
}
