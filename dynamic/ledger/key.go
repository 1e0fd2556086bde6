package ledger

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A key is a list of parts, each ended by a zero byte. Inside a part the bytes
// 0x00 and 0x01 are written 0x01 0x01 and 0x01 0x02, so that an ordinary text
// stands in the key as it is and any bytes may be a part.
const (
	endOfPart = 0x00
	escape    = 0x01
)

// Key joins parts to a key. The encoding is injective (different lists of parts
// are different keys), keeps order (keys compare as their lists of parts do,
// part by part, byte by byte, a shorter list before its extensions) and nests:
// Key("a", "b") is a byte prefix of Key("a", "b", "c") and of no key with
// another beginning. [Parts] undoes it.
//
//	Key("lease", "census") == []byte("lease\x00census\x00")
func Key(parts ...string) []byte {
	size := len(parts)
	for _, p := range parts {
		size += len(p)
	}
	key := make([]byte, 0, size)
	for _, p := range parts {
		for i := range len(p) {
			if c := p[i]; c <= escape {
				key = append(key, escape, c+1)
			} else {
				key = append(key, c)
			}
		}
		key = append(key, endOfPart)
	}
	return key
}

// Parts returns the parts that key was joined from. It fails for bytes that
// [Key] never makes.
func Parts(key []byte) ([]string, error) {
	var parts []string
	var part []byte
	for i := 0; i < len(key); i++ {
		switch c := key[i]; c {
		case endOfPart:
			parts = append(parts, string(part))
			part = part[:0]
		case escape:
			i++
			if i == len(key) || key[i] < 1 || key[i] > 2 {
				return nil, fmt.Errorf("ledger: key %q: bad escape", key)
			}
			part = append(part, key[i]-1)
		default:
			part = append(part, c)
		}
	}
	if len(key) > 0 && key[len(key)-1] != endOfPart {
		return nil, fmt.Errorf("ledger: key %q: last part has no end", key)
	}
	return parts, nil
}

// KeyText renders a key for people: its parts joined with slashes, or the
// quoted bytes if it is not made of parts.
func KeyText(key []byte) string {
	parts, err := Parts(key)
	if err != nil {
		return strconv.Quote(string(key))
	}
	return strings.Join(parts, "/")
}

// Prefix returns the range of all keys that begin with p, for Scan and
// ScanDown. An empty p gives the range of all keys.
//
//	for e, err := range tx.Scan(ledger.Prefix(ledger.Key("purchase"))) { … }
func Prefix(p []byte) (from, to []byte) {
	from = bytes.Clone(p)
	to = bytes.Clone(p)
	for i := len(to) - 1; i >= 0; i-- {
		if to[i] < 0xFF {
			to[i]++
			return from, slices.Clip(to[:i+1])
		}
	}
	// Nothing but 0xFF: no key is above the prefix and outside it.
	return from, nil
}

// Number writes n as a part whose byte order is numeric order: twenty decimal
// digits.
func Number(n uint64) string { return fmt.Sprintf("%020d", n) }

// ParseNumber reads what [Number] wrote, and nothing else.
func ParseNumber(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || Number(n) != s {
		return 0, fmt.Errorf("ledger: %q is not a number of a key", s)
	}
	return n, nil
}

// seconds writes the second of t as a Number. Times before 1970 count as 1970:
// they are all in the past of any ledger.
func seconds(t time.Time) string { return Number(uint64(max(0, t.Unix()))) }
