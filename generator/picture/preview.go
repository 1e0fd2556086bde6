package picture

import (
	"image"
	"strconv"
)

// Width and Height are the size of a picture in pixels, as who shows one expects it.
const Width, Height = 1200, 630

// Preview is the picture beside a link.
type Preview struct {
	// Sign is the name of the store, at the top; Foot is what stands at the bottom.
	Sign, Foot string
	// Title is in the largest letters, on two lines at most. Says is below it, on three.
	Title, Says string
	// Tag is written on a price tag at the right, "" for none.
	Tag string
	// Counts are parts of one whole, drawn as one bar with each number below it; nil for none.
	Counts []Count
}

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
	y := s.paragraph(margin, 226, p.Title, bold, 76, ink, wide, 2)
	lines := 3
	if len(p.Counts) > 0 {
		lines = 1
		s.bar(p.Counts)
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
	s.shape(image.Rect(tagX, tagY, tagX+tagWide, tagY+tagHigh), accent,
		0, tagHigh/2, 86, 0, tagWide, 0, tagWide, tagHigh, 86, tagHigh)
	const edge = 7
	s.shape(image.Rect(tagX, tagY, tagX+tagWide, tagY+tagHigh), paper,
		edge+3, tagHigh/2, 89, edge, tagWide-edge, edge, tagWide-edge, tagHigh-edge, 89, tagHigh-edge)
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

// bar draws parts of a whole as one bar from edge to edge, and below it each with its number. A
// part that is there is at least a stroke wide, and one that is not has no colour in the bar.
func (s *sheet) bar(parts []Count) {
	const top, bottom = 370, 414
	whole := int64(0)
	for _, c := range parts {
		whole += c.N
	}
	from, sum := margin, int64(0)
	for i, c := range parts {
		sum += c.N
		if c.N > 0 {
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

// iconSize is the side of the icon in pixels, as telephones ask for it.
const iconSize = 180

// Icon returns the icon of a home screen as PNG: the price tag of the site's small icon.
func Icon() ([]byte, error) {
	s, err := newSheet(iconSize, iconSize)
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
