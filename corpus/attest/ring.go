package attest

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/rule"
)

// RingFormat names the file format of a Ring.
const RingFormat = "store-key-ring/v1"

// ErrUnknownKey is returned when no published key matches.
var ErrUnknownKey = errors.New("no published key matches")

// PublicKey is the published half of a key in force.
type PublicKey struct {
	Purpose Purpose `json:"purpose"`
	Public  Hex     `json:"public_key"` // 32 bytes
	KID     string  `json:"kid"`        // RFC 7638 thumbprint of Public
	Since   string  `json:"since"`      // UTC date, YYYY-MM-DD
}

// RetiredKey is a key that signs no more. What it signed stays verifiable.
type RetiredKey struct {
	PublicKey
	RetiredOn string `json:"retired_on"` // UTC date, YYYY-MM-DD
}

// Ring is the public part of all keys a store has and had.
type Ring struct {
	Format string `json:"format"` // RingFormat
	// Current holds one key in force per purpose, the identity key first.
	Current []PublicKey `json:"current"`
	// Retired holds the former keys, oldest first.
	Retired []RetiredKey `json:"retired"`
	// Handovers join each retired key to its successor, oldest first.
	Handovers []Handover `json:"handovers"`
	// Walkers holds the keys of walkers at other places, sorted by their kids.
	Walkers []Walker `json:"walkers,omitempty"`
}

// Walker is the key of a walker at another place. It signs what that hands to the store and nothing
// of the record: it has no purpose, and ByKID does not find it.
type Walker struct {
	Public    Hex    `json:"public_key"`
	KID       string `json:"kid"`
	Since     string `json:"since"`               // UTC date
	RetiredOn string `json:"retired_on,omitzero"` // UTC date
}

// MaxWalkers is how many keys of walkers a ring names, retired ones too.
const MaxWalkers = 64

// NewRing starts a ring with the keys in force since a UTC date, one of them the identity.
func NewRing(since string, keys map[Purpose]ed25519.PublicKey) (Ring, error) {
	r := Ring{Format: RingFormat, Current: []PublicKey{}, Retired: []RetiredKey{}, Handovers: []Handover{}}
	for _, p := range Purposes() {
		if pub, ok := keys[p]; ok {
			r.Current = append(r.Current, PublicKey{Purpose: p, Public: Hex(pub), KID: KID(pub), Since: since})
		}
	}
	if len(r.Current) != len(keys) {
		return Ring{}, errors.New("starting a key ring: a key has an unknown purpose")
	}
	return r, r.Check()
}

// SpecimenRing is the ring of a site with the specimen's keys, which are public by design, before
// any handover.
func SpecimenRing() Ring { return specimenRing(SpecimenKeyFor(PurposeLog)) }

// SpecimenHandover is the UTC date on which the log of the specimen itself was handed over from
// SpecimenFormerLogKey. The ring after it stands in its record, because it names what had been
// logged until then.
const SpecimenHandover = "2026-10-05"

// SpecimenRingBefore is the ring of the specimen itself as it was before SpecimenHandover.
func SpecimenRingBefore() Ring { return specimenRing(SpecimenFormerLogKey()) }

func specimenRing(log *Key) Ring {
	keys := map[Purpose]ed25519.PublicKey{}
	for _, p := range Purposes() {
		keys[p] = SpecimenKeyFor(p).Public()
	}
	keys[PurposeLog] = log.Public()
	r, err := NewRing("2026-08-17", keys)
	if err != nil {
		panic(err) // fixed input
	}
	return r
}

// maxRingFile bounds a ring file: some thousand handovers.
const maxRingFile = 4 << 20

// ParseRing reads the file form of a ring and checks it (see Check).
func ParseRing(raw []byte) (Ring, error) {
	if len(raw) > maxRingFile {
		return Ring{}, rule.FileSize.Errorf("parsing key ring: larger than %d bytes", maxRingFile)
	}
	var r Ring
	if err := json.Unmarshal(raw, &r, json.RejectUnknownMembers(true)); err != nil {
		return Ring{}, fmt.Errorf("parsing key ring: %w", err)
	}
	if err := r.Check(); err != nil {
		return Ring{}, err
	}
	return r, nil
}

// Encode returns the file form of the ring: indented JSON with a final newline.
func (r Ring) Encode() ([]byte, error) { return indented(r) }

// indented is JSON for people: two spaces, a final newline.
func indented(v any) ([]byte, error) {
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return nil, fmt.Errorf("encoding JSON: %w", err)
	}
	return append(b, '\n'), nil
}

// Check demands a consistent ring: known purposes, kids that fit their keys, no key twice, dates,
// one identity in force, and for each purpose a chain of handovers that leads from its first key
// to the one in force and retires each key on the date its handover took effect.
func (r Ring) Check() error {
	if r.Format != RingFormat {
		return fmt.Errorf("checking key ring: format is %q, want %q", r.Format, RingFormat)
	}
	seen := map[string]bool{}
	key := func(k PublicKey) error {
		switch {
		case !slices.Contains(Purposes(), k.Purpose):
			return fmt.Errorf("checking key ring: unknown purpose %q", k.Purpose)
		case len(k.Public) != ed25519.PublicKeySize:
			return fmt.Errorf("checking key ring: %s key has %d bytes", k.Purpose, len(k.Public))
		case KID(ed25519.PublicKey(k.Public)) != k.KID:
			return rule.RingKey.Errorf("checking key ring: kid %q is not the thumbprint of its key", k.KID)
		case seen[k.KID]:
			return rule.RingKey.Errorf("checking key ring: key %s stands twice", k.KID)
		case !isDate(k.Since):
			return fmt.Errorf("checking key ring: %q is not a date", k.Since)
		}
		seen[k.KID] = true
		return nil
	}
	inForce := map[Purpose]PublicKey{}
	for _, k := range r.Current {
		if err := key(k); err != nil {
			return err
		}
		if _, twice := inForce[k.Purpose]; twice {
			return rule.RingKey.Errorf("checking key ring: two %s keys in force", k.Purpose)
		}
		inForce[k.Purpose] = k
	}
	if _, ok := inForce[PurposeIdentity]; !ok {
		return rule.RingKey.Errorf("checking key ring: no identity key in force")
	}
	for _, k := range r.Retired {
		if err := key(k.PublicKey); err != nil {
			return err
		}
		if !isDate(k.RetiredOn) || k.RetiredOn < k.Since {
			return rule.RingHandover.Errorf("checking key ring: key %s cannot have been retired on %q", k.KID,
				k.RetiredOn)
		}
	}
	last := ""
	for _, w := range r.Walkers {
		// It is held to what any key is held to, and is none of the others.
		if err := key(PublicKey{PurposeIdentity, w.Public, w.KID, w.Since}); err != nil {
			return err
		}
		if w.KID <= last || len(r.Walkers) > MaxWalkers || w.RetiredOn != "" && (!isDate(w.RetiredOn) ||
			w.RetiredOn < w.Since) {
			return fmt.Errorf("checking key ring: walker %s is not in its place, of more than %d, or retired on %q",
				w.KID, MaxWalkers, w.RetiredOn)
		}
		last = w.KID
	}
	return r.checkHandovers(inForce)
}

func (r Ring) checkHandovers(inForce map[Purpose]PublicKey) error {
	if len(r.Handovers) != len(r.Retired) {
		return rule.RingHandover.Errorf("checking key ring: %d handovers for %d retired keys", len(r.Handovers),
			len(r.Retired))
	}
	for _, p := range Purposes() {
		var chain []Handover
		for _, h := range r.Handovers {
			if h.Purpose == p {
				chain = append(chain, h)
			}
		}
		if len(chain) == 0 {
			continue
		}
		current, ok := inForce[p]
		if !ok {
			return rule.RingHandover.Errorf("checking key ring: %s keys were handed over but none is in force", p)
		}
		if err := VerifyHandovers(chain, ed25519.PublicKey(chain[0].FromPublic),
			ed25519.PublicKey(current.Public)); err != nil {
			return rule.RingHandover.By(err)
		}
		if last := chain[len(chain)-1]; current.Since != last.Effective {
			return rule.RingHandover.Errorf("checking key ring: key %s is in force since %s but was handed "+
				"over on %s", current.KID, current.Since, last.Effective)
		}
		since := ""
		for _, h := range chain {
			i := slices.IndexFunc(r.Retired, func(k RetiredKey) bool { return k.KID == h.FromKID && k.Purpose == p })
			if i < 0 || r.Retired[i].RetiredOn != h.Effective {
				return rule.RingHandover.Errorf("checking key ring: key %s is not retired on %s, as its "+
					"handover says", h.FromKID, h.Effective)
			}
			if since != "" && r.Retired[i].Since != since {
				return rule.RingHandover.Errorf("checking key ring: key %s is in force since %s but was "+
					"handed over on %s", h.FromKID, r.Retired[i].Since, since)
			}
			since = h.Effective
		}
	}
	return nil
}

// Identity returns the identity key in force; the zero key on an empty ring.
func (r Ring) Identity() PublicKey {
	k, _ := r.For(PurposeIdentity)
	return k
}

// For returns the key in force for a purpose.
func (r Ring) For(p Purpose) (PublicKey, bool) {
	for _, k := range r.Current {
		if k.Purpose == p {
			return k, true
		}
	}
	return PublicKey{}, false
}

// Signer says which published key signed something, in the words of a verification answer.
type Signer struct {
	Key       string  `json:"key"`    // kid
	Status    string  `json:"status"` // SignerCurrent or SignerRetired
	RetiredOn string  `json:"retired_on,omitzero"`
	Since     string  `json:"-"` // UTC date
	Purpose   Purpose `json:"-"`
	Public    Hex     `json:"-"`
}

// ErrNotInForce is returned for what a key signed before its time or after it.
var ErrNotInForce = errors.New("the key was not in force")

// InForce demands that the key was in force at a moment, in the form of RFC 3339 or a date alone,
// in UTC. On the day of a handover both keys are.
func (s Signer) InForce(at string) error {
	date := at[:min(len(at), len(time.DateOnly))]
	switch {
	case date < s.Since:
		return fmt.Errorf("%w: of %s, and key %s is used from %s", ErrNotInForce, date, s.Key, s.Since)
	case s.RetiredOn != "" && date > s.RetiredOn:
		return fmt.Errorf("%w: of %s, and key %s was retired on %s", ErrNotInForce, date, s.Key, s.RetiredOn)
	}
	return nil
}

// WalkerInForce demands that a kid is that of a walker's key in force at a moment (see InForce).
func (r Ring) WalkerInForce(kid, at string) error {
	for _, w := range r.Walkers {
		if w.KID == kid {
			return Signer{Key: kid, Since: w.Since, RetiredOn: w.RetiredOn}.InForce(at)
		}
	}
	return fmt.Errorf("%w: %s is no walker's", ErrUnknownKey, kid)
}

// LogKey is a key that signs the heads of the log, or did, and between which of them.
type LogKey struct {
	KID    string
	Public Hex
	From   LogHead  // its first head has at least this size
	To     *LogHead // its last head, nil while it is in force
}

// LogKeys returns the keys that signed the log, oldest first.
func (r Ring) LogKeys() []LogKey {
	var out []LogKey
	from := LogHead{Root: MerkleRoot(nil)}
	for _, h := range r.Handovers {
		if h.Purpose == PurposeLog && h.LastHead != nil {
			out = append(out, LogKey{KID: h.FromKID, Public: h.FromPublic, From: from, To: h.LastHead})
			from = *h.LastHead
		}
	}
	if k, ok := r.For(PurposeLog); ok {
		out = append(out, LogKey{KID: k.KID, Public: k.Public, From: from})
	}
	return out
}

// LogHandovers returns the heads at which the log changed hands after something had been logged,
// oldest first.
func (r Ring) LogHandovers() []LogHead {
	var out []LogHead
	for _, k := range r.LogKeys() {
		if k.To != nil && k.To.Size > 0 && (len(out) == 0 || out[len(out)-1] != *k.To) {
			out = append(out, *k.To)
		}
	}
	return out
}

// Continues reports, with a reason where it does not, whether r has every key, date and handover of
// an older ring and goes on from it by signed handovers alone.
func (r Ring) Continues(older Ring) error {
	if len(r.Handovers) < len(older.Handovers) || len(r.Retired) < len(older.Retired) {
		return errors.New("continuing a ring: it knows fewer handovers")
	}
	for i, h := range older.Handovers {
		// A key that was given up could sign its own last word again, with another one.
		if was, err := Canonical(h); err != nil {
			return err
		} else if now, err := Canonical(r.Handovers[i]); err != nil || !bytes.Equal(was, now) {
			return errors.Join(fmt.Errorf("continuing a ring: handover %d of %s was another", i+1, h.FromKID), err)
		}
	}
	for i, k := range older.Retired {
		if !k.PublicKey.same(r.Retired[i].PublicKey) || k.RetiredOn != r.Retired[i].RetiredOn {
			return fmt.Errorf("continuing a ring: key %s was retired on %s", k.KID, k.RetiredOn)
		}
	}
	for _, w := range older.Walkers {
		if !slices.ContainsFunc(r.Walkers, func(now Walker) bool {
			return now.KID == w.KID && now.Since == w.Since && (w.RetiredOn == "" || now.RetiredOn == w.RetiredOn)
		}) {
			return fmt.Errorf("continuing a ring: walker %s has other dates, or is gone", w.KID)
		}
	}
	for _, k := range older.Current {
		now, ok := r.For(k.Purpose)
		if !ok {
			return fmt.Errorf("continuing a ring: there is no %s key any more", k.Purpose)
		}
		if now.KID == k.KID {
			if !k.same(now) {
				return fmt.Errorf("continuing a ring: key %s was in force since %s", k.KID, k.Since)
			}
			continue
		}
		var chain []Handover
		for _, h := range r.Handovers[len(older.Handovers):] {
			if h.Purpose == k.Purpose {
				chain = append(chain, h)
			}
		}
		if err := VerifyHandovers(chain, ed25519.PublicKey(k.Public), ed25519.PublicKey(now.Public)); err != nil {
			return fmt.Errorf("continuing a ring: %w", err)
		}
		if !slices.ContainsFunc(r.Retired, func(was RetiredKey) bool { return was.PublicKey.same(k) }) {
			return fmt.Errorf("continuing a ring: key %s was in force since %s", k.KID, k.Since)
		}
	}
	return nil
}

func (k PublicKey) same(o PublicKey) bool {
	return k.Purpose == o.Purpose && k.Since == o.Since && bytes.Equal(k.Public, o.Public)
}

// The states of a signer.
const (
	SignerCurrent = "current"
	SignerRetired = "retired"
)

// ByKID finds a published key, in force or retired, by its thumbprint.
func (r Ring) ByKID(kid string) (Signer, bool) {
	return r.find(func(k PublicKey) bool { return k.KID == kid })
}

// ByPublic finds a published key by its 32 bytes.
func (r Ring) ByPublic(pub ed25519.PublicKey) (Signer, bool) {
	return r.find(func(k PublicKey) bool { return bytes.Equal(k.Public, pub) })
}

func (r Ring) find(match func(PublicKey) bool) (Signer, bool) {
	for _, k := range r.Current {
		if match(k) {
			return Signer{Key: k.KID, Status: SignerCurrent, Since: k.Since, Purpose: k.Purpose,
				Public: k.Public}, true
		}
	}
	for _, k := range r.Retired {
		if match(k.PublicKey) {
			return Signer{Key: k.KID, Status: SignerRetired, RetiredOn: k.RetiredOn, Since: k.Since,
				Purpose: k.Purpose, Public: k.Public}, true
		}
	}
	return Signer{}, false
}

// Resolver returns the function that OpenJWS needs to find the identity keys
// of this ring, current and retired, under their did:web URLs at baseHost.
func (r Ring) Resolver(baseHost string) func(kid string) (ed25519.PublicKey, error) {
	prefix := DID(baseHost) + "#"
	return func(kid string) (ed25519.PublicKey, error) {
		thumb, ok := strings.CutPrefix(kid, prefix)
		if !ok {
			return nil, fmt.Errorf("%w: %s", ErrUnknownKey, kid)
		}
		s, ok := r.ByKID(thumb)
		if !ok || s.Purpose != PurposeIdentity {
			return nil, fmt.Errorf("%w: %s", ErrUnknownKey, kid)
		}
		return ed25519.PublicKey(s.Public), nil
	}
}

func isDate(s string) bool {
	t, err := time.Parse(time.DateOnly, s)
	return err == nil && t.Format(time.DateOnly) == s
}
