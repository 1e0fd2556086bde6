package shop

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/evm"
)

// quiet is a log that many may write to.
type quiet struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (q *quiet) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.b.Write(p)
}

func (q *quiet) String() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.b.String()
}

// selling opens and serves a shop on these networks, and returns its address and log.
func selling(t *testing.T, n *chaintest.Net, networks ...NetworkConfig) (url string, log *quiet) {
	t.Helper()
	dir := t.TempDir()
	if _, err := MakeKeys(dir, time.Now().UTC().Format(time.DateOnly)); err != nil {
		t.Fatal(err)
	}
	relayer := filepath.Join(dir, "relayer.key")
	if err := WriteNew(relayer, []byte(n.Relayer.Hex()), 0o600); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for i := range networks {
		if networks[i].PayTo == "" {
			networks[i].PayTo, networks[i].RelayerKey = n.PayTo.Hex(), relayer
		}
	}
	log = new(quiet)
	c := &Config{
		BaseURL: "http://" + ln.Addr().String(), Listen: ln.Addr().String(), Ledger: "bolt:" +
			filepath.Join(dir, "ledger.bolt"), Networks: networks, Keys: KeysConfig{Identity: KeyFile(dir, "identity"),
			Ring: RingFile(dir), Secret: SecretFile(dir), Log: KeyFile(dir, "log")},
	}
	s, err := Open(t.Context(), c, Options{Log: slog.New(slog.NewTextHandler(log, nil)), Level: new(slog.LevelVar)})
	if err != nil {
		t.Fatalf("a store that has a network down does not start: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, ln, nil) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return c.BaseURL, log
}

// asked is an answer with its body.
func asked(t *testing.T, url string) (int, map[string]any) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	_ = json.Unmarshal(b, &m) // not all pages are JSON
	return resp.StatusCode, m
}

const nobody = "http://127.0.0.1:1"

func priced(id string, rpc string, genesis string) NetworkConfig {
	return NetworkConfig{ID: id, RPC: []string{rpc}, GenesisHash: genesis, CoinPrice: "1",
		PriceDate: time.Now().UTC().Format(time.DateOnly)}
}

// reasons are why networks are left out of an answer.
func reasons(m map[string]any) map[string]string {
	out := map[string]string{}
	left, _ := m["left_out"].([]any)
	for _, l := range left {
		o := l.(map[string]any)
		out[o["network"].(string)] = o["reason"].(string)
	}
	return out
}

// A network whose node is down at the start, one whose node is on another chain, and one without a
// price leave the others selling.
func TestNetworksThatCannotSettleLeaveTheOthers(t *testing.T) {
	n := chaintest.New(t, chaintest.Options{Networks: []uint64{8453, 137, 42161, 43114}})
	genesis := func(i int) string { return n.Chains[i].GenesisHash().Hex() }
	free := priced("eip155:43114", n.Chains[3].URL, genesis(3))
	free.CoinPrice, free.PriceDate = "", ""
	url, log := selling(t, n,
		priced("eip155:8453", nobody, "any"),
		priced("eip155:137", n.Chains[1].URL, genesis(1)),
		priced("eip155:42161", n.Chains[2].URL, ""), // the real network's first block
		free,
	)
	status, terms := asked(t, url+"/api/buy/hello")
	if status != http.StatusPaymentRequired {
		t.Fatalf("terms = %d %v", status, terms)
	}
	for network, why := range map[string]string{"eip155:8453": "does not answer", "eip155:42161": "not on the chain",
		"eip155:43114": "no price"} {
		if !strings.Contains(reasons(terms)[network], why) {
			t.Errorf("%s is left out for %q, want %q", network, reasons(terms)[network], why)
		}
	}
	for _, a := range terms["accepts"].([]any) {
		if got := a.(map[string]any)["network"]; got != "eip155:137" {
			t.Errorf("offered on %v", got)
		}
	}
	if s := log.String(); !strings.Contains(s, "level=ERROR") || !strings.Contains(s, rail.ErrWrongChain.Error()) {
		t.Errorf("the keeper is told %s", s)
	}
}

// A store of which no network answers starts, serves its pages, and says at paid doors why nothing
// is sold.
func TestStoreWithoutAnyNetworkStarts(t *testing.T) {
	n := chaintest.New(t, chaintest.Options{})
	url, log := selling(t, n, priced("eip155:8453", nobody, "any"))
	status, m := asked(t, url+"/api/buy/hello")
	if status != http.StatusServiceUnavailable || m["type"] != url+"/problems/settlement_unavailable" ||
		reasons(m)["eip155:8453"] == "" || m["accepts"] != nil {
		t.Errorf("a paid door = %d %v", status, m)
	}
	if status, _ := asked(t, url+"/api/verify/cert_nothing"); status != http.StatusNotFound {
		t.Errorf("a free door = %d", status)
	}
	if !strings.Contains(log.String(), "no network can settle") {
		t.Errorf("the keeper is told %s", log)
	}
}

func TestCostKeysAreChecked(t *testing.T) {
	good := Annotated(Example())
	for _, c := range []struct{ name, from, to, want string }{
		{"price without its day", `coin_price_date = "2026-11-20"`, `coin_price_date = ""`, "together"},
		{"day that is none", `coin_price_date = "2026-11-20"`, `coin_price_date = "yesterday"`, "not a day"},
		{"day to come", `coin_price_date = "2026-11-20"`, `coin_price_date = "2999-01-01"`, "in the future"},
		{"price of nothing", `coin_price = "3000"`, `coin_price = "0"`, "coin_price"},
		{"price in words", `coin_price = "3000"`, `coin_price = "much"`, "coin_price"},
		{"cost with a relayer", `settle_cost = ""`, `settle_cost = "0.01"`, "coin_price"},
		{"ceiling of nothing", `max_fee_wei = ""`, `max_fee_wei = "0"`, "max_fee_wei"},
		{"alarm in words", `gas_alarm_wei = "2000000000000000"`, `gas_alarm_wei = "low"`, "gas_alarm_wei"},
		{"more together than fit", `together = 0`, `together = 51`, "it is between 0 and 50"},
		{"fewer than none together", `together = 0`, `together = -1`, "it is between 0 and 50"},
		{"subsidy in words", `subsidy = "0.50"`, `subsidy = "some"`, "gas.subsidy"},
	} {
		text := strings.Replace(good, c.from, c.to, 1)
		if text == good {
			t.Fatalf("%s: nothing replaced", c.name)
		}
		if _, err := Load(write(t, text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error = %v, want one with %q", c.name, err, c.want)
		}
	}
}

// A keeper can give each payment a transaction of its own. Without a word of it as many share one
// as fit.
func TestTogetherIsTheKeepersChoice(t *testing.T) {
	for n := range 3 {
		cfg, err := NetworkConfig{ID: "eip155:8453", Together: n}.chain(evm.Preset)
		if err != nil || cfg.Together != n {
			t.Errorf("together = %d opens %d, %v", n, cfg.Together, err)
		}
	}
}
