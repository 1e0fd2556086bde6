package solana

import (
	"slices"
	"testing"
	"time"
)

// A hint is given away while it is fresh, and remembered for longer.
func TestHintsAge(t *testing.T) {
	r := &Rail{hints: map[key]Hint{}}
	if h, ok := r.Hint(); ok {
		t.Errorf("Hint = %+v of nothing", h)
	}
	for age, want := range map[time.Duration]bool{0: true, hintFresh - time.Second: true, hintFresh +
		time.Second: false} {
		r.recent, r.hints[key{1}] = []key{{1}}, Hint{"abc", 7, time.Now().Add(-age), 1}
		h, ok := r.Hint()
		if ok != want {
			t.Errorf("a hint of %s is given away: %v", age, ok)
		}
		said := []string{Memo("nonce", "door"), "", ""}
		if want {
			said[1], said[2] = h.Blockhash, "7"
		}
		if got := r.values("nonce", "door"); !slices.Equal(got, said) {
			t.Errorf("with a hint of %s a 402 says %q, want %q", age, got, said)
		}
		if last, err := r.lastValid(t.Context(), key{1}, 0); last != 7 || err != nil {
			t.Errorf("the height of a hint of %s is %d, %v", age, last, err)
		}
	}
}
