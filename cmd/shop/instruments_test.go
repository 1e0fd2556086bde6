package shop

import (
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/dynamic"
)

func TestBudgetsAreConfigurable(t *testing.T) {
	for _, l := range (InstrumentsConfig{PreflightProcess: 500, PreflightShared: 900, A2AShared: 7,
		ReadingsProcess: 3}).budgets(dynamic.Budgets()) {
		got := [2]int{l.Process, l.Shared}
		if want, ok := map[string][2]int{"preflight": {500, 900}, "a2a_check": {30, 7},
			"readings": {3, 60}}[l.Name]; ok && got != want {
			t.Errorf("%s: %v, want %v", l.Name, got, want)
		}
	}
	for _, l := range (InstrumentsConfig{}).budgets(dynamic.Budgets()) {
		if l.Name == "preflight" && (l.Process != 30 || l.Shared != 60) {
			t.Errorf("unconfigured: %d and %d, want 30 and 60", l.Process, l.Shared)
		}
	}
}

func TestWhomTheProbesReach(t *testing.T) {
	client := func(in InstrumentsConfig) *fetch.Client {
		t.Helper()
		if err := in.check(); err != nil {
			t.Fatal(err)
		}
		cfg, err := (&Config{BaseURL: "https://store.example", Instruments: in}).fetchConfig(attest.SpecimenKey())
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(cfg.UserAgent, "https://") {
			t.Errorf("user agent %q has no contact", cfg.UserAgent)
		}
		c, err := fetch.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	public := client(InstrumentsConfig{OwnHosts: []string{"shop.example"}, OwnAddresses: []string{"93.184.216.34"}})
	for _, c := range []struct {
		client *fetch.Client
		url    string
		want   string // part of the refusal, "" for none
	}{
		{public, "https://door.example/", ""},
		{public, "https://store.example/", fetch.CodeOwnHost},
		{public, "https://SHOP.example./", fetch.CodeOwnHost},
		{public, "https://93.184.216.34/", fetch.CodeOwnHost},
		{public, "https://10.20.3.4/", fetch.CodeTarget},
	} {
		_, err := c.client.Parse(c.url, fetch.Rule{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.url, err, c.want)
		}
	}
	for name, in := range map[string]InstrumentsConfig{
		"contact": {Contact: "write to me"}, "negative": {Walks: -1}, "address": {OwnAddresses: []string{"here"}},
	} {
		if in.check() == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
