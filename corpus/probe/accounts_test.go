package probe_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/accounts"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/probe"
)

const receivable = "solana-rail-receivable"

// solanaDoor asks for a cent on Solana.
func solanaDoor(t *testing.T) (x exchange.Exchange, mint, payTo, feePayer networks.SolanaKey) {
	t.Helper()
	for i := range 32 {
		payTo[i], feePayer[i] = byte(i+1), byte(2*i+1)
	}
	token, ok := networks.USDC(networks.Solana)
	if !ok {
		t.Fatal("no USDC on Solana")
	}
	mint, err := networks.ParseSolanaAccount(token.Address)
	if err != nil {
		t.Fatal(err)
	}
	terms, err := json.Marshal(map[string]any{"x402Version": 2,
		"resource": map[string]any{"url": "https://door.example/paid"},
		"accepts": []any{map[string]any{"scheme": "exact", "network": networks.Solana, "amount": "10000",
			"asset": token.Address, "payTo": networks.EncodeBase58(payTo[:]), "maxTimeoutSeconds": 300,
			"extra": map[string]any{"feePayer": networks.EncodeBase58(feePayer[:])}}}})
	if err != nil {
		t.Fatal(err)
	}
	return exchange.Exchange{StartedAt: time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC),
		Request: exchange.Request{Method: http.MethodGet, URL: "https://door.example/paid"},
		Response: exchange.Response{Status: 402, Proto: "HTTP/2.0", Header: http.Header{
			"Payment-Required": {base64.StdEncoding.EncodeToString(terms)}}}}, mint, payTo, feePayer
}

// held is an account as a node tells of it.
func held(owner networks.SolanaKey, data []byte) map[string]any {
	return map[string]any{"lamports": 2039280, "owner": networks.EncodeBase58(owner[:]), "executable": false,
		"data": []any{base64.StdEncoding.EncodeToString(data), "base64"}}
}

func tokenData(mint, owner networks.SolanaKey, state byte) []byte {
	b := make([]byte, 165)
	copy(b, mint[:])
	copy(b[32:], owner[:])
	b[108] = state
	return b
}

func mintData(initialized byte) []byte {
	b := make([]byte, 82)
	b[45] = initialized
	return b
}

// TestAccountsOnSolana judges a door under what a node says of its accounts: what keeps a payment
// from settling fails, and an answer that is none is not judged. What is published of it gives the
// same report and holds no address.
func TestAccountsOnSolana(t *testing.T) {
	door, mint, payTo, feePayer := solanaDoor(t)
	good := func() []any {
		return []any{held(networks.SPLToken, mintData(1)), held(networks.SolanaKey{}, nil), nil,
			held(networks.SPLToken, tokenData(mint, payTo, 1)), nil}
	}
	with := func(at int, account any) string {
		list := good()
		list[at] = account
		return answer(t, list)
	}
	newer := append(tokenData(mint, payTo, 1), 2)
	newMint := make([]byte, 166)
	newMint[45], newMint[165] = 1, 1
	for _, c := range []struct {
		name, body string
		state      probe.State
		says       string // in the check's detail, or in the advisory's where nothing was read
	}{
		{"all is well", answer(t, good()), probe.Pass, ""},
		{"a newer program", answer(t, []any{held(networks.SPLToken2022, newMint), held(networks.SolanaKey{}, nil), nil,
			nil,
			held(networks.SPLToken2022, newer)}), probe.Pass, ""},
		{"under the other program alone", answer(t, []any{held(networks.SPLToken2022, newMint),
			held(networks.SolanaKey{}, nil), nil,
			held(networks.SPLToken, tokenData(mint, payTo, 1)), nil}), probe.Fail,
			"payTo's token account for the mint is absent"},
		{"no token account", with(3, nil), probe.Fail, "payTo's token account for the mint is absent"},
		{"closed", with(3, map[string]any{"lamports": 0, "owner": networks.EncodeBase58(make([]byte, 32)),
			"data": []any{"", "base64"}}), probe.Fail, "token account for the mint is absent"},
		{"frozen", with(3, held(networks.SPLToken, tokenData(mint, payTo, 2))), probe.Fail, "is frozen"},
		{"never opened", with(3, held(networks.SPLToken, tokenData(mint, payTo, 0))), probe.Fail, "is something else"},
		{"given away", with(3, held(networks.SPLToken, tokenData(mint, feePayer, 1))), probe.Fail,
			"is another owner's"},
		{"of another mint", with(3, held(networks.SPLToken, tokenData(feePayer, payTo, 1))), probe.Fail,
			"is something else"},
		{"of another program", with(3, held(networks.SolanaKey{}, tokenData(mint, payTo, 1))), probe.Fail,
			"is something else"},
		{"a mint for a token account", with(3, held(networks.SPLToken, mintData(1))), probe.Fail, "is something else"},
		{"data of no alphabet", with(3, map[string]any{"lamports": 1,
			"owner": networks.EncodeBase58(networks.SPLToken[:]),
			"data":  []any{"%%%", "base64"}}), probe.Fail, "is something else"},
		{"no mint", with(0, nil), probe.Fail, "asset, as a mint, is absent"},
		{"a mint that is none", with(0, held(networks.SolanaKey{}, mintData(1))), probe.Fail,
			"asset, as a mint, is something else"},
		{"a mint before its time", with(0, held(networks.SPLToken, mintData(0))), probe.Fail,
			"asset, as a mint, is something else"},
		{"nobody pays fees", with(1, nil), probe.Fail, "as an account that pays fees, is absent"},
		{"a program's account pays fees", with(1, held(networks.SPLToken, tokenData(mint, payTo, 1))), probe.Fail,
			"as an account that pays fees, is something else"},
		{"too few accounts", answer(t, good()[:4]), probe.NotReached, "the node answered something else"},
		{"another question's", strings.Replace(answer(t, good()), `"id":1`, `"id":2`, 1), probe.NotReached,
			"the node answered something else"},
		{"refused", `{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"behind by 200 slots"}}`, probe.NotReached,
			"the node refused"},
		{"junk", `<html>busy</html>`, probe.NotReached, "not of its form"},
		{"nested", strings.Repeat("[", 9000), probe.NotReached, "not of its form"},
		{"nothing", "", probe.NotReached, "no node answered"},
	} {
		t.Run(c.name, func(t *testing.T) {
			checker, err := probe.NewPreflight(probe.V2, "https://door.example/paid", probe.Declaration{})
			if err != nil {
				t.Fatal(err)
			}
			checker.ReadsAccounts(accounts.Reader{}, networks.Solana)
			_, next, err := checker.Step([]exchange.Exchange{door})
			if err != nil || next == nil || next.Kind != probe.KindAccounts ||
				probe.NodeOf(next.Request) != networks.Solana {
				t.Fatalf("asks for %+v, %v", next, err)
			}
			said := exchange.Exchange{StartedAt: door.StartedAt, Request: next.Request,
				Response: exchange.Response{Status: 200, Body: []byte(c.body)}}
			if c.body == "" {
				said.Response = exchange.Response{}
				said.Error = exchange.Error{Stage: exchange.StageConnect, Text: "no node answered"}
			}
			recorded := []exchange.Exchange{door, said}
			report, next, err := checker.Step(recorded)
			if err != nil || next != nil {
				t.Fatalf("goes on with %+v, %v", next, err)
			}
			i := slices.IndexFunc(report.ChecksVector, func(e probe.VectorEntry) bool { return e.Name == receivable })
			entry := report.ChecksVector[i]
			if entry.State != c.state || !strings.Contains(entry.Detail, c.says) ||
				(entry.BlockedBy == probe.BlockedNotJudged) != (c.state == probe.NotReached) {
				t.Errorf("%+v", entry)
			}
			if want := map[probe.State]probe.Verdict{probe.Pass: probe.Ready, probe.Fail: probe.NotReady,
				probe.NotReached: probe.NotProbed}[c.state]; report.Verdict != want {
				t.Errorf("the door is %s, want %s", report.Verdict, want)
			}
			checkPublished(t, checker, recorded, report)
		})
	}
}

func answer(t *testing.T, accounts []any) string {
	t.Helper()
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "result": map[string]any{
		"context": map[string]any{"slot": 7}, "value": accounts}})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// checkPublished judges what is published of a look, by a program that has no node.
func checkPublished(t *testing.T, checker *probe.Preflight, recorded []exchange.Exchange, want probe.Report) {
	t.Helper()
	j, err := checker.Judgement(recorded, probe.Salt{1})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := j.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	var asked struct{ Params []json.RawMessage }
	if err := json.Unmarshal(recorded[1].Request.Body, &asked); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(asked.Params[0], &keys); err != nil {
		t.Fatal(err)
	}
	for _, k := range keys[2:] { // mint and fee payer are the terms' own
		if strings.Contains(string(raw), k) {
			t.Errorf("%s is published", k)
		}
	}
	read, err := probe.DecodeJudgement(raw)
	if err != nil {
		t.Fatal(err)
	}
	got, err := read.Judge()
	if err != nil || fmt.Sprintf("%+v", got.ChecksVector) != fmt.Sprintf("%+v", want.ChecksVector) ||
		fmt.Sprint(got.Advisories) != fmt.Sprint(want.Advisories) || got.Verdict != want.Verdict {
		t.Errorf("what is published is judged as %+v, %v", got.ChecksVector, err)
	}
	bare, err := probe.NewPreflight(probe.V2, "https://door.example/paid", probe.Declaration{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := bare.Step(recorded); !errors.Is(err, probe.ErrRecording) {
		t.Errorf("a program that reads no accounts says %v", err)
	}
	bare.ReadsAccounts(accounts.Reader{})
	if again, next, err := bare.Step(recorded); err != nil || next != nil || again.Verdict != want.Verdict {
		t.Errorf("a program without nodes judges the recording as %s, %v, %v", again.Verdict, next, err)
	}
}

// TestNobodyIsAskedForAccounts looks at doors of which no account is asked.
func TestNobodyIsAskedForAccounts(t *testing.T) {
	door, _, _, _ := solanaDoor(t)
	for name, change := range map[string]func(p *probe.Preflight, x *exchange.Exchange){
		"no node": func(*probe.Preflight, *exchange.Exchange) {},
		"another network": func(p *probe.Preflight, _ *exchange.Exchange) {
			p.ReadsAccounts(accounts.Reader{}, networks.SolanaDevnet)
		},
		"no terms": func(p *probe.Preflight, x *exchange.Exchange) {
			p.ReadsAccounts(accounts.Reader{}, networks.Solana)
			x.Response.Header = nil
		},
	} {
		p, err := probe.NewPreflight(probe.V2, "https://door.example/paid", probe.Declaration{})
		if err != nil {
			t.Fatal(err)
		}
		x := door
		change(p, &x)
		if _, next, err := p.Step([]exchange.Exchange{x}); err != nil || next != nil {
			t.Errorf("%s: asks for %+v, %v", name, next, err)
		}
	}
}
