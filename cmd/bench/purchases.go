package main

import (
	"context"
	"crypto/ecdsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"store.example/agentstore/cmd/devnet/npmtest"
	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/generator"
)

// perSecond is how many payments are signed ahead for a second of a run.
const perSecond = 1500

// price of what is bought, hello, in atomic units.
const price = 500_000

// shopfront is a store that is opened anew on every new chain, with an empty ledger.
type shopfront struct {
	l      *lab
	people *people
	dir    string
	cfg    shop.Config
}

func openShopfront(ctx context.Context, l *lab) (*shopfront, error) {
	p, err := newPeople()
	if err != nil {
		return nil, err
	}
	dir, err := l.folder("shop")
	if err != nil {
		return nil, err
	}
	keys := filepath.Join(dir, "keys")
	if _, err := shop.MakeKeys(keys, time.Now().UTC().Format(time.DateOnly)); err != nil {
		return nil, err
	}
	relayer := filepath.Join(keys, "relayer.key")
	if err := shop.WriteNew(relayer, []byte(secret(p.relayer)), 0o600); err != nil {
		return nil, err
	}
	listen, err := free()
	if err != nil {
		return nil, err
	}
	debug, err := free()
	if err != nil {
		return nil, err
	}
	s := &shopfront{l: l, people: p, dir: dir, cfg: shop.Config{
		BaseURL: "http://" + listen, Listen: listen, DebugListen: debug, Public: filepath.Join(dir, "site"),
		Keys: shop.KeysConfig{
			Identity: shop.KeyFile(keys, "identity"), Ring: shop.RingFile(keys), Secret: shop.SecretFile(keys),
			Git: shop.KeyFile(keys, "git"),
		},
		Server: shop.ServerConfig{SettleWait: shop.Duration(45 * time.Second), MaxInFlight: 512, LogLevel: "warn"},
		Networks: []shop.NetworkConfig{{
			ID: network().ID(), PayTo: address(p.payTo).Hex(), RelayerKey: relayer, Depth: 1, GenesisHash: "any",
			// a coin of a local chain counts for a dollar
			CoinPrice: "1", PriceDate: time.Now().UTC().Format(time.DateOnly),
			Poll: shop.Duration(100 * time.Millisecond),
		}},
	}}
	in, err := shop.BuildInput(&s.cfg)
	if err != nil {
		return nil, err
	}
	in.PublicPools = true
	_, err = generator.BuildTree(ctx, in, s.cfg.Public)
	return s, err
}

func secret(k *ecdsa.PrivateKey) string { return hexutil.Encode(crypto.FromECDSA(k)) }

// run buys from the store for a while and returns the purchases a second.
func (s *shopfront) run(ctx context.Context) (float64, error) {
	return s.selling(ctx, func(_ *process, url, rpcURL string) (float64, error) {
		return s.l.buy(ctx, s.people, url, rpcURL, byHTTP)
	})
}

// selling opens the store on a chain of its own while it is measured.
func (s *shopfront) selling(ctx context.Context, measure func(p *process, url, rpcURL string) (float64,
	error)) (float64,
	error) {
	rpcURL, chain, err := s.l.anvil(ctx, s.people)
	if err != nil {
		return 0, err
	}
	defer chain.stop()
	store, err := s.l.program(ctx, "store")
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp(s.dir, "run-")
	if err != nil {
		return 0, err
	}
	cfg := s.cfg
	cfg.Networks[0].RPC = []string{rpcURL}
	cfg.Ledger, cfg.HighWater = "bolt:"+filepath.Join(dir, "ledger.bolt"), filepath.Join(dir, "high-water.jws")
	file := filepath.Join(dir, "store.toml")
	if err := os.WriteFile(file, []byte(shop.Annotated(cfg)), 0o600); err != nil {
		return 0, err
	}
	p, err := s.l.start(ctx, serverCore, dir, store, "serve", "-config", file)
	if err != nil {
		return 0, err
	}
	defer p.stop()
	url := cfg.BaseURL + "/api/buy/hello"
	if err := p.until(ctx, answers(url, http.StatusPaymentRequired)); err != nil {
		return 0, err
	}
	measured, err := measure(p, url, rpcURL)
	if err != nil {
		return 0, fmt.Errorf("%w\n%s", err, p.said)
	}
	return measured, nil
}

// runStock buys from the stock seller.
func (s *shopfront) runStock(ctx context.Context) (float64, error) {
	source := filepath.Join(s.l.root, "cmd/bench/stock")
	modules, err := npmtest.Modules(filepath.Join(s.l.root, "cmd/devnet"))
	if err != nil {
		return 0, err
	}
	// Node looks for packages above the script, so it stands beside them.
	script := filepath.Join(s.dir, "seller.mjs")
	b, err := os.ReadFile(filepath.Join(source, "seller.mjs"))
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(script, b, 0o600); err != nil {
		return 0, err
	}
	if err := os.Symlink(modules, filepath.Join(s.dir, "node_modules")); err != nil && !errors.Is(err, os.ErrExist) {
		return 0, err
	}
	rpcURL, chain, err := s.l.anvil(ctx, s.people)
	if err != nil {
		return 0, err
	}
	defer chain.stop()
	listen, err := free()
	if err != nil {
		return 0, err
	}
	_, port, err := net.SplitHostPort(listen)
	if err != nil {
		return 0, err
	}
	p, err := s.l.start(ctx, serverCore, s.dir, "env", "PORT="+port, "RPC="+rpcURL, "PAY_TO="+
		address(s.people.payTo).Hex(),
		"RELAYER="+secret(s.people.relayer), "node", script)
	if err != nil {
		return 0, err
	}
	defer p.stop()
	url := "http://" + listen + "/api/buy/hello"
	if err := p.until(ctx, answers(url, http.StatusPaymentRequired)); err != nil {
		return 0, err
	}
	rate, err := s.l.buy(ctx, s.people, url, rpcURL, byHTTP)
	if err != nil {
		return 0, fmt.Errorf("%w\n%s", err, p.said)
	}
	return rate, nil
}

// runBare has the transfers mined without anybody selling. The loader stands on the core where the
// seller stood.
func (s *shopfront) runBare(ctx context.Context) (rate float64, err error) {
	rpcURL, chain, err := s.l.anvil(ctx, s.people)
	if err != nil {
		return 0, err
	}
	defer chain.stop()
	raws, err := s.people.transfers(perSecond*s.l.seconds, price)
	if err != nil {
		return 0, err
	}
	c := client()
	defer c.CloseIdleConnections()
	err = pinned(strconv.Itoa(serverCore), func() error {
		rate, err = s.people.load(ctx, s.l, rpcURL, len(raws), func(ctx context.Context, i int) error {
			return mine(ctx, c, rpcURL, raws[i])
		})
		return err
	})
	return rate, err
}

func openAgainstStock(ctx context.Context, l *lab) (*contest, error) {
	s, err := openShopfront(ctx, l)
	if err != nil {
		return nil, err
	}
	return &contest{ours: s.run, peer: s.runStock}, nil
}

func openAgainstLoader(ctx context.Context, l *lab) (*contest, error) {
	s, err := openShopfront(ctx, l)
	if err != nil {
		return nil, err
	}
	return &contest{ours: s.run, peer: s.runBare}, nil
}

// client keeps one connection for each purchase under way.
func client() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: atOnce, DisableCompression: true}}
}

// load settles numbered payments, atOnce at a time, and returns how many a second. It warms up for
// a fifth of the run's length before it counts. A run whose payments are used up is over early. The
// chain must have as many settlements as were made in all.
func (p *people) load(ctx context.Context, l *lab, chain string, n int, do func(context.Context, int) error) (float64,
	error) {
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	length := time.Duration(l.seconds) * time.Second
	from := time.Now().Add(length / 5)
	until := from.Add(length)
	var next, done, all atomic.Int64
	var wg sync.WaitGroup
	for range atOnce {
		wg.Go(func() {
			for time.Now().Before(until) {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := do(run, i); err != nil {
					cancel(fmt.Errorf("number %d: %w", i+1, err))
					return
				}
				all.Add(1)
				if now := time.Now(); now.After(from) && now.Before(until) {
					done.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if err := context.Cause(run); err != nil {
		return 0, err
	}
	if now := time.Now(); now.Before(until) {
		length = now.Sub(from)
	}
	if done.Load() == 0 {
		return 0, errors.New("nothing was done in time")
	}
	if got, err := p.settled(ctx, chain); err != nil {
		return 0, fmt.Errorf("counting the settlements: %w", err)
	} else if int64(got) != all.Load() {
		return 0, fmt.Errorf("%d distinct settlements on the chain of %d payments", got, all.Load())
	}
	return float64(done.Load()) / length.Seconds(), nil
}

// A presenter sends a payment, as it stands in a header, for what a door sells. Its error is any
// answer but the goods.
type presenter func(ctx context.Context, c *http.Client, url, payment string) error

// buy signs payments for what a door asks, each with a key of its own where it takes one, then
// presents them, atOnce at a time.
func (l *lab) buy(ctx context.Context, p *people, url, chain string, present presenter) (rate float64, err error) {
	headers, err := p.payments(url, perSecond*l.seconds)
	if err != nil {
		return 0, err
	}
	c := client()
	defer c.CloseIdleConnections()
	err = pinned(strconv.Itoa(loaderCore), func() error {
		rate, err = p.load(ctx, l, chain, len(headers), func(ctx context.Context, i int) error {
			return present(ctx, c, url, headers[i])
		})
		return err
	})
	return rate, err
}

// byHTTP is the stock way to pay.
func byHTTP(ctx context.Context, c *http.Client, url, payment string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Payment-Signature", payment)
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Payment-Response") == "" {
		return fmt.Errorf("status %d: %s %s", resp.StatusCode, body, resp.Header.Get("Payment-Required"))
	}
	return nil
}

// payments signs n payments of what a door asks first, each a header as a stock buyer sends it.
func (p *people) payments(url string, n int) ([]string, error) {
	r, err := recordAnswer(url, "*/*")
	if err != nil {
		return nil, err
	}
	raw, err := base64.StdEncoding.DecodeString(r.Header.Get("Payment-Required"))
	if err != nil {
		return nil, err
	}
	var terms struct {
		Resource   json.RawMessage   `json:"resource"`
		Accepts    []json.RawMessage `json:"accepts"`
		Extensions map[string]any    `json:"extensions,omitempty"`
	}
	if err := json.Unmarshal(raw, &terms); err != nil {
		return nil, err
	}
	if len(terms.Accepts) == 0 {
		return nil, errors.New("the door asks for nothing")
	}
	headers := make([]string, n)
	for i := range headers {
		a, sig, err := p.authorize(p.buyers[i%wallets], price, time.Now())
		if err != nil {
			return nil, err
		}
		payment := map[string]any{
			"x402Version": 2, "resource": terms.Resource, "accepted": terms.Accepts[0],
			"payload": map[string]any{"signature": hexutil.Encode(sig), "authorization": map[string]string{
				"from": a.From.Hex(), "to": a.To.Hex(), "value": a.Value.String(), "nonce": a.Nonce.Hex(),
				"validAfter": strconv.FormatUint(a.ValidAfter, 10), "validBefore": strconv.FormatUint(a.ValidBefore,
					10),
			}},
		}
		if terms.Extensions != nil {
			ext := maps.Clone(terms.Extensions)
			if ext["payment-identifier"] != nil {
				// Each buys: with the suggested key, equal orders of one wallet would be one.
				ext["payment-identifier"] = map[string]any{"info": map[string]any{"required": false, "id": "pay_" +
					a.Nonce.Hex()[2:]}}
			}
			payment["extensions"] = ext
		}
		b, err := json.Marshal(payment)
		if err != nil {
			return nil, err
		}
		headers[i] = base64.StdEncoding.EncodeToString(b)
	}
	return headers, nil
}
