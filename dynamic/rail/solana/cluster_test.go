package solana_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	sol "github.com/gagliardetto/solana-go"
)

// cluster is a scripted Solana cluster: blocks are made when the test says so, transactions run by
// the rules that a payment meets, and every answer can be changed by the test. It reads
// transactions with another implementation than the rail.
type cluster struct {
	t   testing.TB
	srv *httptest.Server

	mu      sync.Mutex
	blocks  []*slotBlock // by height
	pool    [][]byte     // what was sent and is in no block
	dropped int          // of what is sent next, how much is forgotten
	shift   time.Duration
	weather uint64 // the last slot in which a Weathercock accepts
	turned  bool   // whether a Switch refuses
	first   uint64 // the slot at which the ledger begins
	// lie may change an answer: it is given the method, its parameters and the honest result.
	lie  func(method string, params []json.RawMessage, honest any) (any, *fault)
	seen map[string]int // calls by method
}

// fault is an error of the node.
type fault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// slotBlock is one block, with what is on the chain after it.
type slotBlock struct {
	slot uint64
	time time.Time
	hash sol.Hash
	ran  []*run
	state
}

// state is what accounts hold.
type state struct {
	lamports map[sol.PublicKey]uint64
	tokens   map[sol.PublicKey]tokens
	done     map[[32]byte]*run // by message
}

// tokens is a token account.
type tokens struct {
	mint, owner sol.PublicKey
	amount      uint64
	frozen      bool
}

// run is a transaction that is in a block.
type run struct {
	slot          uint64
	wire          []byte
	tx            *sol.Transaction
	err           any // as JSON
	fee, units    uint64
	before, after map[sol.PublicKey]tokens
}

// finality is how many blocks the finalized one is behind.
const finality = 32

const slotTime = 400 * time.Millisecond

var (
	guard    = sol.MustPublicKeyFromBase58("L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95")
	usdc     = sol.MustPublicKeyFromBase58("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")
	clock    = sol.MustPublicKeyFromBase58("SysvarC1ock11111111111111111111111111111111")
	budget   = sol.MustPublicKeyFromBase58("ComputeBudget111111111111111111111111111111")
	memo     = sol.MustPublicKeyFromBase58("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
	token22  = sol.MustPublicKeyFromBase58("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")
	otherUSD = sol.MustPublicKeyFromBase58("Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB")
)

// person is a key that is the same in every run, as tests say it by name.
func person(name string) sol.PrivateKey {
	seed := sha256.Sum256([]byte("solana-test-" + name))
	return sol.PrivateKey(ed25519.NewKeyFromSeed(seed[:]))
}

// ata is an owner's token account.
func ata(t testing.TB, owner, mint sol.PublicKey) sol.PublicKey {
	a, _, err := sol.FindAssociatedTokenAddress(owner, mint)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// newCluster begins a cluster on which people hold money and payto has an account.
func newCluster(t testing.TB) *cluster {
	c := &cluster{t: t, seen: map[string]int{}}
	s := state{lamports: map[sol.PublicKey]uint64{}, tokens: map[sol.PublicKey]tokens{}, done: map[[32]byte]*run{}}
	for name, amount := range map[string]uint64{"buyer-0": 1e9, "buyer-1": 1e9, "poor": 0, "payto": 0} {
		who := person(name).PublicKey()
		s.tokens[ata(t, who, usdc)] = tokens{usdc, who, amount, false}
	}
	s.tokens[person("second").PublicKey()] = tokens{usdc, person("buyer-0").PublicKey(), 1e9, false}
	s.lamports[person("feepayer").PublicKey()] = 1e9
	for i := range uint64(40) { // an older chain than its people
		c.blocks = append(c.blocks, &slotBlock{slot: 1000 + 2*i, time: time.Now().Add(-time.Duration(40-i) * slotTime),
			hash: blockhash("", i), state: s})
	}
	c.srv = httptest.NewServer(http.HandlerFunc(c.serve))
	t.Cleanup(c.srv.Close)
	return c
}

func blockhash(fork string, n uint64) sol.Hash {
	return sha256.Sum256(fmt.Append(nil, "blockhash-", fork, n))
}

func (c *cluster) head() *slotBlock { return c.blocks[len(c.blocks)-1] }

func (c *cluster) finalHeight() int { return max(0, len(c.blocks)-1-finality) }

// at is the newest block of a commitment.
func (c *cluster) at(commitment string) (height int, b *slotBlock) {
	height = len(c.blocks) - 1
	if commitment == "finalized" {
		height = c.finalHeight()
	}
	return height, c.blocks[height]
}

// seal makes a block with what was sent, if it can be in it; empty leaves all of it out.
func (c *cluster) seal(empty bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sealLocked("", empty)
}

func (c *cluster) sealLocked(fork string, empty bool) {
	last := c.head()
	b := &slotBlock{slot: last.slot + 1, time: last.time.Add(slotTime), state: last.state}
	if now := time.Now().Add(c.shift); b.time.Before(now) {
		b.time = now
	}
	b.hash = blockhash(fork, b.slot)
	if !empty && len(c.pool) > 0 {
		b.state = state{maps.Clone(b.lamports), maps.Clone(b.tokens), maps.Clone(b.done)}
		for _, wire := range c.pool {
			if r, err := c.try(b.slot, &b.state, wire, true); err == nil {
				b.ran, b.done[sha256.Sum256(message(r.tx))] = append(b.ran, r), r
			}
		}
		c.pool = nil
	}
	c.blocks = append(c.blocks, b)
}

// pass makes so many blocks as time passes.
func (c *cluster) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shift += d
	for n := d / slotTime; n > 0; n-- {
		b := *c.head()
		b.slot, b.time, b.ran = b.slot+1, b.time.Add(slotTime), nil
		b.hash = blockhash("", b.slot)
		c.blocks = append(c.blocks, &b)
	}
}

// reorg leaves the newest blocks for longer empty ones, and forgets what they held.
func (c *cluster) reorg(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	slot := c.head().slot
	c.blocks, c.pool = c.blocks[:len(c.blocks)-n], nil
	for i := range n + 1 {
		c.sealLocked(fmt.Sprint("fork ", slot), true)
		c.head().slot = slot + 1 + uint64(i) // a slot has one leader: another fork's blocks are of later slots
	}
}

func (c *cluster) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pool = nil
}

// set changes a token account in a block with nothing else.
func (c *cluster) set(account sol.PublicKey, change func(*tokens)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sealLocked("", true)
	b := c.head()
	b.state = state{b.lamports, maps.Clone(b.tokens), b.done}
	t := b.tokens[account]
	change(&t)
	if b.tokens[account] = t; t.mint == (sol.PublicKey{}) {
		delete(b.tokens, account)
	}
}

func (c *cluster) setLamports(who sol.PublicKey, n uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sealLocked("", true)
	b := c.head()
	b.state = state{maps.Clone(b.lamports), b.tokens, b.done}
	b.lamports[who] = n
}

func (c *cluster) amount(account sol.PublicKey) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int64(c.head().tokens[account].amount)
}

// deposit puts a transaction on the chain that moves money to an account in its own way, such as an
// exchange's.
func (c *cluster) deposit(to sol.PublicKey, amount uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sealLocked("", true)
	b := c.head()
	b.state = state{b.lamports, maps.Clone(b.tokens), b.done}
	tx, err := sol.NewTransaction([]sol.Instruction{sol.NewInstruction(guard,
		sol.AccountMetaSlice{sol.Meta(to).WRITE()}, []byte("deposit"))},
		b.hash, sol.TransactionPayer(person("stranger").PublicKey()))
	if err != nil {
		c.t.Error(err)
		return
	}
	tx.Sign(signers(person("stranger")))
	wire, _ := tx.MarshalBinary()
	r := &run{slot: b.slot, wire: wire, tx: tx, fee: 5000, before: map[sol.PublicKey]tokens{to: b.tokens[to]}}
	t := b.tokens[to]
	t.amount += amount
	b.tokens[to] = t
	r.after = map[sol.PublicKey]tokens{to: t}
	b.ran = append(b.ran, r)
}

func message(tx *sol.Transaction) []byte {
	b, err := tx.Message.MarshalBinary()
	if err != nil {
		panic(err)
	}
	return b
}

// try runs a transaction on a state at a slot. The error is that of one that gets into no block.
func (c *cluster) try(slot uint64, s *state, wire []byte, signed bool) (*run, error) {
	tx, err := sol.TransactionFromBytes(wire)
	if err != nil {
		return nil, fmt.Errorf("SanitizeFailure: %w", err)
	}
	msg := message(tx)
	recent := c.blocks[max(0, len(c.blocks)-150):]
	switch payer := tx.Message.AccountKeys[0]; {
	case signed && tx.VerifySignatures() != nil:
		return nil, fmt.Errorf("SignatureFailure")
	case s.done[sha256.Sum256(msg)] != nil:
		return nil, fmt.Errorf("AlreadyProcessed")
	case !slices.ContainsFunc(recent, func(b *slotBlock) bool { return b.hash == tx.Message.RecentBlockhash }):
		return nil, fmt.Errorf("BlockhashNotFound")
	case s.lamports[payer] == 0:
		return nil, fmt.Errorf("AccountNotFound")
	}
	r := &run{slot: slot, wire: wire, tx: tx, before: maps.Clone(s.tokens), units: 300}
	limit, price := uint64(200_000), uint64(0)
	for _, ix := range tx.Message.Instructions {
		if program, data := tx.Message.AccountKeys[ix.ProgramIDIndex], []byte(ix.Data); program == budget &&
			len(data) == 5 && data[0] == 2 {
			limit = uint64(binary.LittleEndian.Uint32(data[1:]))
		} else if program == budget && len(data) == 9 && data[0] == 3 {
			price = binary.LittleEndian.Uint64(data[1:])
		}
	}
	r.fee = 5000*uint64(tx.Message.Header.NumRequiredSignatures) + (limit*price+999_999)/1_000_000
	payer := tx.Message.AccountKeys[0]
	if s.lamports[payer] < r.fee+890_880 {
		return nil, fmt.Errorf("InsufficientFundsForFee")
	}
	s.lamports[payer] -= r.fee
	after := maps.Clone(s.tokens)
	for i, ix := range tx.Message.Instructions {
		if why := c.step(slot, after, tx, ix, r, limit, signed); why != nil {
			r.err = map[string]any{"InstructionError": []any{i, why}}
			after = s.tokens
			break
		}
	}
	s.tokens = after
	r.after = maps.Clone(after)
	return r, nil
}

// step runs one instruction.
func (c *cluster) step(slot uint64, accounts map[sol.PublicKey]tokens, tx *sol.Transaction, ix sol.CompiledInstruction,
	r *run, limit uint64, block bool) any {
	key := func(i int) sol.PublicKey { return tx.Message.AccountKeys[ix.Accounts[i]] }
	data := []byte(ix.Data)
	switch tx.Message.AccountKeys[ix.ProgramIDIndex] {
	case budget, memo:
		return nil
	case guard:
		return c.guard(slot, data, r, limit, block)
	case sol.TokenProgramID:
	default:
		return "UnsupportedProgramId"
	}
	custom := func(n int) any { return map[string]int{"Custom": n} }
	if len(data) < 10 || data[0] != 12 || len(ix.Accounts) < 4 {
		return "InvalidInstructionData"
	}
	from, ok := accounts[key(0)]
	to, has := accounts[key(2)]
	amount := binary.LittleEndian.Uint64(data[1:])
	switch {
	case !ok || !has:
		return "InvalidAccountData"
	case from.frozen || to.frozen:
		return custom(17)
	case from.mint != key(1) || to.mint != key(1):
		return custom(3)
	case from.owner != key(3):
		return custom(4)
	case !tx.Message.IsSigner(key(3)):
		return "MissingRequiredSignature"
	case data[9] != 6:
		return custom(18)
	case from.amount < amount:
		return custom(1)
	}
	if r.units += 105; r.units > limit {
		return "ComputationalBudgetExceeded"
	}
	from.amount -= amount
	accounts[key(0)] = from
	to = accounts[key(2)]
	to.amount += amount
	accounts[key(2)] = to
	return nil
}

// guard stands in for Lighthouse: it asserts, and how it does is in the first byte.
func (c *cluster) guard(slot uint64, data []byte, r *run, limit uint64, block bool) any {
	refuses := false
	switch {
	case len(data) == 0:
	case data[0] == 'T': // turncoat
		refuses = block
	case data[0] == 'B': // burner
		if refuses = block; block {
			r.units = limit
		}
	case data[0] == 'W': // weathercock
		refuses = slot > c.weather
	case data[0] == 'S':
		refuses = c.turned
	}
	if refuses {
		return map[string]int{"Custom": 6001}
	}
	return nil
}

func signers(keys ...sol.PrivateKey) func(sol.PublicKey) *sol.PrivateKey {
	return func(k sol.PublicKey) *sol.PrivateKey {
		for i := range keys {
			if keys[i].PublicKey() == k {
				return &keys[i]
			}
		}
		return nil
	}
}

// place finds a transaction by its signature.
func (c *cluster) place(signature string) (height int, r *run) {
	for h, b := range slices.Backward(c.blocks) {
		for _, r := range b.ran {
			if r.tx.Signatures[0].String() == signature {
				return h, r
			}
		}
	}
	return 0, nil
}
