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
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"golang.org/x/sync/errgroup"

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

// run buys from the store, on a chain of its own, so many at once, and returns the purchases a
// second.
func (s *shopfront) run(atOnce int) func(context.Context) (float64, error) {
	return func(ctx context.Context) (float64, error) {
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
		url := cfg.BaseURL + good
		if err := p.until(ctx, answers(url, http.StatusPaymentRequired)); err != nil {
			return 0, err
		}
		return s.buy(ctx, sale{seller: p, url: url, chain: rpcURL, atOnce: atOnce})
	}
}

// runStock buys from the stock seller.
func (s *shopfront) runStock(ctx context.Context) (float64, error) {
	rpcURL, chain, err := s.l.anvil(ctx, s.people)
	if err != nil {
		return 0, err
	}
	defer chain.stop()
	url, p, err := s.openStock(ctx, rpcURL)
	if err != nil {
		return 0, err
	}
	return s.buy(ctx, sale{seller: p, url: url, chain: rpcURL, atOnce: few, refuses: true})
}

// openStock starts the stock seller.
func (s *shopfront) openStock(ctx context.Context, rpcURL string) (url string, p *process, err error) {
	modules, err := npmtest.Modules(filepath.Join(s.l.root, "cmd/devnet"))
	if err != nil {
		return "", nil, err
	}
	// Node looks for packages above the script, so it stands beside them.
	dir, err := s.l.folder("stock")
	if err != nil {
		return "", nil, err
	}
	if err := npmtest.Fill(dir, modules, filepath.Join(s.l.root, "cmd/bench/stock"), "seller.mjs"); err != nil {
		return "", nil, err
	}
	listen, err := free()
	if err != nil {
		return "", nil, err
	}
	_, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", nil, err
	}
	p, err = s.l.start(ctx, serverCore, dir, "env", "AS_DOCUMENTED=1", "PORT="+port, "RPC="+rpcURL,
		"PAY_TO="+address(s.people.payTo).Hex(), "RELAYER="+secret(s.people.relayer), "node", "seller.mjs")
	if err != nil {
		return "", nil, err
	}
	url = "http://" + listen + good
	return url, p, p.until(ctx, answers(url, http.StatusPaymentRequired))
}

func openPurchasesStock(ctx context.Context, l *lab) (*contest, error) {
	s, err := openShopfront(ctx, l)
	if err != nil {
		return nil, err
	}
	return &contest{ours: s.run(few), peer: s.runStock}, nil
}

func openPurchasesMany(ctx context.Context, l *lab) (*contest, error) {
	s, err := openShopfront(ctx, l)
	if err != nil {
		return nil, err
	}
	return &contest{ours: s.run(many), peer: s.run(few)}, nil
}

// sale is a seller with what is asked of it.
type sale struct {
	seller     *process
	url, chain string
	atOnce     int
	refuses    bool // it may refuse a payment, or not answer it with what was settled
}

// buy signs payments for what a door asks, each with a key of its own where it takes one, presents
// them, atOnce at a time, and returns how many a second were answered with the goods. It warms up
// for a fifth of the run's length before it counts. A run whose payments are used up is over early.
// The chain must have as many settlements as were made in all.
func (s *shopfront) buy(ctx context.Context, from sale) (rate float64, err error) {
	defer from.seller.stop()
	headers, err := s.people.payments(from.url, perSecond*s.l.seconds)
	if err != nil {
		return 0, err
	}
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: from.atOnce, DisableCompression: true}}
	defer c.CloseIdleConnections()
	err = pinned(strconv.Itoa(loaderCore), func() error {
		length := time.Duration(s.l.seconds) * time.Second
		begin := time.Now().Add(length / 5)
		until := begin.Add(length)
		var next, done, all atomic.Int64
		g, run := errgroup.WithContext(ctx)
		for range from.atOnce {
			g.Go(func() error {
				for time.Now().Before(until) {
					i := int(next.Add(1)) - 1
					if i >= len(headers) {
						return nil
					}
					if err := pay(run, c, from.url, headers[i]); err != nil && from.refuses && run.Err() == nil {
						continue
					} else if err != nil {
						return fmt.Errorf("number %d: %w\n%s", i+1, err, from.seller.said)
					}
					all.Add(1)
					if now := time.Now(); now.After(begin) && now.Before(until) {
						done.Add(1)
					}
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		if now := time.Now(); now.Before(until) {
			length = now.Sub(begin)
		}
		if rate = float64(done.Load()) / length.Seconds(); rate == 0 {
			return errors.New("nothing was done in time")
		}
		got, err := s.people.settled(ctx, from.chain)
		if missing := all.Load() - int64(got); err == nil && (missing > 0 || missing < 0 && !from.refuses) {
			err = fmt.Errorf("%d distinct settlements on the chain of %d payments", got, all.Load())
		}
		return err
	})
	return rate, err
}

// pay presents a payment, as it stands in a header. Its error is any answer but the goods.
func pay(ctx context.Context, c *http.Client, url, payment string) error {
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
	r, err := recordAnswer(url)
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
		a, sig, err := p.authorize(p.buyers[i%wallets], time.Now())
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
