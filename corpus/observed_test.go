package corpus

import (
	"crypto/ed25519"
	"testing"

	"agentstore/corpus/attest"
)

// TestAuditsOfBeforeCiteV1: what was signed about a door before September 2026 was judged by battery v1, whatever came in
// force meanwhile, and cites it for good. A refresh that claims otherwise is neither signed nor believed.
func TestAuditsOfBeforeCiteV1(t *testing.T) {
	k := fixedKey(t, 1)
	ring, err := attest.NewRing("2026-01-01", map[attest.Purpose]ed25519.PublicKey{attest.PurposeIdentity: k.Public()})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at, battery string
		good        bool
	}{
		{"2026-05-01T00:00:00Z", "v1", true}, {"2026-08-31T23:59:59Z", "v1", true}, {"2026-08-31T23:59:59Z", "v2", false}, {"2026-08-23T00:00:00Z", "v2", false},
		{"2026-09-01T00:00:00Z", "v1", true}, {"2026-09-01T00:00:00Z", "v2", true}, {"2026-11-20T00:00:00Z", "v2", true},
	} {
		o := Observation{Number: 1, At: c.at, Kind: ObservationPaidRefresh, Refresh: &Refresh{Host: "a.example", URL: "https://a.example/", Verdict: VerdictNotReady, ReachedLevel: "L1",
			Failed: []string{"accepts"}, Battery: c.battery, Fault: FaultDoor, EvidenceDigest: digest("e")}}
		raw, err := SignObservation(o, k)
		if (err == nil) != c.good {
			t.Errorf("%s by %s: %v", c.at, c.battery, err)
		}
		if !c.good {
			continue
		}
		if back, err := VerifyObservation(raw, ring); err != nil || back.Refresh.Battery != c.battery {
			t.Errorf("%s by %s is not verified: %v", c.at, c.battery, err)
		}
	}
}

func TestKindsOfObservations(t *testing.T) {
	k := fixedKey(t, 1)
	ring, err := attest.NewRing("2026-01-01", map[attest.Purpose]ed25519.PublicKey{attest.PurposeIdentity: k.Public()})
	if err != nil {
		t.Fatal(err)
	}
	handover, err := attest.NewHandover(attest.Change{Purpose: attest.PurposeIdentity, Effective: "2026-11-20", Reason: "lost"}, k, fixedKey(t, 2).Public())
	if err != nil {
		t.Fatal(err)
	}
	good := map[string]func() Observation{
		ObservationRetiredWord: func() Observation { return Observation{Word: said("w")} },
		ObservationPaidRefresh: func() Observation {
			return Observation{Refresh: &Refresh{Host: "a.example", URL: "https://a.example/", Verdict: VerdictNotReady, ReachedLevel: "L1", Failed: []string{"accepts"}, Battery: "v2", Fault: FaultDoor, EvidenceDigest: digest("e")}}
		},
		ObservationPaidWalk: func() Observation {
			return Observation{Walk: &PaidWalk{Host: "a.example", URL: "https://a.example/", Network: "eip155:8453", Transaction: "0x1", USDC: "0.5", Claim: &WalkClaim{Status: 200}}}
		},
		ObservationDeclaration: func() Observation {
			return Observation{Declaration: &Declaration{Host: "a.example", Shape: "resources", Doors: []string{"https://a.example/"}}}
		},
		ObservationStandingNote: func() Observation {
			return Observation{Note: &StandingNote{Host: "a.example", Lane: "host", Statement: *said("moved"), SignedAt: "2026-11-20T00:00:00Z"}}
		},
		ObservationPublishedTip: func() Observation { return Observation{Tip: &Tip{ID: "1", Title: *said("t"), Text: *said("x")}} },
		ObservationArtifactsIssued: func() Observation {
			return Observation{Issued: &Issued{Total: 3, Classes: []IssuedClass{{"a", 1}, {"b", 2}}}}
		},
		ObservationKeyEvent: func() Observation { return Observation{Handover: &handover} },
	}
	for kind, body := range good {
		o := body()
		o.Number, o.At, o.Kind = 1, "2026-11-20T00:00:00Z", kind
		raw, err := SignObservation(o, k)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if back, err := VerifyObservation(raw, ring); err != nil || back.Kind != kind {
			t.Errorf("%s: %v", kind, err)
		}
		for other, more := range good {
			if other == kind {
				continue
			}
			wrong := more()
			wrong.Number, wrong.At, wrong.Kind = 1, o.At, kind
			if _, err := SignObservation(wrong, k); err == nil {
				t.Errorf("%s with the members of %s is signed", kind, other)
			}
			both := wrong
			both.Kind, both.Word = other, said("w")
			if other != ObservationRetiredWord {
				if _, err := SignObservation(both, k); err == nil {
					t.Errorf("%s with a word is signed", other)
				}
			}
		}
	}
	for name, bad := range map[string]Observation{
		"refresh of nothing": {Kind: ObservationPaidRefresh, Refresh: &Refresh{Host: "a.example", Verdict: VerdictNotProbed}},
		"amount":             {Kind: ObservationPaidWalk, Walk: &PaidWalk{Host: "a.example", URL: "u", Network: "eip155:1", Transaction: "t", USDC: "-1"}},
		"many doors":         {Kind: ObservationDeclaration, Declaration: &Declaration{Host: "a.example", Shape: "s", Doors: make([]string, 21)}},
		"lane":               {Kind: ObservationStandingNote, Note: &StandingNote{Host: "a.example", Lane: "wallet", Statement: *said("s"), SignedAt: "2026-11-20T00:00:00Z"}},
		"sum":                {Kind: ObservationArtifactsIssued, Issued: &Issued{Total: 2, Classes: []IssuedClass{{"a", 1}}}},
		"order":              {Kind: ObservationArtifactsIssued, Issued: &Issued{Total: 2, Classes: []IssuedClass{{"b", 1}, {"a", 1}}}},
	} {
		bad.Number, bad.At = 1, "2026-11-20T00:00:00Z"
		if _, err := SignObservation(bad, k); err == nil {
			t.Errorf("%s: it is signed", name)
		}
	}
}
