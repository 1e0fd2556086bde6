package criteria

import (
	"strings"
	"testing"

	"store.example/agentstore/corpus/probe"
)

// TestCurrent: every check of the newest battery is told, and every field of a class is filled.
func TestCurrent(t *testing.T) {
	c, all := Current(), probe.Batteries()
	if len(c.CriteriaBattery) != len(all[len(all)-1].Checks) || c.CriteriaBattery[0].Battery != probe.V1 ||
		c.CriteriaBattery[len(c.CriteriaBattery)-1].Battery != probe.V2 {
		t.Errorf("%d criteria", len(c.CriteriaBattery))
	}
	if len(c.VerdictVocabulary) != 4 || len(c.ResultClasses) != 5 {
		t.Errorf("%d verdicts, %d classes", len(c.VerdictVocabulary), len(c.ResultClasses))
	}
	for _, k := range c.Clients {
		if k.Client == "" || k.Package == "" || k.Configured == "" || k.Signs == "" {
			t.Errorf("client %+v", k)
		}
	}
	ids := map[string]bool{}
	for _, a := range c.ArtifactClasses {
		if ids[a.ID] || a.ID == "" || a.Name == "" || a.TrustModel == "" || a.Signs == "" || a.DoesNotProve == "" ||
			!strings.HasPrefix(a.VerifyURL, "/") {
			t.Errorf("artifact class %+v", a)
		}
		ids[a.ID] = true
	}
}
