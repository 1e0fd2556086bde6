// Package challenge makes the nonces of texts that owners of wallets are asked to sign. Nothing is
// stored when one is given out: a nonce is a MAC over its use, address, network and end, so that
// whoever brings it back brings all that is needed to make the text again. Only success spends it,
// once, and that alone is kept, until its end: nobody can spend or crowd out another's by asking or
// by signing wrongly. What a text says, and how a signature over it is judged, is the caller's.
//
//	c := maker.New("claims", address, "eip155:8453", now)
//	…
//	c, ok := maker.Read("claims", address, "eip155:8453", nonce, now)
//	fresh, err := challenge.Spend(tx, "claims", c)
package challenge

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/ledger"
)

// Life is how long a challenge can be answered.
const Life = 5 * time.Minute

// A nonce is base32, lower case, of its end in Unix seconds, random bytes, so that no two are
// alike, and the MAC: 40 characters, which CAIP-122 allows (letters and digits).
const (
	endSize    = 5
	randomSize = 5
	macSize    = 15
)

// NonceLen is the length of every nonce in characters.
const NonceLen = (endSize + randomSize + macSize) * 8 / 5

// Challenge is a nonce and the end of its time, in whole seconds.
type Challenge struct {
	Nonce   string
	Expires time.Time
}

// Issued is when the challenge was made.
func (c Challenge) Issued() time.Time { return c.Expires.Add(-Life) }

// Maker makes and recognises nonces. Replicas that share its secret recognise each other's.
type Maker struct{ key [sha256.Size]byte }

// NewMaker derives the key of nonces from the store's secret.
func NewMaker(secret []byte) *Maker {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte("store-wallet-challenge/v2"))
	k := &Maker{}
	m.Sum(k.key[:0])
	return k
}

// New makes a challenge of an address, in the one spelling that its use has for it, on a network,
// "" where that does not matter. A use whose wallet is not known yet names what is asked for in its
// place.
func (m *Maker) New(use, address, network string, now time.Time) Challenge {
	c := Challenge{Expires: now.UTC().Truncate(time.Second).Add(Life)}
	var raw [endSize + randomSize + macSize]byte
	var end [8]byte
	binary.BigEndian.PutUint64(end[:], uint64(c.Expires.Unix()))
	copy(raw[:], end[8-endSize:])
	rand.Read(raw[endSize : endSize+randomSize])
	copy(raw[endSize+randomSize:], m.mac(raw[:endSize+randomSize], use, address, network))
	c.Nonce = attest.Base32.EncodeToString(raw[:])
	return c
}

// Read recognises a nonce that New made for the same use, address and network and whose time is not
// over.
func (m *Maker) Read(use, address, network, nonce string, now time.Time) (c Challenge, ok bool) {
	raw, err := attest.Base32.DecodeString(nonce)
	if err != nil || len(nonce) != NonceLen || len(raw) != endSize+randomSize+macSize {
		return Challenge{}, false
	}
	open, mac := raw[:endSize+randomSize], raw[endSize+randomSize:]
	if !hmac.Equal(mac, m.mac(open, use, address, network)) {
		return Challenge{}, false
	}
	var end [8]byte
	copy(end[8-endSize:], raw[:endSize])
	c = Challenge{Nonce: nonce, Expires: time.Unix(int64(binary.BigEndian.Uint64(end[:])), 0).UTC()}
	return c, now.Before(c.Expires)
}

func (m *Maker) mac(open []byte, use, address, network string) []byte {
	h := hmac.New(sha256.New, m.key[:])
	h.Write(open)
	for _, s := range []string{use, address, network} {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(s))))
		h.Write([]byte(s))
	}
	return h.Sum(nil)[:macSize]
}

// spent is nonce/spent/<use>/<end>/<nonce> in the ledger: a challenge that was answered.
const spent = "spent"

// forgotten is how many spent challenges whose time is over one more of them removes.
const forgotten = 4

// Spend marks a challenge as answered; fresh is false when it was already. The mark is kept until
// the challenge's end, by any clock that is not off by more than Life, and removed when a later one
// is spent.
func Spend(tx ledger.Tx, use string, c Challenge) (fresh bool, err error) {
	if is, err := Spent(tx, use, c); err != nil || is {
		return false, err
	}
	from, _ := ledger.Prefix(ledger.NonceKey(spent, use))
	_, to := ledger.Prefix(ledger.NonceKey(spent, use, ledger.Number(uint64(tx.Now().Add(-Life).Unix()))))
	if _, err := ledger.Forget(tx, from, to, forgotten); err != nil {
		return false, err
	}
	return true, tx.Set(spentKey(use, c), nil)
}

// Spent reports whether a challenge was answered, until its end.
func Spent(tx ledger.Tx, use string, c Challenge) (bool, error) {
	return ledger.Has(tx, spentKey(use, c))
}

func spentKey(use string, c Challenge) []byte {
	return ledger.NonceKey(spent, use, ledger.Number(uint64(c.Expires.Unix())), c.Nonce)
}
