package corpus

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"

	"agentstore/corpus/attest"
)

// scanRow reads a row in the one spelling that SignRow gives it, which takes a fraction of what reading any JSON takes:
// a large record is read several times for what is derived from it. It reports false for whatever it is not sure of,
// such as text with escapes, which is then read as any JSON. What it reads is canonical: there is one spelling of it.
func scanRow(raw []byte, r *Row) bool {
	if !printable(raw) {
		return false
	}
	c := scanner{rest: string(raw)}
	*r = Row{
		Format: c.text(`{"format":`), Origin: c.text(`,"origin":`), Sequence: c.number(`,"sequence":`), Week: c.text(`,"week":`), Host: c.text(`,"host":`),
		URL: c.text(`,"url":`), Listed: c.truth(`,"listed":`), Source: c.text(`,"source":`), Catalog: c.text(`,"catalog":`), Verdict: c.text(`,"verdict":`),
		Reason: c.maybe(`,"reason":`), ReachedLevel: c.maybe(`,"reached_level":`), Failed: c.list(`,"failed":`), Advisories: c.list(`,"advisories":`),
	}
	if c.at(`,"also_under":{`) {
		r.AlsoUnder = &AlsoUnder{Version: c.text(`,"also_under":{"version":`), Verdict: c.text(`,"verdict":`), Difference: c.maybe(`,"difference":`)}
		c.skip(`}`)
	}
	r.Protocols = c.list(`,"protocols":`)
	if c.at(`,"probe_method":{`) {
		r.ProbeMethod = &ProbeMethod{Used: c.text(`,"probe_method":{"used":`), Attempted: c.list(`,"attempted":`), DeclaredBy: c.maybe(`,"declared_by":`)}
		c.skip(`}`)
	}
	if c.at(`,"offer":{`) {
		r.Offer = &RowOffer{Networks: c.list(`,"offer":{"networks":`), Schemes: c.list(`,"schemes":`), MinUSDC: c.maybe(`,"min_usdc":`), MaxUSDC: c.maybe(`,"max_usdc":`), PayTo: []PayTo{}}
		c.skip(`,"pay_to":[`)
		for between := ""; !c.bad && !c.at(`]`); between = "," {
			r.Offer.PayTo = append(r.Offer.PayTo, PayTo{Network: c.text(between + `{"network":`), Digest: c.text(`,"digest":`)})
			c.skip(`}`)
		}
		c.skip(`]`)
		r.Offer.NotCapturedReason = c.maybe(`,"not_captured_reason":`)
		c.skip(`}`)
	}
	r.Battery, r.Fault, r.ObservedAt, r.EvidenceDigest = c.text(`,"battery":`), c.text(`,"fault":`), c.maybe(`,"observed_at":`), c.maybe(`,"evidence_digest":`)
	if c.at(`,"previous_leaf":`) {
		r.PreviousLeaf = new(c.number(`,"previous_leaf":`))
	}
	r.KID = c.text(`,"kid":`)
	text := c.text(`,"signature":`)
	signature, err := hex.DecodeString(text)
	r.Signature = signature
	return !c.bad && err == nil && len(signature) > 0 && !strings.ContainsAny(text, "ABCDEF") && c.rest == "}"
}

// scanner reads members in a known order. What it does not expect makes it bad.
type scanner struct {
	rest string
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
	list := []string{}
	for between := ""; !c.bad && !c.at(`]`); between = "," {
		list = append(list, c.text(between))
	}
	c.skip(`]`)
	return list
}

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

func (c *scanner) truth(member string) bool {
	c.skip(member)
	if c.at("true") {
		c.skip("true")
		return true
	}
	c.skip("false")
	return false
}

// printable reports whether all bytes are printable ASCII and none is a backslash. It looks at eight at once, each in a
// lane of its own: the highest bit of a lane is free in ASCII, and is set where one of the sums and differences leaves
// the range.
func printable(b []byte) bool {
	const lanes, high = 0x0101010101010101, 0x8080808080808080
	odd := uint64(0)
	for ; len(b) >= 8; b = b[8:] {
		x := binary.LittleEndian.Uint64(b)
		slash := x ^ '\\'*lanes
		odd |= x | (x + lanes) | (x - ' '*lanes) | (slash-lanes)&^slash
	}
	for _, c := range b {
		if c < ' ' || c >= 0x7f || c == '\\' {
			return false
		}
	}
	return odd&high == 0
}
