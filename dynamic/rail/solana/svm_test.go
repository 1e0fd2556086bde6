package solana_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	sol "github.com/gagliardetto/solana-go"

	"store.example/agentstore/cmd/devnet/svm"
	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/solana"
)

// machine is a rail on the devnet's cluster, which runs the real programs. What the scripted
// cluster is held to, so is it.
type machine struct {
	*svm.Cluster
	t    testing.TB
	cfg  solana.Config
	rail *solana.Rail
}

func openMachine(t testing.TB, c *svm.Cluster) *machine {
	m := &machine{Cluster: c, t: t}
	m.Do(nil, "dev_reset")
	m.cfg = config(t, m.URL)
	m.rail = newRail(t, m.cfg)
	for name, amount := range map[string]uint64{"buyer-0": 1e9, "buyer-1": 1e9, "poor": 0, "payto": 0} {
		m.give(name, usdc, amount)
	}
	m.Do(nil, "dev_setToken", person("second").PublicKey().String(), usdc.String(),
		person("buyer-0").PublicKey().String(), 1e9, false)
	m.Do(nil, "dev_setLamports", person("feepayer").PublicKey().String(), 1_000_000_000)
	return m
}

func (m *machine) give(name string, mint sol.PublicKey, amount uint64) {
	who := person(name).PublicKey()
	m.Do(nil, "dev_setToken", ata(m.t, who, mint).String(), mint.String(), who.String(), amount, false)
}

// Withhold hands the first buyer's account to another owner, as SetAuthority does.
func (m *machine) Withhold([]byte) (restore func()) {
	who, stranger := person("buyer-0").PublicKey(), person("stranger").PublicKey()
	m.Do(nil, "dev_setToken", ata(m.t, who, usdc).String(), usdc.String(), stranger.String(), int64(1e9), false)
	return func() { m.give("buyer-0", usdc, 1e9) }
}

func (m *machine) Rail() rail.Rail       { return m.rail }
func (m *machine) Restart() rail.Rail    { return newRail(m.t, m.cfg) }
func (m *machine) Remote() bool          { return false }
func (m *machine) Lacks() railtest.Trait { return (&harness{}).Lacks() }

func (m *machine) pay(amount int64) pay {
	var out struct{ Value struct{ Blockhash string } }
	m.Do(&out, "getLatestBlockhash")
	return stockPay(amount, sol.Hash(sol.MustPublicKeyFromBase58(out.Value.Blockhash)))
}

// Sign has no payers with guards: the cluster has no Lighthouse.
func (m *machine) Sign(t railtest.Terms) []byte {
	p, ok := m.pay(t.Amount).by(t)
	if !ok || len(p.guards) > 0 {
		return nil
	}
	return payload(p.wire(m.t))
}

func (m *machine) broadcast(wire []byte) {
	m.Do(nil, "sendTransaction", base64.StdEncoding.EncodeToString(wire))
}

func (m *machine) land(wire []byte) {
	m.broadcast(cosigned(m.t, wire))
	m.Seal()
}

func (m *machine) Forge(data []byte) {
	m.Do(nil, "dev_setMint", otherUSD.String())
	m.give("buyer-0", otherUSD, 1e9)
	m.give("payto", otherUSD, 0)
	m.Do(nil, "dev_setLamports", person("stranger").PublicKey().String(), 1_000_000_000)
	m.broadcast(m.pay(price).forged(m.t, data))
}

func (m *machine) Tampers(railtest.Terms) []railtest.Tamper { return nil }
func (m *machine) Submit(...[]byte)                         { m.t.Fatal("nobody else can make a payment land") }
func (m *machine) Cancel([]byte)                            { m.t.Fatal("nobody can withdraw a payment") }
func (m *machine) Divert()                                  { m.t.Fatal("there are no numbers") }
func (m *machine) Turn(railtest.Payer)                      { m.t.Fatal("there are no such payers") }
func (m *machine) Fund(amount int64)                        { m.give("poor", usdc, uint64(amount)) }
func (m *machine) Drop()                                    { m.Do(nil, "dev_drop") }
func (m *machine) Seal()                                    { m.Do(nil, "dev_seal") }
func (m *machine) SealEmpty()                               { m.Do(nil, "dev_seal", true) }
func (m *machine) Pass(d time.Duration)                     { m.Do(nil, "dev_pass", d.Milliseconds()) }
func (m *machine) Finalize()                                { m.Pass(finality * slotTime) }
func (m *machine) Reorg(n int)                              { m.Do(nil, "dev_reorg", n) }

func (m *machine) Balance() int64 {
	var out struct{ Value struct{ Amount string } }
	m.Do(&out, "getTokenAccountBalance", ata(m.t, person("payto").PublicKey(), usdc).String())
	var n int64
	for _, c := range out.Value.Amount {
		n = 10*n + int64(c-'0')
	}
	return n
}

func (m *machine) Prove(kind railtest.Payer, text []byte) (string, []byte) {
	if kind != railtest.Plain {
		return "", nil
	}
	k := person("buyer-0")
	return k.PublicKey().String(), ed25519.Sign(ed25519.PrivateKey(k), text)
}

func TestRailOnTheDevnetsCluster(t *testing.T) {
	c := svm.Start(t)
	railtest.Run(t, func(t testing.TB) railtest.Harness { return openMachine(t, c) })
}

// The table of what is taken and refused holds on the real programs too.
func TestWhatIsTakenOnTheDevnetsCluster(t *testing.T) {
	m := openMachine(t, svm.Start(t))
	m.Do(nil, "dev_setMint", otherUSD.String())
	for _, q := range questions(t, m) {
		if strings.Contains(q.name, "guard") { // which needs Lighthouse
			continue
		}
		if got := verdict(t, m.rail, q); got != q.reason {
			t.Errorf("%s: %q, want %q", q.name, got, q.reason)
		}
	}
}
