package record

import (
	"fmt"
	"strings"
	"time"
)

// TextBytes is the length of a text between its quotation marks, as canonical JSON writes it.
func TextBytes(s string) int {
	n := len(s)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\' || c == '\b' || c == '\t' || c == '\n' || c == '\f' || c == '\r':
			n++
		case c < ' ':
			n += len(`\u0000`) - 1
		}
	}
	return n
}

// isHost accepts names in lower case of visible ASCII, as every name of a host is written, without
// anything that would need care in a URL, a path or JSON.
func isHost(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || c >= 'A' && c <= 'Z' || c == '/' || c == '"' || c == '\\' {
			return false
		}
	}
	return s != "" && len(s) <= maxHost
}

// IsSecond accepts an RFC 3339 time in UTC in whole seconds.
func IsSecond(s string) bool {
	t, err := time.Parse(SecondLayout, s)
	return err == nil && t.Format(SecondLayout) == s
}

// SecondLayout is a time in UTC, in whole seconds, as RFC 3339 has it.
const SecondLayout = "2006-01-02T15:04:05Z"

// ISOWeek returns the week of a moment in the form 2026-W47, in UTC.
func ISOWeek(t time.Time) string {
	year, week := t.UTC().ISOWeek()
	return fmt.Sprintf("%04d-W%02d", year, week)
}

// The forms below are looked at once for every row, so that they are spelt out rather than matched.

// IsWeek accepts 2026-W47, of weeks that their year has: most have no W53.
func IsWeek(s string) bool {
	if len(s) != 8 || !areDigits(s[:4]) || s[4:6] != "-W" || !areDigits(s[6:]) || s[6:] < "01" || "53" < s[6:] {
		return false
	}
	_, ok := weekBegins(s)
	return s[6:] < "53" || ok
}

// IsDigest accepts a SHA-256 in lower-case hexadecimal.
func IsDigest(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 64
}

// isLevel accepts L0 to L6.
func isLevel(s string) bool { return len(s) == 2 && s[0] == 'L' && '0' <= s[1] && s[1] <= '6' }

// isAmount accepts a decimal of at most six places and 80 bytes, without a sign and without leading
// zeros.
func isAmount(s string) bool {
	whole, part, point := strings.Cut(s, ".")
	return len(s) <= maxAmount && areDigits(whole) && (whole == "0" || whole[0] != '0') && (!point ||
		areDigits(part) && len(part) <= 6)
}

// printable accepts printable ASCII without a backslash.
func printable(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '\\' {
			return false
		}
	}
	return true
}

// areDigits accepts one digit or more.
func areDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
