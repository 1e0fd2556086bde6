package bitcoin

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Tags of the proof format, as the calendars' own software writes it.
const (
	opAppend  = 0xf0
	opPrepend = 0xf1
	opSHA256  = 0x08
)

var (
	pendingTag = []byte{0x83, 0xdf, 0xe3, 0x0d, 0x2e, 0xf9, 0x0c, 0x8e}
	bitcoinTag = []byte{0x05, 0x88, 0x96, 0x0d, 0x73, 0xd7, 0x19, 0x01}
)

// Calendar is an OpenTimestamps calendar: it takes digests, puts one commitment to all it holds
// into a block when it is told to, and answers from then on how each digest got there.
type Calendar struct {
	node *Node
	uri  string

	mu   sync.Mutex
	held [][]byte          // commitments that are in no block
	done map[string][]byte // the rest of the proof by commitment
}

// NewCalendar returns a calendar that calls itself uri.
func NewCalendar(node *Node, uri string) *Calendar {
	return &Calendar{node: node, uri: uri, done: make(map[string][]byte)}
}

// ServeHTTP is the calendars' interface: POST /digest and GET /timestamp/{commitment}.
func (c *Calendar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w.Header().Set("Content-Type", "application/octet-stream")
	if r.Method == http.MethodPost && r.URL.Path == "/digest" {
		digest, err := io.ReadAll(io.LimitReader(r.Body, 65))
		if err != nil || len(digest) == 0 || len(digest) > 64 {
			http.Error(w, "a digest has up to 64 bytes", http.StatusBadRequest)
			return
		}
		way := []step{{append: []byte(c.uri)}, {}}
		commitment := digest
		for _, s := range way {
			commitment = s.apply(commitment)
		}
		c.held = append(c.held, commitment)
		uri := append(binary.AppendUvarint(nil, uint64(len(c.uri))), c.uri...)
		w.Write(attestation(steps(nil, way), pendingTag, uri))
		return
	}
	if commitment, ok := strings.CutPrefix(r.URL.Path, "/timestamp/"); ok && r.Method == http.MethodGet {
		raw, err := hex.DecodeString(commitment)
		if rest, there := c.done[string(raw)]; err == nil && there {
			w.Write(rest)
			return
		}
	}
	http.Error(w, "Pending confirmation in Bitcoin blockchain", http.StatusNotFound)
}

// Mine commits to everything that was submitted since the last time and returns the height of the
// block.
func (c *Calendar) Mine() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	ways := make([][]step, len(c.held))
	level := slices.Clone(c.held)
	members := make([][]int, len(level)) // whose ways lead through each
	for i := range members {
		members[i] = []int{i}
	}
	for len(level) > 1 {
		var next [][]byte
		var together [][]int
		for i := 0; i < len(level); i += 2 {
			if i+1 == len(level) { // goes up as it is
				next, together = append(next, level[i]), append(together, members[i])
				break
			}
			for _, m := range members[i] {
				ways[m] = append(ways[m], step{append: level[i+1]}, step{})
			}
			for _, m := range members[i+1] {
				ways[m] = append(ways[m], step{prepend: level[i]}, step{})
			}
			sum := sha256.Sum256(slices.Concat(level[i], level[i+1]))
			next, together = append(next, sum[:]), append(together, slices.Concat(members[i], members[i+1]))
		}
		level, members = next, together
	}
	if len(level) == 0 {
		c.node.t.Fatal("there is nothing to commit to")
	}
	height, path := c.node.Mine([32]byte(level[0]))
	for i, commitment := range c.held {
		c.done[string(commitment)] = attestation(steps(nil, slices.Concat(ways[i], path)), bitcoinTag,
			binary.AppendUvarint(nil, uint64(height)))
	}
	c.held = nil
	return height
}

// steps writes operations one after the other.
func steps(out []byte, way []step) []byte {
	for _, s := range way {
		if s.prepend == nil && s.append == nil {
			out = append(out, opSHA256)
		}
		if len(s.prepend) > 0 {
			out = append(binary.AppendUvarint(append(out, opPrepend), uint64(len(s.prepend))), s.prepend...)
		}
		if len(s.append) > 0 {
			out = append(binary.AppendUvarint(append(out, opAppend), uint64(len(s.append))), s.append...)
		}
	}
	return out
}

// attestation ends a proof.
func attestation(out, tag, payload []byte) []byte {
	out = append(append(out, 0), tag...)
	return append(binary.AppendUvarint(out, uint64(len(payload))), payload...)
}
