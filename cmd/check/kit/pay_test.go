package kit_test

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/cmd/check/kit"
	"store.example/agentstore/cmd/check/purchase"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/laboratory"
	"store.example/agentstore/corpus/probe"
)

// bought is what -json writes of the rows, by name.
func bought(t *testing.T, out string) map[string]purchase.Row {
	t.Helper()
	var report struct {
		Purchase []struct {
			Name      string
			State     probe.State
			BlockedBy string `json:"blocked_by"`
			Detail    string
			Fix       string
		}
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rows := map[string]purchase.Row{}
	for i, r := range report.Purchase {
		if i >= len(purchase.Checks()) || purchase.Checks()[i].Name != r.Name {
			t.Errorf("row %d is %s", i, r.Name)
		}
		rows[r.Name] = purchase.Row{VectorEntry: probe.VectorEntry{Name: r.Name, State: r.State,
			BlockedBy: r.BlockedBy, Detail: r.Detail}, Fix: r.Fix}
	}
	return rows
}

// keyFile writes a key as its owner keeps it.
func keyFile(t *testing.T, key chaintest.Key) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "wallet.key")
	if err := os.WriteFile(file, []byte(key.Hex()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestPay buys at stock sellers that settle on a chain: one as it comes, one that gives an answer
// again to the payment that it was given to and charges for an order twice, and one that knows
// orders too. The door's words alone find the same as the chain does.
func TestPay(t *testing.T) {
	net := chaintest.New(t, chaintest.Options{Buyers: 10}) // five buy, and five relay
	const price = 10_000
	ways := []string{"lost-fresh-402", "lost-connection", "lost-502", "lost-504", "lost-time-out", "lost-cut",
		"lost-early"}
	for i, c := range []struct {
		name, stack, repeats string
		rpc                  bool
		fails                []string
		charged              int // payments that were settled, -1 where that is not told beforehand
	}{
		{"stock", "express", "", true, ways, -1},
		{"fastify", "fastify-post", "", true, ways, -1},
		{"charges twice", "express", "payment", true, ways[:1], 9},
		{"charges twice, by its own words", "express", "payment", false, ways[:1], 9},
		{"right", "express-post", "order", true, nil, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			buyer, payTo := net.Buyers[i], chaintest.NewKey(t).Address
			port := laboratory.FreePort(t)
			laboratory.Sell(t, c.stack, port, payTo.Hex(), "RPC="+net.URL, "RELAYER="+net.Buyers[5+i].Hex(),
				"REPEATS="+c.repeats)
			args := []string{"-local", "-json", "-pay", keyFile(t, buyer), "-journal", t.TempDir(), "-max-usd", "0.09"}
			if c.rpc {
				args = append(args, "-rpc", net.URL)
			}
			before := net.Balance(buyer.Address)
			code, out, errs := run(t, append(args, "http://localhost:"+port+"/paid")...)
			rows := bought(t, out)
			spent := before - net.Balance(buyer.Address)
			for _, check := range purchase.Checks() {
				row, want := rows[check.Name], probe.Pass
				switch {
				case slices.Contains(c.fails, check.Name):
					want = probe.Fail
				case check.Name == "receipt", check.Name == "charged" && !c.rpc:
					want = probe.NotReached
				}
				if row.State != want || (want == probe.Fail) != (row.Fix != "") {
					t.Errorf("%+v, want %s", row, want)
				}
			}
			want := kit.ExitFine
			if c.fails != nil {
				want = kit.ExitFound
			}
			if code != want || errs != "" {
				t.Errorf("exit %d, want %d: %s", code, want, errs)
			}
			if spent > 90_000 || c.charged >= 0 && spent != int64(c.charged)*price ||
				net.Balance(payTo) != spent {
				t.Errorf("spent %d, want %d payments of %d; the seller has %d", spent, c.charged, price,
					net.Balance(payTo))
			}
			if c.repeats == "payment" && !strings.Contains(rows[ways[0]].Detail, "charged") {
				t.Errorf("%+v", rows[ways[0]])
			}
		})
	}
}

// What -pay may not do is refused before anything is asked.
func TestPayRefuses(t *testing.T) {
	key := keyFile(t, chaintest.NewKey(t))
	open := filepath.Join(t.TempDir(), "open.key")
	secret := strings.Repeat("5", 62)
	for file, mode := range map[string]os.FileMode{open: 0o644, open + "2": 0o600} {
		if err := os.WriteFile(file, []byte(secret), mode); err != nil {
			t.Fatal(err)
		}
	}
	solana, half := filepath.Join(t.TempDir(), "id.json"), filepath.Join(t.TempDir(), "half.json")
	numbers := strings.Join(strings.Fields(strings.Trim(fmt.Sprint([]byte(ed25519.NewKeyFromSeed([]byte(secret[:32])))),
		"[]")), ",")
	for file, list := range map[string]string{solana: numbers, half: strings.Replace(numbers, "53", "54", 1)} {
		if err := os.WriteFile(file, []byte("["+list+"]"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const url = "https://door.example/"
	for _, c := range []struct{ says, args string }{
		{"takes one URL", "-pay " + key + " " + url + " " + url},
		{"takes one URL", "-pay " + key + " -discover door.example"},
		{"chmod 600", "-pay " + open + " " + url},
		{"does not hold a wallet key", "-pay " + open + "2 " + url},
		{"no such file", "-pay " + open + "3 " + url},
		{"takes dollars", "-pay " + key + " -max-usd 1e3 " + url},
		{"takes dollars", "-pay " + key + " -max-usd -1 " + url},
		{"bought for nothing", "-pay " + key + " -max-usd 0.0 " + url},
		{"does not hold a wallet key", "-pay " + half + " " + url},
		{"pays by x402", "-pay " + solana + " -pay-protocol mpp " + url},
		{"that of -solana-rpc", "-pay " + solana + " -rpc http://localhost:1 " + url},
		{"-rpc goes with -pay", "-rpc http://localhost:1 " + url},
	} {
		if code, _, errs := run(t, strings.Fields(c.args)...); code != kit.ExitUsage ||
			!strings.Contains(errs, c.says) || strings.Contains(errs, secret) || strings.Contains(errs, numbers[:20]) {
			t.Errorf("%s: exit %d %s", c.args, code, errs)
		}
	}
}

// Each form says what was bought, and what to do.
func TestPayInEveryForm(t *testing.T) {
	base, flags := doors(t)
	dir := t.TempDir()
	args := append(flags, "-pay", keyFile(t, chaintest.NewKey(t)), "-journal", dir, "-junit", dir+"/junit.xml",
		"-sarif", dir+"/log.sarif", base+"/dust-correct")
	// A practice door sells nothing: it asks again, whatever it is paid.
	code, out, errs := run(t, args...)
	junit, err := os.ReadFile(dir + "/junit.xml")
	if err != nil {
		t.Fatal(err)
	}
	sarif, err := os.ReadFile(dir + "/log.sarif")
	if err != nil {
		t.Fatal(err)
	}
	if code != kit.ExitFound || errs != "" {
		t.Errorf("exit %d %s", code, errs)
	}
	for form, want := range map[string]string{out: "FAIL  goods", string(junit): `<testcase name="goods"`,
		string(sarif): `"ruleId": "goods"`} {
		if !strings.Contains(form, want) || !strings.Contains(form, "verify, make it, settle, answer") {
			t.Errorf("no %s and its fix in\n%s", want, form)
		}
	}
	if code, out, errs := run(t, append([]string{"-fail-on", "lost-502"}, args...)...); code != kit.ExitFound {
		t.Errorf("a check that was named and not reached: exit %d\n%s%s", code, out, errs)
	}
	if code, _, errs := run(t, append([]string{"-fail-on", "not_ready"}, args...)...); code != kit.ExitFine {
		t.Errorf("another word: exit %d %s", code, errs)
	}
}
