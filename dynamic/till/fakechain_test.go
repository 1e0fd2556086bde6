package till_test

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/rail"
)

// fakeChain is a chain in memory that obeys its test: it seals, forgets, reorganises and falls
// silent when it is told to. The rail on it passes the conformance test of rails, so what a till
// does on it is what it does on a real one.
type fakeChain struct {
	mu      sync.Mutex // guards everything
	blocks  []*fakeBlock
	pool    []*fakeTx // ours by sequence, strangers' in order of arrival
	poor    map[string]bool
	money   map[string]int64 // what a payer began with; who is not named has enough of it
	changed chan struct{}
	offset  time.Duration
	silent  bool             // no node answers
	vague   bool             // the node names no final block
	lag     func(who string) // how long a call takes; nil is no time

	came []uint64        // numbers of the relayer's transactions, each when it first came
	seen map[uint64]bool // the same

	together int             // payments that one transaction may settle
	traps    map[string]bool // payers whose payments revert in a block, and what shares their transaction with them
	reverted map[string]int  // transaction and payment that it did not move in a block → payments that it moved
	gasPrice int64
	paused   bool // nothing moves
	empty    bool // the relayer has no gas

	delay time.Duration // of a withdrawal from a channel; 0 takes no vouchers
	holds bool          // whether payments are held
	wants func()        // called when somebody waits for a block; nil for nothing
}

type fakeBlock struct {
	number uint64
	hash   string
	time   time.Time
	txs    []*fakeTx
	uses   map[string]fakeUse // payer and nonce →
	mined  uint64             // transactions of the relayer up to here
	escrow *fakeEscrow        // after it
	events []rail.ChannelEvent
}

type fakeUse struct {
	tx        *fakeTx
	index     uint64
	to        string
	amount    int64
	cancelled bool
	plain     bool   // a Transfer out of an escrow, which no authorization announces
	end       string // how a hold ended
}

// fakeTx is a transaction. Its JSON is its bytes.
type fakeTx struct {
	Relayer  bool // of our relayer, with a sequence number
	Sequence uint64
	Fee      int64
	Pays     []fakePayload
	Cancels  *fakePayload
	Salt     string
	From     string // who sends it where that is no relayer of ours; "" for a stranger
}

func (x *fakeTx) raw() []byte {
	b, err := json.Marshal(x)
	if err != nil {
		panic(err)
	}
	return b
}

func (x *fakeTx) id() string {
	sum := sha256.Sum256(x.raw())
	return "0x" + hex.EncodeToString(sum[:])
}

// fakePayload is a signed authorization.
type fakePayload struct {
	Payer  string `json:"payer"`
	Nonce  string `json:"nonce"`
	To     string `json:"to"`
	Amount string `json:"amount"`
	After  int64  `json:"after"`
	Before int64  `json:"before"`
	Sig    string `json:"sig"`
	Wire   string `json:"wire,omitempty"` // of a fakeCall, which moves the money on
}

func (p fakePayload) signature() string {
	p.Sig, p.Wire = "the payer's secret", ""
	b, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func (p fakePayload) value() int64 {
	n, err := strconv.ParseInt(p.Amount, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func (p fakePayload) key() string { return p.Payer + "|" + p.Nonce }

const (
	fakeNetwork = "eip155:8453"
	fakePayTo   = "0x00000000000000000000000000000000000000F0"
	fakeAsset   = "0x00000000000000000000000000000000000000A0"
	fakeFinal   = 4 // blocks from the head down to the final one
	fakeMargin  = 30 * time.Second
	fakeStuck   = 30 * time.Second
)

var errSilent = errors.New("no node answers")

func newFakeChain() *fakeChain {
	c := &fakeChain{changed: make(chan struct{}), poor: map[string]bool{}, traps: map[string]bool{},
		reverted: map[string]int{}, gasPrice: 1, seen: map[uint64]bool{}}
	c.blocks = []*fakeBlock{{hash: rand.Text(), time: time.Now().Add(-2 * time.Second), uses: map[string]fakeUse{},
		escrow: &fakeEscrow{channels: map[string]rail.ChannelState{}, configs: map[string]rail.Channel{},
			holds: map[string]rail.HoldState{}}}}
	return c
}

func (c *fakeChain) head() *fakeBlock { return c.blocks[len(c.blocks)-1] }

func (c *fakeChain) final() *fakeBlock { return c.blocks[max(0, len(c.blocks)-1-fakeFinal)] }

func (c *fakeChain) use(key string) (fakeUse, *fakeBlock) {
	for _, b := range slices.Backward(c.blocks) {
		if u, ok := b.uses[key]; ok {
			return u, b
		}
	}
	return fakeUse{}, nil
}

// runs reports why a payment would not go through in a block of that time, if the relayer sends it.
func (c *fakeChain) runs(p fakePayload, at time.Time) string {
	why := ""
	k := p.call()
	if k.fetches() {
		why = c.fetches(p, at)
	}
	if why == "" && k != nil {
		_, why = c.head().escrow.does(k, fakeOperator, at, nil)
	}
	return why
}

// fetches is runs, as far as the token is asked.
func (c *fakeChain) fetches(p fakePayload, at time.Time) string {
	switch _, used := c.use(p.key()); {
	case p.Sig != p.signature():
		return "signature"
	case used != nil:
		return "nonce_already_used"
	case at.Unix() <= p.After:
		return "payload_authorization_valid_after"
	case at.Unix() >= p.Before:
		return "payload_authorization_valid_before"
	case c.paused:
		return "transaction_simulation_failed"
	case c.poor[p.Payer] || c.left(p.Payer) < p.value():
		return "insufficient_balance"
	}
	return ""
}

// left is what a payer has.
func (c *fakeChain) left(payer string) int64 {
	if c.poor[payer] {
		return 0
	}
	n, ok := c.money[payer]
	if !ok {
		n = math.MaxInt64 / 2
	}
	for _, b := range c.blocks {
		for key, u := range b.uses {
			if !u.cancelled && !u.plain && strings.HasPrefix(key, payer+"|") {
				n -= u.amount
			}
			if u.plain && u.to == payer {
				n += u.amount
			}
		}
	}
	return n
}

// seal makes a block of what the pool holds, or an empty one.
func (c *fakeChain) seal(empty bool) {
	h := c.head()
	b := &fakeBlock{number: h.number + 1, hash: rand.Text(), time: time.Now().Add(c.offset), uses: map[string]fakeUse{},
		mined: h.mined, escrow: h.escrow}
	if least := h.time.Add(time.Second); b.time.Before(least) {
		b.time = least
	}
	c.blocks = append(c.blocks, b)
	if !empty {
		slices.SortStableFunc(c.pool, func(x, y *fakeTx) int { return cmp.Compare(x.Sequence, y.Sequence) })
		var rest []*fakeTx
		var index uint64
		for _, x := range c.pool {
			if x.Relayer && x.Sequence != b.mined {
				if x.Sequence > b.mined {
					rest = append(rest, x)
				}
				continue
			}
			if x.Relayer {
				b.mined++
			}
			b.txs = append(b.txs, x)
			index += 2 * c.pays(x, b, index)
			if x.Cancels != nil {
				if _, used := c.use(x.Cancels.key()); used == nil {
					b.uses[x.Cancels.key()] = fakeUse{tx: x, cancelled: true}
					index++
				}
			}
		}
		c.pool = rest
	}
	c.announce()
}

// pays moves what a transaction pays, in a block whose next log has an index, and returns how many
// payments that are. Of a payer's trap nothing moves that shares its transaction: it takes all the
// gas.
func (c *fakeChain) pays(x *fakeTx, b *fakeBlock, index uint64) (moved uint64) {
	trapped := slices.ContainsFunc(x.Pays, func(p fakePayload) bool { return c.traps[p.Payer] && p.call().fetches() })
	var not []fakePayload
	for _, p := range x.Pays {
		if trapped || !c.lands(p, x, b, index+2*moved+1) {
			not = append(not, p)
			continue
		}
		moved++
	}
	for _, p := range not {
		c.reverted[x.id()+"|"+p.key()] = int(moved)
	}
	return moved
}

// lands makes a payment of a transaction in a block, if it goes through there.
func (c *fakeChain) lands(p fakePayload, x *fakeTx, b *fakeBlock, index uint64) bool {
	k := p.call()
	if k.fetches() && c.fetches(p, b.time) != "" {
		return false
	}
	u := fakeUse{tx: x, index: index, to: p.To, amount: p.value()}
	if k != nil {
		d, why := b.escrow.does(k, x.sender(), b.time, c.traps)
		if why != "" {
			return false
		}
		b.escrow, u.end = d.escrow, d.end
		for _, e := range d.events {
			e.Block, e.Tx = b.number, x.id()
			b.events = append(b.events, e)
		}
		if !k.fetches() {
			u.plain, u.to, u.amount = true, d.to, d.amount
		}
	}
	b.uses[p.named(x.id())] = u
	return true
}

// sender is who sends a transaction.
func (x *fakeTx) sender() string {
	if x.Relayer {
		return fakeOperator
	}
	return x.From
}

// reorg replaces the newest n blocks by one more, empty. Their transactions go back to the pool or
// are lost.
func (c *fakeChain) reorg(n int, lost bool) {
	n = min(n, fakeFinal-1, len(c.blocks)-1)
	gone := c.blocks[len(c.blocks)-n:]
	c.blocks = c.blocks[:len(c.blocks)-n]
	for range n + 1 {
		c.seal(true)
	}
	if lost {
		c.pool = nil
		return
	}
	for _, b := range gone {
		c.pool = append(b.txs, c.pool...)
	}
}

func (c *fakeChain) announce() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// received is what payTo has.
func (c *fakeChain) received() int64 {
	var sum int64
	for _, b := range c.blocks {
		for _, u := range b.uses {
			if !u.cancelled && u.to == fakePayTo {
				sum += u.amount
			}
		}
	}
	return sum
}

// fakeHarness gives the conformance test of rails a fakeChain.
type fakeHarness struct {
	t testing.TB
	c *fakeChain
}

func TestFakeRail(t *testing.T) {
	railtest.Run(t, func(t testing.TB) railtest.Harness {
		c := newFakeChain()
		c.poor["poor"], c.money, c.together = true, map[string]int64{"poor": 0}, 50
		return fakeHarness{t, c}
	})
}

func (h fakeHarness) with(f func(*fakeChain)) {
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	f(h.c)
}

func (h fakeHarness) Rail() rail.Rail { return fakeRail{h.c} }

func (h fakeHarness) Restart() rail.Rail { return fakeRail{h.c} }

func (h fakeHarness) Remote() bool { return false }

func (h fakeHarness) Sign(t railtest.Terms) []byte {
	p := fakePayload{Payer: fmt.Sprintf("buyer-%d", t.Buyer), Nonce: t.Nonce, To: t.To, Amount: fmt.Sprint(t.Amount),
		Before: t.Before.Unix()}
	switch t.Payer {
	case railtest.Poor:
		p.Payer = "poor"
	case railtest.Plain:
	case railtest.Turncoat, railtest.Burner, railtest.Switch, railtest.Twin:
		p.Payer = fmt.Sprint("code:payer-", t.Payer)
		h.with(func(c *fakeChain) { c.traps[p.Payer] = true })
	default:
		return nil
	}
	if !t.After.IsZero() {
		p.After = t.After.Unix()
	}
	p.Nonce, p.To = cmp.Or(p.Nonce, rand.Text()), cmp.Or(p.To, fakePayTo)
	p.Sig = p.signature()
	return h.wire(p)
}

func (h fakeHarness) wire(p fakePayload) []byte {
	b, err := json.Marshal(p)
	if err != nil {
		h.t.Fatal(err)
	}
	return b
}

func (h fakeHarness) read(b []byte) fakePayload {
	var p fakePayload
	if err := json.Unmarshal(b, &p); err != nil {
		h.t.Fatal(err)
	}
	return p
}

func (h fakeHarness) Tampers(t railtest.Terms) []railtest.Tamper {
	good := h.read(h.Sign(t))
	changed, diverted := good, good
	changed.Amount = "1"
	diverted.To = "somebody"
	diverted.Sig = diverted.signature()
	return []railtest.Tamper{
		{Name: "amount", Payload: h.wire(changed), Reason: "invalid_exact_evm_signature"},
		{Name: "to", Payload: h.wire(diverted), Reason: "invalid_exact_evm_recipient_mismatch"},
		{Name: "cut", Payload: h.wire(good)[1:], Reason: "invalid_payload"},
	}
}

func (h fakeHarness) Submit(payloads ...[]byte) {
	x := &fakeTx{Salt: rand.Text()}
	for _, p := range payloads {
		x.Pays = append(x.Pays, h.read(p))
	}
	h.with(func(c *fakeChain) { c.pool = append(c.pool, x) })
}

func (h fakeHarness) Cancel(payload []byte) {
	p := h.read(payload)
	h.with(func(c *fakeChain) { c.pool = append([]*fakeTx{{Cancels: &p}}, c.pool...) })
}

func (h fakeHarness) Forge([]byte) {
	h.with(func(c *fakeChain) { c.pool = append(c.pool, &fakeTx{Salt: rand.Text()}) })
}

func (h fakeHarness) Turn(railtest.Payer) { h.SealEmpty() }

func (h fakeHarness) Fund(amount int64) {
	h.with(func(c *fakeChain) {
		c.poor["poor"] = false
		c.money["poor"] += amount - c.left("poor")
		c.seal(true)
	})
}

func (h fakeHarness) Divert() { h.with((*fakeChain).divert) }

// divert spends the relayer's next number on something else.
func (c *fakeChain) divert() {
	n := c.head().mined
	for slices.ContainsFunc(c.pool, func(x *fakeTx) bool { return x.Relayer && x.Sequence == n }) {
		n++
	}
	c.pool = append(c.pool, &fakeTx{Relayer: true, Sequence: n, Fee: 100, Salt: "elsewhere"})
}

func (h fakeHarness) Drop() { h.with(func(c *fakeChain) { c.pool = nil }) }

func (h fakeHarness) Seal() { h.with(func(c *fakeChain) { c.seal(false) }) }

func (h fakeHarness) SealEmpty() { h.with(func(c *fakeChain) { c.seal(true) }) }

func (h fakeHarness) Pass(d time.Duration) {
	h.with(func(c *fakeChain) { c.offset += d; c.seal(true) })
}

func (h fakeHarness) Finalize() {
	for range fakeFinal {
		h.SealEmpty()
	}
}

func (h fakeHarness) Reorg(n int) { h.with(func(c *fakeChain) { c.reorg(n, true) }) }

func (h fakeHarness) Balance() (sum int64) {
	h.with(func(c *fakeChain) { sum = c.received() })
	return sum
}

func (h fakeHarness) Prove(railtest.Payer, []byte) (string, []byte) { return "", nil }
