package shop

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
)

// Places of keys in a folder of keys.

// KeyFile is where the private half of a purpose is.
func KeyFile(dir string, p attest.Purpose) string { return filepath.Join(dir, string(p)+".pem") }

// RingFile is where the published halves are.
func RingFile(dir string) string { return filepath.Join(dir, "ring.json") }

// SecretFile is where the till's secret is.
func SecretFile(dir string) string { return filepath.Join(dir, "till.secret") }

// NoKeys fails where a folder has keys already.
func NoKeys(dir string) error {
	_, err := os.Stat(RingFile(dir))
	if err == nil {
		return fmt.Errorf("%s exists: these keys are in use; store key handover replaces one", RingFile(dir))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// MakeKeys makes one key for each purpose, their ring and the till's secret in a folder. Nothing
// that exists is touched.
func MakeKeys(dir, since string) (attest.Ring, error) {
	if err := NoKeys(dir); err != nil {
		return attest.Ring{}, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return attest.Ring{}, err
	}
	publics := make(map[attest.Purpose]ed25519.PublicKey)
	for _, p := range attest.Purposes() {
		k, err := attest.Generate(rand.Reader)
		if err != nil {
			return attest.Ring{}, err
		}
		if err := k.Store(KeyFile(dir, p)); err != nil {
			return attest.Ring{}, fmt.Errorf("storing the %s key: %w", p, err)
		}
		publics[p] = k.Public()
	}
	secret := make([]byte, 48)
	rand.Read(secret)
	if err := WriteNew(SecretFile(dir), secret, 0o600); err != nil {
		return attest.Ring{}, err
	}
	ring, err := attest.NewRing(since, publics)
	if err != nil {
		return attest.Ring{}, err
	}
	return ring, WriteRing(dir, ring)
}

// WriteRing replaces the ring file as a whole.
func WriteRing(dir string, ring attest.Ring) error {
	b, err := ring.Encode()
	if err != nil {
		return err
	}
	tmp := RingFile(dir) + ".new"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a crash
		return err
	}
	if err := WriteNew(tmp, b, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, RingFile(dir))
}

// LogHandover is who hands a log over to whom, and what changes. Ring is that of the folder of
// keys.
type LogHandover struct {
	Ring     attest.Ring
	Outgoing *attest.Key
	Incoming ed25519.PublicKey
	Change   attest.Change
}

// HandOverLog has the key of the log sign the last head that is its own, in the record of a
// configuration, and hand over. ring is that of the folder of keys, which the record must have too;
// the record has the new one when it returns. Where an earlier call was cut off behind that, its
// ring is returned.
func HandOverLog(ctx context.Context, config string, h LogHandover) (attest.Ring, error) {
	fail := func(err error) (attest.Ring, error) {
		return attest.Ring{}, fmt.Errorf("handing the log over: %w", err)
	}
	c, err := Load(config)
	if err != nil {
		return fail(fmt.Errorf("the handover names the last head of the record's log, and the configuration "+
			"(-config) says where that is: %w", err))
	}
	if c.Record == "" {
		h.Change.LastHead = &attest.LogHead{Root: attest.MerkleRoot(nil)}
		return h.Ring.Handover(h.Change, h.Outgoing, h.Incoming)
	}
	w, err := RecordWriter(c)
	if err != nil {
		return fail(err)
	}
	if h.Ring.Continues(w.Ring) != nil || w.Ring.Continues(h.Ring) != nil {
		return fail(fmt.Errorf("the keys of %s are others than those of the folder (-dir)", config))
	}
	next, err := w.HandOver(ctx, h.Incoming, h.Change.Effective, h.Change.Reason)
	if !errors.Is(err, seal.ErrRing) {
		return next, err
	}
	raw, readErr := os.ReadFile(filepath.Join(c.Record, record.RingFile))
	if readErr != nil {
		return fail(readErr)
	}
	held, readErr := attest.ParseRing(raw)
	if readErr != nil {
		return fail(readErr)
	}
	if k, _ := held.For(attest.PurposeLog); k.KID != attest.KID(h.Incoming) {
		return fail(err)
	}
	return held, nil
}

// CoverHandover has the record's manifest know the ring that a handover of the log left in the
// record. It is called when the new key is in its place.
func CoverHandover(ctx context.Context, config string) error {
	c, err := Load(config)
	if err != nil || c.Record == "" {
		return err
	}
	w, err := RecordWriter(c)
	if err != nil {
		return err
	}
	return CoverWhatChanged(ctx, c, w)
}

// WriteNew writes a file that must not exist, and returns when it is on disk.
func WriteNew(path string, b []byte, mode os.FileMode) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(b); err != nil {
		return err
	}
	return f.Sync()
}

// Ring loads the published keys. Those of the specimen are in its record once a key of it was
// handed over.
func Ring(c *Config) (attest.Ring, error) {
	if c.Keys.Ring == Specimen {
		return specimenRing(c.Record)
	}
	b, err := os.ReadFile(c.Keys.Ring)
	if err != nil {
		return attest.Ring{}, missingKey("keys.ring", err)
	}
	ring, err := attest.ParseRing(b)
	if err != nil {
		return ring, missingKey("keys.ring, "+c.Keys.Ring, err)
	}
	return ring, nil
}

func specimenRing(rec string) (attest.Ring, error) {
	b, err := os.ReadFile(filepath.Join(rec, record.RingFile))
	if rec == "" || errors.Is(err, fs.ErrNotExist) {
		return attest.SpecimenRing(), nil
	}
	if err != nil {
		return attest.Ring{}, fmt.Errorf("reading the specimen's keys: %w", err)
	}
	held, err := attest.ParseRing(b)
	if err == nil && held.Continues(attest.SpecimenRing()) != nil {
		err = held.Continues(attest.SpecimenRingBefore())
	}
	if err != nil {
		return attest.Ring{}, fmt.Errorf("reading the specimen's keys in %s: %w; hint: the record has other keys: "+
			"name those of store key init as keys.identity and keys.ring", rec, err)
	}
	return held, nil
}

// WalkerKeyFile is the name of the key of a walker at another place, in the folder of its keys.
const WalkerKeyFile = "walker.pem"

// AdmitWalker has a ring name the public key, in hex, of a walker at another place, from a UTC date
// on, and returns its kid.
func AdmitWalker(ring *attest.Ring, public, since string) (kid string, err error) {
	key, err := hex.DecodeString(public)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return "", fmt.Errorf("%.80q is no public key of 32 bytes in hex: take what store key walker prints where the "+
			"walker stands", public)
	}
	kid = attest.KID(key)
	next := append(slices.Clone(ring.Walkers), attest.Walker{Public: key, KID: kid, Since: since})
	slices.SortFunc(next, func(a, b attest.Walker) int { return strings.Compare(a.KID, b.KID) })
	ring.Walkers = next
	return kid, ring.Check()
}

// RetireWalker ends the use of a walker's key in a ring with a UTC date, the last on which it
// counts.
func RetireWalker(ring *attest.Ring, kid, on string) error {
	i := slices.IndexFunc(ring.Walkers, func(w attest.Walker) bool { return w.KID == kid && w.RetiredOn == "" })
	if i < 0 {
		return fmt.Errorf("%.80q is no walker's key in force: store key list shows their ids", kid)
	}
	ring.Walkers = slices.Clone(ring.Walkers)
	ring.Walkers[i].RetiredOn = on
	return ring.Check()
}
