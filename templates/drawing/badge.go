package drawing

import (
	"strconv"
	"time"
)

// Patron is what a badge shows.
type Patron struct {
	Number int64     // patron number, from 1
	Name   string    // as the buyer gave it, may be empty
	Item   string    // name of the good, may be empty
	Date   time.Time // day of the sale, UTC; none on a badge in the window
	// Nicer draws the badge of those who paid for a nicer one.
	Nicer bool
	// Reversed marks a sale whose payment a chain took back.
	Reversed bool
}

// Badge draws a patron's badge, 320 by 112: one design for all, with a second
// rule and a flower on the nicer one.
func Badge(b Patron) string {
	number, date := "No. "+strconv.FormatInt(b.Number, 10), ""
	name := shorten(b.Name, 80)
	desc := "A badge"
	if name != "" {
		desc += " in the name of " + name
	}
	if !b.Date.IsZero() {
		date = b.Date.UTC().Format(time.DateOnly)
		desc += ", issued on " + date
	}
	desc += "."
	if b.Reversed {
		desc += " The payment was reversed; the badge does not stand."
	}
	p := newPen(320, 112, "Patron "+number+" of the store", desc)
	p.rect("p", box{0, 0, 320, 112}, 3)
	p.rect("l", box{5, 5, 310, 102}, 2)
	if b.Nicer {
		p.rect("r", box{10, 10, 300, 92}, 1)
	} else {
		p.rect("m", box{9, 9, 302, 94}, 1)
	}

	seal(p, 58, 56, b.Nicer)

	p.raw(`<g letter-spacing="2">`)
	p.text("q", textLine{206, 33, 10, 180}, "PATRON OF THE STORE")
	p.end()
	p.text("", textLine{206, 61, 26, 180}, number)
	if name != "" {
		p.raw(`<g font-style="italic">`)
		p.text("", textLine{206, 80, 14, 180}, name)
		p.end()
	} else if b.Item != "" {
		p.raw(`<g font-style="italic">`)
		p.text("q", textLine{206, 80, 13, 180}, shorten(b.Item, 60))
		p.end()
	}
	if date != "" {
		p.text("n", textLine{206, 97, 10, 180}, date)
	}
	if b.Reversed {
		p.raw(`<g transform="rotate(-9 206 56)">`)
		p.rect("p", box{136, 38, 140, 32}, 3)
		p.rect("r", box{136, 38, 140, 32}, 3)
		p.raw(`<g letter-spacing="4">`)
		p.text("c", textLine{208, 60, 17, 120}, "REVERSED")
		p.end()
		p.end()
	}
	return p.done()
}

// seal is the store's mark: an awning over a door, in a ring; or a flower.
func seal(p *pen, x, y float64, flower bool) {
	p.circle("l", x, y, 36)
	p.circle("m", x, y, 32)
	p.group("", "translate("+num(x)+" "+num(y)+")")
	if flower {
		p.path("l", "M0 4q-1 12 1 22")
		p.path("l", "M0 20q-10 1 -13 -8q11 -1 13 8q3 -8 12 -6q-2 9 -12 6")
		for i := range 8 {
			p.raw(`<ellipse class="o" cx="0" cy="-16" rx="4.2" ry="9" transform="rotate(`, strconv.Itoa(i*45),
				` 0 -6)"/>`)
		}
		p.circle("a", 0, -6, 5.5)
	} else {
		p.path("l", "M-16 -4V20H16V-4M-5 20V4H5V20")
		p.path("o", "M-20 -17H20L23 -6a5.7 5.7 0 0 1 -11.5 0a5.7 5.7 0 0 1 -11.5 0a5.7 5.7 0 0 1 -11.5 0a5.7 5.7 0 0 "+
			"1 -11.5 0Z")
		p.path("a", "M-10 -17H0V-6a5.7 5.7 0 0 1 -11.5 0ZM10 -17H20L23 -6a5.7 5.7 0 0 1 -11.5 0Z")
		p.path("l", "M-20 -17H20L23 -6a5.7 5.7 0 0 1 -11.5 0a5.7 5.7 0 0 1 -11.5 0a5.7 5.7 0 0 1 -11.5 0a5.7 5.7 0 0 "+
			"1 -11.5 0Z")
		p.circle("f", 2.5, 13, 1.2)
	}
	p.end()
}
