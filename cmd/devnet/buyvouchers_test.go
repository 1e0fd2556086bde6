package main

import (
	"encoding/json"
	"errors"
	"os/exec"
	"testing"

	"store.example/agentstore/dynamic/buyer"
)

// The verb pays by voucher out of a channel, lists it, has what is left refunded, and begins a
// withdrawal that it says it cannot end yet: each by its exit code and in JSON.
func TestStoreBuyByVouchers(t *testing.T) {
	t.Parallel()
	s := openStall(t)
	p := openPurse(t, s.net.Buyers[4])
	node := s.nodes[0]
	rpc, door := node.Network.ID()+"="+node.URL, s.url+"/api/buy/hello?agent_name=voucher"
	line := s.url + "/porch/line"
	run := func(code int, out any, args ...string) {
		t.Helper()
		text, err := p.buy(append([]string{"-json", "-wallet", p.key, "-rpc", rpc}, args...)...).Output()
		exit := 0
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			exit, err = e.ExitCode(), errors.New(string(e.Stderr))
		}
		if exit != code {
			t.Fatalf("%v: exit %d, want %d: %v\n%s", args, exit, code, err, text)
		}
		if bad := json.Unmarshal(text, out); bad != nil && code != 2 {
			t.Fatalf("%v: %v: %v\n%s", args, bad, err, text)
		}
	}
	had := node.Balance(s.net.Buyers[4].Address)
	for door, price := range map[string]int64{door: 500_000, line: 1000} {
		var r buyer.Result
		run(0, &r, "-yes", "-scheme", "batch-settlement", door)
		if r.Voucher == nil || r.Voucher.Charged != price {
			t.Fatalf("bought %+v, %+v", r, r.Voucher)
		}
	}
	var all []buyer.ChannelView
	run(0, &all, "channels")
	var nothing any
	run(2, &nothing, "channels", "more")
	run(2, &nothing, "-scheme", "barter", door)
	if len(all) != 1 || all[0].Charged != 501_000 {
		t.Fatalf("channels %+v", all)
	}
	var v buyer.ChannelView
	run(0, &v, "refund", door)
	if spent := had - node.Balance(s.net.Buyers[4].Address); v.Left != 0 || spent != 501_000 {
		t.Errorf("refunded %+v, spent %d", v, spent)
	}
	run(3, &v, "withdraw", all[0].Channel.ID)
	var holds []buyer.HoldView
	if run(0, &holds, "holds"); len(holds) != 0 {
		t.Errorf("holds %+v", holds)
	}
	run(1, &nothing, "reclaim", "nothing")
}
