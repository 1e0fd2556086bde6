package kit_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/cmd/check/kit"
)

// keyFile writes a fresh key as its owner keeps it.
func keyFile(t *testing.T) string {
	t.Helper()
	file, key := filepath.Join(t.TempDir(), "wallet.key"), make([]byte, 32)
	rand.Read(key)
	if err := os.WriteFile(file, fmt.Appendf(nil, "%#x\n", key), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// What -pay may not do is refused before anything is asked.
func TestPayRefuses(t *testing.T) {
	key := keyFile(t)
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
		{"-publish goes with -pay", "-publish https://store.example " + url},
		{"https address of a store", "-pay " + key + " -publish http://store.example " + url},
		{"https address of a store", "-pay " + key + " -publish https://store.example/api?x=y " + url},
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
	args := append(flags, "-pay", keyFile(t), "-journal", dir, "-junit", dir+"/junit.xml",
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
