package probe

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"

	"store.example/agentstore/corpus/exchange"

	"github.com/google/go-cmp/cmp"
)

// walked is the recording that a checker ends up with for the answers of a case: what it asks for
// beyond them could not be made.
func walked(t testing.TB, p *Preflight, answers []exchange.Exchange) []exchange.Exchange {
	t.Helper()
	var recorded []exchange.Exchange
	for {
		_, next, err := p.Step(recorded)
		if err != nil {
			t.Fatal(err)
		}
		if next == nil {
			return recorded
		}
		if n := len(recorded); n < len(answers) && answers[n].Request.Method == next.Request.Method &&
			answers[n].Request.URL == next.Request.URL {
			recorded = append(recorded, answers[n])
			continue
		}
		recorded = append(recorded, exchange.Exchange{Request: next.Request, StartedAt: answers[0].StartedAt,
			Error: exchange.Error{Stage: exchange.StageDeadline}})
	}
}

// TestJudgementGivesTheReport takes every case through the file form of its judgement.
func TestJudgementGivesTheReport(t *testing.T) {
	posted := 0
	for _, k := range cases(t) {
		for _, version := range []string{V1, V2} {
			for _, declared := range []Declaration{{}, {Method: "post", By: "catalog"},
				{Method: "GET", By: "catalog"}} {
				answers := door(t, k.script)
				p, err := NewPreflight(version, answers[0].Request.URL, declared)
				if err != nil {
					t.Fatal(err)
				}
				recorded := walked(t, p, answers)
				want, _, err := p.Step(recorded)
				if err != nil {
					t.Fatalf("%s: %v", k, err)
				}
				j, err := p.Judgement(recorded, Salt{1})
				if err != nil {
					t.Fatalf("%s: %v", k, err)
				}
				raw, err := j.Encode()
				if err != nil {
					t.Fatalf("%s: %v", k, err)
				}
				again, err := DecodeJudgement(raw)
				if err != nil {
					t.Fatalf("%s: %v", k, err)
				}
				got, err := again.Judge()
				if err != nil {
					t.Fatalf("%s: %v", k, err)
				}
				if diff := cmp.Diff(encode(t, want), encode(t, got)); diff != "" {
					t.Fatalf("%s under %s: another report from the judgement:\n%s", k, version, diff)
				}
				if again.Digest() != j.Digest() || len(j.Digest()) != 64 {
					t.Fatalf("%s: digests %q and %q", k, j.Digest(), again.Digest())
				}
				posted += len(again.Evidence) - 1
			}
		}
	}
	if posted == 0 {
		t.Error("no case made a POST")
	}
}

// TestJudgementHasOneSpelling changes every byte of an encoded judgement: it is refused, or its
// digest is another.
func TestJudgementHasOneSpelling(t *testing.T) {
	answers := door(t, "")
	p, err := NewPreflight(V2, answers[0].Request.URL, Declaration{Method: http.MethodPost, By: "catalog"})
	if err != nil {
		t.Fatal(err)
	}
	j, err := p.Judgement(answers, Salt{1})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := j.Encode()
	if err != nil {
		t.Fatal(err)
	}
	salt := `"salt":"01` + strings.Repeat("00", 31) + `"`
	for at := range raw {
		spoilt := bytes.Clone(raw)
		spoilt[at] ^= 1
		if got, err := DecodeJudgement(spoilt); err == nil && got.Digest() == j.Digest() {
			t.Fatalf("byte %d changed, and it is the same judgement", at)
		}
	}
	for _, c := range []struct{ name, old, new string }{
		{"another battery", `"battery":"v2"`, `"battery":"v3"`},
		{"another door", `"url":"https://door.example/weather","declared"`,
			`"url":"https://other.example/weather","declared"`},
		{"a space", `{"format"`, `{ "format"`},
		{"an unknown member", `"exchanges":1,`, `"exchanges":1,"more":1,`},
		{"no salt", salt, ""}, {"a salt of nothing", salt, `"salt":"` + strings.Repeat("00", 32) + `"`},
		{"half a salt", salt, `"salt":"` + strings.Repeat("01", 16) + `"`},
		{"a salt too long", salt, `"salt":"` + strings.Repeat("01", 33) + `"`},
		{"another count", `"exchanges":1,`, `"exchanges":2,`}, {"a method it does not ask with", `"method":"POST"`,
			`"method":"PUT"`},
		{"nobody who declared it", `"by":"catalog"`, `"by":""`},
		{"a POST that was not made", `"status":402`, `"status":405`},
	} {
		spoilt := strings.Replace(string(raw), c.old, c.new, 1)
		if spoilt == string(raw) {
			t.Fatalf("%s: %s is not there", c.name, c.old)
		}
		if _, err := DecodeJudgement([]byte(spoilt)); err == nil {
			t.Errorf("%s is accepted", c.name)
		}
	}
	if _, err := DecodeJudgement(make([]byte, MaxJudgement+1)); !errors.Is(err, exchange.ErrTooLarge) {
		t.Errorf("too much of it: %v", err)
	}
	if _, err := p.Judgement(answers, Salt{}); err == nil {
		t.Error("a judgement without a salt")
	}
	if other, err := p.Judgement(answers, Salt{2}); err != nil || other.Digest() == j.Digest() {
		t.Errorf("another salt, and the same digest: %v", err)
	}
	if _, err := p.Judgement(nil, Salt{1}); !errors.Is(err, ErrRecording) {
		t.Errorf("of nothing: %v", err)
	}
}
