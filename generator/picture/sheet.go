package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/klauspost/compress/zlib"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/gofont/gosmallcaps"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// The colours are those of the style sheet by day.
var (
	paper  = color.RGBA{0xf7, 0xf2, 0xe6, 0xff}
	ink    = color.RGBA{0x24, 0x1f, 0x19, 0xff}
	faint  = color.RGBA{0x66, 0x5b, 0x4c, 0xff}
	rule   = color.RGBA{0xcd, 0xc0, 0xa5, 0xff}
	accent = color.RGBA{0x8c, 0x2f, 0x1b, 0xff}
	marks  = [...]color.RGBA{Good: {0x46, 0x59, 0x1c, 0xff}, Bad: {0xa0, 0x1f, 0x2c, 0xff},
		Unknown: {0x4d, 0x5a, 0x66, 0xff}, Unobserved: rule}
)

// face names a font.
type face uint8

const (
	regular face = iota
	bold
	smallCaps
	mono
)

// fonts are parsed once, which takes longer than drawing.
var fonts = sync.OnceValues(func() ([]*opentype.Font, error) {
	files := [][]byte{regular: goregular.TTF, bold: gobold.TTF, smallCaps: gosmallcaps.TTF, mono: gomono.TTF}
	all := make([]*opentype.Font, len(files))
	for i, file := range files {
		var err error
		if all[i], err = opentype.Parse(file); err != nil {
			return nil, fmt.Errorf("reading a font: %w", err)
		}
	}
	return all, nil
})

// sheet is a picture in the making. Its first error stays.
type sheet struct {
	*image.RGBA
	fonts []*opentype.Font
	err   error
	pad   *pad
	hard  []color.RGBA // what boxes were filled with
	soft  []color.RGBA // what was drawn with whose edges are softened
}

// note adds a colour to those that were drawn with.
func note(list *[]color.RGBA, c color.RGBA) color.RGBA {
	if !slices.Contains(*list, c) {
		*list = append(*list, c)
	}
	return c
}

// palette is what was drawn with, and a few steps to it from paper, which soften the edges of
// letters: 16 colours at most, for such a picture takes half the bytes, the palest steps left out
// first.
func (s *sheet) palette() color.Palette {
	const steps, most = 3, 16
	all := []color.RGBA{paper}
	for _, c := range slices.Concat(s.hard, s.soft) {
		note(&all, c)
	}
	for i := steps - 1; i > 0; i-- {
		for _, c := range s.soft {
			mix := func(from, to uint8) uint8 { return uint8((int(from)*(steps-i) + int(to)*i) / steps) }
			note(&all, color.RGBA{mix(paper.R, c.R), mix(paper.G, c.G), mix(paper.B, c.B), 0xff})
		}
	}
	var few color.Palette
	for _, c := range all[:min(most, len(all))] {
		few = append(few, c)
	}
	return few
}

// pad is the memory of a picture in the making: some four megabytes, which take longer to get from
// the system than to draw on.
type pad struct {
	colours, rows []uint8
	zlib          *zlib.Writer
}

var pads = sync.Pool{New: func() any { return &pad{zlib: zlib.NewWriter(nil)} }}

// newSheet begins a picture, which encode ends.
func newSheet(wide, high int) (*sheet, error) {
	all, err := fonts()
	s := &sheet{fonts: all, pad: pads.Get().(*pad)}
	s.pad.colours = slices.Grow(s.pad.colours[:0], 4*wide*high)[:4*wide*high]
	s.RGBA = &image.RGBA{Pix: s.pad.colours, Stride: 4 * wide, Rect: image.Rect(0, 0, wide, high)}
	s.box(s.Rect, paper)
	return s, err
}

// encode returns the picture as PNG, in the colours of its palette. The sheet is of no use
// afterwards, and of an even width.
func (s *sheet) encode() ([]byte, error) {
	defer pads.Put(s.pad)
	if s.err != nil {
		return nil, fmt.Errorf("drawing a picture: %w", s.err)
	}
	few := s.palette()
	var known [1 << 12]struct { // where colours are in the palette
		pixel uint32 // 0 for none: all are opaque
		at    uint8
	}
	place := func(pixel uint32) uint8 {
		k := &known[pixel*0x9e3779b1>>20]
		if k.pixel != pixel {
			k.pixel = pixel
			k.at = uint8(few.Index(color.RGBA{uint8(pixel), uint8(pixel >> 8), uint8(pixel >> 16), 0xff}))
		}
		return k.at
	}
	rows := s.pad.rows[:0]
	var last uint64 // which no two pixels are either
	var both uint8
	var above []byte
	for pixels := range slices.Chunk(s.Pix, s.Stride) {
		if bytes.Equal(pixels, above) { // as most are
			rows = append(rows, rows[len(rows)-1-len(pixels)/8:]...)
			continue
		}
		above, rows = pixels, append(rows, 0) // no filter
		for ; len(pixels) > 0; pixels = pixels[8:] {
			if two := binary.LittleEndian.Uint64(pixels); two != last { // most are as those before
				last, both = two, place(uint32(two))<<4|place(uint32(two>>32))
			}
			rows = append(rows, both)
		}
	}
	s.pad.rows = rows
	return encodePNG(s.Rect.Dx(), s.Rect.Dy(), few, rows, s.pad.zlib)
}

// box fills a rectangle.
func (s *sheet) box(r image.Rectangle, c color.RGBA) {
	draw.Draw(s.RGBA, r, image.NewUniform(note(&s.hard, c)), image.Point{}, draw.Src)
}

// shape fills the polygon through the points, which are in pairs and counted from the corner of r.
// No side is above 512, up to where the rasterizer counts in integers.
func (s *sheet) shape(r image.Rectangle, c color.RGBA, at ...float32) {
	z := vector.NewRasterizer(r.Dx(), r.Dy())
	z.MoveTo(at[0], at[1])
	for i := 2; i < len(at); i += 2 {
		z.LineTo(at[i], at[i+1])
	}
	z.ClosePath()
	z.Draw(s.RGBA, r, image.NewUniform(note(&s.soft, c)), image.Point{})
}

// ring draws a ring around a point.
func (s *sheet) ring(x, y, outer, inner int, c color.RGBA) {
	for _, disc := range []struct {
		r int
		c color.RGBA
	}{{outer, c}, {inner, paper}} {
		r := float32(disc.r)
		const k = 0.5523 // of the radius: how far the handles of a quarter are from its ends
		z := vector.NewRasterizer(2*disc.r, 2*disc.r)
		z.MoveTo(0, r)
		z.CubeTo(0, r-k*r, r-k*r, 0, r, 0)
		z.CubeTo(r+k*r, 0, 2*r, r-k*r, 2*r, r)
		z.CubeTo(2*r, r+k*r, r+k*r, 2*r, r, 2*r)
		z.CubeTo(r-k*r, 2*r, 0, r+k*r, 0, r)
		z.Draw(s.RGBA, image.Rect(x-disc.r, y-disc.r, x+disc.r, y+disc.r), image.NewUniform(note(&s.soft, disc.c)),
			image.Point{})
	}
}

// pen is a font at a size, for one picture: a face must not be shared.
func (s *sheet) pen(f face, size float64, c color.RGBA) (*font.Drawer, *opentype.Font) {
	made, err := opentype.NewFace(s.fonts[f], &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingFull})
	if err != nil && s.err == nil {
		s.err = err
	}
	return &font.Drawer{Dst: s.RGBA, Src: image.NewUniform(c), Face: made}, s.fonts[f]
}

// line draws one line of text from x on, or as much of it as there is room for.
func (s *sheet) line(x, y int, text string, f face, size float64, c color.RGBA, wide int) {
	s.paragraph(x, y, text, f, size, c, wide, 1)
}

// centred draws one line around x, smaller where it would be too wide.
func (s *sheet) centred(x, y int, text string, f face, size float64, c color.RGBA, wide int) {
	size = s.fit(text, f, size, 14, wide)
	if w := s.measure(text, f, size); w <= wide {
		s.paragraph(x-w/2, y, text, f, size, c, wide, 1)
	}
}

// measure is how wide a line is.
func (s *sheet) measure(text string, f face, size float64) int {
	pen, known := s.pen(f, size, ink)
	if s.err != nil {
		return 0
	}
	defer pen.Face.Close()
	return pen.MeasureString(legible(known, text)).Ceil()
}

// fit is the largest size up to most at which a line has room, or the least one.
func (s *sheet) fit(text string, f face, most, least float64, wide int) float64 {
	for size := most; size > least; size -= 2 {
		if s.measure(text, f, size) <= wide {
			return size
		}
	}
	return least
}

// middle shortens a name that has no room in its middle, since its beginning and its end tell more.
func (s *sheet) middle(text string, f face, size float64, wide int) string {
	whole := []rune(legible(s.fonts[f], text))
	kept := sort.Search(len(whole), func(n int) bool { // letters that are left of the first one too wide
		return s.measure(around(whole, n+1), f, size) > wide
	})
	return around(whole, kept)
}

// around is so many letters of a name, half of them from its end.
func around(name []rune, n int) string {
	if n >= len(name) {
		return string(name)
	}
	return string(name[:n-n/2]) + "…" + string(name[len(name)-n/2:])
}

// paragraph draws text on so many lines at most, the first one at y, and returns where the last one
// stands. What is left over is shown as an ellipsis.
func (s *sheet) paragraph(x, y int, text string, f face, size float64, c color.RGBA, wide, most int) int {
	pen, known := s.pen(f, size, note(&s.soft, c))
	if s.err != nil {
		return y
	}
	defer pen.Face.Close() // of memory alone: it has no error
	lines := wrap(strings.Fields(legible(known, text)), most, func(line string) bool {
		return pen.MeasureString(line).Ceil() <= wide
	})
	for i, line := range lines {
		if i > 0 {
			y += int(size * 1.2)
		}
		pen.Dot = fixed.P(x, y)
		pen.DrawString(line)
	}
	return y
}

// legible leaves out what a font has no letter for.
func legible(f *opentype.Font, text string) string {
	return strings.Map(func(r rune) rune {
		if i, err := f.GlyphIndex(nil, r); r != ' ' && (err != nil || i == 0) {
			return -1
		}
		return r
	}, text)
}

// wrap sets words on lines that fit, and ends the last one that there is room for with an ellipsis
// where words are left over.
func wrap(words []string, most int, fits func(string) bool) []string {
	var lines []string
	for len(words) > 0 && len(lines) < most {
		n := 1
		for n < len(words) && fits(strings.Join(words[:n+1], " ")) {
			n++
		}
		line := strings.Join(words[:n], " ")
		words = words[n:]
		if len(lines) == most-1 && len(words) > 0 || !fits(line) {
			line = shorten(line, fits)
		}
		lines = append(lines, line)
	}
	return lines
}

// shorten ends a line with an ellipsis, and takes letters from it until it fits.
func shorten(line string, fits func(string) bool) string {
	for line != "" && !fits(line+"…") {
		_, size := utf8.DecodeLastRuneInString(line)
		line = line[:len(line)-size]
	}
	return strings.TrimRight(line, " .,:;") + "…"
}

// cutUnit separates an amount from its unit: "0.5 USDC".
func cutUnit(price string) (amount, unit string) {
	parts := slices.Concat(strings.Fields(price), []string{"", ""})
	return parts[0], parts[1]
}
