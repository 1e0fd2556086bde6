package record

import (
	"strconv"
	"strings"

	"store.example/agentstore/corpus/attest"
)

// scanRow reads a row in the one spelling that SignRow gives it, which takes a fraction of what
// reading any JSON takes: a large record is read several times for what is derived from it. It
// reports false for whatever it is not sure of, such as text with escapes, which is then read as
// any JSON. What it reads is canonical: there is one spelling of it. What the row points to stands
// in the room.
func scanRow(text string, r *Row, room *rowRoom) bool {
	if !printable(text) {
		return false
	}
	c := scanner{rest: text, room: room}
	*r = Row{Format: c.text(`{"format":`), Origin: c.text(`,"origin":`), Sequence: c.number(`,"sequence":`),
		Week: c.text(`,"week":`)}
	c.skip(`,"host":`)
	c.seen(r)
	return c.end(r)
}

// rowLike is the row that was read before: what the census says of a door is mostly what it said
// the week before.
type rowLike struct {
	row  *Row
	seen string // of it, as it is spelled; empty for none
}

// afterHead reads a row from its host on, where it may read what like reads. Then both point to the
// same.
func (c *scanner) afterHead(r *Row, like *rowLike) bool {
	text := c.rest
	if like.seen != "" && strings.HasPrefix(text, like.seen) {
		// What is seen ends with a text, and the scanner reads from left to right: behind the same
		// bytes it would be here.
		if c.rest = text[len(like.seen):]; !printable(c.rest) {
			return false
		}
		format, origin, sequence, week := r.Format, r.Origin, r.Sequence, r.Week
		*r = *like.row
		r.Format, r.Origin, r.Sequence, r.Week = format, origin, sequence, week
		return c.end(r)
	}
	if !printable(text) {
		return false
	}
	c.seen(r)
	seen := text[:len(text)-len(c.rest)]
	if !c.end(r) {
		return false
	}
	*like = rowLike{r, seen}
	return true
}

// seen reads a row from its host up to its fault.
func (c *scanner) seen(r *Row) {
	r.Host, r.URL, r.Listed, r.Source, r.Catalog = c.text(``), c.text(`,"url":`), c.truth(`,"listed":`),
		c.text(`,"source":`), c.text(`,"catalog":`)
	if c.at(`,"late":`) {
		r.Late = c.truth(`,"late":`)
		c.bad = c.bad || !r.Late
	}
	r.Verdict, r.Reason, r.ReachedLevel = c.text(`,"verdict":`), c.maybe(`,"reason":`), c.maybe(`,"reached_level":`)
	r.Failed, r.Advisories = c.list(`,"failed":`), c.list(`,"advisories":`)
	if c.at(`,"also_under":`) {
		r.AlsoUnder = c.alsoUnder()
	}
	r.Protocols = c.list(`,"protocols":`)
	if c.at(`,"probe_method":{`) {
		r.ProbeMethod = put(&c.room.methods, ProbeMethod{Used: c.text(`,"probe_method":{"used":`),
			Attempted: c.list(`,"attempted":`), DeclaredBy: c.maybe(`,"declared_by":`)})
		c.skip(`}`)
	}
	if c.at(`,"offer":{`) {
		r.Offer = put(&c.room.offers, RowOffer{Networks: c.list(`,"offer":{"networks":`),
			NetworksLeftOut: c.count(`,"networks_left_out":`),
			Schemes:         c.list(`,"schemes":`), MinUSDC: c.maybe(`,"min_usdc":`), MaxUSDC: c.maybe(`,"max_usdc":`)})
		r.Offer.PayTo, r.Offer.PayToLeftOut = c.payTo(), c.count(`,"pay_to_left_out":`)
		r.Offer.NotCapturedReason = c.maybe(`,"not_captured_reason":`)
		c.skip(`}`)
	}
	r.Battery, r.Fault = c.text(`,"battery":`), c.text(`,"fault":`)
}

// end reads the rest of a row, which is different in every week.
func (c *scanner) end(r *Row) bool {
	r.ObservedAt, r.EvidenceDigest = c.maybe(`,"observed_at":`), c.maybe(`,"evidence_digest":`)
	if r.Vantages = nil; c.at(`,"vantages":`) {
		r.Vantages = c.vantages()
	}
	if r.PreviousLeaf = nil; c.at(`,"previous_leaf":`) {
		r.PreviousLeaf = put(&c.room.leaves, c.number(`,"previous_leaf":`))
	}
	r.KID = c.text(`,"kid":`)
	r.Signature = c.hex(c.text(`,"signature":`))
	return !c.bad && c.rest == "}"
}

// rowRoom is memory for what rows point to. Taking it again and again spares a large record most of
// its garbage: then what was read before is no longer valid, but for its strings.
type rowRoom struct {
	words   []string
	pays    []PayTo
	offers  []RowOffer
	methods []ProbeMethod
	unders  []AlsoUnder
	leaves  []int64
	bytes   []byte
	like    rowLike
}

// put keeps a value in memory of many and returns where it is. It stays there also when the memory
// grows, since the old one lives as long as somebody points to it.
func put[T any](all *[]T, v T) *T {
	*all = append(*all, v)
	return &(*all)[len(*all)-1]
}

// since is what was put since there were n. It is never nil, and appending to it does not write
// over what comes later.
func since[T any](all []T, n int) []T {
	if n == len(all) {
		return []T{}
	}
	return all[n:len(all):len(all)]
}

func (m *rowRoom) reset() {
	m.words, m.pays, m.offers, m.methods, m.unders = m.words[:0], m.pays[:0], m.offers[:0], m.methods[:0], m.unders[:0]
	m.leaves, m.bytes, m.like = m.leaves[:0], m.bytes[:0], rowLike{}
}

// scanner reads members in a known order. What it does not expect makes it bad.
type scanner struct {
	rest string
	room *rowRoom
	bad  bool
}

func (c *scanner) at(prefix string) bool { return strings.HasPrefix(c.rest, prefix) }

func (c *scanner) skip(prefix string) {
	rest, ok := strings.CutPrefix(c.rest, prefix)
	c.bad = c.bad || !ok
	c.rest = rest
}

// text reads a string, which has no escapes since no byte of the row is a backslash.
func (c *scanner) text(member string) string {
	c.skip(member)
	if c.bad || c.rest == "" || c.rest[0] != '"' {
		c.bad = true
		return ""
	}
	end := strings.IndexByte(c.rest[1:], '"') + 1
	if end == 0 {
		c.bad = true
		return ""
	}
	out := c.rest[1:end]
	c.rest = c.rest[end+1:]
	return out
}

// maybe reads a string that is left out where it is empty.
func (c *scanner) maybe(member string) string {
	if !c.at(member) {
		return ""
	}
	text := c.text(member)
	c.bad = c.bad || text == ""
	return text
}

func (c *scanner) list(member string) []string {
	c.skip(member)
	c.skip(`[`)
	n := len(c.room.words)
	for between := ""; !c.bad && !c.at(`]`); between = "," {
		put(&c.room.words, c.text(between))
	}
	c.skip(`]`)
	return since(c.room.words, n)
}

// alsoUnder reads a list that is left out where it is empty.
func (c *scanner) alsoUnder() []AlsoUnder {
	c.skip(`,"also_under":[`)
	n := len(c.room.unders)
	for between := `{"version":`; !c.bad && (between[0] == '{' || !c.at(`]`)); between = `,{"version":` {
		put(&c.room.unders, AlsoUnder{Version: c.text(between), Verdict: c.text(`,"verdict":`),
			Difference: c.maybe(`,"difference":`)})
		c.skip(`}`)
	}
	c.skip(`]`)
	return since(c.room.unders, n)
}

// vantages reads a list that is left out where it is empty. It is rare and has memory of its own.
func (c *scanner) vantages() (all []Vantage) {
	c.skip(`,"vantages":[`)
	for between := `{"id":`; !c.bad && (all == nil || !c.at(`]`)); between = `,{"id":` {
		all = append(all, Vantage{ID: c.text(between), Verdict: c.text(`,"verdict":`),
			EvidenceDigest: c.text(`,"evidence_digest":`)})
		c.skip(`}`)
	}
	c.skip(`]`)
	return all
}

func (c *scanner) payTo() []PayTo {
	c.skip(`,"pay_to":[`)
	n := len(c.room.pays)
	for between := `{"network":`; !c.bad && !c.at(`]`); between = `,{"network":` {
		put(&c.room.pays, PayTo{Network: c.text(between), Digest: c.text(`,"digest":`)})
		c.skip(`}`)
	}
	c.skip(`]`)
	return since(c.room.pays, n)
}

// hex reads bytes in lower-case hexadecimal, one at least.
func (c *scanner) hex(text string) []byte {
	n := len(c.room.bytes)
	c.bad = c.bad || text == "" || len(text)%2 != 0
	c.room.bytes = append(c.room.bytes, text[:len(text)/2]...)
	out, all := c.room.bytes[n:], byte(0)
	for i := range out {
		high, low := hexDigits[text[2*i]], hexDigits[text[2*i+1]]
		out[i] = high<<4 | low
		all |= high | low
	}
	c.bad = c.bad || all > 0xf
	return since(c.room.bytes, n)
}

// hexDigits are the values of digits, 0xff for what is none.
var hexDigits = func() (values [256]byte) {
	for i := range values {
		values[i] = 0xff
	}
	for i, c := range []byte("0123456789abcdef") {
		values[c] = byte(i)
	}
	return values
}()

func (c *scanner) number(member string) int64 {
	c.skip(member)
	end := 0
	for end < len(c.rest) && c.rest[end] >= '0' && c.rest[end] <= '9' {
		end++
	}
	digits := c.rest[:end]
	n, err := strconv.ParseInt(digits, 10, 64)
	c.bad = c.bad || err != nil || n > attest.MaxInteger || len(digits) > 1 && digits[0] == '0'
	c.rest = c.rest[end:]
	return n
}

// count reads a number that is left out where it is 0.
func (c *scanner) count(member string) int64 {
	if !c.at(member) {
		return 0
	}
	n := c.number(member)
	c.bad = c.bad || n == 0
	return n
}

func (c *scanner) truth(member string) bool {
	c.skip(member)
	if c.at("true") {
		c.skip("true")
		return true
	}
	c.skip("false")
	return false
}

// printable reports whether all bytes are printable ASCII and none is a backslash. It looks at
// eight at once, each in a lane of its own: the highest bit of a lane is free in ASCII, and is set
// where the sum or the difference leaves the range.
func printable(s string) bool {
	const lanes, high = 0x0101010101010101, 0x8080808080808080
	odd, rest := uint64(0), s
	for ; len(rest) >= 8; rest = rest[8:] {
		x := uint64(rest[0]) | uint64(rest[1])<<8 | uint64(rest[2])<<16 | uint64(rest[3])<<24 |
			uint64(rest[4])<<32 | uint64(rest[5])<<40 | uint64(rest[6])<<48 | uint64(rest[7])<<56
		odd |= x | (x + lanes) | (x - ' '*lanes)
	}
	for i := range len(rest) {
		if c := rest[i]; c < ' ' || c >= 0x7f {
			return false
		}
	}
	return odd&high == 0 && strings.IndexByte(s, '\\') < 0
}
