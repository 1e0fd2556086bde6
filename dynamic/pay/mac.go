package pay

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"sync"
)

// MACs are HMAC-SHA-256 of one key, kept because every unpaid answer makes several.
type MACs struct{ free sync.Pool }

// mac is a MAC and room for what it is of.
type mac struct {
	hash.Hash
	buf []byte
}

// NewMACs returns those of a key.
func NewMACs(key []byte) *MACs {
	return &MACs{sync.Pool{New: func() any { return &mac{Hash: hmac.New(sha256.New, key)} }}}
}

// Append appends the MAC over some parts with "|" between them.
func (k *MACs) Append(dst []byte, parts ...string) []byte {
	m := k.free.Get().(*mac)
	defer k.free.Put(m)
	m.Reset()
	b := m.buf[:0]
	for i, part := range parts {
		if i > 0 {
			b = append(b, '|')
		}
		b = append(b, part...)
	}
	m.Write(b)
	m.buf = m.Sum(b)
	return append(dst, m.buf[len(b):]...)
}
