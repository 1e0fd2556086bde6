package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/content"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/buyer"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
)

// buyHello buys hello with the built-in buyer on the first network and shows what happened.
func (w *world) buyHello(ctx context.Context, cfg *shop.Config, out io.Writer) error {
	key, err := wallet.ParseKey(w.buyers[0].secret())
	if err != nil {
		return err
	}
	journal := buyer.Folder(filepath.Join(filepath.Dir(cfg.Public), "purchases"))
	b, err := buyer.New(buyer.Config{Wallet: key, Journal: journal})
	if err != nil {
		return err
	}
	url := cfg.BaseURL + "/api/buy/hello?agent_name=Newcomer"
	terms, err := b.Terms(ctx, url, buyer.Options{})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n1. The door asks (402):\n%s", indent(terms.Text()))
	c := w.chains[0]
	before, err := c.dollars(ctx, w.buyers[0].address(), w.payTo.address())
	if err != nil {
		return err
	}
	began := time.Now()
	result, err := b.Buy(ctx, url, buyer.Options{Agreed: terms})
	if err != nil {
		return fmt.Errorf("buying hello: %w", err)
	}
	took := since(began)
	after, err := c.dollars(ctx, w.buyers[0].address(), w.payTo.address())
	if err != nil {
		return err
	}
	var good struct {
		Message      string `json:"message"`
		PatronNumber int64  `json:"patron_number"`
		CertID       string `json:"cert_id"`
		VerifyURL    string `json:"verify_url"`
	}
	if err := json.Unmarshal(result.Body, &good); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n2. Signed once (EIP-3009), goods made, money moved, certificate signed last, in %s:\n", took)
	fmt.Fprintf(out, "   “%s”\n   patron number %d, certificate %s\n   transaction %s\n", good.Message,
		good.PatronNumber, good.CertID, result.Transaction)
	fmt.Fprintf(out, "\n3. On the chain of %s, in USDC:\n   %-10s %12s %12s\n   %-10s %12s %12s\n   %-10s %12s %12s\n",
		c.network.Name,
		"", "before", "after",
		"buyer", content.FormatUSDC(before[0]), content.FormatUSDC(after[0]),
		"store", content.FormatUSDC(before[1]), content.FormatUSDC(after[1]))
	return verifyFree(ctx, good.VerifyURL, out)
}

// verifyFree reads the certificate back as anybody can.
func verifyFree(ctx context.Context, url string, out io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var v struct {
		Valid    bool   `json:"valid"`
		Payload  string `json:"signed_payload"`
		SignedBy struct {
			Key string `json:"key"`
		} `json:"signed_by"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&v); err != nil {
		return err
	}
	if !v.Valid {
		return fmt.Errorf("the certificate does not verify: %s", url)
	}
	fmt.Fprintf(out, "\n4. Verified free by key %s:\n   %s\n   %s\n", v.SignedBy.Key, url, v.Payload)
	return nil
}

// dollars reads the token balances of accounts, in atomic units.
func (c running) dollars(ctx context.Context, owners ...common.Address) ([]int64, error) {
	var out []int64
	for _, o := range owners {
		b, err := c.Client().CallContract(ctx, ethereum.CallMsg{To: &c.network.Asset, Data: token.BalanceCall(o)}, nil)
		if err != nil {
			return nil, err
		}
		out = append(out, common.BytesToHash(b).Big().Int64())
	}
	return out, nil
}

// howTo says how to go on, with the key of a buyer that was written to a file. practice is the
// address of the practice doors, empty where there are none.
func (w *world) howTo(out io.Writer, baseURL, purse, practice string) {
	fmt.Fprintf(out, "\nNow you. The shop is at %s/ and serves until Ctrl-C.\n", baseURL)
	if practice != "" {
		fmt.Fprintf(out, "  your own client:           point it at the doors that %s/ lists, and see there "+
			"what it did\n", practice)
	}
	fmt.Fprintf(out, "  with the built-in buyer:   %s buy -wallet %s %s/api/buy/small_blessing\n",
		storeProgram(os.Executable()), shellWord(purse), baseURL)
	const packages = "cmd/devnet" // above the clients
	if _, err := os.Stat(filepath.Join(packages, "clients", "buy.mjs")); err == nil {
		fmt.Fprintf(out, "  with the stock client:     cd %s && npm ci --omit=dev && KEY=%s node clients/buy.mjs x402 "+
			"%s/api/buy/small_blessing\n", packages, w.buyers[1].secret(), baseURL)
		if s := w.solana; s != nil {
			fmt.Fprintf(out, "  on Solana:                 KEY=%s NETWORK=%s RPC=%s "+
				"node clients/buy.mjs x402 %s/api/buy/small_blessing\n", wallet.EncodeBase58(s.buyers[1]),
				networks.Solana, s.URL, baseURL)
		}
	}
	fmt.Fprintf(out, "  by hand:                   curl -i %s/api/buy/hello\n"+
		"These keys were made for this run and own nothing anywhere else. Never use one of your own here.\n", baseURL)
}

// storeProgram is how the store's program is called: the one beside this, as in an archive of a
// release, what a clone has, or the one that is installed.
func storeProgram(self string, err error) string {
	if err == nil {
		at := filepath.Join(filepath.Dir(self), "store"+filepath.Ext(self))
		if _, err := os.Stat(at); err == nil {
			return shellWord(at)
		}
	}
	if _, err := os.Stat(filepath.Join("cmd", "store")); err == nil {
		return "go run ./cmd/store"
	}
	return "store"
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// shellWord is a text as a shell takes it for one word.
func shellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func indent(s string) string {
	return "   " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n   ") + "\n"
}
