package derive

import "testing"

// A shard's name is a file's: letters, digits and hyphens as they are, and nothing else of a prefix
// but by its digits.
func TestShardNames(t *testing.T) {
	for prefix, want := range map[string]string{
		"abc-xyz": "abc-xyz", "az09": "az09", "a.b": "a_2eb", "": "", "A": "_41", "_": "_5f", "/": "_2f",
		"..": "_2e_2e", "`{": "_60_7b", "é": "_c3_a9",
	} {
		if got := ShardName(prefix); got != want {
			t.Errorf("ShardName(%q) = %q, want %q", prefix, got, want)
		}
	}
	seen := map[string]int{}
	for c := range 256 {
		name := ShardName(string([]byte{byte(c)}))
		if before, twice := seen[name]; twice {
			t.Errorf("bytes %d and %d are both %s", before, c, name)
		}
		seen[name] = c
	}
}
