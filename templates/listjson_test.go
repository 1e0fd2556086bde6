package templates

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"agentstore/corpus/derive"
)

// TestListsAreWhatTheLibraryWrites holds the lists that are written member by member against those of the library, with
// every member set at random: a member that the writer does not know is seen here.
func TestListsAreWhatTheLibraryWrites(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var written, left, refused int
	check := func(v any, write func() ([]byte, error), odd func() bool) {
		t.Helper()
		want, wantErr := document(v)
		got, err := write()
		if fmt.Sprint(err) != fmt.Sprint(wantErr) || string(got) != string(want) {
			t.Fatalf("%v\n%s\nwant %v\n%s", err, got, wantErr, want)
		}
		switch {
		case err != nil:
			refused++
		case odd():
			left++
		default:
			written++
		}
	}
	for i := range 4000 {
		texts := hostile
		if i%2 == 0 {
			texts = wellFormed
		}
		f := filler{r, texts}
		var tiers derive.TiersView
		f.fill(reflect.ValueOf(&tiers).Elem())
		check(tiers, func() ([]byte, error) { return TiersJSON(&tiers) }, func() bool {
			var w jsonWriter
			w.tiers(&tiers)
			return w.odd
		})
		var shard derive.Shard
		f.fill(reflect.ValueOf(&shard).Elem())
		check(shard, func() ([]byte, error) { return ShardJSON(&shard) }, func() bool {
			var w jsonWriter
			w.shard(&shard)
			return w.odd
		})
	}
	if written < 1000 || left == 0 || refused == 0 {
		t.Errorf("%d lists were written here, %d left to the library and %d refused by it: too few of a kind", written, left, refused)
	}
}
