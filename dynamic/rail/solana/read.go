package solana

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"time"

	"store.example/agentstore/corpus/wallet"
)

// How sure a node is of a block: a supermajority has voted for it, or has rooted it. What it merely
// has seen is not read.
const (
	confirmed = "confirmed"
	finalized = "finalized"
)

// lasts is for how many blocks a blockhash is good (Solana's MAX_PROCESSING_AGE).
const lasts = 150

// errBehind is returned while answers contradict each other, because a node is behind, lies, or a
// fork is being left.
var errBehind = errors.New("the node's answers do not belong to one chain")

// at is the part of an answer that names the slot that it is true of.
type at struct {
	Slot uint64 `json:"slot"`
}

// account is one account's state.
type account struct {
	Lamports uint64   `json:"lamports"`
	Owner    string   `json:"owner"`
	Data     []string `json:"data"` // base64, "base64"
}

// bytes are the account's data.
func (a *account) bytes() ([]byte, error) {
	if len(a.Data) != 2 || a.Data[1] != "base64" {
		return nil, errors.New("an account's data has an unexpected form")
	}
	return base64.StdEncoding.DecodeString(a.Data[0])
}

// accounts reads several accounts at one slot; one that does not exist is nil.
func (r *Rail) accounts(ctx context.Context, commitment string, keys ...key) (slot uint64, list []*account, err error) {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.String()
	}
	var out struct {
		Context at         `json:"context"`
		Value   []*account `json:"value"`
	}
	err = r.rpc.call(ctx, &out, "getMultipleAccounts", names,
		map[string]any{"encoding": "base64", "commitment": commitment})
	if err == nil && len(out.Value) != len(keys) {
		err = fmt.Errorf("getMultipleAccounts: %d answers to %d questions", len(out.Value), len(keys))
	}
	return out.Context.Slot, out.Value, err
}

// readClock is the time of a bank by its own clock, which is that of its block.
func readClock(slot uint64, a *account) (time.Time, error) {
	if a == nil {
		return time.Time{}, errors.New("the clock is missing")
	}
	b, err := a.bytes()
	if err != nil || len(b) != 40 {
		return time.Time{}, errors.New("the clock has an unexpected form")
	}
	seconds := int64(binary.LittleEndian.Uint64(b[32:]))
	if binary.LittleEndian.Uint64(b) != slot || seconds < 0 || seconds > 1<<40 {
		return time.Time{}, errBehind
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// tokenAccount is what matters of a token account.
type tokenAccount struct {
	mint, owner key
	amount      uint64
	frozen      bool
}

// readTokenAccount reads a token account of the classic program; nil where there is none.
func readTokenAccount(a *account) *tokenAccount {
	if a == nil || a.Owner != programToken.String() {
		return nil
	}
	b, err := a.bytes()
	if err != nil || len(b) != 165 || b[108] != 1 && b[108] != 2 {
		return nil
	}
	return &tokenAccount{key(b[:32]), key(b[32:64]), binary.LittleEndian.Uint64(b[64:]), b[108] == 2}
}

// readMint returns the decimals of a mint of the classic program.
func readMint(a *account) (decimals int, ok bool) {
	if a == nil || a.Owner != programToken.String() {
		return 0, false
	}
	b, err := a.bytes()
	if err != nil || len(b) != 82 || b[45] != 1 {
		return 0, false
	}
	return int(b[44]), true
}

// view is the chain as it was read at one confirmed slot.
type view struct {
	slot     uint64
	time     time.Time
	lamports uint64 // the fee payer's
	out      string // why payTo's token account can receive nothing, in words for buyers; empty when it can
	read     time.Time
	// What the watcher alone reads; zero otherwise.
	height uint64 // block height at the slot or about it
	final  uint64 // newest final slot
}

// readView reads the newest confirmed slot.
func (r *Rail) readView(ctx context.Context) (view, error) {
	began := time.Now()
	slot, list, err := r.accounts(ctx, confirmed, sysvarClock, r.account, r.feePayer)
	if err != nil {
		return view{}, err
	}
	v := view{slot: slot, read: began}
	if v.time, err = readClock(slot, list[0]); err != nil {
		return view{}, err
	}
	switch t := readTokenAccount(list[1]); {
	case t == nil:
		v.out = r.noAccount()
	case t.mint != r.mint || t.owner != r.payTo:
		v.out = "the store's account for " + r.cfg.Symbol + " there is not its own"
	case t.frozen:
		v.out = "the store's account for " + r.cfg.Symbol + " there is frozen"
	}
	if list[2] != nil {
		v.lamports = list[2].Lamports
	}
	return v, nil
}

// epoch is how far the chain is.
type epoch struct {
	Slot   uint64 `json:"absoluteSlot"`
	Height uint64 `json:"blockHeight"`
}

func (r *Rail) epoch(ctx context.Context, commitment string) (e epoch, err error) {
	err = r.rpc.call(ctx, &e, "getEpochInfo", map[string]any{"commitment": commitment})
	if err == nil && e.Height > e.Slot {
		err = errBehind // there is no more than one block a slot
	}
	return e, err
}

// status is what a node says of a signature.
type status struct {
	Slot   uint64         `json:"slot"`
	Err    jsontext.Value `json:"err"`
	Status string         `json:"confirmationStatus"`
}

func (s *status) failed() bool { return len(s.Err) > 0 && s.Err.Kind() != 'n' }

// sure reports a status that is at least confirmed.
func (s *status) sure() bool { return s != nil && (s.Status == confirmed || s.Status == finalized) }

// statuses reads what became of signatures, as far as a node remembers, or, with history, as far as
// its ledger reaches. One that it does not know is nil. The slot is the newest that the answer
// speaks of.
func (r *Rail) statuses(
	ctx context.Context, history bool, signatures ...string,
) (slot uint64, list []*status, err error) {
	var out struct {
		Context at        `json:"context"`
		Value   []*status `json:"value"`
	}
	err = r.rpc.call(ctx, &out, "getSignatureStatuses", signatures, map[string]any{"searchTransactionHistory": history})
	if err == nil && len(out.Value) != len(signatures) {
		err = fmt.Errorf("getSignatureStatuses: %d answers to %d questions", len(out.Value), len(signatures))
	}
	return out.Context.Slot, out.Value, err
}

// balance is what a token account had before or after a transaction.
type balance struct {
	Index  int    `json:"accountIndex"`
	Mint   string `json:"mint"`
	Owner  string `json:"owner"`
	Amount struct {
		Amount string `json:"amount"`
	} `json:"uiTokenAmount"`
}

// executed is a transaction that is in a block.
type executed struct {
	Slot        uint64   `json:"slot"`
	Time        *int64   `json:"blockTime"` // Unix seconds
	Transaction []string `json:"transaction"`
	Meta        *struct {
		Err    jsontext.Value `json:"err"`
		Fee    uint64         `json:"fee"`
		Units  uint64         `json:"computeUnitsConsumed"`
		Before []balance      `json:"preTokenBalances"`
		After  []balance      `json:"postTokenBalances"`
		Loaded *struct {
			Writable []string `json:"writable"`
			Readonly []string `json:"readonly"`
		} `json:"loadedAddresses"`
	} `json:"meta"`
}

// failed reports whether it moved nothing.
func (e *executed) failed() bool { return len(e.Meta.Err) > 0 && e.Meta.Err.Kind() != 'n' }

// wire is the transaction itself.
func (e *executed) wire() ([]byte, error) {
	if len(e.Transaction) != 2 || e.Transaction[1] != "base64" || e.Meta == nil {
		return nil, errors.New("a transaction has an unexpected form")
	}
	return base64.StdEncoding.DecodeString(e.Transaction[0])
}

// executed reads a transaction that is in a block, rail.ErrNodeNull where the node has none.
func (r *Rail) executed(ctx context.Context, signature, commitment string) (*executed, error) {
	var e executed
	err := r.rpc.call(ctx, &e, "getTransaction", signature,
		map[string]any{"encoding": "base64", "commitment": commitment, "maxSupportedTransactionVersion": 1})
	if err != nil {
		return nil, err
	}
	b, err := e.wire()
	if err != nil {
		return nil, err
	}
	// A node that answers for another transaction must not be believed of this one.
	want, err := wallet.DecodeBase58(signature)
	if t, bad := parseTransaction(b); bad == nil && t.version == 1 {
		b = append([]byte{1}, t.signatures[0][:]...) // which stand at its end
	}
	if err != nil || len(b) < 65 || !bytes.Equal(b[1:65], want) {
		return nil, errBehind
	}
	return &e, nil
}

// block is what matters of a block.
type block struct {
	Hash   string `json:"blockhash"`
	Time   *int64 `json:"blockTime"` // Unix seconds
	Height uint64 `json:"blockHeight"`
}

// block reads the block of a slot.
func (r *Rail) block(ctx context.Context, slot uint64, commitment string) (b block, when time.Time, err error) {
	err = r.rpc.call(ctx, &b, "getBlock", slot, map[string]any{
		"encoding": "base64", "transactionDetails": "none", "rewards": false, "commitment": commitment,
		"maxSupportedTransactionVersion": 1,
	})
	if err == nil && (b.Time == nil || *b.Time < 0 || *b.Time > 1<<40) {
		err = errors.New("getBlock: a block without a time")
	}
	if err != nil {
		return b, time.Time{}, err
	}
	return b, time.Unix(*b.Time, 0).UTC(), nil
}

// blockAt names a block as a node has it.
type blockAt struct {
	slot       uint64
	commitment string
}

// blockRead is a question about a block, answered once ready is closed.
type blockRead struct {
	ready chan struct{}
	block block
	when  time.Time
	err   error
}

// maxBlocks bounds the memory of final blocks.
const maxBlocks = 1 << 10

// blockOnce is block, asked once for all who ask at the same time: what many bought at once is in
// one block. One that is final is remembered.
func (r *Rail) blockOnce(ctx context.Context, slot uint64, commitment string) (block, time.Time, error) {
	at := blockAt{slot, commitment}
	r.mu.Lock()
	b, asked := r.blocks[at]
	if !asked {
		b = &blockRead{ready: make(chan struct{})}
		r.blocks[at] = b
	}
	r.mu.Unlock()
	if !asked {
		b.block, b.when, b.err = r.block(ctx, slot, commitment)
		r.mu.Lock()
		if len(r.blocks) > maxBlocks {
			clear(r.blocks)
		}
		if b.err != nil || commitment != finalized {
			delete(r.blocks, at)
		}
		r.mu.Unlock()
		close(b.ready)
		return b.block, b.when, b.err
	}
	select {
	case <-b.ready:
	case <-ctx.Done():
		return block{}, time.Time{}, ctx.Err()
	}
	if b.err != nil { // who asked first may have given up
		return r.block(ctx, slot, commitment)
	}
	return b.block, b.when, nil
}
