package main

import (
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/specimen"
	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/wallet"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// funds is what each buyer owns on each chain, in atomic units: a thousand dollars.
const funds = 1_000_000_000

// buyers is how many funded buyers there are.
const buyers = 5

// buyerFile is the key of a buyer in the folder of a run, for store buy.
const buyerFile = "buyer.key"

// person is an account of the run.
type person struct{ key *ecdsa.PrivateKey }

func (p person) address() common.Address { return crypto.PubkeyToAddress(p.key.PublicKey) }
func (p person) secret() string {
	return "0x" + common.Bytes2Hex(crypto.FromECDSA(p.key))
}

// running is one chain of the run.
type running struct {
	*chain.Chain
	network chain.Network
}

// world is the chains and the people on them.
type world struct {
	chains         []running
	relayer, payTo person
	launch         person // buys at doors for the store
	poor           person
	buyers         []person
	wallet         common.Address // an EIP-1271 wallet
	owner          person         // signs for it
	solana         *cluster       // nil where it is left out
}

// newWorld makes fresh keys and starts the four chains of the EVM at consecutive ports.
func newWorld(rpc string) (*world, error) {
	w := &world{wallet: common.HexToAddress("0x5a11e700000000000000000000000000000000E1")}
	for _, p := range []*person{&w.relayer, &w.payTo, &w.launch, &w.poor, &w.owner} {
		if err := fresh(p); err != nil {
			return nil, err
		}
	}
	open := chain.Opening{
		Minter: w.relayer.address(), Gas: []common.Address{w.relayer.address()},
		Dollars: map[common.Address]int64{w.wallet: funds, w.launch.address(): funds},
		Wallets: map[common.Address]common.Address{w.wallet: w.owner.address()},
	}
	for range buyers {
		var p person
		if err := fresh(&p); err != nil {
			return nil, err
		}
		w.buyers = append(w.buyers, p)
		open.Dollars[p.address()] = funds
		open.Gas = append(open.Gas, p.address())
	}
	host, port, err := portOf(rpc)
	if err != nil {
		return nil, err
	}
	for i, n := range chain.Networks {
		c, err := chain.Start(chain.Config{
			ChainID: n.ChainID, Listen: net.JoinHostPort(host, strconv.Itoa(after(port, i))), Alloc: n.Alloc(open),
			Automine: true, Lead: chain.DefaultLead, Heartbeat: chain.DefaultHeartbeat,
		})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("starting the chain of %s: %w; where the port is another program's, "+
				"name another first one with -rpc", n.Name, err), w.stop())
		}
		w.chains = append(w.chains, running{c, n})
	}
	return w, nil
}

// portOf takes the address of the first chain apart.
func portOf(rpc string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(rpc)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil {
		return "", 0, fmt.Errorf("-rpc: %w", err)
	}
	return host, port, nil
}

// after is the nth port after one; 0 is any.
func after(port, n int) int {
	if port == 0 {
		return 0
	}
	return port + n
}

func fresh(p *person) error {
	k, err := crypto.GenerateKey()
	p.key = k
	return err
}

func (w *world) stop() error {
	var errs []error
	for _, c := range w.chains {
		errs = append(errs, c.Stop())
	}
	if w.solana != nil {
		w.solana.Close()
	}
	return errors.Join(errs...)
}

// prepare makes the keys of the run's store and its configuration.
func (w *world) prepare(state, listen string) (*shop.Config, error) {
	keys := filepath.Join(state, "keys")
	// The rounds that a run may begin with are of the specimen's weeks, and a key signs nothing of
	// before its time.
	if _, err := shop.MakeKeys(keys, specimen.Begins()); err != nil {
		return nil, err
	}
	relayer := filepath.Join(keys, "relayer.key")
	if err := shop.WriteNew(relayer, []byte(w.relayer.secret()+"\n"), 0o600); err != nil {
		return nil, err
	}
	var claims person
	vouchers := filepath.Join(keys, "vouchers.key")
	if err := errors.Join(fresh(&claims), shop.WriteNew(vouchers, []byte(claims.secret()+"\n"), 0o600)); err != nil {
		return nil, err
	}
	cfg := &shop.Config{
		Vouchers: shop.VouchersConfig{Key: vouchers},
		BaseURL:  "http://" + listen, Listen: listen, Ledger: "bolt:" + filepath.Join(state, "ledger.bolt"),
		Public: filepath.Join(state, "site"), Record: filepath.Join(state, "corpus"),
		Twins: filepath.Join(state, "twins"), HighWater: filepath.Join(state, "high-water.jws"), Keys: shop.KeysConfig{
			Identity: shop.KeyFile(keys, "identity"), Ring: shop.RingFile(keys), Secret: shop.SecretFile(keys),
			Log: shop.KeyFile(keys, "log"), Git: shop.KeyFile(keys, "git"), Webhook: shop.KeyFile(keys, "webhook"),
		},
		Server: shop.ServerConfig{SettleWait: shop.Duration(45 * time.Second), MaxInFlight: 512, LogLevel: "info"},
	}
	for _, c := range w.chains {
		cfg.Networks = append(cfg.Networks, shop.NetworkConfig{
			ID: c.network.ID(), RPC: []string{c.RPCURL()}, PayTo: w.payTo.address().Hex(), RelayerKey: relayer,
			Factories: []string{chain.Factory.Hex()},
			// a coin of a local chain counts for a dollar
			CoinPrice: "1", PriceDate: time.Now().UTC().Format(time.DateOnly),
			Depth: 1, GenesisHash: c.GenesisHash().Hex(), Poll: shop.Duration(20 * time.Millisecond),
		})
	}
	if w.solana == nil {
		return cfg, nil
	}
	n, err := w.solana.network(keys)
	cfg.Networks = append(cfg.Networks, n)
	return cfg, err
}

// account is how the ready file names an account.
type account struct {
	Address    string `json:"address"`
	PrivateKey string `json:"private_key"`
}

type readyNetwork struct {
	RPCURL string `json:"rpc_url"`
	Asset  string `json:"asset"`
	PayTo  string `json:"pay_to"`
}

type readyWallet struct {
	Address string `json:"address"`
	Owner   string `json:"owner_private_key"`
}

// ready is the file that says that everything is up.
type ready struct {
	BaseURL  string                  `json:"base_url"`
	Networks map[string]readyNetwork `json:"networks"`
	Buyers   []account               `json:"buyers"`
	Poor     account                 `json:"poor"`
	Wallet   readyWallet             `json:"wallet"` // an EIP-1271 wallet
	// Solana are the buyers there, with the base58 of their 64 bytes.
	Solana []account `json:"solana_buyers,omitempty"`
}

// writeReady writes the ready file whole, for its owner alone: it holds the keys of the run.
func (w *world) writeReady(file, baseURL string) error {
	if file == "" {
		return nil
	}
	r := ready{BaseURL: baseURL, Networks: make(map[string]readyNetwork)}
	for _, c := range w.chains {
		r.Networks[c.network.ID()] = readyNetwork{c.RPCURL(), c.network.Asset.Hex(), w.payTo.address().Hex()}
	}
	for _, b := range w.buyers {
		r.Buyers = append(r.Buyers, account{b.address().Hex(), b.secret()})
	}
	if s := w.solana; s != nil {
		r.Networks[networks.Solana] = readyNetwork{s.URL, s.mint, address(s.payTo)}
		for _, b := range s.buyers {
			r.Solana = append(r.Solana, account{address(b), wallet.EncodeBase58(b)})
		}
	}
	r.Poor = account{w.poor.address().Hex(), w.poor.secret()}
	r.Wallet = readyWallet{w.wallet.Hex(), w.owner.secret()}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	tmp := file + ".new"
	if err := os.WriteFile(tmp, append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, file)
}
