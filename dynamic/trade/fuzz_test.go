package trade_test

import (
	"testing"
	"unicode/utf8"

	"store.example/agentstore/dynamic/account"
	"store.example/agentstore/dynamic/trade"
)

// FuzzInstruction: whatever an account signs, the order door delivers the good of the path, once,
// or says that nothing was delivered and nothing billed.
func FuzzInstruction(f *testing.F) {
	f.Add(order("bazaar", "hello", "Z-1"))
	f.Add(order("bazaar", "hello", "Z-2", `,"agent_name":"Ada","source":"x"`))
	f.Add(`{"account":"bazaar","item_id":"hello","order_ref":"\u202e"}`)
	f.Add(`{"account":null}`)
	f.Add(`[[[`)
	s := open(f, mem(), options{account: func(a *trade.Account) {
		a.Limits = account.Limits{Credit: 1e15,
			Daily: 1e15}
	}})
	f.Fuzz(func(t *testing.T, body string) {
		s.t = t
		before := s.book("bazaar").Orders
		code, v := s.call(call{path: "/api/trade/bazaar/hello", body: body})
		switch {
		case code == 200 && at(v, "delivered") == true && text(v, "item_id") == "hello" &&
			utf8.RuneCountInString(text(v, "account", "order_ref")) <= 120 &&
			(s.book("bazaar").Orders == before+1 || at(v, "idempotent_replay") == true):
		case code >= 400 && code < 500 && at(v, "delivered") == false && at(v, "billed") == false &&
			s.book("bazaar").Orders == before:
		default:
			t.Errorf("%q: %d %v", body, code, v)
		}
	})
}
