package shop

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "store.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestAnnotatedExampleLoads(t *testing.T) {
	file := write(t, Annotated(Example()))
	got, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	want := Example()
	want.resolve(filepath.Dir(file))
	if got, want := Annotated(*got), Annotated(want); got != want {
		t.Errorf("loaded\n%s\nwant\n%s", got, want)
	}
}

func TestEveryKeyIsDocumented(t *testing.T) {
	var walk func(reflect.Type)
	walk = func(rt reflect.Type) {
		for _, f := range keysOf(rt) {
			if f.Tag.Get("toml") == "" || len(f.Tag.Get("doc")) < 20 {
				t.Errorf("%s.%s has no key or no documentation", rt.Name(), f.Name)
			}
			ft := f.Type
			if ft.Kind() == reflect.Slice {
				ft = ft.Elem()
			}
			if ft.Kind() == reflect.Struct {
				walk(ft)
			}
		}
	}
	walk(reflect.TypeFor[Config]())
}

func TestLoadRefuses(t *testing.T) {
	good := Annotated(Example())
	tlsTable := good[strings.Index(good, "[tls]"):strings.Index(good, "[[network]]")]
	for _, c := range []struct{ name, from, to, want string }{
		{"unknown key", "base_url =", "colour = \"red\"\nbase_url =",
			":3: unknown key colour: store config prints the known keys"},
		{"misspelt key", "base_url =", "base_ulr =", ":3: unknown key base_ulr: do you mean base_url?"},
		{"key in the wrong table", "[keys]", "log_level = \"info\"\n[keys]",
			": unknown key log_level: it belongs under [server]"},
		{"misspelt key of a table", "settle_wait =", "setle_wait =",
			": unknown key server.setle_wait: do you mean settle_wait?"},
		{"unknown table", "[server]", "[servers]", ": unknown key servers: do you mean server?"},
		{"money to the token", "0x0000000000000000000000000000000000000001",
			"0x833589fcd6edb6e08f4c7c32d4f71b54bda02913",
			"pay_to 0x833589fcd6edb6e08f4c7c32d4f71b54bda02913 is the contract of USDC on Base"},
		{"a network twice", "eip155:137", "eip155:8453", "network eip155:8453 stands twice"},
		{"log level", "log_level = \"info\"", "log_level = \"loud\"",
			"server.log_level \"loud\" is none of: debug, info, warn, error"},
		{"plain http", "https://store.example", "http://store.example", "must be https"},
		{"path in base_url", "https://store.example", "https://store.example/shop", "base_url"},
		{"public debug", "127.0.0.1:4021", "0.0.0.0:4021", "loopback"},
		{"two ledgers", "ledger_file = \"\"", "ledger_file = \"x\"", "exactly one of ledger"},
		{"upstream by http", "url = \"https://api.example/v1/\"",
			"url = \"http://127.0.0.1:9000/\"",
			"upstream 1: url: http is for private addresses: write https, or private = true"},
		{"upstream that asks the store", "url = \"https://api.example/v1/\"",
			"url = \"https://store.example/api/\"",
			"upstream 1: url: is this store, which would ask itself"},
		{"upstream with a query", "url = \"https://api.example/v1/\"",
			"url = \"https://api.example/?all=1\"",
			"upstream 1: url: upstream \"https://api.example/?all=1\" is no prefix"},
		{"no rpc", "rpc_file = \"var/keys/base.rpc\"", "rpc_file = \"\"", "exactly one of rpc"},
		{"tls without a folder", "email = \"\"", "email = \"me@store.example\"", "tls.storage is needed"},
		{"tls with half a certificate", tlsTable, "[tls]\ncertificate = \"tls.pem\"\n", "name both files"},
		{"tls with a certificate and a CA", tlsTable, "[tls]\ncertificate = \"x\"\nkey = \"y\"\nstorage = \"z\"\n",
			"no CA is asked"},
		{"tls with a CA that is none", tlsTable, "[tls]\nstorage = \"var/tls\"\nca = \"http://ca.example\"\n",
			"tls.ca = \"http://ca.example\": want the https address"},
		{"tls redirected from nowhere", tlsTable, "[tls]\nstorage = \"x\"\nredirect = \"80\"\n",
			"tls.redirect = \"80\": address 80: missing port"},
		{"less than no purchases", "max_in_flight = 512", "max_in_flight = -1", "max_in_flight is negative"},
		{"bad duration", "\"45s\"", "\"soon\"", "not a duration"},
	} {
		text := strings.Replace(good, c.from, c.to, 1)
		if text == good {
			t.Fatalf("%s: nothing replaced", c.name)
		}
		_, err := Load(write(t, text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error = %v, want one with %q", c.name, err, c.want)
		}
	}
}

func TestSecretFileMode(t *testing.T) {
	file := write(t, "secret")
	if _, err := ReadSecret(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSecret(file); err == nil {
		t.Error("a secret that others may read was accepted")
	}
}

func TestLedgerSpec(t *testing.T) {
	for _, c := range []Config{{Ledger: "mem:"}, {LedgerFile: write(t, "mem:\n")}} {
		if spec, err := LedgerSpec(&c); err == nil {
			t.Errorf("a store keeps its purchases in %s", spec)
		}
	}
	if spec, err := LedgerSpec(&Config{LedgerFile: write(t, "postgres://u:p@h/d\n")}); err != nil ||
		spec != "postgres://u:p@h/d" {
		t.Errorf("ledgerSpec = %q, %v", spec, err)
	}
}

// A beginning loads, holds what was said and nothing else in force; what cannot be is said.
func TestBegin(t *testing.T) {
	const evm, sol = "0x00000000000000000000000000000000000000aa", "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin"
	c, err := Begin(Beginning{BaseURL: "https://ada.example", Networks: []string{"base", "eip155:137", "solana"},
		PayTo: []string{evm, sol}})
	if err != nil {
		t.Fatal(err)
	}
	text := Used(c)
	got, err := Load(write(t, text))
	if err != nil {
		t.Fatal(err)
	}
	if got.BaseURL != "https://ada.example" || len(got.Networks) != 3 || got.Networks[1].PayTo != evm ||
		got.Networks[2].PayTo != sol || got.Trade != nil || got.Census.Cap != 0 {
		t.Errorf("loaded %+v", got)
	}
	for _, line := range []string{"\n# [census]\n", "\n# [[trade]]\n", "\n# cap = 20000\n",
		"\nlisten = \"127.0.0.1:4020\"\n",
		"\n# coin_price = \"3000\"\n"} {
		if !strings.Contains(text, line) {
			t.Errorf("%q is not there", line)
		}
	}
	const usdc = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
	for words, b := range map[string]Beginning{
		"base, ":         {BaseURL: LocalURL, Networks: []string{"bitcoin"}, PayTo: []string{evm}},
		"no address":     {BaseURL: LocalURL, Networks: []string{"solana"}, PayTo: []string{evm}},
		"one address":    {BaseURL: LocalURL, Networks: []string{"base"}, PayTo: []string{evm, evm}},
		"must be https":  {BaseURL: "http://ada.example", Networks: []string{"base"}, PayTo: []string{evm}},
		"stands twice":   {BaseURL: LocalURL, Networks: []string{"base", "base"}, PayTo: []string{evm}},
		"of USDC on":     {BaseURL: LocalURL, Networks: []string{"base"}, PayTo: []string{usdc}},
		"in their order": {BaseURL: LocalURL, Networks: []string{"base"}, PayTo: []string{evm}, RPC: []string{"", ""}},
	} {
		if _, err := Begin(b); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%+v: %v, want %q", b, err, words)
		}
	}
}
