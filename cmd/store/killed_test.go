package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// overMCP calls buy_hello with a payment, or without for nil.
func (s *soldHere) overMCP(payment json.RawMessage) ([]byte, error) {
	meta := ""
	if payment != nil {
		meta = `,"_meta":{"x402/payment":` + string(payment) + `}`
	}
	resp, err := http.Post(s.base+"/mcp", "application/json", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"buy_hello","arguments":{"agent_name":"killed"}`+
			meta+`}}`))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// signed is a payment by the terms of an unpaid call.
func (s *soldHere) signed() json.RawMessage {
	s.t.Helper()
	said, err := s.overMCP(nil)
	var unpaid struct {
		Error struct {
			Code int
			Data struct {
				Accepts              []struct{ Amount string }
				Resource, Extensions json.RawMessage
			}
		}
	}
	var raw struct {
		Error struct {
			Data struct{ Accepts []json.RawMessage }
		}
	}
	if err != nil || json.Unmarshal(said, &unpaid) != nil || json.Unmarshal(said, &raw) != nil ||
		unpaid.Error.Code != 402 {
		s.t.Fatalf("unpaid: %v %s", err, said)
	}
	var amount int64
	if _, err := fmt.Sscan(unpaid.Error.Data.Accepts[0].Amount, &amount); err != nil {
		s.t.Fatal(err)
	}
	p := s.net.Chains[0].SignTransfer(s.net.Buyers[0], s.net.PayTo, amount)
	a := p.Authorization
	out, err := json.Marshal(map[string]any{"x402Version": 2, "accepted": raw.Error.Data.Accepts[0],
		"resource": unpaid.Error.Data.Resource, "extensions": unpaid.Error.Data.Extensions,
		"payload": map[string]any{"signature": fmt.Sprintf("0x%x", p.Signature),
			"authorization": map[string]string{"from": a.From.Hex(), "to": a.To.Hex(), "value": a.Value.String(),
				"validAfter": fmt.Sprint(a.ValidAfter), "validBefore": fmt.Sprint(a.ValidBefore),
				"nonce": fmt.Sprintf("0x%x", a.Nonce[:])}}})
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// TestKilledOverMCP: a store that is killed when the payment of a call over MCP is on its way to
// the chain answers the same call, once it runs again, with what was paid for; it is charged once.
func TestKilledOverMCP(t *testing.T) {
	s := newSoldHere(t)
	s.build()
	s.serve()
	payment, chain := s.signed(), s.net.Chains[0]
	chain.SetAutomine(false)
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		if said, err := s.overMCP(payment); err == nil && strings.Contains(string(said), `"result"`) {
			t.Errorf("the answer was not lost: %.300s", said)
		}
	}()
	count := func(at string) string {
		return string(chain.Do("eth_getTransactionCount", s.net.Relayer.Address, at))
	}
	for deadline := time.Now().Add(2 * time.Minute); count("pending") == count("latest"); {
		time.Sleep(20 * time.Millisecond)
		if time.Now().After(deadline) {
			t.Fatalf("nothing is sent to the chain: %s", s.said)
		}
	}
	s.kill()
	<-lost
	chain.SetAutomine(true)
	s.serve()
	for _, want := range []string{`"certificate"`, `"idempotent_replay":true`} {
		said, err := s.overMCP(payment)
		for try := 0; try < 20 && strings.Contains(string(said), "-32000"); try++ {
			said, err = s.overMCP(payment) // the chain has not spoken yet
		}
		if err != nil || !strings.Contains(string(said), want) || !strings.Contains(string(said), `"result"`) {
			t.Errorf("called again: %v %.600s\n%s", err, said, s.said)
		}
	}
	if got := chain.Balance(s.net.PayTo); got != 500_000 {
		t.Errorf("one order earned %d", got)
	}
}
