package drawing

import (
	"crypto/sha256"
	"math"
)

// Stamped is what a stamp or sticker shows.
type Stamped struct {
	Week     string // ISO week of a stamp, whose design it is; "" for a sticker
	Line     string // what it says
	Date     string // UTC date
	Identity string // who proved it was they, may be empty
}

// Stamp draws a stamp of the week, or the sticker of who signed the guestbook, 240 by 280. The
// rosette is the week's, or for a sticker always the same.
func Stamp(s Stamped) string {
	head, title := s.Week, "A stamp of "+s.Week
	if s.Week == "" {
		head, title = "GUESTBOOK", "A guestbook sticker"
	}
	p := newPen(240, 280, title, s.Line+" "+s.Date)
	p.rect("p", box{0, 0, 240, 280}, 0)
	perforate(p, 240, 280)
	p.rect("m", box{16, 16, 208, 248}, 2)
	rosette(p, 120, 118, sha256.Sum256([]byte("stamp of the week\n"+s.Week)))
	p.raw(`<g letter-spacing="2">`)
	p.text("q", textLine{120, 40, 13, 180}, head)
	p.end()
	p.raw(`<g font-style="italic">`)
	p.text("", textLine{120, 214, 15, 170}, s.Line)
	p.end()
	p.text("q", textLine{120, 234, 11, 170}, s.Date)
	if s.Identity != "" {
		p.text("q", textLine{120, 250, 10, 170}, s.Identity)
	}
	return p.done()
}

// perforate draws the row of holes along an edge of a stamp.
func perforate(p *pen, w, h float64) {
	const step = 16
	for x := step / 2.0; x < w; x += step {
		p.circle("s", x, 4, 2.4)
		p.circle("s", x, h-4, 2.4)
	}
	for y := step * 1.5; y < h-step; y += step {
		p.circle("s", 4, y, 2.4)
		p.circle("s", w-4, y, 2.4)
	}
}

// rosette draws a figure of rings, petals and beads that a seed chooses.
func rosette(p *pen, x, y float64, seed [sha256.Size]byte) {
	petals, beads := 5+int(seed[0])%9, 8+int(seed[1])%17
	long, wide := 38+float64(seed[2]%20), 5+float64(seed[3]%9)
	p.circle("m", x, y, 70)
	p.circle("l", x, y, 66)
	for i := range petals {
		turn := 360 * float64(i) / float64(petals)
		class := "o"
		if seed[4]%3 == 0 && i%2 == 0 {
			class = "r"
		}
		r := turn * math.Pi / 180
		p.ellipse(class, oval{x + math.Sin(r)*long/1.6, y - math.Cos(r)*long/1.6, wide, long / 2}, turn)
	}
	for i := range beads {
		r := 2 * math.Pi * float64(i) / float64(beads)
		p.circle([]string{"f", "a"}[i%2*int(seed[5]%2)], x+math.Sin(r)*58, y-math.Cos(r)*58, 2.2)
	}
	p.circle("o", x, y, 9+float64(seed[6]%6))
	p.circle("a", x, y, 4+float64(seed[7]%3))
}
