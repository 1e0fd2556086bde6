package solana

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json/v2"
	"errors"
	"fmt"
)

// maxSince is how many transactions of one wallet Landed reads at most.
const maxSince = 100

// Landed tells which payments of one wallet are in a block. Who signs as a payer does not know the
// id under which that happens, which is the fee payer's signature: it is found by its message among
// what the wallet has signed since.
type Landed struct {
	r     *Rail
	owner string
	since uint64
	read  map[string]bool            // by id
	moved map[[sha256.Size]byte]bool // by message
}

// LandedSince begins with the newest block: payments that are asked for are signed later.
func LandedSince(ctx context.Context, network, owner string, rpc []string) (*Landed, error) {
	c, err := newClient(rpc, nil)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", network, err)
	}
	l := &Landed{r: &Rail{rpc: c}, owner: owner, read: map[string]bool{}, moved: map[[sha256.Size]byte]bool{}}
	err = c.of(ctx, network)
	if err == nil {
		var e epoch
		e, err = l.r.epoch(ctx, confirmed)
		l.since = e.Slot
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("reading %s: %w", network, err)
	}
	return l, nil
}

// Close lets go of idle connections.
func (l *Landed) Close() { l.r.Close() }

// Has reports whether a transaction, in the form of Wire, is in a block and did not fail there.
func (l *Landed) Has(ctx context.Context, wire string) (bool, error) {
	raw, err := base64.StdEncoding.DecodeString(wire)
	if err != nil {
		return false, errors.New("a payment is no transaction")
	}
	t, err := parseTransaction(raw)
	if err != nil {
		return false, err
	}
	digest := sha256.Sum256(t.message)
	if l.moved[digest] {
		return true, nil
	}
	var page []entry
	if err := l.r.rpc.call(ctx, &page, "getSignaturesForAddress", l.owner,
		map[string]any{"commitment": confirmed, "limit": maxSince}); err != nil {
		return false, fmt.Errorf("listing what %s signed: %w", l.owner, err)
	}
	if len(page) >= maxSince && page[len(page)-1].Slot >= l.since {
		return false, fmt.Errorf("%s has signed %d transactions since: use a wallet that pays nothing else", l.owner,
			maxSince)
	}
	for _, e := range page {
		if e.Slot < l.since || l.read[e.Signature] {
			continue
		}
		if err := l.take(ctx, e); err != nil {
			return false, fmt.Errorf("reading what %s signed: %w", l.owner, err)
		}
	}
	return l.moved[digest], nil
}

// take reads one transaction of the list.
func (l *Landed) take(ctx context.Context, e entry) error {
	x, err := l.r.executed(ctx, e.Signature, confirmed)
	if err != nil {
		return err
	}
	wire, err := x.wire()
	if err != nil {
		return err
	}
	l.read[e.Signature] = true
	if t, err := parseTransaction(wire); err == nil && !x.failed() {
		l.moved[sha256.Sum256(t.message)] = true
	}
	return nil
}

// ParseKey reads a key file as solana-keygen writes it: a JSON list of 64 numbers, the seed and the
// public key. Its errors tell nothing of what it holds.
func ParseKey(b []byte) (ed25519.PrivateKey, error) {
	var list []uint16 // a list of bytes would be read from a string
	if err := json.Unmarshal(b, &list); err != nil || len(list) != ed25519.PrivateKeySize {
		return nil, errors.New("not a key file of solana-keygen, which is a list of 64 numbers")
	}
	raw := make([]byte, len(list))
	for i, v := range list {
		if v > 255 {
			return nil, errors.New("not a key file of solana-keygen: a number is above 255")
		}
		raw[i] = byte(v)
	}
	key := ed25519.NewKeyFromSeed(raw[:ed25519.SeedSize])
	if !bytes.Equal(key, raw) {
		return nil, errors.New("the key file's public half is of another key")
	}
	return key, nil
}
