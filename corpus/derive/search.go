package derive

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// ShardLimit is the most entries of one shard of the search index.
const ShardLimit = 300

// SearchView is /corpus/search.json: the names of the shards.
type SearchView struct {
	Format string   `json:"format"`
	How    string   `json:"how"`
	Path   string   `json:"path"`
	Hosts  int64    `json:"hosts"`
	Shards []string `json:"shards"` // sorted
	From   Source   `json:"derived_from"`
}

// Shard is one file of the index. Its entries are hosts with the place in the name at which the
// match begins: the start of the name, or what stands behind a dot or a hyphen. They are sorted by
// what stands there.
type Shard struct {
	Format string `json:"format"`
	Shard  string `json:"shard"`
	Prefix string `json:"prefix"`
	Hits   []Hit  `json:"hosts"`
	// More counts entries that were left out because too many names go on with the very same text.
	More int64 `json:"more,omitzero"`
}

// Hit is one entry of a shard.
type Hit struct {
	Host string `json:"host"`
	At   int    `json:"at"`
	Path string `json:"path"`
	Line string `json:"line"` // tier with its count of count
}

// SearchIndex is a search index over the roll, 8 bytes for each entry.
type SearchIndex struct {
	roll   *Roll
	places []position // sorted by what they begin
	shards []shard
}

type position struct {
	host uint32
	at   uint8
}

type shard struct {
	prefix   string
	from, to int
	more     int64
}

// maxSearched is how far into a name a match may begin.
const maxSearched = 255

// IndexHosts makes the index. A name can be found by its start and by the start of each of its
// parts but the last.
func IndexHosts(r *Roll) *SearchIndex {
	x := &SearchIndex{roll: r}
	if r == nil {
		return x
	}
	for i := range r.lines {
		host := r.Host(i)
		last := strings.LastIndexByte(host, '.')
		for at := 0; at < min(len(host), maxSearched); at++ {
			if at == 0 || at < last && (host[at-1] == '.' || host[at-1] == '-') {
				x.places = append(x.places, position{uint32(i), uint8(at)})
			}
		}
	}
	slices.SortFunc(x.places, func(a, b position) int {
		return cmp.Or(cmp.Compare(x.text(a), x.text(b)), cmp.Compare(a.host, b.host))
	})
	x.divide("", 0, len(x.places))
	slices.SortFunc(x.shards, func(a, b shard) int { return cmp.Compare(ShardName(a.prefix), ShardName(b.prefix)) })
	return x
}

// text is what stands at a place, to the end of the name. It shares the roll's memory.
func (x *SearchIndex) text(p position) string {
	return x.roll.Host(int(p.host))[p.at:]
}

// divide makes shards of the places from one to another, which all begin with a prefix. Those that
// end with it stay in its own shard.
func (x *SearchIndex) divide(prefix string, from, to int) {
	if n := len(prefix); n > 0 && (to-from <= ShardLimit || n >= maxShardPrefix ||
		x.text(x.places[from]) == x.text(x.places[to-1])) {
		x.shards = append(x.shards, shard{prefix, from, min(to, from+ShardLimit), int64(max(0, to-from-ShardLimit))})
		return
	}
	ended := from
	for ended < to && len(x.text(x.places[ended])) == len(prefix) {
		ended++
	}
	if ended > from {
		x.shards = append(x.shards, shard{prefix, from, min(ended, from+ShardLimit),
			int64(max(0, ended-from-ShardLimit))})
	}
	for ended < to {
		next := x.text(x.places[ended])[len(prefix)]
		end := ended
		for end < to && x.text(x.places[end])[len(prefix)] == next {
			end++
		}
		x.divide(prefix+string([]byte{next}), ended, end)
		ended = end
	}
}

// maxShardPrefix keeps the names of shards short enough for a file.
const maxShardPrefix = 60

// ShardName is a prefix as it stands in the name of a file: letters, digits and hyphens as they
// are, every other byte as an underscore and two hexadecimal digits.
func ShardName(prefix string) string {
	var b strings.Builder
	for i := range len(prefix) {
		if c := prefix[i]; c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

// Len is how many shards there are, in the order of their names.
func (x *SearchIndex) Len() int { return len(x.shards) }

// Shard is the i-th shard.
func (x *SearchIndex) Shard(i int) Shard {
	s := x.shards[i]
	out := Shard{Format: "store-search-shard/v1", Shard: ShardName(s.prefix), Prefix: s.prefix, Hits: []Hit{},
		More: s.more}
	for _, p := range x.places[s.from:s.to] {
		standing := x.roll.Standing(int(p.host))
		out.Hits = append(out.Hits, Hit{Host: standing.Host, At: int(p.at), Path: HostPath(standing.Host),
			Line: standing.Label})
	}
	return out
}

// SearchHead names the shards of an index.
func (b *Book) SearchHead(x *SearchIndex) SearchView {
	v := SearchView{Format: "store-search/v1", Path: "/corpus/search/{shard}.json", Hosts: int64(b.Hosts()),
		Shards: []string{}, From: b.source(),
		How: "Lower the name you look for. Of the shards, take the longest that it begins with, and every shard that " +
			"begins with it; their hosts are those whose name, from `at` on, begins with a shard's prefix. In names " +
			"of shards every byte but a-z, 0-9 and the hyphen is an underscore and two hexadecimal digits."}
	for i := range x.shards {
		v.Shards = append(v.Shards, ShardName(x.shards[i].prefix))
	}
	return v
}
