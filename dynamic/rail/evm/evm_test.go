package evm_test

import (
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/evm"
)

// buy settles one payment and returns what the chain says after one block.
func buy(t *testing.T, h *harness, r rail.Rail, terms railtest.Terms) (*rail.Payment, []rail.Signed, rail.Verified) {
	t.Helper()
	want := r.Requirement(terms.Amount)
	p, err := r.Parse(h.Sign(terms), want)
	if err != nil {
		t.Fatal(err)
	}
	return sold(t, r, p, want)
}

func sold(t *testing.T, r rail.Rail, p *rail.Payment, want rail.Requirement) (*rail.Payment, []rail.Signed,
	rail.Verified) {
	t.Helper()
	seen, err := r.Verify(t.Context(), p, want, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	d, err := r.Draft(t.Context(), []*rail.Payment{p})
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Sign(railtest.NewSequence())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Send(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return p, []rail.Signed{s}, seen
}

func terms(amount int64) railtest.Terms {
	return railtest.Terms{Amount: amount, Before: time.Now().Add(5 * time.Minute)}
}

// Every network that has a local chain sells under its own row of Known.
func TestNetworks(t *testing.T) {
	for _, n := range chain.Networks {
		t.Run(n.Name, func(t *testing.T) {
			h := openOn(t, n.ChainID)
			if err := h.rail.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
			p, signed, seen := buy(t, h, h.rail, terms(700_000))
			h.Seal()
			f, err := h.rail.Status(t.Context(), p, signed, seen, time.Now())
			if err != nil || f.State != rail.Paid {
				t.Fatalf("Status = %+v, %v", f, err)
			}
			if got := h.Balance(); got != 700_000 {
				t.Errorf("payTo has %d", got)
			}
		})
	}
}

// The rows agree with the separators that the networks' tokens are known by; a row with the wrong
// name would not.
func TestKnown(t *testing.T) {
	separators := map[string]string{
		"eip155:8453": "02fa7265", "eip155:137": "caa2ce1a", "eip155:42161": "08d11903", "eip155:43114": "bbea2003",
		"eip155:84532": "71f17a3b", "eip155:42220": "b2ce31d2",
	}
	for _, row := range evm.Known {
		sep := token.Domain(row.AssetName, row.AssetVersion, row.ChainID, common.HexToAddress(row.Asset))
		if got := sep.Hex()[2:10]; got != separators[row.Network] {
			t.Errorf("%s: separator %s, want %s", row.Network, got, separators[row.Network])
		}
		if row.DomainSeparator != "" && row.DomainSeparator != sep.Hex() {
			t.Errorf("%s: DomainSeparator %s, want %s", row.Network, row.DomainSeparator, sep.Hex())
		}
		if row.GenesisHash == "" || row.Depth == 0 || row.Poll == 0 || row.MaxFee == nil {
			t.Errorf("%s: a field is empty", row.Network)
		}
		row.RPC, row.PayTo, row.Relayer = []string{"http://127.0.0.1:1"}, "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
			chaintest.NewKey(t).Private
		if _, err := evm.New(row); err != nil {
			t.Error(err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	h := openOn(t, 8453)
	for name, c := range map[string]struct {
		change func(*evm.Config)
		want   string
	}{
		"name trap":        {func(c *evm.Config) { c.AssetName = "USDC" }, "DOMAIN_SEPARATOR"},
		"version":          {func(c *evm.Config) { c.AssetVersion = "1" }, "DOMAIN_SEPARATOR"},
		"real network":     {func(c *evm.Config) { c.GenesisHash = evm.Known[0].GenesisHash }, "another chain"},
		"other chain":      {func(c *evm.Config) { c.Network, c.ChainID = "eip155:137", 137 }, "chain 8453"},
		"no contract":      {func(c *evm.Config) { c.Asset = h.Minter.Address.Hex() }, "no contract"},
		"other separator":  {func(c *evm.Config) { c.DomainSeparator = "0x" + strings.Repeat("11", 32) }, "configured"},
		"nobody there":     {func(c *evm.Config) { c.RPC = []string{"http://127.0.0.1:1/secret-key"} }, "127.0.0.1:1"},
		"not a JSON-RPC":   {func(c *evm.Config) { c.RPC = []string{garbage(t, "<html>")} }, "not JSON-RPC"},
		"answers too many": {func(c *evm.Config) { c.RPC = []string{garbage(t, `[{"id":1},{"id":1}]`)} }, "answers"},
	} {
		cfg := h.cfg
		c.change(&cfg)
		err := newRail(t, cfg).Check(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Check = %v, want a word of %q", name, err, c.want)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: Check tells the address: %v", name, err)
		}
	}
}

// garbage is a server that always answers the same.
func garbage(t *testing.T, body string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(body)) }))
	t.Cleanup(s.Close)
	return s.URL
}

func TestNewRefuses(t *testing.T) {
	h := openOn(t, 8453)
	for name, change := range map[string]func(*evm.Config){
		"no address":   func(c *evm.Config) { c.RPC = nil },
		"bad address":  func(c *evm.Config) { c.RPC = []string{"ftp://host/secret"} },
		"unparsable":   func(c *evm.Config) { c.RPC = []string{"http://%zz/secret"} },
		"network name": func(c *evm.Config) { c.Network = "eip155:1" },
		"no relayer":   func(c *evm.Config) { c.Relayer = nil },
		"no payTo":     func(c *evm.Config) { c.PayTo = "" },
		"zero payTo":   func(c *evm.Config) { c.PayTo = common.Address{}.Hex() },
		// 3E as it was
		"slip in payTo":    func(c *evm.Config) { c.PayTo = "0x3e472E63d09B1bBdf8F0466b8FCB3d4482B9059E" },
		"bare payTo":       func(c *evm.Config) { c.PayTo = strings.TrimPrefix(c.PayTo, "0x") },
		"payTo of example": func(c *evm.Config) { c.PayTo = "0x0000000000000000000000000000000000000001" },
		"relayer is payTo": func(c *evm.Config) { c.PayTo = h.Relayer.Address.Hex() },
		"no name":          func(c *evm.Config) { c.AssetName = "" },
		"short hash":       func(c *evm.Config) { c.GenesisHash = "0x12" },
	} {
		cfg := h.cfg
		change(&cfg)
		if _, err := evm.New(cfg); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: New = %v, want an error that tells no secret", name, err)
		}
	}
}

func TestDepth(t *testing.T) {
	h := openOn(t, 8453)
	h.cfg.Depth, h.cfg.Finality = 3, 5
	r := newRail(t, h.cfg)
	p, signed, seen := buy(t, h, r, terms(500_000))
	for block, want := range []struct {
		state rail.State
		final bool
	}{{rail.Waiting, false}, {rail.Seen, false}, {rail.Seen, false}, {rail.Paid, false}, {rail.Paid, false},
		{rail.Paid, true}} {
		f, err := r.Status(t.Context(), p, signed, seen, time.Now())
		if err != nil || f.State != want.state || f.Final != want.final {
			t.Errorf("after %d blocks Status = %s, final %v, %v; want %s, %v", block, f.State, f.Final, err, want.state,
				want.final)
		}
		h.Seal()
	}
}

// A wallet that is deployed may still send its ERC-6492 signature; the token sees the inner one.
func TestDeployedWalletWithWrapper(t *testing.T) {
	h := openOn(t, 8453)
	a, k := h.authorization(railtest.Terms{Payer: railtest.Contract, Amount: 500_000,
		Before: time.Now().Add(5 * time.Minute)})
	for name, inner := range map[string]func([]byte) []byte{
		"65 bytes": func(b []byte) []byte { return b },
		"85 bytes": func(b []byte) []byte { return append(h.Wallet.Owner.Address.Bytes(), b...) },
	} {
		a.Nonce[0]++
		pay := h.Node.Sign(k, a)
		pay.Signature = wrap(chain.Factory, []byte{1, 2, 3}, inner(pay.Signature))
		want := h.rail.Requirement(500_000)
		p, err := h.rail.Parse(payload(pay), want)
		if err != nil {
			t.Fatal(err)
		}
		p, signed, seen := sold(t, h.rail, p, want)
		h.Seal()
		f, err := h.rail.Status(t.Context(), p, signed, seen, time.Now())
		if err != nil || f.State != rail.Paid {
			t.Errorf("%s: Status = %+v, %v", name, f, err)
		}
	}
}

func TestRecoveryIDsAreNormalised(t *testing.T) {
	h := openOn(t, 8453)
	a, k := h.authorization(terms(500_000))
	pay := h.Node.Sign(k, a)
	pay.Signature[64] -= 27
	want := h.rail.Requirement(500_000)
	p, err := h.rail.Parse(payload(pay), want)
	if err != nil {
		t.Fatal(err)
	}
	p, signed, seen := sold(t, h.rail, p, want)
	h.Seal()
	if f, err := h.rail.Status(t.Context(), p, signed, seen, time.Now()); err != nil || f.State != rail.Paid {
		t.Errorf("Status = %+v, %v", f, err)
	}
}

// On a chain that has been idle the head is older than validAfter, and the payment is good all the
// same.
func TestIdleChain(t *testing.T) {
	h := openOn(t, 8453)
	now := time.Now().Add(time.Hour)
	want := h.rail.Requirement(500_000)
	p, err := h.rail.Parse(h.Sign(railtest.Terms{Amount: 500_000, After: now.Add(-600 * time.Second),
		Before: now.Add(60 * time.Second)}), want)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.rail.Verify(t.Context(), p, want, now); err != nil {
		t.Errorf("Verify = %v", err)
	}
}

func TestDomainOfTheRequirement(t *testing.T) {
	h := openOn(t, 8453)
	want := h.rail.Requirement(500_000)
	p, err := h.rail.Parse(h.Sign(terms(500_000)), want)
	if err != nil {
		t.Fatal(err)
	}
	for reason, change := range map[string]func(*rail.Requirement){
		"invalid_exact_evm_scheme":                func(w *rail.Requirement) { w.Scheme = "upto" },
		"invalid_exact_evm_missing_eip712_domain": func(w *rail.Requirement) { w.Extra = nil },
		"invalid_exact_evm_network_mismatch":      func(w *rail.Requirement) { w.Network = "eip155:137" },
		"invalid_exact_evm_signature": func(w *rail.Requirement) {
			w.Extra = map[string]any{"name": "USDC",
				"version": "2"}
		},
		"invalid_payload": func(w *rail.Requirement) { w.Asset = h.Minter.Address.Hex() },
	} {
		w := h.rail.Requirement(500_000)
		change(&w)
		_, err := h.rail.Verify(t.Context(), p, w, time.Now())
		if ref, ok := errors.AsType[*rail.Refusal](err); !ok || ref.Reason != reason {
			t.Errorf("Verify = %v, want %s", err, reason)
		}
	}
}

func TestFailover(t *testing.T) {
	h := openOn(t, 8453)
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	t.Cleanup(slow.Close)
	h.cfg.RPC = []string{"http://127.0.0.1:1", slow.URL, garbage(t, "{}"), h.URL}
	r := newRail(t, h.cfg)
	p, signed, seen := buy(t, h, r, terms(500_000))
	h.Seal()
	if f, err := r.Status(t.Context(), p, signed, seen, time.Now()); err != nil || f.State != rail.Paid {
		t.Errorf("Status = %+v, %v", f, err)
	}
}

func TestFuelAndFees(t *testing.T) {
	h := openOn(t, 8453)
	h.cfg.GasAlarm = new(big.Int).Lsh(big.NewInt(1), 100)
	if _, low, err := newRail(t, h.cfg).Fuel(t.Context()); err != nil || !low {
		t.Errorf("Fuel: low %v, %v; want low", low, err)
	}
	p, err := h.rail.Parse(h.Sign(terms(500_000)), h.rail.Requirement(500_000))
	if err != nil {
		t.Fatal(err)
	}
	dear := h.cfg
	dear.MaxFee = big.NewInt(1)
	var ref *rail.Refusal
	if _, err := newRail(t, dear).Draft(t.Context(), []*rail.Payment{p}); err == nil || errors.As(err, &ref) {
		t.Errorf("Draft above the fee limit = %v, want an error that is no refusal", err)
	}
	broke := h.cfg
	broke.Relayer = chaintest.NewKey(t).Private
	if _, err := newRail(t, broke).Draft(t.Context(), []*rail.Payment{p}); err == nil || errors.As(err, &ref) {
		t.Errorf("Draft of a relayer without gas = %v, want an error that is no refusal", err)
	}
}

// A payment signed by an earlier relayer is not replaced by the present one.
func TestRelayerChanged(t *testing.T) {
	h := openOn(t, 8453)
	p, signed, seen := buy(t, h, h.rail, terms(500_000))
	h.Drop()
	cfg := h.cfg
	cfg.Relayer = h.Buyers[4].Private
	r := newRail(t, cfg)
	f, err := r.Status(t.Context(), p, signed, seen, time.Now())
	if err != nil || f.Advice != rail.Redraft {
		t.Errorf("Status = %+v, %v; want redraft", f, err)
	}
	if _, err := r.Replace(t.Context(), []*rail.Payment{p}, signed[0], false); err == nil {
		t.Error("Replace signs for another account")
	}
}
