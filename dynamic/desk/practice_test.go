package desk

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"testing"
	"time"

	"store.example/agentstore/corpus/practice"
)

// Every 402 of this store suggests a key, those of its practice doors too, which are otherwise as
// their rows have them.
func TestPracticeDoorsSuggestAKey(t *testing.T) {
	key := regexp.MustCompile(`^store-[a-z2-7]{26}-[0-9]{12}$`)
	seen := make(map[string]bool)
	now := time.Date(2026, 11, 22, 10, 30, 15, 0, time.UTC)
	for _, p := range practice.All() {
		a := p.Answer("https://store.example/api/practice/" + p.ID)
		if a.Status != http.StatusPaymentRequired {
			continue
		}
		got := withSuggestion(a.Body, p.ID, now)
		var before, after map[string]any
		if err := json.Unmarshal(a.Body, &before); err != nil {
			if p.ID != "prose-payment" || !bytes.Equal(got, a.Body) {
				t.Errorf("%s: the body is no object: %s, and became %s", p.ID, a.Body, got)
			}
			continue
		}
		if err := json.Unmarshal(got, &after); err != nil {
			t.Errorf("%s: %v in %s", p.ID, err, got)
			continue
		}
		said, _ := after["idempotency"].(map[string]any)
		suggested, _ := said["suggested_key"].(string)
		if !key.MatchString(suggested) || seen[suggested] || said["header"] != "Idempotency-Key" ||
			len(after) != len(before)+1 {
			t.Errorf("%s suggests %v", p.ID, said)
		}
		seen[suggested] = true
		if again := withSuggestion(a.Body, p.ID, now.Add(40*time.Second)); !bytes.Equal(got, again) {
			t.Errorf("%s suggests another key in the same minute", p.ID)
		}
		if later := withSuggestion(a.Body, p.ID, now.Add(time.Minute)); bytes.Equal(got, later) {
			t.Errorf("%s suggests the same key in the next minute", p.ID)
		}
	}
	if len(seen) < 10 {
		t.Errorf("%d doors suggest a key", len(seen))
	}
	if got := withSuggestion([]byte("not JSON}"), "x", now); string(got) != "not JSON}" {
		t.Errorf("what is no object became %s", got)
	}
}
