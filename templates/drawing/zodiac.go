package drawing

import "math"

// marks are the signs in their order.
var marks = []struct{ id, name string }{
	{"bell", "Bell"},
	{"ledger", "Ledger"},
	{"lamp", "Lamp"},
	{"kettle", "Kettle"},
	{"key", "Key"},
	{"stamp", "Stamp"},
	{"scales", "Scales"},
	{"umbrella", "Umbrella"},
	{"drawer", "Drawer"},
	{"ladder", "Ladder"},
	{"clock", "Clock"},
	{"cat", "Cat"},
}

// Sign draws one of the twelve in a ring of stars.
func Sign(id, name string) string {
	p := newPen(200, 200, name, "The sign in a ring with twelve points.")
	p.rect("p", box{0, 0, 200, 200}, 0)
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
			p.raw(piece("sign", m.id))
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
	p.rect("p", box{0, 0, 560, 560}, 0)
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
		p.raw(piece("sign", m.id))
		p.end()
		p.text("", textLine{x, y + 43, 17, 90}, m.name)
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
