package picture

import (
	"image"
	"image/color"
	"strconv"
	"strings"
)

// Width and Height are the size of a picture in pixels, as who shows one expects it.
const Width, Height = 1200, 630

// Preview is the picture beside a link.
type Preview struct {
	// Sign is the name of the store, at the top; Foot is what stands at the bottom.
	Sign, Foot string
	// Title is in the largest letters, on two lines at most. A single word, such as the name of a
	// host, is on one line: smaller where it is long, and shortened in the middle beyond that. Says
	// is below it, on three.
	Title, Says string
	// Tag is written on a price tag at the right, "" for none. Stamp is the word of a stamp at the
	// right, below the tag.
	Tag, Stamp string
	// Counts are parts of one whole, drawn as one bar with each number below it; nil for none.
	Counts []Count
	// Steps are drawn in place of the bar, a square each, such as the weeks of a host; of more than
	// MostSteps the last ones.
	Steps []Mark
}

// MostSteps is how many squares one picture has room for.
const MostSteps = 52

// Count is one part of a whole.
type Count struct {
	Name string
	Mark Mark
	N    int64
}

// Mark is how a part is coloured.
type Mark uint8

// The marks of parts, as pages colour the words.
const (
	Good Mark = iota
	Bad
	Unknown
	Unobserved
)

const (
	margin   = 72
	lineFrom = 118 // the double rule below the sign
	footAt   = 588
)

// Draw returns the picture as PNG.
func Draw(p Preview) ([]byte, error) {
	s, err := newSheet(Width, Height)
	if err != nil {
		return nil, err
	}
	wide := Width - 2*margin
	s.line(margin, 86, p.Sign, smallCaps, 46, ink, wide)
	s.box(image.Rect(margin, lineFrom, Width-margin, lineFrom+3), rule)
	s.box(image.Rect(margin, lineFrom+6, Width-margin, lineFrom+9), rule)
	s.line(margin, footAt, p.Foot, mono, 28, faint, wide)
	if p.Tag != "" {
		s.tag(p.Tag)
		wide -= tagWide + 36
	}
	if p.Stamp != "" {
		s.stamp(p.Stamp)
		if p.Tag == "" {
			wide -= tagWide + 36
		}
	}
	const titleAt = 226
	y := s.title(margin, titleAt, p.Title, wide)
	lines := 3
	if len(p.Counts)+len(p.Steps) > 0 {
		lines = 1
		if y == titleAt {
			lines = 2
		}
		s.bar(p.Counts, p.Steps[max(0, len(p.Steps)-MostSteps):])
	}
	s.paragraph(margin, y+72, p.Says, regular, 36, faint, wide, lines)
	return s.encode()
}

// The size of a price tag, and where its upper left corner is.
const (
	tagWide, tagHigh = 330, 210
	tagX, tagY       = Width - margin - tagWide, 196
)

// tag draws a price tag with its hole at the left.
func (s *sheet) tag(price string) {
	const edge, body = 7, 89 // where the inner point ends
	point := image.Rect(tagX, tagY, tagX+body, tagY+tagHigh)
	s.shape(point, accent, 0, tagHigh/2, body-3, 0, body, 0, body, tagHigh, body-3, tagHigh)
	s.shape(point, paper, edge+3, tagHigh/2, body, edge, body, tagHigh-edge)
	s.box(image.Rect(tagX+body, tagY, tagX+tagWide, tagY+tagHigh), accent)
	s.box(image.Rect(tagX+body, tagY+edge, tagX+tagWide-edge, tagY+tagHigh-edge), paper)
	s.ring(tagX+62, tagY+tagHigh/2, 17, 11, accent)
	amount, unit := cutUnit(price)
	middle := tagX + (86+tagWide)/2
	y := tagY + tagHigh/2 + 26
	if unit != "" {
		y -= 22
		s.centred(middle, y+56, unit, smallCaps, 40, accent, tagWide-110)
	}
	s.centred(middle, y, amount, bold, 76, accent, tagWide-110)
}

// title draws the title and returns where its last line stands.
func (s *sheet) title(x, y int, text string, wide int) int {
	const most, least = 76, 40
	if len(strings.Fields(text)) != 1 {
		return s.paragraph(x, y, text, bold, most, ink, wide, 2)
	}
	size := s.fit(text, bold, most, least, wide)
	return s.paragraph(x, y, s.middle(text, bold, size, wide), bold, size, ink, wide, 1)
}

// stamp draws a word in a double frame.
func (s *sheet) stamp(word string) {
	const x, y, high = tagX + 40, 438, 96
	for i, c := range []color.RGBA{marks[Bad], paper, marks[Bad], paper} {
		edge := []int{0, 5, 10, 12}[i]
		s.box(image.Rect(x+edge, y+edge, Width-margin-edge, y+high-edge), c)
	}
	s.centred((x+Width-margin)/2, y+66, word, smallCaps, 54, marks[Bad], Width-margin-x-60)
}

// steps draws a square each from the left on, all of one size.
func (s *sheet) steps(steps []Mark, top, bottom int) {
	pitch := min((Width-2*margin)/len(steps), bottom-top+6)
	for i, m := range steps {
		x := margin + i*pitch
		s.box(image.Rect(x, top, x+pitch-max(2, pitch/8), bottom), marks[m])
	}
}

// bar draws parts of a whole as one bar from edge to edge, or its steps, and below it each part
// with its number. A part that is there is at least a stroke wide, and one that is not has no
// colour in the bar.
func (s *sheet) bar(parts []Count, steps []Mark) {
	const top, bottom = 370, 414
	if len(steps) > 0 {
		s.steps(steps, top, bottom)
	}
	whole := int64(0)
	for _, c := range parts {
		whole += c.N
	}
	from, sum := margin, int64(0)
	for i, c := range parts {
		sum += c.N
		if c.N > 0 && len(steps) == 0 {
			to := max(margin+int(sum*int64(Width-2*margin)/whole), from+4)
			s.box(image.Rect(from, top, min(to, Width-margin), bottom), marks[c.Mark])
			from = to
		}
		column := (Width - 2*margin) / len(parts)
		x := margin + i*column
		number := marks[c.Mark]
		if c.Mark == Unobserved {
			number = faint // a number in the colour of a rule would be too pale to read
		}
		s.line(x, bottom+64, strconv.FormatInt(c.N, 10), bold, 56, number, column-20)
		s.line(x, bottom+100, c.Name, regular, 30, faint, column-20)
	}
}

// IconSize is the side of the icon in pixels, as telephones ask for it.
const IconSize = 180

// Icon returns the icon of a home screen as PNG: the price tag of the site's small icon.
func Icon() ([]byte, error) {
	s, err := newSheet(IconSize, IconSize)
	if err != nil {
		return nil, err
	}
	s.shape(image.Rect(22, 34, 158, 146), accent, 0, 56, 46, 0, 136, 0, 136, 112, 46, 112)
	s.shape(image.Rect(22, 34, 158, 146), paper, 13, 56, 50, 9, 127, 9, 127, 103, 50, 103)
	s.ring(66, 90, 12, 5, accent)
	for i := range 3 {
		y := 66 + i*20
		s.box(image.Rect(92, y, 136-i/2*12, y+8), accent)
	}
	return s.encode()
}
