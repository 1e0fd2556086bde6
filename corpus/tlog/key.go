package tlog

import (
	"bytes"
	"crypto/ed25519"
	"crypto/mldsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"store.example/agentstore/corpus/attest"
)

// The algorithms of a note's key.
const (
	algEd25519  = 1 // c2sp.org/signed-note
	algCosigned = 4 // Ed25519 with a time, c2sp.org/tlog-cosignature
	algMLDSA44  = 6 // ML-DSA-44 with a time, c2sp.org/tlog-cosignature
)

// maxCosignedTime is the latest time, in seconds of Unix, that a cosignature may name.
const maxCosignedTime = 1 << 40

// noteKey is a key that signs notes: who has it, by which algorithm it signs, and its public half.
type noteKey struct {
	name      string
	algorithm byte
	public    []byte
}

// id is the id of the key: of its name, its algorithm and its bytes.
func (k noteKey) id() uint32 {
	sum := sha256.Sum256(append([]byte(k.name+"\n"+string(rune(k.algorithm))), k.public...))
	return binary.BigEndian.Uint32(sum[:])
}

// String is the text form of the key, name+id+base64 of the algorithm and the key.
func (k noteKey) String() string {
	return fmt.Sprintf("%s+%08x+%s", k.name, k.id(),
		base64.StdEncoding.EncodeToString(append([]byte{k.algorithm}, k.public...)))
}

// parseKey reads the text form of a key, which has one spelling.
func parseKey(vkey string) (noteKey, error) {
	parts := strings.SplitN(vkey, "+", 3)
	if len(parts) != 3 || parts[0] == "" || strings.ContainsFunc(parts[0], unicode.IsSpace) {
		return noteKey{}, errors.New("not name+id+key")
	}
	b, err := base64.StdEncoding.Strict().DecodeString(parts[2])
	if err != nil || len(b) == 0 {
		return noteKey{}, errors.New("its last part is not base64 of a key")
	}
	k := noteKey{parts[0], b[0], b[1:]}
	sizes := map[byte]int{algEd25519: ed25519.PublicKeySize, algCosigned: ed25519.PublicKeySize,
		algMLDSA44: mldsa.MLDSA44PublicKeySize}
	if size, known := sizes[k.algorithm]; !known || len(k.public) != size {
		return noteKey{}, errors.New("neither an Ed25519 nor an ML-DSA-44 key")
	}
	if k.String() != vkey {
		return noteKey{}, errors.New("the id is not that of the key")
	}
	return k, nil
}

// made reports whether a signature line says that the key made it.
func (k noteKey) made(s noteLine) bool { return s.name == k.name && s.id == k.id() }

// verify checks the bytes of a signature of a checkpoint. The time is zero where the signature
// names none.
func (k noteKey) verify(c Checkpoint, sig []byte) (at time.Time, ok bool) {
	if k.algorithm == algEd25519 {
		return at, attest.Verify(k.public, []byte(c.Text), sig)
	}
	if len(sig) < 8 {
		return at, false
	}
	seconds, sig := binary.BigEndian.Uint64(sig), sig[8:]
	switch {
	case seconds > maxCosignedTime:
	case k.algorithm == algCosigned:
		ok = attest.Verify(k.public, fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", seconds, c.Text), sig)
	case len(k.name) < 256 && len(c.Origin) < 256:
		if pub, err := mldsa.NewPublicKey(mldsa.MLDSA44(), k.public); err == nil {
			ok = mldsa.Verify(pub, k.cosigned(c, seconds), sig, nil) == nil
		}
	}
	if ok && seconds > 0 {
		at = time.Unix(int64(seconds), 0).UTC()
	}
	return at, ok
}

// cosigned is what a witness signs by ML-DSA-44: the tree, its own name and the time.
func (k noteKey) cosigned(c Checkpoint, seconds uint64) []byte {
	var b bytes.Buffer
	b.WriteString("subtree/v1\n\x00")
	b.WriteByte(byte(len(k.name)))
	b.WriteString(k.name)
	b.Write(binary.BigEndian.AppendUint64(nil, seconds))
	b.WriteByte(byte(len(c.Origin)))
	b.WriteString(c.Origin)
	b.Write(binary.BigEndian.AppendUint64(nil, 0)) // from the first leaf
	b.Write(binary.BigEndian.AppendUint64(nil, uint64(c.Size)))
	b.Write(c.Root[:])
	return b.Bytes()
}
