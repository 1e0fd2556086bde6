package record

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
)

// TestLongYears: some years have a week 53, and others do not.
func TestLongYears(t *testing.T) {
	for week, has := range map[string]bool{"2026-W53": true, "2023-W53": false, "2020-W53": true, "2024-W53": false,
		"2024-W54": false, "2024-W00": false} {
		if IsWeek(week) != has {
			t.Errorf("%s: want %v", week, has)
		}
	}
}

// TestForms compares the forms that are spelt out with regular expressions, over texts that are
// nearly of each form.
func TestForms(t *testing.T) {
	long := strings.Repeat("0a", 32)
	r := rand.New(rand.NewPCG(1, 1))
	for _, form := range []struct {
		is   func(string) bool
		want *regexp.Regexp
		like []string
		from string
	}{
		{IsWeek, regexp.MustCompile(`^[0-9]{4}-W(0[1-9]|[1-4][0-9]|5[0-3])$`),
			[]string{"2026-W47", "2026-W01", "2026-W52"}, "012456789-W"},
		{IsDigest, regexp.MustCompile(`^[0-9a-f]{64}$`), []string{long, strings.Repeat("b1", 32)}, "0aAfgG9\n"},
		{isLevel, regexp.MustCompile(`^L[0-6]$`), []string{"L0", "L6"}, "L067l"},
		{isAmount, regexp.MustCompile(`^(0|[1-9][0-9]*)(\.[0-9]{1,6})?$`), []string{"0", "0.1", "10.123456", "1."},
			"0123.-+e"},
	} {
		held := 0
		for i := range 20_000 {
			s := []byte(form.like[i%len(form.like)])
			for range r.IntN(3) {
				c := form.from[r.IntN(len(form.from))]
				switch at := r.IntN(len(s) + 1); r.IntN(3) {
				case 0:
					s = append(s[:at:at], append([]byte{c}, s[at:]...)...)
				case 1:
					s = append(s[:at:at], s[min(at+1, len(s)):]...)
				default:
					if at < len(s) {
						s[at] = c
					}
				}
			}
			want := form.want.Match(s)
			if form.is(string(s)) != want {
				t.Fatalf("%q: want %v", s, want)
			}
			if want {
				held++
			}
		}
		if held < 100 || held > 19_900 {
			t.Errorf("%d of 20000 texts are of the form %s", held, form.want)
		}
	}
}

// TestHostEntryIsCanonical compares what is spelt out with the canonical form and with that of RFC
// 8785.
func TestHostEntryIsCanonical(t *testing.T) {
	for _, host := range []string{"a.example", "xn--ls8h.example", "127.0.0.1:8443", "<&>.example"} {
		e := HostEntry{FirstSequence: 7, Head: attest.Digest{1, 0xab}, Host: host, LastLeaf: 1<<53 - 1, Rows: 520}
		got, err := e.Encode()
		if err != nil {
			t.Errorf("%s: %v", host, err)
		}
		for _, canonical := range []func(any) ([]byte, error){attest.Canonical, attest.JCS} {
			b, err := canonical(e)
			if err != nil || !bytes.Equal(got, b) {
				t.Errorf("%s is encoded %s and not %s: %v", host, got, b, err)
			}
		}
		if back, err := ParseHostEntry(got); err != nil || back != e {
			t.Errorf("%s is read as %v: %v", got, back, err)
		}
		for at := range got {
			for _, other := range []byte(" 0+e\"}") {
				spoilt := bytes.Clone(got)
				spoilt[at] = other
				back, err := ParseHostEntry(spoilt)
				if again, _ := back.Encode(); err == nil && !bytes.Equal(again, spoilt) {
					t.Errorf("%s is read, and is %s", spoilt, again)
				}
			}
			if _, err := ParseHostEntry(got[:at]); err == nil {
				t.Errorf("%s is read", got[:at])
			}
		}
	}
	for _, host := range []string{"", `a"b`, `a\b`, "A.example", "a\n", "käse.example", "\u202e.example",
		strings.Repeat("a", 254)} {
		if _, err := (HostEntry{Host: host}).Encode(); err == nil {
			t.Errorf("%q is encoded", host)
		}
	}
}
