package feed

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/ledger"
)

// Certificates are committed to by the counts of artifacts: each, in the week after its own, by the
// root of a tree of what was delivered (record.IssuedTree). Its leaves stay in the ledger, in the
// order of its keys, with the roots of every 256 of them, so that a proof reads no more than those.

// What the keys of leaves and of trees begin with.
const (
	certified     = "certified"
	certifiedTree = "certified-tree"
)

// treeTile is how many leaves a stored root is over.
const treeTile = 256

// late is how long after the end of a week its tree is made, so that no transaction of the week is
// still on its way.
const late = time.Hour

// certTree is a tree that an observation committed to.
type certTree struct {
	record.IssuedTree
	Number int64           `json:"number"` // of the observation
	After  string          `json:"after"`  // its deliveries are of the weeks after this one; "" for all
	Firsts []string        `json:"firsts"` // week and digest of the first leaf of each tile
	Tiles  []attest.Digest `json:"tiles"`  // their roots
}

// CertificateProof shows that a certificate is a leaf of a tree.
type CertificateProof struct {
	record.IssuedTree
	Observation int64           // its number
	Index       int64           // of the leaf
	Hashes      []attest.Digest // beside the way from the leaf to the root (RFC 6962, section 2.1.1)
}

// Certified keeps the payload that a certificate was signed as for the tree of this week, which it
// returns.
func Certified(tx ledger.Tx, payload string) (week string, err error) {
	week = record.ISOWeek(tx.Now())
	sum := sha256.Sum256([]byte(payload))
	return week, tx.Set(certifiedKey(week, attest.Digest(sum)), nil)
}

func certifiedKey(week string, d attest.Digest) []byte {
	return ledger.GoodsKey(certified, week, d.String())
}

// counting is a moment of the week whose count is due: until the first hour of a week is over, of
// the week before.
func counting(tx ledger.Tx) time.Time { return tx.Now().Add(-late) }

// plant makes the tree of what was delivered after one week and before the week of a count, nil for
// nothing.
func plant(tx ledger.Tx, after string) (*certTree, error) {
	t := &certTree{After: after, Through: record.ISOWeek(counting(tx).AddDate(0, 0, -7))}
	var tile []attest.Digest
	for leaf, err := range t.leaves(tx, "") {
		if err != nil {
			return nil, err
		}
		if len(tile) == treeTile {
			t.Tiles, tile = append(t.Tiles, fold(tile, -1, nil)), tile[:0]
		}
		if len(tile) == 0 {
			t.Firsts = append(t.Firsts, leaf.name())
		}
		tile = append(tile, attest.LeafHash(leaf.digest[:]))
		t.Size++
	}
	return t.rooted(tile), nil
}

// rooted is the tree with its last tile.
func (t *certTree) rooted(tile []attest.Digest) *certTree {
	if len(tile) == 0 {
		return nil
	}
	t.Tiles = append(t.Tiles, fold(tile, -1, nil))
	t.Root = fold(t.Tiles, -1, nil).String()
	return t
}

// fold is the root over nodes of one level (RFC 6962, section 2.1). What stands beside the way up
// from node i, -1 for none, is appended to path, the lowest first.
func fold(nodes []attest.Digest, i int, path *[]attest.Digest) attest.Digest {
	if len(nodes) == 1 {
		return nodes[0]
	}
	k := 1 << (bits.Len(uint(len(nodes)-1)) - 1)
	var left, right attest.Digest
	switch {
	case i < 0:
		left, right = fold(nodes[:k], -1, nil), fold(nodes[k:], -1, nil)
	case i < k:
		left, right = fold(nodes[:k], i, path), fold(nodes[k:], -1, nil)
		*path = append(*path, right)
	default:
		left, right = fold(nodes[:k], -1, nil), fold(nodes[k:], i-k, path)
		*path = append(*path, left)
	}
	return attest.NodeHash(left, right)
}

// ProveCertificate shows in which tree a certificate stands that was delivered in a week; nil while
// there is none. A ledger that was restored may lack leaves of a tree of before, and then proves
// nothing of it.
func ProveCertificate(tx ledger.Tx, week, payload string) (*CertificateProof, error) {
	digest := attest.Digest(sha256.Sum256([]byte(payload)))
	t, err := treeOf(tx, week)
	if err != nil || t == nil {
		return nil, err
	}
	name := certLeaf{week, digest}.name()
	at, found := slices.BinarySearch(t.Firsts, name)
	if !found {
		at--
	}
	if at < 0 {
		return nil, nil
	}
	var tile []attest.Digest
	i := -1
	for leaf, err := range t.leaves(tx, t.Firsts[at]) {
		if err != nil {
			return nil, err
		}
		if len(tile) == treeTile {
			break
		}
		if leaf.name() == name {
			i = len(tile)
		}
		tile = append(tile, attest.LeafHash(leaf.digest[:]))
	}
	if i < 0 || at >= len(t.Tiles) {
		return nil, nil
	}
	p := &CertificateProof{IssuedTree: t.IssuedTree, Observation: t.Number, Index: int64(at*treeTile + i)}
	if fold(tile, i, &p.Hashes) != t.Tiles[at] {
		return nil, fmt.Errorf("the certificates of %s in the ledger are not those of observation %d", week, t.Number)
	}
	fold(t.Tiles, at, &p.Hashes)
	return p, nil
}

// treeOf is the tree of a week, or the first one behind it, nil while there is none.
func treeOf(tx ledger.Tx, week string) (*certTree, error) {
	_, end := ledger.Prefix(ledger.GoodsKey(certifiedTree))
	for e, err := range tx.Scan(ledger.GoodsKey(certifiedTree, week), end) {
		if err != nil {
			return nil, err
		}
		t, err := ledger.GetJSON[certTree](tx, e.Key)
		return &t, err
	}
	return nil, nil
}

// certLeaf is a leaf of a tree: a certificate with the week of its delivery.
type certLeaf struct {
	week   string
	digest attest.Digest
}

func (l certLeaf) name() string { return l.week + " " + l.digest.String() }

// leaves are those of the tree's weeks, in order, from a name on, "" for the first.
func (t *certTree) leaves(tx ledger.Tx, name string) iter.Seq2[certLeaf, error] {
	from, _ := ledger.Prefix(ledger.GoodsKey(certified))
	if t.After != "" {
		_, from = ledger.Prefix(ledger.GoodsKey(certified, t.After))
	}
	_, end := ledger.Prefix(ledger.GoodsKey(certified, t.Through))
	if week, digest, ok := strings.Cut(name, " "); ok {
		from = ledger.GoodsKey(certified, week, digest)
	}
	return func(yield func(certLeaf, error) bool) {
		for e, err := range tx.Scan(from, end) {
			var leaf certLeaf
			if err == nil {
				leaf, err = readLeaf(e.Key)
			}
			if !yield(leaf, err) || err != nil {
				return
			}
		}
	}
}

func readLeaf(key []byte) (certLeaf, error) {
	parts, err := ledger.Parts(key)
	if err != nil {
		return certLeaf{}, err
	}
	if len(parts) < 2 {
		return certLeaf{}, errors.New("feed: no key of a certificate: " + ledger.KeyText(key))
	}
	raw, err := hex.DecodeString(parts[len(parts)-1])
	if err != nil || len(raw) != sha256.Size {
		return certLeaf{}, errors.New("feed: no key of a certificate: " + ledger.KeyText(key))
	}
	return certLeaf{parts[len(parts)-2], attest.Digest(raw)}, nil
}
