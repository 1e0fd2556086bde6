package rail_test

import (
	"encoding/json/v2"
	"errors"
	"fmt"
	"testing"
	"time"

	"store.example/agentstore/dynamic/rail"
)

// An authorization may be valid for as long as was asked and five minutes more, or ten seconds more
// where the terms are firm (package till, M4).
func TestLatest(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	const standard = 300 * time.Second
	for _, c := range []struct {
		r    rail.Requirement
		want time.Duration
	}{
		{rail.Requirement{}, 600 * time.Second},
		{rail.Requirement{MaxTimeoutSeconds: 1}, 301 * time.Second},
		{rail.Requirement{MaxTimeoutSeconds: 60}, 360 * time.Second},
		{rail.Requirement{Firm: true}, 310 * time.Second},
		{rail.Requirement{MaxTimeoutSeconds: 1, Firm: true}, 11 * time.Second},
		{rail.Requirement{MaxTimeoutSeconds: 300}.Within(90*time.Second + 999*time.Millisecond), 100 * time.Second},
		{rail.Requirement{MaxTimeoutSeconds: 60}.Within(90 * time.Second), 70 * time.Second},
	} {
		if got := c.r.Latest(now, standard).Sub(now); got != c.want {
			t.Errorf("%+v: %v, want %v", c.r, got, c.want)
		}
	}
}

// A refusal says its reason, what is further known, and whether the authorization was used.
func TestRefusal(t *testing.T) {
	for want, r := range map[string]*rail.Refusal{
		"invalid_network": {Reason: "invalid_network"}, "invalid_payload: not JSON": {Reason: "invalid_payload",
			Message: "not JSON"},
		"used: on chain": {Reason: "used", Message: "on chain", Err: rail.ErrUsed},
	} {
		if err := fmt.Errorf("verifying: %w", r); r.Error() != want || errors.Is(err, rail.ErrUsed) != (r.Err != nil) {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// What a stranger says is shown without what would move a terminal's cursor or end a line, and no
// longer than its bound.
func TestPrintable(t *testing.T) {
	for s, want := range map[string]string{
		"plain ~ text": "plain ~ text", "\x1b[31mred": "[31mred", "a\r\nb\tc\x00": "abc", "rub\x7fout": "rubout",
		"na\u00efve \U0001f600": "nave ", "\xff\xfe": "", "0123456789abcdef": "0123456789abcde", "": "",
	} {
		if got := rail.Printable(s, 15); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

// What is stored of a verification is one flat object: ledgers have it below "mark".
func TestStoredVerification(t *testing.T) {
	v := rail.Verified{Block: 7, Time: time.Unix(8, 0).UTC(), Local: true, Code: "0x1"}
	b, err := json.Marshal(v)
	if want := `{"block":7,"time":"1970-01-01T00:00:08Z","local":true,"code":"0x1"}`; err != nil || string(b) != want {
		t.Errorf("stored as %s, %v; want %s", b, err, want)
	}
}
