package buyer

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/svm"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/pay/x402"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/solana"
)

// solanaKey is somebody's key, the same each time.
func solanaKey(name string) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(fmt.Appendf(nil, "%-32s", name))
}

func solanaName(name string) string {
	return wallet.EncodeBase58(solanaKey(name).Public().(ed25519.PublicKey))
}

func mint(t testing.TB) string {
	token, ok := networks.USDC(networks.Solana)
	if !ok {
		t.Fatal("no mint")
	}
	return token.Address
}

// seller sells on the devnet's Solana cluster by the store's own rail.
type seller struct {
	*svm.Cluster
	t    *testing.T
	rail *solana.Rail
	// extra is added to the terms' own; lose says whether an answer is lost.
	extra map[string]any
	lose  func(n int) bool

	mu   sync.Mutex
	paid map[string]rail.State // by nonce
	came []string
}

func openSeller(t *testing.T) (*seller, string) {
	s := &seller{Cluster: svm.Start(t), t: t, paid: map[string]rail.State{}, lose: func(int) bool { return false }}
	cfg, ok := solana.Preset(networks.Solana)
	if !ok {
		t.Fatal("no preset")
	}
	cfg.RPC, cfg.PayTo, cfg.FeePayer = []string{s.URL}, solanaName("payto"), solanaKey("feepayer")
	cfg.CoinPrice = 150_000_000
	var err error
	if s.rail, err = solana.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.rail.Close)
	for name, amount := range map[string]int{"buyer": 10_000_000, "payto": 0} {
		account, err := solana.TokenAccount(solanaName(name), mint(t))
		if err != nil {
			t.Fatal(err)
		}
		s.Do(nil, "dev_setToken", account, mint(t), solanaName(name), amount, false)
	}
	s.Do(nil, "dev_setLamports", solanaName("feepayer"), 1_000_000_000)
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return s, srv.URL
}

// hint is a recent blockhash, as terms give it.
func (s *seller) hint() map[string]any {
	h, err := solana.Latest(s.t.Context(), networks.Solana, []string{s.URL})
	if err != nil {
		s.t.Error(err)
	}
	return map[string]any{"recentBlockhash": h.Blockhash, "lastValidBlockHeight": fmt.Sprint(h.LastValid)}
}

func (s *seller) requirement() rail.Requirement {
	want := s.rail.Requirement(500_000)
	maps.Copy(want.Extra, s.extra)
	return want
}

func (s *seller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	want := s.requirement()
	header := r.Header.Get(headerSignature)
	if header == "" {
		w.Header().Set(x402.HeaderRequired, b64(obj{"x402Version": 2, "accepts": []rail.Requirement{want}}))
		w.WriteHeader(402)
		return
	}
	s.came = append(s.came, header)
	p, tx, err := s.settle(r.Context(), header, want)
	if err != nil {
		w.Header().Set(x402.HeaderResponse, b64(x402.SettleResponse{ErrorReason: err.Error(), Network: want.Network}))
		w.WriteHeader(402)
		return
	}
	if s.lose(len(s.came)) {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set(x402.HeaderResponse, b64(x402.SettleResponse{Success: true, Payer: p.Payer, Transaction: tx,
		Network: want.Network, Amount: want.Amount}))
	w.Write([]byte("the good"))
}

// settle takes a payment as the rail does, once.
func (s *seller) settle(ctx context.Context, header string, want rail.Requirement) (*rail.Payment, string, error) {
	presented, err := x402.Decode(header)
	if err != nil {
		return nil, "", err
	}
	p, err := s.rail.Parse(presented.Payload, want)
	if err != nil || s.paid[p.Nonce] == rail.Paid {
		return p, "before", err
	}
	seen, err := s.rail.Verify(ctx, p, want, time.Now())
	if err != nil {
		return nil, "", err
	}
	d, err := s.rail.Draft(ctx, []*rail.Payment{p})
	if err != nil {
		return nil, "", err
	}
	signed, err := d.Sign(nil)
	if err != nil {
		return nil, "", err
	}
	if err := s.rail.Send(ctx, signed); err != nil {
		return nil, "", err
	}
	s.Do(nil, "dev_seal")
	f, err := s.rail.Status(ctx, p, []rail.Signed{signed}, seen, time.Now())
	if err != nil || f.State != rail.Paid {
		return nil, "", fmt.Errorf("%v, %w", f.State, err)
	}
	s.paid[p.Nonce] = f.State
	return p, signed.ID, nil
}

// received is what came in, in atomic units.
func (s *seller) received() string {
	account, err := solana.TokenAccount(solanaName("payto"), mint(s.t))
	if err != nil {
		s.t.Fatal(err)
	}
	var out struct{ Value struct{ Amount string } }
	s.Do(&out, "getTokenAccountBalance", account)
	return out.Value.Amount
}

func solanaBuyer(t *testing.T, change func(*Config)) *Buyer {
	return newBuyer(t, http.DefaultTransport, func(c *Config) {
		c.Client, c.Solana = nil, solanaKey("buyer")
		if change != nil {
			change(c)
		}
	})
}

// The buyer pays on Solana, with the door's blockhash or one of its own, and a lost answer is asked
// for again with the same transaction.
func TestPurchaseOnSolana(t *testing.T) {
	s, url := openSeller(t)
	for i, c := range []struct {
		name  string
		extra map[string]any
		rpc   string
		lose  bool
	}{
		{"memo and blockhash of the door's", s.hint(), "", false},
		{"only a memo", map[string]any{"memo": "of one offer"}, s.URL, false},
		{"neither", map[string]any{}, s.URL, false},
		{"the answer is lost", s.hint(), "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.extra, s.came = c.extra, nil
			if i == 0 || i == 3 {
				s.extra["memo"] = fmt.Sprint("offer ", i)
			}
			s.lose = func(n int) bool { return c.lose && n == 1 }
			b := solanaBuyer(t, func(cfg *Config) { cfg.SolanaRPC = c.rpc })
			terms, err := b.Terms(t.Context(), url, Options{})
			if err != nil || terms.Payer != solanaName("buyer") || terms.ValidSeconds != solanaSeconds ||
				!strings.Contains(terms.Text(), solanaName("buyer")) || !strings.Contains(terms.Text(), "only one") {
				t.Fatalf("%v: %+v", err, terms)
			}
			r, err := b.Buy(t.Context(), url, Options{Agreed: terms})
			if err != nil || string(r.Body) != "the good" || r.Billed != "yes" || r.Payer != solanaName("buyer") ||
				len(r.Warnings) > 1 {
				t.Fatalf("Buy = %+v, %v", r, err)
			}
			if want := fmt.Sprint((i + 1) * 500_000); s.received() != want {
				t.Errorf("the seller has %s, want %s", s.received(), want)
			}
			if n := len(s.came); n != 1 && !c.lose || c.lose && (n != 2 || s.came[0] != s.came[1]) {
				t.Errorf("%d presentations", n)
			}
			noSecret(t, dirOf(b))
			raw, err := os.ReadFile(r.Journal)
			if seed := solanaKey("buyer").Seed(); err != nil || bytes.Contains(raw, seed) ||
				strings.Contains(string(raw), base64.StdEncoding.EncodeToString(seed)) {
				t.Errorf("the wallet's key is in the journal: %v", err)
			}
		})
	}
}

// Terms with a memo and a blockhash lead to one transaction: where a door gives them for two
// purchases, the second is not paid with what paid for the first.
func TestTheSameTransactionPaysOnce(t *testing.T) {
	s, url := openSeller(t)
	s.extra = s.hint()
	s.extra["memo"] = "the same"
	b := solanaBuyer(t, nil)
	if _, err := b.Buy(t.Context(), url+"/a", Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Buy(t.Context(), url+"/b", Options{}); !errors.Is(err, ErrRepeated) || len(s.came) != 1 {
		t.Errorf("Buy = %v after %d presentations", err, len(s.came))
	}
}

// What a stock seller says of a transaction that it is settling leaves the payment open, and what
// is refused after it was presented before may have landed.
func TestDuplicatesOnSolana(t *testing.T) {
	says := func(reason string) *http.Response {
		return response(402, map[string]string{"PAYMENT-RESPONSE": b64(obj{"success": false, "errorReason": reason,
			"transaction": "", "network": networks.Solana})}, "{}")
	}
	answers := []*http.Response{says(reasonDuplicate), says("invalid_exact_svm_transaction_simulation_failed")}
	d := &door{unpaid: func(int) *http.Response { return challenge(required(solanaEntry(t, nil, nil))) },
		paid: func(n int, _ *http.Request) (*http.Response, error) { return answers[n-1], nil }}
	b := newBuyer(t, d, func(c *Config) { c.Solana = solanaKey("buyer") })
	r, err := b.Buy(t.Context(), doorURL, Options{})
	if r == nil || r.State != Refused || r.Billed != "unknown" || len(d.payment) != 2 || d.signatures() != 1 {
		t.Errorf("Buy = %+v, %v after %d presentations", r, err, len(d.payment))
	}
}

// solanaEntry is a payable entry of accepts on Solana, with some members replaced.
func solanaEntry(t testing.TB, replace, extra obj) obj {
	x := obj{"feePayer": solanaName("feepayer"), "memo": "of this offer", "recentBlockhash": solanaName("a block"),
		"lastValidBlockHeight": "350000000"}
	maps.Copy(x, extra)
	e := obj{"scheme": "exact", "network": networks.Solana, "amount": "500000", "asset": mint(t),
		"payTo": solanaName("payto"), "maxTimeoutSeconds": 60, "extra": x}
	maps.Copy(e, replace)
	return e
}

func TestSolanaEntriesThatAreNotPaid(t *testing.T) {
	for _, c := range []struct {
		name           string
		replace, extra obj
		change         func(*Config)
		want           string // part of the reason; empty: paid
	}{
		{name: "plain"},
		{name: "no hints but a node", extra: obj{"recentBlockhash": "", "lastValidBlockHeight": ""},
			change: func(c *Config) { c.SolanaRPC = "http://127.0.0.1:1" }},
		{name: "no hints", extra: obj{"recentBlockhash": "", "lastValidBlockHeight": ""}, want: "no recent blockhash"},
		{name: "no memo", extra: obj{"memo": ""}},
		{name: "a long memo", extra: obj{"memo": strings.Repeat("m", 257)}, want: "memo"},
		{name: "a memo that is no text", extra: obj{"memo": 7}, want: "extra cannot be read"},
		{name: "no fee payer", extra: obj{"feePayer": ""}, want: "fee payer"},
		{name: "the wallet pays the fee", extra: obj{"feePayer": solanaName("buyer")}, want: "network's fee"},
		{name: "the wallet is paid", replace: obj{"payTo": solanaName("buyer")}, want: "where it comes from"},
		{name: "a blockhash that is none", extra: obj{"recentBlockhash": "abc"}, want: "blockhash"},
		{name: "a height that is none", extra: obj{"lastValidBlockHeight": "-1"}, want: "block height"},
		{name: "another coin", replace: obj{"asset": "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB"},
			want: "not a known dollar token"},
		{name: "the mint in lower case", replace: obj{"asset": strings.ToLower(mint(t))}, want: "not a known dollar"},
		{name: "a receiver in lower case", replace: obj{"payTo": strings.ToLower(solanaName("payto"))},
			want: "right spelling"},
		{name: "a receiver of another spelling", replace: obj{"payTo": "1" + solanaName("payto")},
			want: "right spelling"},
		{name: "an Ethereum receiver", replace: obj{"payTo": payTo}, want: "right spelling"},
		{name: "the system program", replace: obj{"payTo": strings.Repeat("1", 32)}, want: "system program"},
		{name: "a cluster that is not known", replace: obj{"network": "solana:mainnet"}, want: "not known"},
		{name: "more than the ceiling", replace: obj{"amount": "1000001"}, want: "above the ceiling"},
		{name: "a shorter validity", change: func(c *Config) { c.MaxValidity = time.Minute }, want: "120 s"},
		{name: "no Solana wallet", change: func(c *Config) { c.Solana = nil }, want: "a Solana wallet would be needed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := required(solanaEntry(t, c.replace, c.extra))
			d := &door{unpaid: func(int) *http.Response { return challenge(asked) },
				paid: func(int, *http.Request) (*http.Response, error) { return delivered(), nil }}
			b := newBuyer(t, d, func(cfg *Config) {
				cfg.Solana = solanaKey("buyer")
				if c.change != nil {
					c.change(cfg)
				}
			})
			terms, err := b.Terms(t.Context(), doorURL, Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := terms.Entries[0].Refused
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("refused %q, want %q", got, c.want)
			}
			if c.want == "" {
				return
			}
			if _, err := b.Buy(t.Context(), doorURL, Options{}); err == nil || len(d.payment) != 0 {
				t.Errorf("Buy = %v with %d payments", err, len(d.payment))
			}
		})
	}
}

// Whoever has both wallets pays the first entry that either can.
func TestOneOfTwoWallets(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*Config)
		choice  Choice
		network string
	}{
		{"both", nil, Choice{}, networks.Solana},
		{"Ethereum's alone", func(c *Config) { c.Solana = nil }, Choice{}, networks.Base},
		{"both, by choice", nil, Choice{Network: networks.Base}, networks.Base},
		{"Solana's alone", func(c *Config) { c.Wallet = nil }, Choice{}, networks.Solana},
	} {
		d := &door{unpaid: func(int) *http.Response {
			return challenge(required(solanaEntry(t, nil, nil), entry(nil)))
		}}
		b := newBuyer(t, d, func(cfg *Config) {
			cfg.Solana = solanaKey("buyer")
			if c.change != nil {
				c.change(cfg)
			}
		})
		terms, err := b.Terms(t.Context(), doorURL, Options{Choice: c.choice})
		if err != nil || terms.Chosen < 0 || terms.Entries[terms.Chosen].Network != c.network || terms.Because == "" ||
			len(terms.Warnings) != 0 {
			t.Errorf("%s: %+v, %v", c.name, terms, err)
		}
	}
}
