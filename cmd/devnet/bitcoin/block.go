package bitcoin

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"time"
)

const (
	maturity = 100 // blocks before a reward may be spent
	reward   = 50_0000_0000
	bits     = 0x207fffff // simnet's difficulty, the least there is: every other header meets it
	version  = 0x20000000
)

// step is an operation on the way from what is committed to, to the Merkle root of its block:
// prepend and append, or a SHA-256 where both are nil.
type step struct{ prepend, append []byte }

func (s step) apply(message []byte) []byte {
	if s.prepend == nil && s.append == nil {
		sum := sha256.Sum256(message)
		return sum[:]
	}
	return slices.Concat(s.prepend, message, s.append)
}

var hashTwice = []step{{}, {}}

func twice(b []byte) [32]byte {
	sum := sha256.Sum256(b)
	return sha256.Sum256(sum[:])
}

// output is where coins go.
type output struct {
	value  int64
	script []byte
}

// anybody may spend what this script holds.
var anybody = []byte{0x51} // OP_TRUE

// transaction is the serialization without witnesses, which a transaction's id is the hash of.
func transaction(from [32]byte, index uint32, script []byte, outputs ...output) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	b = append(b, 1)
	b = append(b, from[:]...)
	b = binary.LittleEndian.AppendUint32(b, index)
	b = append(append(b, byte(len(script))), script...)
	b = binary.LittleEndian.AppendUint32(b, 0xffffffff)
	b = append(b, byte(len(outputs)))
	for _, o := range outputs {
		b = binary.LittleEndian.AppendUint64(b, uint64(o.value))
		b = append(append(b, byte(len(o.script))), o.script...)
	}
	return binary.LittleEndian.AppendUint32(b, 0)
}

// heightScript begins a block's first input, as BIP 34 asks.
func heightScript(height int64) []byte {
	if height <= 16 {
		return []byte{byte(0x50 + height), 0}
	}
	b := binary.LittleEndian.AppendUint32(nil, uint32(height))
	for len(b) > 1 && b[len(b)-1] == 0 && b[len(b)-2] < 0x80 {
		b = b[:len(b)-1]
	}
	return append([]byte{byte(len(b))}, b...)
}

// Mine makes a block with a transaction that commits to 32 bytes, hands it to the node and returns
// its height and the way from the commitment to its Merkle root.
func (n *Node) Mine(commitment [32]byte) (int64, []step) {
	n.t.Helper()
	if len(n.mature) < 2 || n.height < maturity+2 {
		n.t.Fatal("there is nothing to spend")
	}
	// Three transactions, so that the tree has a level at which the last stands beside itself.
	other := transaction(n.mature[0], 0, nil, output{reward, anybody})
	committing := transaction(n.mature[1], 0, nil, output{0, append([]byte{0x6a, 32}, commitment[:]...)},
		output{reward, anybody})
	n.mature = n.mature[2:]
	return n.mine([][]byte{other, committing}, commitment[:]...)
}

// merkle is the root over the transactions' ids and the way to it from the last of them.
func merkle(level [][32]byte) (root [32]byte, path []step) {
	for at := len(level) - 1; len(level) > 1; at /= 2 {
		if len(level)%2 == 1 {
			level = append(level, level[len(level)-1])
		}
		beside := step{prepend: level[at^1][:]}
		if at%2 == 0 {
			beside = step{append: level[at^1][:]}
		}
		path = append(append(path, beside), hashTwice...)
		var next [][32]byte
		for pair := range slices.Chunk(level, 2) {
			next = append(next, twice(slices.Concat(pair[0][:], pair[1][:])))
		}
		level = next
	}
	return level[0], path
}

// mine makes a block; the commitment stands in the last of the transactions.
func (n *Node) mine(transactions [][]byte, commitment ...byte) (int64, []step) {
	n.t.Helper()
	height := n.height + 1
	first := transaction([32]byte{}, 0xffffffff, heightScript(height), output{reward, anybody})
	all := append([][]byte{first}, transactions...)
	var leaves [][32]byte
	for _, tx := range all {
		leaves = append(leaves, twice(tx))
	}
	if n.height < 50 {
		n.mature = append(n.mature, leaves[0])
	}
	root, path := merkle(leaves)
	if commitment != nil {
		last := all[len(all)-1]
		at := bytes.Index(last, commitment)
		path = slices.Concat([]step{{prepend: last[:at], append: last[at+32:]}}, hashTwice, path)
	}
	n.clock = n.clock.Add(time.Second)
	header := binary.LittleEndian.AppendUint32(nil, version)
	header = append(append(header, n.tip[:]...), root[:]...)
	header = binary.LittleEndian.AppendUint32(header, uint32(n.clock.Unix()))
	header = binary.LittleEndian.AppendUint32(header, bits)
	header = append(header, 0, 0, 0, 0)
	hash := twice(header)
	for nonce := uint32(1); hash[31] > 0x7f; nonce++ {
		binary.LittleEndian.PutUint32(header[76:], nonce)
		hash = twice(header)
	}
	block := append(slices.Clone(header), byte(len(all)))
	for _, tx := range all {
		block = append(block, tx...)
	}
	var refused any
	if n.call(&refused, "submitblock", hex.EncodeToString(block)); refused != nil {
		n.t.Fatalf("the node refuses block %d: %v", height, refused)
	}
	n.tip, n.height = hash, height
	return height, path
}
