package onchaintest_test

import (
	"context"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/bounty"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/evm"
	"store.example/agentstore/templates"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

const townURL = "https://store.example"

// town is a chain on which people buy at doors, and a board beside it.
type town struct {
	*chaintest.Net
	t      *testing.T
	rail   *evm.Rail
	db     ledger.DB
	cfg    bounty.Config
	desk   *bounty.Service
	seller chaintest.Key
	lists  string // what the screen's list holds; "" cannot be read
	out    string // the host that asks not to be read
}

// doorCost is what the doors ask, reward what the keeper pays for that.
const doorCost, reward = 10_000, 100_000

// payer is an account that pays rewards.
type payer struct{ key *wallet.Key }

func (p payer) Address() string { return p.key.Address().String() }

func (p payer) Sign(pay *rail.Payment) error {
	cfg, known := evm.Preset(pay.Network)
	if !known {
		return errors.New("unknown network")
	}
	evm.SignPayout(cfg, pay, p.key)
	return nil
}

// proofs judges signatures over texts as wallets make them.
type proofs struct{}

func (proofs) ProveText(_ context.Context, address, signature, text, _ string) (who, why string, err error) {
	address = address[strings.LastIndexByte(address, ':')+1:]
	sig, err := hexutil.Decode(signature)
	if err != nil {
		return "", "it is no hex", nil
	}
	by, err := wallet.Recover(wallet.PersonalHash(text), wallet.NormalizeV(sig))
	if err != nil || !strings.EqualFold(by.String(), address) {
		return "", "the signature is not by this address", nil
	}
	return address, "", nil
}

func openTown(t *testing.T, db ledger.DB) *town {
	t.Helper()
	n := chaintest.New(t, chaintest.Options{Manual: true, Buyers: 4})
	w := &town{Net: n, t: t, db: db, seller: chaintest.NewKey(t), lists: "0x" + strings.Repeat("ee", 20) + "\n"}
	cfg, _ := evm.Preset(n.ID())
	cfg.RPC, cfg.PayTo, cfg.Relayer = []string{n.URL}, n.PayTo.Hex(), n.Relayer.Private
	cfg.CoinPrice, cfg.GenesisHash, cfg.Depth, cfg.Finality = 1_000_000, n.GenesisHash().Hex(), 1, 0
	r, err := evm.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	w.rail = r
	chrome, err := templates.NewChrome(templates.Chrome{Title: "Store", BaseURL: townURL})
	if err != nil {
		t.Fatal(err)
	}
	screen := &bounty.Screen{Sources: []string{"list"}, Load: func(context.Context, string) ([]byte, error) {
		if w.lists == "" {
			return nil, errors.New("no such file")
		}
		return []byte(w.lists), nil
	}}
	if err := screen.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.cfg = bounty.Config{BaseURL: townURL, DB: db, Key: attest.SpecimenKey(), Rails: []rail.Rail{r},
		Ready:   func(context.Context, string) error { return nil },
		Account: w.account(n.Buyers[3]), Wallets: proofs{}, Screen: screen,
		Read: func(_ context.Context, url string) (bounty.Door, error) {
			host, _, _ := strings.Cut(strings.TrimPrefix(url, "https://"), "/")
			if strings.HasPrefix(host, "closed.") {
				return bounty.Door{}, &goods.Unread{Code: goods.CodeOptedOut, Detail: "The host asks not to be read."}
			}
			return bounty.Door{URL: url, Host: host, Network: r.Info().Network, Asset: r.Info().Asset,
				PayTo: w.seller.Address.Hex(), Amount: doorCost}, nil
		},
		OptedOut: func(_ context.Context, host string) bool { return host == w.out },
		Chrome:   func() *templates.Chrome { return chrome }}
	w.desk = w.replica(w.cfg)
	return w
}

func (w *town) account(k chaintest.Key) bounty.Account {
	key, err := wallet.ParseKey(k.Hex())
	if err != nil {
		w.t.Fatal(err)
	}
	return payer{key}
}

func (w *town) replica(cfg bounty.Config) *bounty.Service {
	w.t.Helper()
	d, err := bounty.New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

func (w *town) post(host string) bounty.Bounty {
	w.t.Helper()
	b, err := w.desk.Post(w.t.Context(), bounty.Posting{URL: "https://" + host + "/paid", Reward: reward}, false)
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

// buy settles a purchase, as a facilitator would, in a block that is final.
func (w *town) buy(by chaintest.Key) string {
	tx := w.Send(w.Minter, w.Asset, w.SignTransfer(by, w.seller.Address, doorCost).Call()).Hash().Hex()
	w.MustSeal()
	w.finalize()
	return tx
}

func (w *town) finalize() {
	for range chain.DefaultFinalDepth {
		w.MustSealTxs()
	}
}

func claimOf(b bounty.Bounty, tx string, by chaintest.Key) bounty.ClaimRequest {
	return bounty.ClaimRequest{BountyID: b.ID, TxHash: tx, Payer: by.Address.Hex(), PayoutTo: by.Address.Hex()}
}

func (w *town) claim(in bounty.ClaimRequest) (bounty.Claimed, error) {
	return w.desk.Claim(w.t.Context(), in, "client")
}

// taken is a claim that has to be taken.
func (w *town) taken(in bounty.ClaimRequest) bounty.Claimed {
	w.t.Helper()
	c, err := w.claim(in)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// refused demands the refusal of a code, which says what to do next.
func (w *town) refused(name string, in bounty.ClaimRequest, code string, status int) {
	w.t.Helper()
	_, err := w.claim(in)
	var e *problem.Error
	if !errors.As(err, &e) || e.Code != code {
		w.t.Errorf("%s: %v, want %s", name, err, code)
		return
	}
	row, ok := problem.Lookup(code)
	if got := max(row.Status, e.Status); !ok || e.Status != 0 && e.Status != status || e.Status == 0 && got != status {
		w.t.Errorf("%s: status %d, want %d", name, got, status)
	}
	if e.Next == "" && e.Fields == nil {
		w.t.Errorf("%s: it does not say what to do next: %v", name, e)
	}
}

// redeem hands an authorization to the token, as anybody could, and reports whether it moved money.
func (w *town) redeem(p bounty.PayoutView) bool {
	w.t.Helper()
	value, _ := new(big.Int).SetString(p.Authorization.Value, 10)
	before, _ := new(big.Int).SetString(p.Authorization.ValidBefore, 10)
	call := token.TransferCall(token.Authorization{From: common.HexToAddress(p.Authorization.From),
		To: common.HexToAddress(p.Authorization.To), Value: value, ValidBefore: before.Uint64(),
		Nonce: common.HexToHash(p.Authorization.Nonce)}, hexutil.MustDecode(p.Signature))
	hash := w.Send(w.Minter, common.HexToAddress(p.Asset), call).Hash()
	w.MustSeal()
	return w.Await(hash).Status == 1
}

// edit changes a bounty behind the desk's back.
func (w *town) edit(id string, f func(*bounty.Bounty)) {
	w.t.Helper()
	err := w.db.Update(w.t.Context(), func(tx ledger.Tx) error {
		key := ledger.BountyKey("posted", id)
		b, err := ledger.GetJSON[bounty.Bounty](tx, key)
		if err != nil {
			return err
		}
		f(&b)
		return ledger.SetJSON(tx, key, b)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *town) status(id string) string {
	w.t.Helper()
	b, now, err := w.desk.Bounty(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return b.Status(now)
}

func hours(n int) time.Duration { return time.Duration(n) * time.Hour }
