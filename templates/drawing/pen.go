// Package drawing makes the store's pictures: rocks, portraits, animal cards,
// badges and jars. Each is one SVG document and a pure function of what it is
// given: no clock, no randomness but the seed, so that anybody can draw it again
// and get the same bytes.
//
// A drawing stands alone: no script, no reference to anything outside, its
// text escaped, its title and description in it, light and dark by
// prefers-color-scheme. It may be inlined in a page or served as a file. All
// drawings share one style element (Style), which a page's content security
// policy can allow by its digest.
//
//	svg := drawing.Rock(seed, "Gerald") // "<svg xmlns=…>…</svg>"
package drawing

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Style is the content of every drawing's style element. The colours are those
// of the store's pages; the classes live under .dw alone. A coat stays dark and
// a hide light in both schemes, so that a black cat is one at night too.
const Style = `.dw{--paper:#f7f2e6;--ink:#241f19;--faint:#665b4c;--rule:#cdc0a5;--accent:#8c2f1b;--coat:#241f19;--hide:#f7f2e6}` +
	`@media(prefers-color-scheme:dark){.dw{--paper:#1a1713;--ink:#e8dfcc;--faint:#a99d88;--rule:#453d30;--accent:#e2906f;--coat:#0b0a08;--hide:#e8dfcc}}` +
	`.dw *{stroke-linecap:round;stroke-linejoin:round}` +
	`.dw .p{fill:var(--paper)}.dw .s{fill:var(--rule)}.dw .f{fill:var(--ink)}.dw .a{fill:var(--accent)}` +
	`.dw .k{fill:var(--ink);stroke:var(--ink);stroke-width:4}` +
	`.dw .w{fill:var(--paper);stroke:var(--paper);stroke-width:0}` +
	`.dw .g{fill:var(--rule);stroke:var(--rule);stroke-width:0}` +
	`.dw .b{fill:var(--coat);stroke:var(--coat);stroke-width:0}` +
	`.dw .e{fill:var(--accent);stroke:var(--accent);stroke-width:0}` +
	`.dw .l{fill:none;stroke:var(--ink);stroke-width:2}` +
	`.dw .i{fill:none;stroke:var(--hide);stroke-width:2}.dw .j{fill:none;stroke:var(--paper);stroke-width:2}` +
	`.dw .h{fill:none;stroke:var(--faint);stroke-width:1}` +
	`.dw .m{fill:none;stroke:var(--rule);stroke-width:1}` +
	`.dw .r{fill:none;stroke:var(--accent);stroke-width:2}` +
	`.dw .o{fill:var(--paper);stroke:var(--ink);stroke-width:2}` +
	`.dw .d{fill:var(--coat)}.dw .y{fill:var(--hide)}` +
	`.dw text{font-family:Charter,"Bitstream Charter","Iowan Old Style",Georgia,serif;fill:var(--ink);text-anchor:middle}` +
	`.dw .n{font-family:ui-monospace,Menlo,Consolas,monospace;fill:var(--faint)}.dw .c{fill:var(--accent)}.dw .q{fill:var(--faint)}`

// pen writes one SVG document.
type pen struct {
	b strings.Builder
}

// newPen opens a document of the given size.
func newPen(width, height int, title, desc string) *pen {
	p := new(pen)
	w, h := strconv.Itoa(width), strconv.Itoa(height)
	p.raw(`<svg xmlns="http://www.w3.org/2000/svg" class="dw" role="img" viewBox="0 0 `, w, " ", h,
		`" width="`, w, `" height="`, h, `"><title>`, escape(title), `</title><desc>`, escape(desc),
		`</desc><style>`, Style, `</style>`)
	return p
}

// done closes the document and returns it.
func (p *pen) done() string {
	p.raw(`</svg>`)
	return p.b.String()
}

func (p *pen) raw(parts ...string) {
	for _, s := range parts {
		p.b.WriteString(s)
	}
}

// group opens a group; end closes it.
func (p *pen) group(class, transform string) {
	p.raw(`<g`)
	if class != "" {
		p.raw(` class="`, class, `"`)
	}
	if transform != "" {
		p.raw(` transform="`, transform, `"`)
	}
	p.raw(`>`)
}

func (p *pen) end() { p.raw(`</g>`) }

// box is a rectangle by its upper left corner.
type box struct {
	x float64
	y float64
	w float64
	h float64
}

func (p *pen) rect(class string, b box, r float64) {
	p.raw(`<rect`, classAttr(class), ` x="`, num(b.x), `" y="`, num(b.y), `" width="`, num(b.w), `" height="`, num(b.h), `"`)
	if r > 0 {
		p.raw(` rx="`, num(r), `"`)
	}
	p.raw(`/>`)
}

func (p *pen) circle(class string, x, y, r float64) {
	p.raw(`<circle`, classAttr(class), ` cx="`, num(x), `" cy="`, num(y), `" r="`, num(r), `"/>`)
}

// oval is an ellipse by its centre and half axes.
type oval struct {
	x  float64
	y  float64
	rx float64
	ry float64
}

// ellipse is turned by rot degrees about its centre, clockwise.
func (p *pen) ellipse(class string, o oval, rot float64) {
	p.raw(`<ellipse`, classAttr(class), ` cx="`, num(o.x), `" cy="`, num(o.y), `" rx="`, num(o.rx), `" ry="`, num(o.ry), `"`)
	if rot != 0 {
		p.raw(` transform="rotate(`, num(rot), ` `, num(o.x), ` `, num(o.y), `)"`)
	}
	p.raw(`/>`)
}

func (p *pen) path(class, d string) { p.raw(`<path`, classAttr(class), ` d="`, d, `"/>`) }

func (p *pen) line(class string, x1, y1, x2, y2 float64) {
	p.path(class, "M"+xy(x1, y1)+"L"+xy(x2, y2))
}

// textLine is where a line of text stands, how large it is, and how wide at most.
type textLine struct {
	x    float64
	y    float64
	size float64
	max  float64
}

// text is centred on x. Text wider than max units is set smaller, down to
// three fifths of size, and cut with an ellipsis when that is not enough.
func (p *pen) text(class string, l textLine, s string) {
	const least = 0.6
	for width(s, l.size*least) > l.max {
		r := []rune(strings.TrimSuffix(s, "…"))
		s = strings.TrimRight(string(r[:len(r)-1]), " ,.;:") + "…"
	}
	if w := width(s, l.size); w > l.max {
		l.size *= l.max / w
	}
	p.raw(`<text`, classAttr(class), ` x="`, num(l.x), `" y="`, num(l.y), `" font-size="`, num(l.size), `">`, escape(s),
		`</text>`)
}

// width estimates how wide a text is set, in the same unit as size.
func width(s string, size float64) float64 {
	var w float64
	for _, r := range s {
		switch {
		case r < 0x80 && strings.ContainsRune("iljtfr.,:;'|!()[] ", r):
			w += 0.32
		case r >= 0x1100:
			w++
		default:
			w += 0.56
		}
	}
	return w * size
}

func classAttr(class string) string {
	if class == "" {
		return ""
	}
	return ` class="` + class + `"`
}

// num writes a coordinate with at most one decimal.
func num(v float64) string {
	v = math.Round(v*10) / 10
	if v == 0 {
		v = 0 // no negative zero
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func xy(x, y float64) string { return num(x) + " " + num(y) }

// escape makes any text fit for XML content: markup escaped, characters that
// XML 1.0 forbids and those that turn the direction of text left out, bad
// UTF-8 replaced.
func escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '"':
			b.WriteString("&#34;")
		case r == '\t' || r == '\n' || r == '\r':
			b.WriteByte(' ')
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r&0xfffe == 0xfffe, r >= 0xfdd0 && r <= 0xfdef:
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// shorten cuts a text to at most max characters, with an ellipsis.
func shorten(s string, max int) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= max {
		return s
	}
	r := []rune(s)
	return strings.TrimRight(string(r[:max-1]), " ") + "…"
}

// dice gives numbers that depend on the seed alone: SHA-256 in counter mode,
// so that no library's generator can change a drawing.
type dice struct {
	seed [32]byte
	n    uint64
}

// newDice separates drawings of different kinds from the same seed.
func newDice(kind string, seed []byte) *dice {
	h := sha256.New()
	h.Write([]byte("store-drawing/v1|" + kind + "|"))
	h.Write(seed)
	d := new(dice)
	h.Sum(d.seed[:0])
	return d
}

func (d *dice) next() uint64 {
	var block [40]byte
	copy(block[:], d.seed[:])
	binary.BigEndian.PutUint64(block[32:], d.n)
	d.n++
	sum := sha256.Sum256(block[:])
	return binary.BigEndian.Uint64(sum[:])
}

// pick is one of 0..n-1.
func (d *dice) pick(n int) int { return int(d.next() % uint64(n)) }

// in is between lo and hi, in steps of a thousandth.
func (d *dice) in(lo, hi float64) float64 {
	return lo + (hi-lo)*float64(d.next()%1001)/1000
}

// one in n.
func (d *dice) one(n int) bool { return d.pick(n) == 0 }

// point is a place on the paper.
type point struct{ x, y float64 }

// smooth is a closed curve through all points.
func smooth(pts []point) string {
	n := len(pts)
	at := func(i int) point { return pts[((i%n)+n)%n] }
	var b strings.Builder
	b.WriteString("M" + xy(pts[0].x, pts[0].y))
	for i := range n {
		p0, p1, p2, p3 := at(i-1), at(i), at(i+1), at(i+2)
		b.WriteString("C" + xy(p1.x+(p2.x-p0.x)/6, p1.y+(p2.y-p0.y)/6) +
			" " + xy(p2.x-(p3.x-p1.x)/6, p2.y-(p3.y-p1.y)/6) +
			" " + xy(p2.x, p2.y))
	}
	return b.String() + "Z"
}

// straight is a closed polygon.
func straight(pts []point) string {
	var b strings.Builder
	for i, p := range pts {
		b.WriteString(map[bool]string{true: "M", false: "L"}[i == 0] + xy(p.x, p.y))
	}
	return b.String() + "Z"
}
