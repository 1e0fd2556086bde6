package corpustest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math/bits"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"store.example/agentstore/corpus/attest"
)

// Mirror is a mirror of one log (c2sp.org/tlog-mirror), in memory: it takes heads that go on from
// those before and leaves with their proofs, and serves what it took below the hash of the log's
// origin. It may be told to forget, to stop in the middle and to take a fork. It knows of trees
// what package attest hashes, and nothing of package tlog.
type Mirror struct {
	Origin string
	// Packages is how many packages it takes of one request before it stops; 0 is all.
	Packages int
	// Gullible takes any head that the log signed, whether or not it goes on from the one before,
	// and forgets what it had.
	Gullible bool
	// Forgets is how many answers tell that the head it was shown is forgotten.
	Forgets int

	mu       sync.Mutex
	keys     []ed25519.PublicKey // of the log
	key      ed25519.PrivateKey
	name     string
	pending  mirrored
	head     mirrored
	leaves   [][]byte
	hashes   []attest.Digest
	requests int
}

// mirrored is a head as the log signed it.
type mirrored struct {
	raw  []byte
	text string
	size int64
	root attest.Digest
}

// NewMirror returns a mirror of the log with an origin, which knows the log by one key.
func NewMirror(name, origin string, log ed25519.PublicKey) *Mirror {
	seed := sha256.Sum256([]byte(name))
	return &Mirror{Origin: origin, name: name, key: ed25519.NewKeyFromSeed(seed[:]), keys: []ed25519.PublicKey{log}}
}

// Learn tells the mirror of a further key of the log.
func (m *Mirror) Learn(log ed25519.PublicKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keys = append(m.keys, log)
}

// Holds is how many leaves it holds, and how many requests it had.
func (m *Mirror) Holds() (leaves, requests int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.leaves), m.requests
}

// Key is its verifier key.
func (m *Mirror) Key() string {
	public := append([]byte{4}, m.key.Public().(ed25519.PublicKey)...)
	return fmt.Sprintf("%s+%x+%s", m.name, m.id(4, m.name, m.key.Public().(ed25519.PublicKey)),
		base64.StdEncoding.EncodeToString(public))
}

func (m *Mirror) id(algorithm byte, name string, public ed25519.PublicKey) []byte {
	sum := sha256.Sum256(slices.Concat([]byte(name+"\n"), []byte{algorithm}, public))
	return sum[:4]
}

// Path is where it serves what it took.
func (m *Mirror) Path() string {
	sum := sha256.Sum256([]byte(m.Origin))
	return "/" + hex.EncodeToString(sum[:]) + "/"
}

// ServeHTTP implements http.Handler.
func (m *Mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		zip, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = zip
	}
	name, served := strings.CutPrefix(r.URL.Path, m.Path())
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/add-checkpoint":
		m.addCheckpoint(w, body)
	case r.Method == http.MethodPost && r.URL.Path == "/add-entries":
		m.addEntries(w, bufio.NewReader(body))
	case r.Method == http.MethodGet && served && name == "checkpoint" && m.head.raw != nil:
		_, _ = w.Write(append(slices.Clone(m.head.raw), m.cosignature(m.head)...))
	case r.Method == http.MethodGet && served && strings.HasPrefix(name, "tile/"):
		m.tile(w, strings.TrimPrefix(name, "tile/"))
	default:
		http.NotFound(w, r)
	}
}

// open reads a head that one of the log's keys signed.
func (m *Mirror) open(raw []byte) (h mirrored, status int) {
	text, lines, ok := strings.Cut(string(raw), "\n\n")
	parts := strings.Split(text, "\n")
	if !ok || len(parts) < 3 {
		return h, http.StatusBadRequest
	}
	if parts[0] != m.Origin {
		return h, http.StatusNotFound
	}
	size, err := strconv.ParseInt(parts[1], 10, 64)
	root, rootErr := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || rootErr != nil || len(root) != sha256.Size {
		return h, http.StatusBadRequest
	}
	h = mirrored{raw, text + "\n", size, attest.Digest(root)}
	for line := range strings.Lines(lines) {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[1] != m.Origin {
			continue
		}
		sig, err := base64.StdEncoding.DecodeString(fields[2])
		if err != nil || len(sig) < 4 {
			continue
		}
		for _, key := range m.keys {
			if bytes.Equal(sig[:4], m.id(1, m.Origin, key)) && ed25519.Verify(key, []byte(h.text), sig[4:]) {
				return h, 0
			}
		}
	}
	return h, http.StatusForbidden
}

// addCheckpoint takes a head that goes on from the one that it took before.
func (m *Mirror) addCheckpoint(w http.ResponseWriter, body io.Reader) {
	raw, err := io.ReadAll(io.LimitReader(body, 1<<20))
	lines, note, ok := strings.Cut(string(raw), "\n\n")
	proof := strings.Split(lines, "\n")
	old, numbered := strings.CutPrefix(proof[0], "old ")
	from, bad := strconv.ParseInt(old, 10, 64)
	if err != nil || !ok || !numbered || bad != nil {
		http.Error(w, "malformed", http.StatusBadRequest)
		return
	}
	head, status := m.open([]byte(note))
	var way []attest.Digest
	for _, line := range proof[1:] {
		h, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(h) != sha256.Size {
			status = http.StatusBadRequest
			break
		}
		way = append(way, attest.Digest(h))
	}
	switch {
	case status != 0:
	case m.Gullible && head.root != m.pending.root:
		m.pending, m.head, m.leaves, m.hashes = head, mirrored{}, nil, nil
		return
	case from != m.pending.size:
		w.Header().Set("Content-Type", "text/x.tlog.size")
		w.WriteHeader(http.StatusConflict)
		fmt.Fprintf(w, "%d\n", m.pending.size)
		return
	case from > head.size:
		status = http.StatusBadRequest
	case from == 0 && len(way) > 0,
		from > 0 && !inTree(way, span{0, head.size}, span{0, from}, m.pending.root, head.root):
		status = http.StatusUnprocessableEntity
	}
	if status != 0 {
		http.Error(w, "refused", status)
		return
	}
	m.pending = head
}

// addEntries takes packages of leaves, each with the proof that it stands in the pending head.
func (m *Mirror) addEntries(w http.ResponseWriter, body *bufio.Reader) {
	origin := string(read(body, int(number(body, 2))))
	start, end := number(body, 8), number(body, 8)
	ticket := read(body, int(number(body, 2)))
	next := int64(len(m.leaves))
	switch {
	case origin != m.Origin:
		http.Error(w, "unknown log", http.StatusNotFound)
		return
	case m.Forgets > 0:
		m.Forgets--
		m.pending = m.head
		m.info(w, http.StatusConflict)
		return
	case m.pending.raw == nil:
		http.Error(w, "no head", http.StatusUnprocessableEntity)
		return
	case end != m.pending.size, start > next, len(ticket) > 0 && string(ticket) != m.ticket():
		m.info(w, http.StatusConflict)
		return
	}
	taken := 0
	for first := start; first < end; taken++ {
		lo := first - first%256
		behind := min(end, lo+256)
		if m.Packages > 0 && taken == m.Packages {
			break
		}
		if _, err := body.Peek(1); err != nil { // the others come with another request
			break
		}
		var entries [][]byte
		hashes := slices.Clone(m.hashes[lo:first])
		for range behind - first {
			entry := read(body, int(number(body, 2)))
			entries, hashes = append(entries, entry), append(hashes, attest.LeafHash(entry))
		}
		var proof []attest.Digest
		for range number(body, 1) {
			proof = append(proof, attest.Digest(read(body, sha256.Size)))
		}
		if !inTree(proof, span{0, end}, span{lo, behind}, attest.MerkleRoot(hashes), m.pending.root) {
			http.Error(w, "a package that is not of the head", http.StatusUnprocessableEntity)
			return
		}
		for i, entry := range entries {
			if at := first + int64(i); at == int64(len(m.leaves)) {
				m.leaves, m.hashes = append(m.leaves, entry), append(m.hashes, hashes[at-lo])
			}
		}
		first = behind
	}
	if int64(len(m.leaves)) < end {
		if taken == 0 {
			http.Error(w, "nothing", http.StatusBadRequest)
			return
		}
		m.info(w, http.StatusAccepted)
		return
	}
	m.head = m.pending
	_, _ = w.Write(m.cosignature(m.head))
}

func (m *Mirror) ticket() string { return "ticket of " + m.pending.text }

func (m *Mirror) info(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "text/x.tlog.mirror-info")
	w.WriteHeader(status)
	fmt.Fprintf(w, "%d\n%d\n%s\n", m.pending.size, len(m.leaves), base64.StdEncoding.EncodeToString([]byte(m.ticket())))
}

// cosignedAt is when the mirror says that it signs, in seconds of Unix.
const cosignedAt = 1_795_000_000

func (m *Mirror) cosignature(h mirrored) []byte {
	sig := m.id(4, m.name, m.key.Public().(ed25519.PublicKey))
	sig = binary.BigEndian.AppendUint64(sig, cosignedAt)
	sig = append(sig, ed25519.Sign(m.key, fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", cosignedAt, h.text))...)
	return fmt.Appendf(nil, "\u2014 %s %s\n", m.name, base64.StdEncoding.EncodeToString(sig))
}

// tile serves one tile of hashes, whole or not.
func (m *Mirror) tile(w http.ResponseWriter, name string) {
	parts := strings.SplitN(name, "/", 2)
	width := int64(256)
	path, part, partial := strings.Cut(strings.Join(parts[1:], "/"), ".p/")
	if partial {
		width, _ = strconv.ParseInt(part, 10, 64)
	}
	level, err := strconv.Atoi(parts[0])
	n, bad := strconv.ParseInt(strings.NewReplacer("x", "", "/", "").Replace(path), 10, 64)
	if err != nil || bad != nil || level > 1 {
		http.Error(w, "no tile", http.StatusNotFound)
		return
	}
	each := int64(1) << (8 * level)
	for i := n * 256; i < n*256+width; i++ {
		if (i+1)*each > int64(len(m.hashes)) {
			http.Error(w, "no such leaves", http.StatusNotFound)
			return
		}
	}
	for i := n * 256; i < n*256+width; i++ {
		h := attest.MerkleRoot(m.hashes[i*each : (i+1)*each])
		_, _ = w.Write(h[:])
	}
}

// number and read give zeros where the body ends: whatever that makes is in no tree.
func number(r io.Reader, bytes int) int64 {
	var n uint64
	for _, b := range read(r, bytes) {
		n = n<<8 | uint64(b)
	}
	return int64(n)
}

func read(r io.Reader, n int) []byte {
	b := make([]byte, n)
	_, _ = io.ReadFull(r, b)
	return b
}

// span is leaves from first up to behind.
type span struct{ first, behind int64 }

// inTree reports whether a proof shows that the tree over the wanted leaves, which has a root,
// stands in the one over all (draft-ietf-plants-merkle-tree-certs, section 4.4).
func inTree(proof []attest.Digest, all, want span, root, over attest.Digest) bool {
	wanted, whole, ok := implied(proof, all, want, &root)
	return ok && wanted == root && whole == over
}

// implied is which roots of the wanted leaves and of the node around them a proof implies. known is
// the root of what is wanted, where it is known.
func implied(proof []attest.Digest, node, want span, known *attest.Digest) (wanted, whole attest.Digest, ok bool) {
	if node == want {
		switch {
		case known != nil:
			return *known, *known, len(proof) == 0
		case len(proof) == 1:
			return proof[0], proof[0], true
		}
		return wanted, whole, false
	}
	if len(proof) == 0 {
		return wanted, whole, false
	}
	half := node.first + int64(1)<<(bits.Len64(uint64(node.behind-node.first-1))-1)
	rest, beside := proof[:len(proof)-1], proof[len(proof)-1]
	switch {
	case want.behind <= half:
		wanted, whole, ok = implied(rest, span{node.first, half}, want, known)
		return wanted, attest.NodeHash(whole, beside), ok
	case want.first >= half:
		wanted, whole, ok = implied(rest, span{half, node.behind}, want, known)
		return wanted, attest.NodeHash(beside, whole), ok
	}
	wanted, whole, ok = implied(rest, span{half, node.behind}, span{half, want.behind}, nil)
	return attest.NodeHash(beside, wanted), attest.NodeHash(beside, whole), ok
}
