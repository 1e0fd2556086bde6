package record_test

import (
	"crypto/ed25519"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
)

// TestAuditsOfBeforeCiteV1: what was signed about a door before September 2026 was judged by
// battery v1, whatever came in force meanwhile, and cites it for good. A refresh that claims
// otherwise is neither signed nor believed.
func TestAuditsOfBeforeCiteV1(t *testing.T) {
	k := recordtest.Key(t, 1)
	ring, err := attest.NewRing("2026-01-01", map[attest.Purpose]ed25519.PublicKey{attest.PurposeIdentity: k.Public()})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at, battery string
		good        bool
	}{
		{"2026-05-01T00:00:00Z", "v1", true}, {"2026-08-31T23:59:59Z", "v1", true},
		{"2026-08-31T23:59:59Z", "v2", false}, {"2026-08-23T00:00:00Z", "v2", false},
		{"2026-09-01T00:00:00Z", "v1", true}, {"2026-09-01T00:00:00Z", "v2", true},
		{"2026-11-20T00:00:00Z", "v2", true},
	} {
		o := record.Observation{Number: 1, At: c.at, Kind: record.ObservationPaidRefresh,
			Refresh: &record.Refresh{Host: "a.example", URL: "https://a.example/", Verdict: record.VerdictNotReady,
				ReachedLevel: "L1",
				Failed:       []string{"accepts"}, Battery: c.battery, Fault: record.FaultDoor,
				EvidenceDigest: recordtest.Digest("e")}}
		raw, err := record.SignObservation(o, k)
		if (err == nil) != c.good {
			t.Errorf("%s by %s: %v", c.at, c.battery, err)
		}
		if !c.good {
			continue
		}
		if back, err := record.VerifyObservation(raw, ring); err != nil || back.Refresh.Battery != c.battery {
			t.Errorf("%s by %s is not verified: %v", c.at, c.battery, err)
		}
	}
}

func TestKindsOfObservations(t *testing.T) {
	k := recordtest.Key(t, 1)
	ring, err := attest.NewRing("2026-01-01", map[attest.Purpose]ed25519.PublicKey{attest.PurposeIdentity: k.Public()})
	if err != nil {
		t.Fatal(err)
	}
	handover, err := attest.NewHandover(attest.Change{Purpose: attest.PurposeIdentity, Effective: "2026-11-20",
		Reason: "lost"}, k, recordtest.Key(t, 2).Public())
	if err != nil {
		t.Fatal(err)
	}
	good := map[string]func() record.Observation{
		record.ObservationRetiredWord: func() record.Observation {
			return record.Observation{Word: recordtest.Said(
				"w")}
		},
		record.ObservationPaidRefresh: func() record.Observation {
			return record.Observation{Refresh: &record.Refresh{Host: "a.example", URL: "https://a.example/",
				Verdict: record.VerdictNotReady, ReachedLevel: "L1", Failed: []string{"accepts"}, Battery: "v2",
				Fault: record.FaultDoor, EvidenceDigest: recordtest.Digest("e")}}
		},
		record.ObservationPaidWalk: func() record.Observation {
			return record.Observation{Walk: &record.PaidWalk{Host: "a.example", URL: "https://a.example/",
				Network: "eip155:8453", Transaction: "0x1", USDC: "0.5", Claim: &record.WalkClaim{Status: 200}}}
		},
		record.ObservationUnpaidWalk: func() record.Observation {
			return record.Observation{Unpaid: &record.UnpaidWalk{Host: "a.example", URL: "https://a.example/",
				Network: "eip155:8453", USDC: "0.5"}}
		},
		record.ObservationDeclaration: func() record.Observation {
			return record.Observation{Declaration: &record.Declaration{Host: "a.example", Shape: "resources",
				Doors: []string{"https://a.example/"}}}
		},
		record.ObservationStandingNote: func() record.Observation {
			return record.Observation{Note: &record.StandingNote{Host: "a.example", Lane: "host",
				Statement: *recordtest.Said("moved"), SignedAt: "2026-11-20T00:00:00Z"}}
		},
		record.ObservationPublishedTip: func() record.Observation {
			return record.Observation{Tip: &record.Tip{ID: "1", Title: *recordtest.Said("t"),
				Text: *recordtest.Said("x")}}
		},
		record.ObservationArtifactsIssued: func() record.Observation {
			return record.Observation{Issued: &record.Issued{Total: 3,
				Classes: []record.IssuedClass{{"a", 1}, {"b", 2}}}}
		},
		record.ObservationKeyEvent: func() record.Observation { return record.Observation{Handover: &handover} },
	}
	for kind, body := range good {
		o := body()
		o.Number, o.At, o.Kind = 1, "2026-11-20T00:00:00Z", kind
		raw, err := record.SignObservation(o, k)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if back, err := record.VerifyObservation(raw, ring); err != nil || back.Kind != kind {
			t.Errorf("%s: %v", kind, err)
		}
		for other, more := range good {
			if other == kind {
				continue
			}
			wrong := more()
			wrong.Number, wrong.At, wrong.Kind = 1, o.At, kind
			if _, err := record.SignObservation(wrong, k); err == nil {
				t.Errorf("%s with the members of %s is signed", kind, other)
			}
			both := wrong
			both.Kind, both.Word = other, recordtest.Said("w")
			if other != record.ObservationRetiredWord {
				if _, err := record.SignObservation(both, k); err == nil {
					t.Errorf("%s with a word is signed", other)
				}
			}
		}
	}
	for name, bad := range map[string]record.Observation{
		"refresh of nothing": {Kind: record.ObservationPaidRefresh, Refresh: &record.Refresh{Host: "a.example",
			Verdict: record.VerdictNotProbed}},
		"amount": {Kind: record.ObservationPaidWalk, Walk: &record.PaidWalk{Host: "a.example", URL: "u",
			Network: "eip155:1", Transaction: "t", USDC: "-1"}},
		"many doors": {Kind: record.ObservationDeclaration, Declaration: &record.Declaration{Host: "a.example",
			Shape: "s", Doors: make([]string, 21)}},
		"lane": {Kind: record.ObservationStandingNote, Note: &record.StandingNote{Host: "a.example",
			Lane: "wallet", Statement: *recordtest.Said("s"), SignedAt: "2026-11-20T00:00:00Z"}},
		"sum": {Kind: record.ObservationArtifactsIssued,
			Issued: &record.Issued{Total: 2, Classes: []record.IssuedClass{{"a", 1}}}},
		"order": {Kind: record.ObservationArtifactsIssued,
			Issued: &record.Issued{Total: 2, Classes: []record.IssuedClass{{"b", 1}, {"a", 1}}}},
	} {
		bad.Number, bad.At = 1, "2026-11-20T00:00:00Z"
		if _, err := record.SignObservation(bad, k); err == nil {
			t.Errorf("%s: it is signed", name)
		}
	}
}
