package solana

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"time"

	"store.example/agentstore/dynamic/rail"
)

const (
	// hintFresh is how old a hint may be when it is given away.
	hintFresh = 5 * time.Second
	// maxHints is how many blockhashes are remembered: those of more time than one is good for.
	maxHints = 1024
)

// Hint is a recent blockhash, which saves a buyer asking for one.
type Hint struct {
	Blockhash string
	LastValid uint64 // the last block height at which a transaction with it can land
	read      time.Time
	slot      uint64
}

// varying are the members of the terms that differ from one 402 to the next (x402 3.3), and how
// long they can be: base58 of 32 bytes, and a number of 64 bits.
var varying = []rail.VaryingMember{
	{Name: "memo", Max: MemoLen, Bound: true},
	{Name: "recentBlockhash", Max: 44},
	{Name: "lastValidBlockHeight", Max: 20},
}

// values are those of varying.
func (r *Rail) values(nonce, resource string) []string {
	v := []string{Memo(nonce, resource), "", ""}
	if h, ok := r.Hint(); ok {
		v[1], v[2] = h.Blockhash, strconv.FormatUint(h.LastValid, 10)
	}
	return v
}

// MemoLen is the length of a memo in characters.
const MemoLen = 36

// Memo is the memo that the terms with a nonce ask for, for a resource: 27 bytes of SHA-256 over
// both in base64url. By it a transaction is for one 402 of one door of one store. The nonce itself,
// by which a buyer gets back what was bought (package till, M1), does not get onto the chain.
func Memo(nonce, resource string) string {
	sum := sha256.Sum256([]byte("store-memo/v1\x00" + nonce + "\x00" + resource))
	return base64.RawURLEncoding.EncodeToString(sum[:27])
}

// Hint is the newest blockhash that was read, and whether it is recent enough to be given away.
func (r *Rail) Hint() (Hint, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.recent) == 0 {
		return Hint{}, false
	}
	h := r.hints[r.recent[len(r.recent)-1]]
	return h, time.Since(h.read) <= hintFresh
}

// readHint reads the newest blockhash.
func (r *Rail) readHint(ctx context.Context) (Hint, error) {
	began := time.Now()
	var out struct {
		Context at `json:"context"`
		Value   struct {
			Blockhash string `json:"blockhash"`
			LastValid uint64 `json:"lastValidBlockHeight"`
		} `json:"value"`
	}
	if err := r.rpc.call(ctx, &out, "getLatestBlockhash", map[string]any{"commitment": confirmed}); err != nil {
		return Hint{}, err
	}
	k, err := parseKey(out.Value.Blockhash)
	if err != nil {
		return Hint{}, err
	}
	h := Hint{out.Value.Blockhash, out.Value.LastValid, began, out.Context.Slot}
	// There is no more than one block a slot, and no blockhash is good for longer than this.
	if h.LastValid > h.slot+lasts || h.LastValid < lasts {
		return Hint{}, errBehind
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.hints[k]; !known {
		r.recent = append(r.recent, k)
	}
	r.hints[k] = h
	for len(r.recent) > maxHints {
		delete(r.hints, r.recent[0])
		r.recent = r.recent[1:]
	}
	return h, nil
}

// lastValid is a height past which a message with a blockhash cannot land, that was good at a slot:
// the blockhash's own where it was one of ours, else that of one that was read later.
func (r *Rail) lastValid(ctx context.Context, blockhash key, slot uint64) (uint64, error) {
	r.mu.Lock()
	h, ok := r.hints[blockhash]
	r.mu.Unlock()
	if ok {
		return h.LastValid, nil
	}
	h, err := r.readHint(ctx)
	if err != nil {
		return 0, err
	}
	return h.LastValid + slot - min(slot, h.slot), nil
}
