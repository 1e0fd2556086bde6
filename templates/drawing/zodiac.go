package drawing

import "math"

// marks draw each sign about the origin, within 30 units of it, in the order of the signs.
var marks = []struct {
	id, name string
	draw     func(p *pen)
}{
	{"bell", "Bell", func(p *pen) {
		p.path("o", "M-20 14Q-14 8 -14 -6Q-14 -22 0 -22Q14 -22 14 -6Q14 8 20 14Z")
		p.path("l", "M-3 -23a3 3 0 0 1 6 0")
		p.circle("a", 0, 19, 5)
	}},
	{"ledger", "Ledger", func(p *pen) {
		p.path("o", "M0 -18Q-12 -24 -26 -19V18Q-12 13 0 19Q12 13 26 18V-19Q12 -24 0 -18ZM0 -18V19")
		p.path("h", "M-21 -11q8 -3 16 0M-21 -3q8 -3 16 0M-21 5q8 -3 16 0M5 -11q8 -3 16 0M5 -3q8 -3 16 0")
		p.path("r", "M5 7q8 -3 16 0")
	}},
	{"lamp", "Lamp", func(p *pen) {
		p.path("o", "M-9 -16H9L15 12H-15ZM-18 12H18V20H-18Z")
		p.path("l", "M-8 -16Q0 -32 8 -16")
		p.path("a", "M0 10q-7 -6 0 -17q7 11 0 17Z")
	}},
	{"kettle", "Kettle", func(p *pen) {
		p.path("l", "M-12 -8Q-12 -28 2 -28Q14 -28 14 -8")
		p.path("o", "M-18 20Q-24 -8 0 -10Q22 -8 18 20ZM17 4L29 -8L25 -11L14 -3Z")
		p.path("r", "M28 -16q-4 -5 0 -9M22 -18q-4 -5 0 -9")
	}},
	{"key", "Key", func(p *pen) {
		p.circle("o", -14, -8, 12)
		p.circle("a", -14, -8, 4)
		p.path("l", "M-4 -2L22 16M14 10L8 18M20 14L14 22")
	}},
	{"stamp", "Stamp", func(p *pen) {
		p.path("o", "M-5 -26H5Q9 -16 5 -6L9 4H-9L-5 -6Q-9 -16 -5 -26ZM-20 4H20V14H-20Z")
		p.path("r", "M-20 22H20")
	}},
	{"scales", "Scales", func(p *pen) {
		p.path("l", "M0 -26V20M-12 21H12M-22 -15L22 -21M-22 -15L-29 4M-22 -15L-15 4M22 -21L15 -2M22 -21L29 -2")
		p.path("o", "M-30 4H-14Q-16 12 -22 12T-30 4ZM14 -2H30Q28 6 22 6T14 -2Z")
		p.circle("a", 0, -26, 3)
	}},
	{"umbrella", "Umbrella", func(p *pen) {
		p.path("o", "M-28 2Q-24 -24 0 -24Q24 -24 28 2Q21 -5 14 2Q7 -5 0 2Q-7 -5 -14 2Q-21 -5 -28 2Z")
		p.path("l", "M0 2V20a5 5 0 0 1 -10 0M0 -24V-29")
		p.path("r", "M-14 2Q-12 -14 0 -23Q12 -14 14 2")
	}},
	{"drawer", "Drawer", func(p *pen) {
		p.path("o", "M-26 -22H26V22H-26ZM-20 -16H20V-2H-20Z")
		p.path("o", "M-24 4H24L28 20H-28Z")
		p.circle("a", 0, -9, 3)
		p.circle("a", 0, 12, 3)
	}},
	{"ladder", "Ladder", func(p *pen) {
		p.path("l", "M-14 26L-4 -28M10 26L4 -28M-12 16H8M-10 6H8M-8 -4H6M-7 -14H5")
		p.path("r", "M10 26L24 26M4 -20L22 26")
	}},
	{"clock", "Clock", func(p *pen) {
		p.circle("o", 0, 0, 24)
		p.path("h", "M0 -21V-16M0 21V16M-21 0H-16M21 0H16")
		p.path("l", "M0 0V-13")
		p.path("r", "M0 0L11 7")
	}},
	{"cat", "Cat", func(p *pen) {
		const body = "M-16 22Q-20 2 -6 -4L-12 -24L-3 -17H5L13 -24L9 -4Q18 4 14 22Z"
		p.path("b", body)
		p.path("l", body+"M14 20q16 2 12 -16")
		p.circle("a", -4, -10, 2)
		p.circle("a", 5, -10, 2)
	}},
}

// Sign draws one of the twelve in a ring of stars.
func Sign(id, name string) string {
	p := newPen(200, 200, name, "The sign in a ring with twelve points.")
	p.rect("p", 0, 0, 200, 200, 0)
	p.circle("o", 100, 100, 84)
	p.circle("m", 100, 100, 76)
	for i := range 12 {
		sin, cos := math.Sincos(float64(i) * math.Pi / 6)
		x, y := 100+92*sin, 100-92*cos
		if i < len(marks) && marks[i].id == id {
			p.circle("a", x, y, 4)
		} else {
			p.path("h", "M"+xy(x-3, y)+"h6M"+xy(x, y-3)+"v6")
		}
	}
	for _, m := range marks {
		if m.id == id {
			p.group("", "translate(100 100) scale(1.9)")
			m.draw(p)
			p.end()
		}
	}
	return p.done()
}

// Zodiac draws the wheel of the twelve.
func Zodiac() string {
	p := newPen(560, 560, "The twelve signs", "A wheel of twelve parts with a sign in each: from the top, clockwise, "+
		"the bell, the ledger, the lamp, the kettle, the key, the stamp, the scales, the umbrella, the drawer, the "+
		"ladder, the clock and the cat.")
	p.rect("p", 0, 0, 560, 560, 0)
	p.circle("l", 280, 280, 270)
	p.circle("m", 280, 280, 262)
	p.circle("l", 280, 280, 122)
	p.circle("m", 280, 280, 114)
	for i, m := range marks {
		sin, cos := math.Sincos((float64(i) + .5) * math.Pi / 6)
		p.line("m", 280+122*sin, 280-122*cos, 280+262*sin, 280-262*cos)
		sin, cos = math.Sincos(float64(i) * math.Pi / 6)
		x, y := 280+192*sin, 280-192*cos
		p.group("", "translate("+xy(x, y-10)+") scale(1.15)")
		m.draw(p)
		p.end()
		p.text("", x, y+43, 17, 90, m.name)
	}
	// In the middle the stars that are read by, one for each, and the hand that points at none.
	for i := range 12 {
		sin, cos := math.Sincos(float64(i)*math.Pi/6 + .26)
		r := 52 + float64(i*29%44)
		x, y, size := 280+r*sin, 280-r*cos, 3+float64(i%3)
		p.path("h", "M"+xy(x-size, y)+"h"+num(2*size)+"M"+xy(x, y-size)+"v"+num(2*size))
	}
	p.path("a", "M280 250l7 22 23 0 -19 14 8 23 -19 -14 -19 14 8 -23 -19 -14 23 0Z")
	return p.done()
}
