package attest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
)

// Purpose says what a key is for. Each purpose has a key of its own, because
// their formats and lifetimes differ.
type Purpose string

// The purposes of keys.
const (
	PurposeIdentity Purpose = "identity" // certificates, rows, rounds, JWS, manifests
	PurposeLog      Purpose = "log"      // checkpoints of the transparency log
	PurposeGit      Purpose = "git"      // commits of a publication repository
	PurposeWebhook  Purpose = "webhook"  // callbacks to buyers
)

// Purposes returns every purpose a key may have, the identity first.
func Purposes() []Purpose {
	return []Purpose{PurposeIdentity, PurposeLog, PurposeGit, PurposeWebhook}
}

// Algorithm is the name of the only signature algorithm used here (RFC 8032).
const Algorithm = "ed25519"

// Hex is bytes that are written in JSON as lower-case hexadecimal, and read
// back from that spelling only.
type Hex []byte

// MarshalText writes h in lower case.
func (h Hex) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h), nil }

// UnmarshalText reads lower-case hexadecimal and refuses everything else.
func (h *Hex) UnmarshalText(text []byte) error {
	b, err := ParseHex(string(text))
	if err != nil {
		return err
	}
	*h = b
	return nil
}

// String returns h in lower case.
func (h Hex) String() string { return hex.EncodeToString(h) }

// ParseHex decodes lower-case hexadecimal and refuses every other spelling.
func ParseHex(s string) ([]byte, error) {
	for i := range len(s) {
		if c := s[i]; !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			return nil, fmt.Errorf("decoding hex: %q is not lower-case hexadecimal", c)
		}
	}
	b, err := hex.DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("decoding hex: %w", err)
	}
	return b, nil
}

// Key is an ed25519 key pair. It never shows its private half when printed or
// logged. A Key may be used by several goroutines at once.
type Key struct {
	private ed25519.PrivateKey
	kid     string
}

// Generate makes a key from 32 bytes of random, normally crypto/rand.Reader.
func Generate(random io.Reader) (*Key, error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(random, seed); err != nil {
		return nil, fmt.Errorf("generating a key: %w", err)
	}
	return newKey(seed), nil
}

func newKey(seed []byte) *Key {
	p := ed25519.NewKeyFromSeed(seed)
	return &Key{private: p, kid: KID(p.Public().(ed25519.PublicKey))}
}

// Public returns the public half.
func (k *Key) Public() ed25519.PublicKey { return k.private.Public().(ed25519.PublicKey) }

// KID returns the key id, the RFC 7638 thumbprint of the public half.
func (k *Key) KID() string { return k.kid }

// Sign returns the 64-byte ed25519 signature of message.
func (k *Key) Sign(message []byte) []byte { return ed25519.Sign(k.private, message) }

// Format writes the key id, whatever the verb, so that a private half cannot
// reach a log by accident.
func (k *Key) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "ed25519 key %s", k.kid) }

// LogValue is the key id.
func (k *Key) LogValue() slog.Value { return slog.StringValue(k.kid) }

// KID returns the RFC 7638 thumbprint of an ed25519 public key in the form of
// RFC 8037: base64url of SHA-256 of {"crv":"Ed25519","kty":"OKP","x":"…"}.
func KID(pub ed25519.PublicKey) string {
	x := base64.RawURLEncoding.EncodeToString(pub)
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + x + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Verify reports whether signature is pub's signature of message. A public key
// or signature of the wrong length is false, not a panic.
func Verify(pub ed25519.PublicKey, message, signature []byte) bool {
	return len(pub) == ed25519.PublicKeySize && ed25519.Verify(pub, message, signature)
}

const pemType = "PRIVATE KEY"

// Store writes the key to a new file as PKCS#8 PEM (RFC 5958), readable by its
// owner alone, and returns when it is on disk. An existing file is never
// replaced (fs.ErrExist).
func (k *Key) Store(file string) (err error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.private)
	if err != nil {
		return fmt.Errorf("encoding key: %w", err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("storing key: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := pem.Encode(f, &pem.Block{Type: pemType, Bytes: der}); err != nil {
		return fmt.Errorf("storing key: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("storing key: %w", err)
	}
	dir, err := os.Open(filepath.Dir(file))
	if err != nil {
		return fmt.Errorf("storing key: %w", err)
	}
	defer dir.Close()
	return dir.Sync()
}

// maxKeyFile bounds what is read of a key file; a real one has 119 bytes.
const maxKeyFile = 4096

// LoadKey reads a key that Store wrote. A file that its group or others may
// read, or that holds anything beside the one key, is refused.
func LoadKey(file string) (*Key, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("loading key: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("loading key: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("loading key: %s is not a regular file", file)
	}
	if m := info.Mode().Perm(); m&0o077 != 0 {
		return nil, fmt.Errorf("loading key: %s has mode %04o; a private key must be 0600: chmod 600 it", file, m)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return nil, fmt.Errorf("loading key: %w", err)
	}
	k, err := parsePEM(b)
	if err != nil {
		return nil, fmt.Errorf("loading key %s: %w", file, err)
	}
	return k, nil
}

func parsePEM(b []byte) (*Key, error) {
	block, rest := pem.Decode(b)
	if block == nil || block.Type != pemType || len(block.Headers) > 0 {
		return nil, errors.New("no PKCS#8 private key in PEM")
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("more than one key in the file")
	}
	any, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parsing PKCS#8: %w", err)
	}
	p, ok := any.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the key is a %T, not ed25519", any)
	}
	return newKey(p.Seed()), nil
}

// SpecimenKey is the identity key of the specimen site. ITS PRIVATE HALF IS
// PUBLIC BY DESIGN: everyone who clones the repository can build the specimen
// byte for byte and sign it. A signature by it therefore proves nothing, and
// a server with this key must refuse to sell on any address but loopback.
func SpecimenKey() *Key { return SpecimenKeyFor(PurposeIdentity) }

// SpecimenKeyFor is the specimen's key for a purpose, public like SpecimenKey.
func SpecimenKeyFor(p Purpose) *Key { return specimenKey(string(p)) }

// SpecimenFormerLogKey is the log key that the specimen used before SpecimenHandover, public like
// SpecimenKey.
func SpecimenFormerLogKey() *Key { return specimenKey("former " + string(PurposeLog)) }

// specimens holds the keys of the specimen by name, which take longer to make than to find.
var specimens sync.Map

func specimenKey(name string) *Key {
	if k, made := specimens.Load(name); made {
		return k.(*Key)
	}
	seed := sha256.Sum256([]byte("this key is a specimen, its private half is public by design, trust nothing it " +
		"signs: " + name))
	k := newKey(seed[:])
	specimens.Store(name, k)
	return k
}

// IsSpecimen reports whether pub belongs to the specimen site, for any
// purpose. Such a key must never sign for a real store.
func IsSpecimen(pub ed25519.PublicKey) bool {
	for _, p := range Purposes() {
		if bytes.Equal(pub, SpecimenKeyFor(p).Public()) {
			return true
		}
	}
	return bytes.Equal(pub, SpecimenFormerLogKey().Public())
}
