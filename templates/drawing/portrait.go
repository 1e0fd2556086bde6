package drawing

import (
	"strings"
)

// Portrait draws the sitter behind a wallet's address. The same address gives
// the same drawing; an EVM address does so in any spelling of its case.
func Portrait(address string) string {
	if strings.HasPrefix(address, "0x") || strings.HasPrefix(address, "0X") {
		address = strings.ToLower(address)
	}
	d := newDice("portrait", []byte(address))
	label := shortAddress(address)
	p := newPen(240, 300, "Portrait of "+label, "A head and shoulders in ink, every feature drawn from the digits of "+
		"the address.")
	p.rect("p", box{0, 0, 240, 300}, 0)
	p.rect("l", box{12, 12, 216, 246}, 0)
	p.rect("m", box{18, 18, 204, 234}, 0)

	wall(p, d)
	f := face{
		w: d.in(39, 52), h: d.in(50, 62), jaw: d.in(0.55, 0.98), y: 128,
		lean: d.in(-2.5, 2.5), glance: d.in(-2.2, 2.2),
	}
	p.raw(`<g transform="rotate(`, num(f.lean), ` 120 200)">`)
	hat := d.pick(11)
	f.behind(p, hat)
	f.shoulders(p, d)
	f.head(p)
	f.ears(p, d)
	f.eyes(p, d)
	f.nose(p, d)
	f.mouth(p, d)
	f.top(p, hat)
	p.end()

	p.path("l", "M18 258H222")
	p.text("n", textLine{120, 282, 13, 210}, label)
	return p.done()
}

// shortAddress keeps both ends of a long address.
func shortAddress(a string) string {
	a = strings.Join(strings.Fields(a), "")
	if r := []rune(a); len(r) > 17 {
		return string(r[:8]) + "…" + string(r[len(r)-6:])
	}
	return a
}

// wall is what hangs or runs behind the sitter.
func wall(p *pen, d *dice) {
	switch d.pick(5) {
	case 0: // stripes
		for x := 30.0; x < 220; x += 20 {
			p.line("m", x, 18, x, 252)
		}
	case 1: // sprigs
		for row := range 5 {
			for col := range 4 {
				x, y := 40+float64(col)*53, 40+float64(row)*46
				if row%2 == 1 {
					x -= 14
				}
				p.path("m", "M"+xy(x, y)+"v10m0 -4q-6 0 -6 -6m6 6q6 0 6 -6")
			}
		}
	case 2: // a window with a hill
		p.rect("m", box{34, 34, 52, 66}, 0)
		p.path("m", "M60 34V100M34 67H86M34 90Q52 74 66 88T86 84")
	case 3: // shading in the corner
		for i := range 14 {
			f := 16 + float64(i)*11
			p.line("m", 222, 18+f, 222-f*0.7, 18)
		}
	case 4: // a small picture of somebody else
		p.rect("m", box{172, 36, 34, 42}, 0)
		p.circle("m", 189, 52, 6)
		p.path("m", "M178 72q11 -16 22 0")
	}
}

// face holds the measures that the features share. The head is centred on 120.
type face struct {
	w, h, jaw, y, lean, glance float64
}

func (f face) head(p *pen) {
	const x = 120.0
	t, b := f.y-f.h, f.y+f.h
	w, j := f.w, f.w*f.jaw
	p.path("o", "M"+xy(x, t)+"C"+xy(x+w*0.7, t)+" "+xy(x+w, t+f.h*0.45)+" "+xy(x+w, f.y)+
		"C"+xy(x+w, f.y+f.h*0.45)+" "+xy(x+j*0.72, b)+" "+xy(x, b)+
		"C"+xy(x-j*0.72, b)+" "+xy(x-w, f.y+f.h*0.45)+" "+xy(x-w, f.y)+
		"C"+xy(x-w, t+f.h*0.45)+" "+xy(x-w*0.7, t)+" "+xy(x, t)+"Z")
}

// both draws a feature on the right and its mirror image on the left.
func (f face) both(p *pen, draw func()) {
	draw()
	p.raw(`<g transform="matrix(-1 0 0 1 240 0)">`)
	draw()
	p.end()
}

func (f face) ears(p *pen, d *dice) {
	size := d.in(7, 12)
	ring := d.one(4)
	f.both(p, func() {
		x := 120 + f.w
		p.path("o", "M"+xy(x-1, f.y-size)+"q"+xy(size*1.2, -size*0.7)+" "+xy(size, size*0.8)+"q"+xy(-1, size)+" "+
			xy(-size, size*0.9))
		if ring {
			p.circle("a", x+size*0.55, f.y+size*0.95, 2.3)
		}
	})
}

func (f face) shoulders(p *pen, d *dice) {
	neck := f.y + f.h - 8
	slope := d.in(0, 16)
	p.path("o", "M32 252Q"+xy(36, 214+slope)+" 84 208L102 200V"+num(neck)+"H138V200L156 208Q"+xy(204, 214+slope)+
		" 208 252Z")
	switch d.pick(7) {
	case 0: // shirt and tie
		p.path("l", "M101 202L120 222L139 202M92 206L110 236L120 222L130 236L148 206")
		p.path("a", "M120 223l6 7l-3 5l5 17h-16l5 -17l-3 -5Z")
	case 1: // roll neck
		p.path("o", "M97 196Q120 206 143 196V212Q120 224 97 212Z")
		p.path("h", "M106 200v15M114 202v16M122 202v16M130 201v15")
	case 2: // scarf
		p.path("a", "M94 194Q120 212 146 194L150 209Q120 230 90 209Z")
		p.path("a", "M128 214l16 38h-18l-8 -34Z")
		p.path("i", "M126 246l2 6M132 244l3 8M98 202q22 14 44 0")
	case 3: // bow tie
		p.path("l", "M98 203L120 216L142 203")
		p.path("a", "M120 217l-17 -9v18ZM120 217l17 -9v18Z")
		p.circle("o", 120, 217, 4)
	case 4: // lapels and a flower
		p.path("l", "M98 203L120 252L142 203M98 203L86 222L98 228L120 252L142 228L154 222L142 203")
		p.circle("a", 158, 232, 5)
		p.path("l", "M158 237v7")
	case 5: // ruff
		for i := range 7 {
			p.ellipse("o", oval{90 + float64(i)*10, 204 + 4*float64(3-abs(i-3)), 8, 10}, float64(i-3)*-9)
		}
	case 6: // overalls
		p.path("l", "M86 208L92 238H148L154 208M92 238V252M148 238V252")
		p.circle("a", 96, 242, 3)
		p.circle("a", 144, 242, 3)
	}
}

func abs(i int) int { return max(i, -i) }

func (f face) eyes(p *pen, d *dice) {
	gap, y := f.w*d.in(0.36, 0.46), f.y-f.h*0.1
	kind, brow, lift := d.pick(6), d.pick(4), d.in(9, 13)
	for _, side := range []float64{-1, 1} {
		x := 120 + side*gap
		switch kind {
		case 0: // plain
			p.circle("f", x+f.glance*0.4, y, 3)
		case 1: // round, with a glance
			p.circle("o", x, y, 7)
			p.circle("f", x+f.glance, y+0.5, 2.8)
		case 2: // half closed
			p.path("l", "M"+xy(x-8, y)+"q8 -6 16 0")
			p.path("f", "M"+xy(x-4+f.glance, y-2)+"h8a4 4 0 0 1 -8 0Z")
		case 3: // spectacles
			p.circle("f", x+f.glance*0.6, y, 2.6)
			p.circle("l", x, y, 12)
		case 4: // almonds
			p.path("o", "M"+xy(x-9, y)+"q9 -9 18 0q-9 8 -18 0Z")
			p.circle("f", x+f.glance, y-0.5, 3)
		case 5: // closed, content
			p.path("l", "M"+xy(x-7, y-1)+"q7 6 14 0")
		}
		rise := map[bool]float64{true: 4, false: 0}[brow == 1 && side > 0]
		tilt := []float64{0, 0, 3, -3}[brow] * side
		if kind == 3 {
			rise += 5
		}
		p.path("l", "M"+xy(x-8, y-lift-rise-tilt)+"q8 -5 16 "+num(2*tilt))
	}
	if kind == 3 {
		p.path("l", "M"+xy(120-gap+12, y)+"Q"+xy(120, y-5)+" "+xy(120+gap-12, y))
		f.both(p, func() { p.line("l", 120+gap+12, y, 120+f.w, y-3) })
	}
	if d.one(3) {
		f.both(p, func() {
			for _, o := range []point{{0, 0}, {5, 2}, {2, 5}} {
				p.circle("c", 120+gap+o.x-2, y+19+o.y, 1.1)
			}
		})
	}
}

func (f face) nose(p *pen, d *dice) {
	y, l := f.y-f.h*0.06, f.h*d.in(0.26, 0.4)
	side := map[bool]string{true: "-", false: ""}[d.one(2)]
	switch d.pick(5) {
	case 0:
		p.path("l", "M120 "+num(y)+"q"+side+"2 "+num(l*0.6)+" "+side+"7 "+num(l)+"h"+
			map[string]string{"-": "", "": "-"}[side]+"8")
	case 1:
		p.path("l", "M120 "+num(y)+"c"+side+"12 "+num(l*0.3)+" "+side+"14 "+num(l)+" 0 "+num(l))
	case 2:
		p.path("l", "M113 "+num(y+l-3)+"q-2 6 4 5q3 3 6 0q6 1 4 -5")
	case 3:
		p.path("l", "M117 "+num(y-4)+"V"+num(y+l)+"q3 4 8 0")
	case 4:
		p.path("o", "M120 "+num(y+2)+"l9 "+num(l-2)+"q-9 5 -18 0Z")
	}
}

func (f face) mouth(p *pen, d *dice) {
	y, w := f.y+f.h*0.52, f.w*d.in(0.28, 0.44)
	switch d.pick(7) {
	case 0:
		p.path("l", "M"+xy(120-w, y)+"q"+xy(w, 9)+" "+xy(2*w, 0))
	case 1:
		p.line("l", 120-w, y, 120+w, y)
	case 2:
		p.path("l", "M"+xy(120-w, y+2)+"q"+xy(w*1.3, 4)+" "+xy(2*w, -6))
	case 3: // moustache
		p.path("f", "M120 "+num(y-5)+"q-10 -6 -18 1q-5 5 -11 2q5 11 18 7q8 -2 11 -6q3 4 11 6q13 4 18 -7q-6 3 -11 "+
			"-2q-8 -7 -18 -1Z")
		p.path("l", "M"+xy(113, y+7)+"q7 3 14 0")
	case 4: // full beard
		b := f.y + f.h
		j := f.w * 0.96
		p.path("f", "M"+xy(120-j, f.y+4)+"Q"+xy(120-j, b+4)+" "+xy(120, b+14)+"Q"+xy(120+j, b+4)+" "+xy(120+j, f.y+4)+
			"Q"+xy(120+j*0.7, y-8)+" "+xy(120, y-9)+"Q"+xy(120-j*0.7, y-8)+" "+xy(120-j, f.y+4)+"Z")
		p.path("j", "M"+xy(112, y+1)+"q8 5 16 0")
	case 5:
		p.path("r", "M"+xy(120-w*0.7, y)+"q"+xy(w*0.4, -5)+" "+xy(w*0.7, -1)+"q"+xy(w*0.3, -4)+" "+xy(w*0.7, 1)+"q"+
			xy(-w*0.7, 9)+" "+xy(-w*1.4, 0)+"Z")
	case 6:
		p.path("l", "M"+xy(120-w*0.6, y)+"h"+num(w*1.2)+"M"+xy(120-w*0.6, y)+"l-3 -3M"+xy(120+w*0.6, y)+"l3 -3M116 "+
			num(y+8)+"h8")
	}
}

// behind is the hair that the shoulders and the head cover.
func (f face) behind(p *pen, kind int) {
	switch kind {
	case 4: // bob
		p.path("f", "M"+xy(120-f.w-12, f.y+f.h*0.9)+"Q"+xy(120-f.w-16, f.y-f.h-14)+" 120 "+num(f.y-f.h-12)+
			"Q"+xy(120+f.w+16, f.y-f.h-14)+" "+xy(120+f.w+12, f.y+f.h*0.9)+"Z")
	case 5: // plaits
		f.both(p, func() {
			x := 120 + f.w + 4
			for i := range 4 {
				p.ellipse("f", oval{x + float64(i)*1.5, f.y + 14 + float64(i)*15, 7.5 - float64(i), 9}, 0)
			}
			p.rect("a", box{x, f.y + 66, 9, 5}, 2)
		})
	case 6: // curls
		for i := range 9 {
			a := float64(i) - 4
			p.circle("f", 120+a*f.w*0.28, f.y-f.h*0.55-(16-a*a)*2.1, 15)
		}
	}
}

// top is the hair or hat in front of the head.
func (f face) top(p *pen, kind int) {
	const x = 120.0
	t, w := f.y-f.h, f.w
	fringe := "M" + xy(x-w, f.y-f.h*0.25) + "C" + xy(x-w-3, t-2) + " " + xy(x-w*0.6, t-8) + " " + xy(x, t-8) +
		"C" + xy(x+w*0.6, t-8) + " " + xy(x+w+3, t-2) + " " + xy(x+w, f.y-f.h*0.25)
	switch kind {
	case 0: // a parting
		p.path("f", fringe+"Q"+xy(x+w*0.7, t+f.h*0.42)+" "+xy(x-w*0.3, t+f.h*0.2)+"Q"+xy(x-w*0.8, t+f.h*0.45)+" "+
			xy(x-w, f.y-f.h*0.25)+"Z")
	case 1: // bowler
		p.path("o", "M"+xy(x-w*0.86, t+16)+"C"+xy(x-w*0.9, t-44)+" "+xy(x+w*0.9, t-44)+" "+xy(x+w*0.86, t+16)+"Z")
		p.path("a", "M"+xy(x-w*0.88, t+4)+"Q"+xy(x, t-2)+" "+xy(x+w*0.88, t+4)+"L"+xy(x+w*0.86, t+16)+"H"+num(x-w*0.86)+
			"Z")
		p.path("o", "M"+xy(x-w-14, t+10)+"Q"+xy(x, t+28)+" "+xy(x+w+14, t+10)+"Q"+xy(x+w+8, t+22)+" "+xy(x, t+24)+"Q"+
			xy(x-w-8, t+22)+" "+xy(x-w-14, t+10)+"Z")
	case 2: // beret
		p.path("a", "M"+xy(x-w-10, t+12)+"Q"+xy(x-w-14, t-24)+" "+xy(x+8, t-22)+"Q"+xy(x+w+22, t-16)+" "+
			xy(x+w+6, t+14)+"Q"+xy(x, t+4)+" "+xy(x-w-10, t+12)+"Z")
		p.path("l", "M"+xy(x+6, t-22)+"q1 -7 6 -8")
	case 3: // wool hat
		p.path("o", "M"+xy(x-w-2, t+22)+"C"+xy(x-w-2, t-34)+" "+xy(x+w+2, t-34)+" "+xy(x+w+2, t+22)+"Z")
		p.rect("o", box{x - w - 6, t + 14, 2*w + 12, 15}, 6)
		p.circle("a", x, t-24, 9)
		for i := range 7 {
			p.line("h", x-w+4+float64(i)*w*0.31, t+17, x-w+4+float64(i)*w*0.31, t+26)
		}
	case 4, 6: // a fringe for the bob, a hairline for curls
		p.path("f", fringe+"Q"+xy(x+w*0.8, t+f.h*0.3)+" "+xy(x, t+f.h*0.28)+"Q"+xy(x-w*0.8, t+f.h*0.3)+" "+
			xy(x-w, f.y-f.h*0.25)+"Z")
	case 5: // centre parting over plaits
		p.path("f", fringe+"Q"+xy(x+w*0.5, t+f.h*0.4)+" "+xy(x, t+4)+"Q"+xy(x-w*0.5, t+f.h*0.4)+" "+
			xy(x-w, f.y-f.h*0.25)+"Z")
	case 7: // three hairs, each on duty
		p.path("l", "M"+xy(x-6, t)+"q-5 -10 -1 -17M"+xy(x, t)+"q1 -12 6 -19M"+xy(x+6, t+1)+"q6 -9 14 -10")
	case 8: // bald at the top, tufts at the sides
		f.both(p, func() {
			p.path("f", "M"+xy(x+w-1, f.y-10)+"q10 -6 8 -16q4 -10 -6 -16q-2 -8 -9 -6q4 16 7 38Z")
		})
	case 9: // a bun
		p.circle("f", x, t-14, 15)
		p.path("f", fringe+"Q"+xy(x, t-f.h*0.06+14)+" "+xy(x-w, f.y-f.h*0.25)+"Z")
		p.path("r", "M"+xy(x-20, t-22)+"L"+xy(x+20, t-8))
	case 10: // peaked cap
		p.path("o", "M"+xy(x-w-3, t+16)+"Q"+xy(x-w-6, t-22)+" "+xy(x, t-22)+"Q"+xy(x+w+6, t-22)+" "+xy(x+w+3, t+16)+"Z")
		p.path("f", "M"+xy(x-w-3, t+16)+"Q"+xy(x, t+6)+" "+xy(x+w+3, t+16)+"Q"+xy(x+w*0.5, t+30)+" "+xy(x, t+28)+"Q"+
			xy(x-w*0.5, t+30)+" "+xy(x-w-3, t+16)+"Z")
		p.circle("a", x, t-2, 5)
	}
}
