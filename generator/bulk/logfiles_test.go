package bulk

import (
	"slices"
	"testing"
)

func TestPathsOfTiles(t *testing.T) {
	for want, tile := range map[string]tile{
		"log/tile/0/000": {"0", 0, 256}, "log/tile/1/000.p/1": {"1", 0, 1}, "log/tile/entries/999.p/255": {entries, 999,
			255},
		"log/tile/0/x001/000": {"0", 1000, 256}, "log/tile/0/x001/x234/067.p/8": {"0", 1_234_067, 8},
	} {
		if got := tile.path(); got != want {
			t.Errorf("%+v is %s, want %s", tile, got, want)
		}
	}
}

func TestTilesOfALogThatGrows(t *testing.T) {
	paths := func(tiles []tile) (out []string) {
		for _, t := range tiles {
			out = append(out, t.path())
		}
		slices.Sort(out)
		return out
	}
	if got, want := paths(partial(65536+3)), []string{"log/tile/0/256.p/3", "log/tile/2/000.p/1",
		"log/tile/entries/256.p/3"}; !slices.Equal(got, want) {
		t.Errorf("partial tiles %v", got)
	}
	if got, want := paths(grown(500, 768)), []string{"log/tile/0/001", "log/tile/0/002", "log/tile/entries/001",
		"log/tile/entries/002"}; !slices.Equal(got, want) {
		t.Errorf("grown tiles %v", got)
	}
	if got := grown(65535, 65536); len(got) != 3 {
		t.Errorf("at the end of the first level: %v", paths(got))
	}
	if len(partial(0)) != 0 || len(grown(7, 7)) != 0 {
		t.Error("an empty log has tiles")
	}
}
