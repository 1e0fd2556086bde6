package tlog

import sumdb "golang.org/x/mod/sumdb/tlog"

// PartialFiles are the tiles and the bundle that are not full in a log of a size.
func PartialFiles(size int64) (names []string) {
	for level := 0; size>>(tileHeight*level) > 0; level++ {
		n := size >> (tileHeight * level)
		w := int(n % TileWidth)
		if w == 0 {
			continue
		}
		names = append(names, Path(tilePath(sumdb.Tile{H: tileHeight, L: level, N: n / TileWidth, W: w})))
		if level == 0 {
			names = append(names, Path(bundlePath(n/TileWidth, w)))
		}
	}
	return names
}
