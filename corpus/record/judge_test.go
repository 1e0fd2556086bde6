package record

import (
	"testing"

	"store.example/agentstore/corpus/probe"
)

// TestWhatTheRecordKnowsOfBatteries holds the few facts that a record is read by without a battery
// against package probe.
func TestWhatTheRecordKnowsOfBatteries(t *testing.T) {
	if MaxJudgement != probe.MaxJudgement || citesFirstBefore != probe.AuditsCiteV1Before ||
		firstBattery != probe.V1 || ReasonChallenged != probe.ReasonChallenged {
		t.Error("package probe says otherwise")
	}
	if known := probe.Versions(); len(known) != len(Batteries) {
		t.Errorf("the batteries are %v", known)
	}
	for version := range Batteries {
		want, err := probe.DocumentDigest(version)
		if got, known := batteryDigest(version); err != nil || known != nil || got != want {
			t.Errorf("battery %s: %s, %v; its document is %s, %v", version, got, known, want, err)
		}
	}
	if _, err := batteryDigest("v0"); err == nil {
		t.Error("a battery that nobody knows has a digest")
	}
}
