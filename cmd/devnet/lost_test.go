package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/clients"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/cmd/shop"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// way loses an answer.
type way func(w http.ResponseWriter, r *http.Request, status int, header http.Header, body []byte)

// says answers by itself.
func says(code int) way {
	return func(w http.ResponseWriter, _ *http.Request, _ int, _ http.Header, _ []byte) { w.WriteHeader(code) }
}

// ways are those in which the answer to a payment is lost between store and client; package till
// has them all, with the death of the store's process.
var ways = []struct {
	name string
	lose way
}{
	{"connection", func(http.ResponseWriter, *http.Request, int, http.Header, []byte) { panic(http.ErrAbortHandler) }},
	{"502", says(502)},
	{"504", says(504)},
	{"fresh402", nil}, // by the proxy: the answer to the same request without its payment
	{"time-out", func(_ http.ResponseWriter, r *http.Request, _ int, _ http.Header, _ []byte) {
		givenUp(r)
		panic(http.ErrAbortHandler)
	}},
	{"cut", func(w http.ResponseWriter, _ *http.Request, status int, header http.Header, body []byte) {
		maps.Copy(w.Header(), header)
		w.WriteHeader(status)
		w.Write(body[:len(body)/2])
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}},
}

// givenUp waits until the client has gone. One whose runtime forgot the signal that should end its
// request is sent away before the minutes are over in which equal orders are one.
func givenUp(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-time.After(20 * time.Second):
	}
}

// loser stands before a store and loses the first answer to a payment in the way that the first
// part of the path names.
type loser struct {
	*httptest.Server
	t     *testing.T
	store string

	mu   sync.Mutex
	lost map[string]bool // by address; guarded by mu
}

func newLoser(t *testing.T, store string) *loser {
	p := &loser{t: t, store: store, lost: map[string]bool{}}
	p.Server = httptest.NewServer(p)
	t.Cleanup(func() { p.CloseClientConnections(); p.Close() })
	return p
}

func (p *loser) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	paid := r.Header.Get("Payment-Signature") != ""
	asked, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	status, header, body, err := p.pass(r, "/"+path, asked, paid)
	if err != nil {
		p.t.Error(err)
		panic(http.ErrAbortHandler)
	}
	p.mu.Lock()
	loses := paid && !p.lost[r.URL.String()]
	p.lost[r.URL.String()] = p.lost[r.URL.String()] || paid
	p.mu.Unlock()
	for _, way := range ways {
		switch {
		case !loses || way.name != name:
		case status != http.StatusOK:
			p.t.Errorf("%s: there is nothing to lose: status %d, %.300s", r.URL, status, body)
		case way.lose != nil:
			way.lose(w, r, status, header, body)
			return
		default:
			if status, header, body, err = p.pass(r, "/"+path, asked, false); err != nil {
				p.t.Error(err)
			}
		}
	}
	maps.Copy(w.Header(), header)
	w.WriteHeader(status)
	w.Write(body)
}

// pass hands a request on, with its payment or without.
func (p *loser) pass(r *http.Request, path string, asked []byte, paid bool) (int, http.Header, []byte, error) {
	// It outlives the client, whose answer is lost and not its request.
	req, err := http.NewRequest(r.Method, p.store+path+"?"+r.URL.RawQuery, bytes.NewReader(asked))
	if err != nil {
		return 0, nil, nil, err
	}
	req.Header = r.Header.Clone()
	if !paid {
		req.Header.Del("Payment-Signature")
	}
	req.Header.Del("Accept-Encoding")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	resp.Header.Del("Content-Length")
	return resp.StatusCode, resp.Header, bytes.Clone(body), err
}

// loses has a payer buy at a node once for each way, twice, as one who lost the first answer does;
// each good is charged once.
func (s *stall) loses(t *testing.T, p *loser, node *chaintest.Node, who string, o clients.Options) {
	t.Helper()
	o.Network, o.RPC = node.Network.ID(), node.URL
	var urls, salts []string
	for i, way := range ways {
		url := fmt.Sprintf("%s/%s/api/buy/hello?agent_name=%s-%s-%d", p.URL, way.name, who, way.name,
			node.Network.ChainID)
		urls = append(urls, url, url)
		timeout := time.Duration(0)
		if way.name == "time-out" {
			timeout = 8 * time.Second
		}
		o.Timeouts = append(o.Timeouts, timeout, 0)
		salt := common.Hash{31: byte(i + 1)}.Hex()
		salts = append(salts, salt, salt)
	}
	if o.Factory != "" {
		o.Salts = salts
		for i := range ways {
			owner := s.net.Buyers[3].Address
			s.fund(t, node, node.CounterfactualWallet(owner, common.HexToHash(salts[2*i])))
		}
	}
	since, err := node.RPC.BlockNumber(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	results := clients.Buy(t, o, urls...)
	for i, r := range results {
		way := ways[i/2].name
		switch {
		case i%2 == 0 && r.Status == http.StatusOK && way != "cut":
			t.Errorf("%s on %s, %s: the answer was not lost: status %d", who, o.Network, way, r.Status)
		case i%2 == 1 && (r.Status != http.StatusOK || !strings.Contains(r.Body, `"idempotent_replay":true`)):
			t.Errorf("%s on %s, %s: the retry has status %d, error %q, body %.300s", who, o.Network, way, r.Status,
				r.Error, r.Body)
		}
	}
	if got := charged(t, node, s.payTo.address(), since+1, results); got != len(ways) {
		t.Errorf("%s on %s: charged %d times, want %d", who, o.Network, got, len(ways))
	}
}

// charged counts the transfers by the payers of some purchases to an account, since a block.
func charged(t *testing.T, node *chaintest.Node, payTo common.Address, since uint64, results []clients.Result) (n int) {
	t.Helper()
	payers := map[common.Address]bool{}
	for _, r := range results {
		raw, err := base64.StdEncoding.DecodeString(r.Payment)
		var p struct {
			Payload struct {
				Authorization struct{ From common.Address }
				Permit        struct{ From common.Address } `json:"permit2Authorization"`
			}
		}
		if err := errors.Join(err, json.Unmarshal(raw, &p)); err != nil {
			t.Fatalf("%s: the payment cannot be read: %v", r.URL, err)
		}
		payers[p.Payload.Authorization.From], payers[p.Payload.Permit.From] = true, true
	}
	transfer := crypto.Keccak256Hash([]byte("Transfer(address,address,uint256)"))
	logs, err := node.RPC.FilterLogs(t.Context(), ethereum.FilterQuery{FromBlock: new(big.Int).SetUint64(since),
		Addresses: []common.Address{node.Network.Asset},
		Topics:    [][]common.Hash{{transfer}, nil, {common.BytesToHash(payTo[:])}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range logs {
		if payers[common.BytesToAddress(l.Topics[1][:])] {
			n++
		}
	}
	return n
}

// fund gives an account the price of one good.
func (s *stall) fund(t *testing.T, node *chaintest.Node, who common.Address) {
	t.Helper()
	tx := node.Send(s.net.Minter, node.Network.Asset, token.PayCall(who, big.NewInt(500_000)))
	if node.Await(tx.Hash()).Status != 1 {
		t.Fatal(errors.New("funding failed"))
	}
}

// The unmodified stock client, paying from an ordinary account, from a wallet (EIP-1271), from an
// account with code (EIP-7702) and from wallets that its payment deploys (ERC-6492), loses answers
// and is charged once: each payer on a network of its own.
func TestStockWalletsLoseTheirAnswers(t *testing.T) {
	s := openStall(t)
	p := newLoser(t, s.url)
	t.Run("check", s.passesCheck)
	t.Run("neighbours", s.sellsWhatNeedsOthers)
	t.Run("check -pay", s.passesCheckPay)
	payers := []struct {
		who string
		o   clients.Options
	}{
		{"plain", clients.Options{Key: s.net.Buyers[1].Hex()}},
		{"wallet", clients.Options{Key: s.net.Wallet.Owner.Hex(), Wallet: s.net.Wallet.Address.Hex()}},
		{"delegated", clients.Options{Key: s.net.Buyers[2].Hex(), Delegate: chain.Delegate.Hex()}},
		{"undeployed", clients.Options{Key: s.net.Buyers[3].Hex(), Factory: chain.Factory.Hex()}},
	}
	for i, node := range s.nodes {
		mint := node.Send(s.net.Minter, node.Network.Asset,
			token.MintCall(s.net.Minter.Address, big.NewInt(100_000_000)))
		delegate := node.Delegate(s.net.Buyers[2], chain.Delegate)
		if node.Await(mint.Hash()).Status != 1 || node.Await(delegate.Hash()).Status != 1 {
			t.Fatal("the stage cannot be set")
		}
		t.Run(node.Network.Name+"/"+payers[i].who, func(t *testing.T) {
			t.Parallel()
			s.loses(t, p, node, payers[i].who, payers[i].o)
		})
	}
}

// By Permit2 the stock client is told to approve first, with 412, and then buys as by any other
// way.
func TestStockClientBuysByPermit2(t *testing.T) {
	t.Parallel()
	s := openStallWith(t, nil, func(_ *stall, cfg *shop.Config) {
		for i := range cfg.Networks {
			cfg.Networks[i].Transfer = "permit2"
		}
	})
	p := newLoser(t, s.url)
	for _, node := range s.nodes {
		o := clients.Options{Key: s.net.Buyers[1].Hex(), Network: node.Network.ID()}
		r := clients.Buy(t, o, s.url+"/api/buy/hello")[0]
		if r.Status != http.StatusPreconditionFailed || !strings.Contains(r.Body, "permit2_allowance_required") {
			t.Errorf("without an approval: status %d, error %q, body %.300s", r.Status, r.Error, r.Body)
		}
		approve := node.Send(s.net.Buyers[1], node.Network.Asset, token.ApproveCall(token.Permit2Address,
			big.NewInt(1_000_000_000)))
		if node.Await(approve.Hash()).Status != 1 {
			t.Fatal("approving failed")
		}
		t.Run(node.Network.Name, func(t *testing.T) {
			t.Parallel()
			s.loses(t, p, node, "permit2", o)
		})
	}
}
