package solana

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"store.example/agentstore/dynamic/rail"
)

// MaxMemo is the longest memo that terms may ask for, in bytes (x402 3.3).
const MaxMemo = 256

// What a stock payment may cost its fee payer at most.
const (
	stockUnits = 20_000 // compute units
	stockPrice = 1      // of a unit, in millionths of a lamport
)

// Transfer is a payment as a stock buyer makes it (x402 3.3): from the payer's associated token
// account to payTo's, by TransferChecked of the classic token program, with one memo. Addresses
// stand in their one spelling.
type Transfer struct {
	Payer, FeePayer, PayTo, Mint string
	Amount                       uint64 // atomic units
	Decimals                     uint8  // of the mint
	Memo                         string // 1 to MaxMemo bytes of UTF-8
	Blockhash                    string // a recent one
}

// Message is what the payer signs: a message of version 0 for two signers, whose fee payer is in no
// instruction's accounts.
func (t Transfer) Message() ([]byte, error) {
	if t.Amount == 0 || t.Memo == "" || len(t.Memo) > MaxMemo || !utf8.ValidString(t.Memo) {
		return nil, fmt.Errorf("making a transfer: it is of nothing, or its memo is not 1 to %d bytes of text", MaxMemo)
	}
	var payer, feePayer, payTo, mint, blockhash key
	for _, a := range []struct {
		name, text string
		into       *key
	}{{"payer", t.Payer, &payer}, {"fee payer", t.FeePayer, &feePayer}, {"receiver", t.PayTo, &payTo},
		{"mint", t.Mint, &mint}, {"blockhash", t.Blockhash, &blockhash}} {
		var err error
		if *a.into, err = parseKey(a.text); err != nil {
			return nil, fmt.Errorf("making a transfer: its %s: %w", a.name, err)
		}
	}
	m := &parts{
		signers: 2, readonlySigned: 1, readonlyUnsigned: 4, blockhash: blockhash,
		keys: []key{feePayer, payer, associated(payer, mint), associated(payTo, mint),
			mint, programBudget, programToken, programMemo},
		instructions: []instruction{
			{5, nil, binary.LittleEndian.AppendUint32([]byte{setComputeUnitLimit}, stockUnits)},
			{5, nil, binary.LittleEndian.AppendUint64([]byte{setComputeUnitPrice}, stockPrice)},
			{6, []byte{2, 4, 3, 1}, append(binary.LittleEndian.AppendUint64([]byte{transferChecked}, t.Amount),
				t.Decimals)},
			{7, nil, []byte(t.Memo)},
		},
	}
	// An account that stands twice is refused here: a fee payer that pays, or a payer who is paid.
	if err := m.sane(); err != nil {
		return nil, fmt.Errorf("making a transfer: %w", err)
	}
	return m.encode(), nil
}

// Wire is the transaction of a message with its payer's signature, in base64; the fee payer's place
// is left empty.
func Wire(message []byte, signature [64]byte) string {
	b := slices.Concat(appendCount(nil, 2), make([]byte, 64), signature[:], message)
	return base64.StdEncoding.EncodeToString(b)
}

// IsAddress reports whether a text is an address in its one spelling.
func IsAddress(s string) bool {
	_, err := parseKey(s)
	return err == nil
}

// Latest asks a cluster's nodes for a recent blockhash, after it was seen that they are of that
// cluster.
func Latest(ctx context.Context, network string, rpc []string) (Hint, error) {
	c, err := newClient(rpc, nil)
	if err != nil {
		return Hint{}, fmt.Errorf("reading a blockhash of %s: %w", network, err)
	}
	defer c.Close()
	if err := c.of(ctx, network); err != nil {
		return Hint{}, fmt.Errorf("reading a blockhash of %s: %w", network, err)
	}
	r := &Rail{rpc: c, hints: map[key]Hint{}}
	h, err := r.readHint(ctx)
	if err != nil {
		return Hint{}, fmt.Errorf("reading a blockhash of %s: %w", network, err)
	}
	return h, nil
}

// of reports nodes that are not of a cluster, by the hash of its first block.
func (c *client) of(ctx context.Context, network string) error {
	var genesis string
	if err := c.call(ctx, &genesis, "getGenesisHash"); err != nil {
		return err
	}
	reference, ok := strings.CutPrefix(network, "solana:")
	if !ok || len(genesis) < 40 || genesis[:32] != reference {
		return fmt.Errorf("the node is of the cluster %s", rail.Printable(genesis, 44))
	}
	return nil
}
