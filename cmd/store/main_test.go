package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/verify"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/pay/x402"
	"store.example/agentstore/dynamic/rail"
)

// file writes a file that only its owner may read.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// solanaPurse is a wallet file as solana-keygen writes it.
func solanaPurse(t *testing.T) string {
	t.Helper()
	var numbers []string
	for _, b := range ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)) {
		numbers = append(numbers, strconv.Itoa(int(b)))
	}
	return file(t, "solana.json", "["+strings.Join(numbers, ",")+"]")
}

// door asks for two dollars.
func door(t *testing.T) string {
	t.Helper()
	return openDoor(t, (*httptest.Server).Start)
}

// doorBehindTLS asks for the same, by a certificate that is in the file and not among the system's.
func doorBehindTLS(t *testing.T) (address, ca string) {
	t.Helper()
	address = openDoor(t, func(s *httptest.Server) {
		s.Config.ErrorLog = log.New(io.Discard, "", 0) // those who do not trust it hang up
		s.StartTLS()
		ca = file(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	})
	return address, ca
}

func openDoor(t *testing.T, start func(*httptest.Server)) string {
	t.Helper()
	var s *httptest.Server
	s = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, err := x402.Encode(x402.Required{X402Version: 2, Resource: x402.Resource{URL: s.URL + r.URL.Path},
			Accepts: []rail.Requirement{{
				Scheme: "exact", Network: "eip155:8453", Amount: "2000000",
				Asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
				PayTo: "0x3E472E63d09B1bBdf8F0466b8FCB3d4482B9059E", MaxTimeoutSeconds: 300,
				Extra: map[string]any{"name": "USD Coin", "version": "2"},
			}}})
		if err != nil {
			t.Error(err)
		}
		w.Header().Set(x402.HeaderRequired, h)
		w.WriteHeader(http.StatusPaymentRequired)
	}))
	start(s)
	t.Cleanup(s.Close)
	return s.URL + "/goods"
}

// Every call ends with the exit code that the help promises, and says why where it is not 0.
func TestExitCodes(t *testing.T) {
	key, err := wallet.ParseKey(strings.Repeat("6b", 32))
	if err != nil {
		t.Fatal(err)
	}
	purse, journal, asked := file(t, "wallet.key", key.Secret()), t.TempDir(), door(t)
	secured, ca := doorBehindTLS(t)
	keys := filepath.Join(t.TempDir(), "keys")
	deaf := shop.Example()
	deaf.Listen = ""
	for _, c := range []struct {
		call string
		code int
		out  string // on standard output
		say  string // on standard error
	}{
		{"", 2, "usage: store", ""},
		{"help", 0, "usage: store", ""},
		{"bogus", 2, "", "no verb"},
		{"key -h", 0, "", "usage: store key init | list | handover | tls | walker [flags]"},
		{"key init -h", 0, "", "-dir"},
		{"key", 2, "", "usage: store key"},
		{"key bogus", 2, "", "usage: store key"},
		{"key init -on yesterday", 2, "", "not a date"},
		{"key init -dry-run -dir " + keys, 0, "would make", ""},
		{"key init -dir " + keys, 0, "keys made", ""},
		{"key tls -dir " + keys, 2, "", "-host"},
		{"key tls -host https://store.example -dir " + keys, 1, "", "is no host"},
		{"key tls -host 127.0.0.1 -dir " + keys, 0, "tls.pem", ""},
		{"key tls -host 127.0.0.1 -dir " + keys, 1, "", "move tls.pem and tls.key away"},
		{"key init -dir " + keys, 1, "", "in use"},
		{"key init -dry-run -dir " + keys, 1, "", "in use"},
		{"key handover -dir " + keys, 2, "", "-reason"},
		{"key handover -reason x -purpose git -dir " + keys, 2, "", "neither identity nor log"},
		{"keeper -h", 0, "", "usage: store keeper VERB [flags]"},
		{"keeper ordres", 2, "", "Do you mean: store keeper orders"},
		{"keeper answer -h", 0, "", "usage: store keeper answer ORDER [flags]"},
		{"keeper help", 0, "answer ORDER", ""},
		{"keeper help me", 2, "", "usage: store keeper VERB"},
		{"keeper reply", 2, "", "store keeper reply: name the letter"},
		{"keeper reply let_abc -text x", 2, "", "store keeper reply: name the letter"},
		{"keeper reply let_abcdefghij2345672345", 2, "", "store keeper reply: say what with -text-file or -text"},
		{"keeper letters let_abcdefghij2345672345", 2, "", "usage: store keeper letters"},
		{"keeper letters -text x", 2, "", "flag provided but not defined: -text"},
		{"keeper publish-tip tip_abcdefghij2345672345 -slug ../x", 2, "", "store keeper publish-tip: the slug must be"},
		{"keeper quote req_abcdefghij2345672345 -price dear", 2, "", `invalid value "dear" for flag -price`},
		{"keeper quote req_abcdefghij2345672345 -price 0", 2, "", "store keeper quote: name the price"},
		{"keeper stamp-line 2026-48 -text x", 2, "", "store keeper stamp-line: name the week"},
		{"init -networks bitcoin " + keys + "/site", 2, "", "is none this store sells on: name some of polygon, "},
		{"keeper", 2, "", "usage: store keeper"},
		{"keeper high-water", 2, "", "name what is to be done: rebuild"},
		{"keeper answer", 2, "", "store keeper answer: name the order"},
		{"keeper answer order_ABC -text x", 2, "", "store keeper answer: name the order"},
		{"keeper answer order_abcdefghij2345672345 -text x -config " + keys + "/nowhere.toml", 1, "", "no such file"},
		{"keeper note", 2, "", "store keeper note: name the month"},
		{"keeper note 2026-13 -text x", 2, "", "store keeper note: name the month"},
		{"keeper orders -config " + keys + "/nowhere.toml", 1, "", "no such file"},
		{"keeper erratum -reason x", 2, "", "store keeper erratum: name the row"},
		{"keeper erratum 0 -reason x -config " + keys + "/nowhere.toml", 1, "", "no such file"},
		{"keeper withdraw", 2, "", "store keeper withdraw: name the text by its SHA-256"},
		{"keeper withdraw " + strings.Repeat("ab", 32), 2, "", "store keeper withdraw: say why with -reason"},
		{"keeper withdraw ABC -reason x", 2, "", "64 lower-case hexadecimal digits"},
		{"keeper statement bazaar", 2, "", "store keeper statement: say of which month with -month"},
		{"keeper statement -month 2026-11", 2, "", "store keeper statement: name the account"},
		{"keeper statement Bazaar -month 2026-11", 2, "", "store keeper statement: name the account"},
		{"keeper received -usd 12.50", 2, "", "store keeper received: name the account"},
		{"keeper received bazaar -name x", 2, "", "-usd"},
		{"keeper received bazaar -name x -usd -1", 2, "", "-usd"},
		{"keeper accounts bazaar", 2, "", "usage: store keeper"},
		{"keeper accounts -config " + keys + "/nowhere.toml", 1, "", "no such file"},
		{"keeper owed -config " + keys + "/nowhere.toml", 1, "", "no such file"},
		{"verify " + keys + "/nowhere", 1, "", "no such file"},
		{"serve -config " + file(t, "store.toml", shop.Annotated(deaf)), 1, "", "listen is empty"},
		{"buy -max dear " + asked, 2, "", "-max"},
		{"buy -wallet " + purse + " -wallet " + purse + " " + asked, 2, "", "a second wallet of EVM networks"},
		{"buy -wallet " + file(t, "half.json", "[1,2,3]") + " " + asked, 1, "", "or a list of 64 numbers"},
		{"buy -wallet " + file(t, "unlike.json", "["+strings.Repeat("7,", 63)+"7]") + " " + asked, 1, "",
			"does not hold a wallet key"},
		{"buy -yes -max 2 -wallet " + solanaPurse(t) + " -journal " + journal + " " + asked, 3,
			"an Ethereum wallet would be needed", "hint: give what is lacking: -wallet"},
		{"buy -amount -1 " + asked, 2, "", "-amount"},
		{"buy " + secured, 1, "", "name that certificate with -ca FILE"},
		{"buy -ca " + ca + " " + secured, 0, "Nothing was bought", ""},
		{"buy -ca " + purse + " " + secured, 1, "", "-ca: " + purse + " holds no certificate in PEM"},
		{"buy -ca " + ca + ".nowhere " + secured, 1, "", "-ca: open " + ca + ".nowhere: no such file"},
		{"buy " + asked, 0, "Nothing was bought", ""},
		{"buy -yes -wallet " + purse + " -journal " + journal + " " + asked, 3, "2 USDC", "hint: raise -max"},
		{"buy -yes -network eip155:1 -wallet " + purse + " -journal " + journal + " " + asked, 3, "2 USDC",
			`it takes nothing on -network eip155:1; leave that out, or name one of: ["eip155:8453"]`},
		// without a wallet too
		{"buy -network eip155:1 " + asked, 3, "2 USDC", "it takes nothing on -network eip155:1"},
		{"buy -yes -amount 0.5 -wallet " + purse + " -journal " + journal + " " + asked, 3, "2 USDC",
			"it does not ask for -amount 0.5; leave that out, or name one of: 2\n"},
		{"buy -json -yes -wallet " + purse + " -journal " + journal + " " + asked, 3, `"chosen":-1`,
			"hint: raise -max"},
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), strings.Fields(c.call), &stdout, &stderr)
		if code != c.code || !strings.Contains(stdout.String(), c.out) || !strings.Contains(stderr.String(), c.say) ||
			code != 0 && stdout.Len()+stderr.Len() == 0 {
			t.Errorf("store %s: exit code %d, want %d\nstdout %.300s want %q\nstderr %.300s want %q", c.call, code,
				c.code, &stdout, c.out, &stderr, c.say)
		}
		if strings.Count(stderr.String(), "no such file") > 1 ||
			strings.Contains(stderr.String(), "nothing was found out") {
			t.Errorf("store %s says the same twice: %s", c.call, &stderr)
		}
	}
}

// In a keeper's folder no verb takes the specimen for the keeper's site because -config was left
// out.
func TestOwnConfigurationIsTheDefault(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	for _, call := range []string{"init " + dir, "key init -dir " + filepath.Join(dir, "var", "keys")} {
		var said bytes.Buffer
		if code := run(t.Context(), strings.Fields(call), &said, &said); code != 0 {
			t.Fatalf("store %s: exit code %d: %s", call, code, &said)
		}
	}
	t.Chdir(dir)
	keys, err := os.ReadFile(filepath.Join("var", "keys", "ring.json"))
	if err != nil {
		t.Fatal(err)
	}
	ring, err := attest.ParseRing(keys)
	if err != nil {
		t.Fatal(err)
	}
	// Whoever builds a new site sees it, changes a word and builds it again, long before anything
	// is on its record.
	for range 2 {
		var said bytes.Buffer
		if code := run(t.Context(), []string{"build"}, &said, &said); code != 0 {
			t.Fatalf("store build: exit code %d: %s", code, &said)
		}
	}
	r, err := verify.Clone(t.Context(), os.DirFS("public/current"), verify.CloneOptions{Ring: keys,
		Judge: rejudge.Batteries{}})
	if err != nil || !r.Sound() || r.KID != ring.Identity().KID {
		t.Errorf("the tree in public is signed by %s, the keeper is %s: %v %v", r.KID, ring.Identity().KID, r.Problems,
			err)
	}
	if err := os.Remove("store.toml"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("public/current"); err != nil {
		t.Fatal(err)
	}
	file := ""
	if cfg, err := siteConfig(&file); err != nil || !cfg.Specimen() || file != "" {
		t.Errorf("without a configuration: %+v, %v", cfg, err)
	}
	t.Chdir(t.TempDir())
	if _, err := siteConfig(&file); err == nil || !strings.Contains(err.Error(), "store init DIR") {
		t.Errorf("in an empty folder: %v", err)
	}
}
