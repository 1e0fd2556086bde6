package route_test

import (
	"errors"
	"testing"

	"store.example/agentstore/dynamic/route"
)

// What is kept is what was made for the same key in the same edition, and it stays bounded.
func TestMemo(t *testing.T) {
	var m route.Memo[int, int, int]
	made := 0
	get := func(edition, key int) int {
		t.Helper()
		v, err := m.Get(edition, key, func() (int, error) { made++; return 1000*edition + key, nil })
		if err != nil || v != 1000*edition+key {
			t.Fatalf("Get(%d, %d) = %d, %v", edition, key, v, err)
		}
		return made
	}
	for _, step := range []struct{ edition, key, made int }{
		{1, 1, 1}, {1, 1, 1}, {1, 2, 2}, {1, 1, 2}, // once a key
		{2, 1, 3}, {2, 1, 3}, {2, 2, 4}, // anew in another edition
		{1, 1, 5}, {2, 1, 6}, // also in one that was there before
	} {
		if got := get(step.edition, step.key); got != step.made {
			t.Fatalf("after edition %d, key %d: made %d times, want %d", step.edition, step.key, got, step.made)
		}
	}
	for key := range 10_000 {
		get(3, key)
	}
	if before := made; get(3, 9_999) != before || get(3, 0) != before+1 {
		t.Error("the newest is not kept, or everything is")
	}
	if _, err := m.Get(3, -1, func() (int, error) { return 0, errors.New("no") }); err == nil {
		t.Error("an error is lost")
	}
	if _, err := m.Get(3, -1, func() (int, error) { return 0, nil }); err != nil {
		t.Error("an error is kept")
	}
}
