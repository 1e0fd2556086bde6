package networks

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
)

func TestForms(t *testing.T) {
	for s, want := range map[string]string{"": "", "1": "00", "11": "0000", "2g": "61",
		"StV1DL6CwTryKyV": "68656c6c6f20776f726c64", "1112": "00000001"} {
		b, err := DecodeBase58(s)
		if err != nil || hex.EncodeToString(b) != want || EncodeBase58(b) != s {
			t.Errorf("Decode(%q) = %x, %v, want %s, and back %q", s, b, err, want, EncodeBase58(b))
		}
	}
	for _, s := range []string{"0", "O", "I", "l", " 2g", "2g\n", "é", strings.Repeat("1", 129)} {
		if b, err := DecodeBase58(s); err == nil {
			t.Errorf("Decode(%q) = %x", s, b)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("\x00\x00hello"))
	f.Add([]byte("StV1DL6CwTryKyV"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s := EncodeBase58(b); len(s) <= longest {
			if back, err := DecodeBase58(s); err != nil || !bytes.Equal(back, b) {
				t.Errorf("%x becomes %q becomes %x, %v", b, s, back, err)
			}
		}
		if back, err := DecodeBase58(string(b)); err == nil && EncodeBase58(back) != string(b) {
			t.Errorf("%q is another spelling of %q", b, EncodeBase58(back))
		}
	})
}
