package evm

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"store.example/agentstore/dynamic/rail"
)

// twoAccounts is a rail with two accounts of its own, and their names.
func twoAccounts(t *testing.T) (r *Rail, one, two string) {
	t.Helper()
	r = &Rail{cfg: Config{Stuck: time.Minute}}
	for range 2 {
		key, err := crypto.GenerateKey()
		if err != nil {
			t.Fatal(err)
		}
		address := crypto.PubkeyToAddress(key.PublicKey)
		r.relayers = append(r.relayers, relayer{address, address.Hex(), key})
	}
	return r, r.relayers[0].address.Hex(), r.relayers[1].address.Hex()
}

// What would help a payment that has not landed: nothing after its time or while it is young,
// another transaction where its number is used or never was ours, the same again where no node has
// it or an earlier number is open, a higher fee where it is stuck.
func TestAdvice(t *testing.T) {
	r, one, two := twoAccounts(t)
	now := time.Unix(1_800_000_000, 0)
	far := now.Add(time.Hour)
	young, edge, old := now.Add(-time.Second), now.Add(-time.Minute), now.Add(-time.Minute-1)
	at := func(account string, sequence uint64, at time.Time) rail.Signed {
		return rail.Signed{ID: "tx", Account: account, Sequence: sequence, At: at}
	}
	for name, c := range map[string]struct {
		signed []rail.Signed
		mined  counts
		known  bool
		before time.Time // validBefore
		head   time.Time
		want   rail.Advice
	}{
		"nothing signed":             {nil, counts{}, false, far, now, rail.Wait},
		"young":                      {[]rail.Signed{at(one, 3, young)}, counts{one: 3}, true, far, now, rail.Wait},
		"at the edge of stuck":       {[]rail.Signed{at(one, 3, edge)}, counts{one: 3}, true, far, now, rail.Wait},
		"stuck at the lowest number": {[]rail.Signed{at(one, 3, old)}, counts{one: 3}, true, far, now, rail.Bump},
		"stuck behind others":        {[]rail.Signed{at(one, 4, old)}, counts{one: 3}, true, far, now, rail.Wait},
		"its number used": {[]rail.Signed{at(one, 3, young)}, counts{one: 4}, true, far, now,
			rail.Redraft},
		"no node has it": {[]rail.Signed{at(one, 3, young)}, counts{one: 3}, false, far, now,
			rail.Resend},
		"an earlier number open again": {[]rail.Signed{at(one, 3, old), at(one, 5, young)}, counts{one: 3}, true, far,
			now, rail.Resend},
		"an earlier one, another's": {[]rail.Signed{at(two, 3, old), at(one, 5, young)}, counts{one: 5, two: 3},
			true, far, now, rail.Resend},
		"an earlier number used": {[]rail.Signed{at(one, 3, old), at(one, 5, young)}, counts{one: 5}, true, far,
			now, rail.Wait},
		"of nobody here, known":   {[]rail.Signed{at("0xother", 3, old)}, counts{}, true, far, now, rail.Wait},
		"of nobody here, unknown": {[]rail.Signed{at("0xother", 3, old)}, counts{}, false, far, now, rail.Redraft},
		"too late by our clock": {[]rail.Signed{at(one, 3, old)}, counts{one: 3}, true, now.Add(margin),
			now.Add(-time.Hour), rail.Wait},
		"just in time by our clock": {[]rail.Signed{at(one, 3, old)}, counts{one: 3}, true,
			now.Add(margin + time.Second), now.Add(-time.Hour), rail.Bump},
		"too late by the chain's": {[]rail.Signed{at(one, 3, old)}, counts{one: 3}, true,
			now.Add(margin + time.Second), now.Add(time.Second), rail.Wait},
	} {
		v := view{head: block{Time: c.head}, mined: c.mined, known: c.known}
		if got := r.advise(v, &rail.Payment{ValidBefore: c.before.Unix()}, c.signed, now); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	remote := &Rail{cfg: Config{Stuck: time.Minute, Settler: elsewhere{}}}
	for at, want := range map[time.Time]rail.Advice{young: rail.Wait, edge: rail.Wait, old: rail.Resend} {
		if got := remote.advise(view{head: block{Time: now}}, &rail.Payment{ValidBefore: far.Unix()},
			[]rail.Signed{{At: at}}, now); got != want {
			t.Errorf("settled elsewhere, signed %v ago: %q, want %q", now.Sub(at), got, want)
		}
	}
}

// elsewhere settles elsewhere; nobody asks it here.
type elsewhere struct{ Settler }

// The settlement at the lowest open number is the newest there, of the account that was signed for
// first, and one that is being filled is not mentioned until that is stuck.
func TestTheLowestOpenNumber(t *testing.T) {
	r, one, two := twoAccounts(t)
	now := time.Unix(1_800_000_000, 0)
	s := func(id, account string, sequence uint64) rail.Signed {
		return rail.Signed{ID: id, Account: account, Sequence: sequence, At: now.Add(-time.Hour)}
	}
	fill := func(id string, age time.Duration) rail.Signed {
		return rail.Signed{ID: id, Account: one, Sequence: 3, Fill: true, At: now.Add(-age)}
	}
	for name, c := range map[string]struct {
		signed []rail.Signed
		mined  counts
		want   string
	}{
		"nothing":               {nil, counts{}, ""},
		"all used":              {[]rail.Signed{s("a", one, 3)}, counts{one: 4}, ""},
		"open":                  {[]rail.Signed{s("a", one, 3)}, counts{one: 3}, "a"},
		"the newest there":      {[]rail.Signed{s("a", one, 3), s("b", one, 3)}, counts{one: 3}, "b"},
		"the lowest":            {[]rail.Signed{s("a", one, 3), s("b", one, 4)}, counts{one: 3}, "a"},
		"the lowest that opens": {[]rail.Signed{s("a", one, 2), s("b", one, 4)}, counts{one: 3}, "b"},
		"of the first account":  {[]rail.Signed{s("a", two, 9), s("b", one, 3)}, counts{one: 3, two: 9}, "a"},
		"of nobody here":        {[]rail.Signed{s("a", "0xother", 1)}, counts{}, ""},
		"a young filling":       {[]rail.Signed{s("a", one, 3), fill("f", time.Minute-1)}, counts{one: 3}, ""},
		"a stuck filling":       {[]rail.Signed{s("a", one, 3), fill("f", time.Minute)}, counts{one: 3}, "f"},
	} {
		got := ""
		if low := r.unfilled(view{mined: c.mined}, c.signed, now); low != nil {
			got = low.ID
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A signature's v is 27 or 28 as token contracts want it, and 0 or 1 mean these; nothing else does.
func TestNormalSignatures(t *testing.T) {
	for v := range 256 {
		sig := make([]byte, 65)
		sig[64] = byte(v)
		got, ok := normal(sig)
		want := map[int]byte{0: 27, 1: 28, 27: 27, 28: 28}[v]
		if ok != (want != 0) || ok && got[64] != want || sig[64] != byte(v) {
			t.Errorf("v %d: %v", v, ok)
		}
	}
	for _, n := range []int{0, 64, 66} {
		if _, ok := normal(make([]byte, n)); ok {
			t.Errorf("%d bytes are a signature", n)
		}
	}
}
