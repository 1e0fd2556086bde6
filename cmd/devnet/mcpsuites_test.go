package main

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"store.example/agentstore/cmd/devnet/clients"
)

// The suites of third parties find nothing at any door.
func TestLongMCPSuites(t *testing.T) {
	s := openStall(t)
	for _, door := range []string{"/mcp", "/mcp/verifier", "/mcp/docs"} {
		for revision, failures := range notSold {
			if said, err := clients.ConformMCP(t, revision, s.url+door, failures); err != nil {
				t.Errorf("%s, %s: %v\n%s", door, revision, err, said)
			}
		}
		if said, err := clients.ConformMCP(t, "2025-06-18", s.url+door, nil, "--scenario",
			"dns-rebinding-protection"); err != nil {
			t.Errorf("%s: %v\n%s", door, err, said)
		}
		for _, era := range []string{"legacy", "modern"} {
			if said, err := clients.InspectMCP(t, s.url+door, "--method", "tools/list", "--strict", "--protocol-era",
				era); err != nil {
				t.Errorf("%s, %s: %v\n%s", door, era, err, said)
			}
		}
	}
	if said, err := clients.InspectMCP(t, s.url+"/mcp", "--method", "resources/read", "--uri",
		"store://pricing"); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	call := []string{"--method", "tools/call", "--tool-name", "buy_hello", "--tool-arg", "agent_name=Inspector"}
	if said, err := clients.InspectMCP(t, s.url+"/mcp", call...); err == nil || !strings.Contains(said,
		"Payment required") {
		t.Errorf("unpaid: %v\n%s", err, said)
	}
	c := connect(t, s.url+"/mcp")
	payment, err := json.Marshal(s.pay(t, s.net.Buyers[0], asked(t, c, &sdk.CallToolParams{Name: "buy_hello",
		Arguments: map[string]any{"agent_name": "Inspector"}})))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.earned(func() {
		said, err := clients.InspectMCP(t, s.url+"/mcp", append(call, "--tool-metadata",
			"x402/payment="+string(payment))...)
		if err != nil || !strings.Contains(said, `x402/payment-response`) {
			t.Errorf("paid: %v\n%s", err, said)
		}
	}); got != 500_000 {
		t.Errorf("the Inspector paid %d", got)
	}
}

// notSold are the scenarios of the conformance suite that call tools, prompts and resources of
// fixed names, or need a stream or a session. The transport passes those that it can with these
// names mounted: see package mcp.
var notSold = map[string][]string{
	"2025-06-18": {"completion-complete", "tools-call-simple-text", "tools-call-image", "tools-call-audio",
		"tools-call-embedded-resource", "tools-call-mixed-content", "tools-call-with-logging", "tools-call-error",
		"tools-call-with-progress", "tools-call-sampling", "tools-call-elicitation", "resources-read-text",
		"resources-read-binary", "resources-templates-read", "resources-subscribe", "resources-unsubscribe",
		"prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource", "prompts-get-with-image"},
	"2026-07-28": {"server-stateless", "completion-complete", "tools-call-simple-text", "tools-call-image",
		"tools-call-audio", "tools-call-embedded-resource", "tools-call-mixed-content", "tools-call-error",
		"tools-call-with-progress", "resources-read-text", "resources-read-binary", "resources-templates-read",
		"prompts-list", "prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource",
		"prompts-get-with-image", "caching", "input-required-result-basic-elicitation",
		"input-required-result-basic-sampling", "input-required-result-basic-list-roots",
		"input-required-result-request-state", "input-required-result-multiple-input-requests",
		"input-required-result-multi-round", "input-required-result-missing-input-response",
		"input-required-result-non-tool-request", "input-required-result-result-type",
		"input-required-result-tampered-state", "input-required-result-capability-check",
		"input-required-result-ignore-extra-params"},
}
