package shop

import (
	"crypto/ed25519"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/svm"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/rail/solana"
)

// keygen is a key as solana-keygen writes it.
func keygen(t *testing.T, key ed25519.PrivateKey) string {
	t.Helper()
	list := make([]int, len(key))
	for i, b := range key {
		list[i] = int(b)
	}
	b, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSolanaKeyFiles(t *testing.T) {
	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", 32)))
	good := keygen(t, key)
	if got, err := solana.ParseKey([]byte(good + "\n")); err != nil || !got.Equal(key) {
		t.Errorf("the key of %s: %v", good, err)
	}
	other := ed25519.NewKeyFromSeed([]byte(strings.Repeat("o", 32)))
	for name, bad := range map[string]string{
		"empty": "", "nothing": "null", "hex": strings.Repeat("ab", 32), "text": `"` + strings.Repeat("ab", 32) + `"`,
		"the seed alone": "[" + strings.TrimSuffix(strings.Repeat("107,", 32), ",") + "]",
		"cut":            good[:len(good)-4], "above a byte": strings.Replace(good, "107", "363", 1),
		"below a byte":          strings.Replace(good, "107", "-1", 1),
		"another's public half": keygen(t, append(key.Seed(), other[32:]...)),
		"more behind it":        good + "[]",
	} {
		if _, err := solana.ParseKey([]byte(bad)); err == nil || strings.Contains(err.Error(), "107") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Keys that mean nothing on Solana are refused by their names.
func TestSolanaKeysAreChecked(t *testing.T) {
	good := Annotated(Example())
	at := strings.Index(good, networks.Solana)
	head, tail := good[:at], good[at:]
	for _, c := range []struct{ from, to, want string }{
		{"relayer_key = ", "relayer_keys = [\"more\"]\nrelayer_key = ", "relayer_keys is of no use on Solana"},
		{"relayer_key = \"var/keys/fee-payer.json\"", "facilitator = \"https://f.example\"",
			"facilitator is of no use"},
		{"coin_price = ", "depth = 3\ncoin_price = ", "depth is of no use"},
		{"coin_price = ", "finality = 3\ncoin_price = ", "finality is of no use"},
		{"coin_price = ", "max_fee_wei = \"3\"\ncoin_price = ", "max_fee_wei is of no use"},
		{"coin_price = ", "genesis_hash = \"0x00\"\ncoin_price = ", "genesis_hash is of no use"},
		{"11111111111111111111111111111112", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "the mint of USDC"},
	} {
		text := head + strings.Replace(tail, c.from, c.to, 1)
		if text == good {
			t.Fatalf("%s: nothing replaced", c.want)
		}
		if _, err := Load(write(t, text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error = %v, want one with %q", err, c.want)
		}
	}
	if _, err := Load(write(t, head+strings.Replace(tail, "coin_price = ", "genesis_hash = \"any\"\ncoin_price = ",
		1))); err != nil {
		t.Error(err)
	}
	for _, id := range []string{"solana:mainnet", "bip122:000000000019d6689c085ae165831e93", "Base", ""} {
		n := NetworkConfig{ID: id, RPC: []string{nobody}, PayTo: "x", RelayerKey: write(t, "x")}
		if _, err := (&Shop{}).OpenRail(n); err == nil || !strings.Contains(err.Error(), "is not a network") {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// solanaNetwork is a network of the devnet's cluster with keys of a test.
func solanaNetwork(t *testing.T, c *svm.Cluster) (n NetworkConfig, payTo string) {
	t.Helper()
	feePayer := ed25519.NewKeyFromSeed([]byte(strings.Repeat("f", 32)))
	file := filepath.Join(t.TempDir(), "fee-payer.json")
	if err := WriteNew(file, []byte(keygen(t, feePayer)), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Do(nil, "dev_setLamports", wallet.EncodeBase58(feePayer[32:]), 1_000_000_000)
	payTo = wallet.EncodeBase58(ed25519.NewKeyFromSeed([]byte(strings.Repeat("p", 32)))[32:])
	n = priced(networks.Solana, c.URL, "")
	n.PayTo, n.RelayerKey, n.Poll = payTo, file, Duration(20*time.Millisecond)
	return n, payTo
}

// A store whose pay_to has no token account on Solana starts, sells on its other networks, and
// tells its keeper how the account is made; from then on it sells there. One that is frozen or
// closed is left out with its reason, and taken in again.
func TestSolanaTokenAccountIsWatched(t *testing.T) {
	c := svm.Start(t)
	n, payTo := solanaNetwork(t, c)
	evm := chaintest.New(t, chaintest.Options{})
	url, log := selling(t, evm, priced("eip155:8453", evm.URL, evm.GenesisHash().Hex()), n)
	account := ""
	offered := func() (bool, string) {
		status, terms := asked(t, url+"/api/buy/hello")
		if status != http.StatusPaymentRequired {
			t.Fatalf("terms = %d %v", status, terms)
		}
		for _, a := range terms["accepts"].([]any) {
			if e := a.(map[string]any); e["network"] == networks.Solana {
				if e["payTo"] != payTo || e["maxTimeoutSeconds"] != 60.0 {
					t.Errorf("asked for %v", e)
				}
				return true, ""
			}
		}
		return false, reasons(terms)[networks.Solana]
	}
	ok, why := offered()
	if ok || !strings.Contains(why, "account for USDC there does not exist") {
		t.Fatalf("offered %v without an account, left out for %q", ok, why)
	}
	_, rest, found := strings.Cut(log.String(), "It will be ")
	token, _ := networks.USDC(networks.Solana)
	mint := token.Address
	if account, _, _ = strings.Cut(rest, `"`); !found || !strings.Contains(log.String(), "spl-token create-account "+
		mint+" --owner "+payTo) {
		t.Fatalf("the keeper is told %s", log)
	}
	turn := func(what, want string, method string, params ...any) {
		t.Helper()
		c.Do(nil, method, params...)
		for began := time.Now(); ; {
			ok, why := offered()
			if want == "" && ok || want != "" && strings.Contains(why, want) {
				return
			}
			if time.Since(began) > 5*time.Minute {
				t.Fatalf("%s: offered %v, left out for %q, want %q", what, ok, why, want)
			}
			<-time.After(20 * time.Millisecond)
		}
	}
	turn("made", "", "dev_setToken", account, mint, payTo, 0, false)
	turn("frozen", "is frozen", "dev_setToken", account, mint, payTo, 0, true)
	turn("thawed", "", "dev_setToken", account, mint, payTo, 0, false)
	turn("closed", "does not exist", "dev_close", account)
	turn("another's", "is not its own", "dev_setToken", account, mint, mint, 0, false)
}
