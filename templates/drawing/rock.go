package drawing

import (
	"encoding/hex"
	"math"
	"strings"
)

// Rock draws a rock with its name under it. The seed decides everything else:
// shape, cracks, speckles, veins, shading and what grows beside it.
func Rock(seed []byte, name string) string {
	d := newDice("rock", seed)
	name = shorten(name, 80)
	p := newPen(240, 240, "Portrait of a rock named "+name,
		"A line drawing of one rock on the ground, signed with its name.")
	p.rect("p", box{0, 0, 240, 240}, 0)

	const ground, cx = 174.0, 120.0
	rx, ry := d.in(56, 80), d.in(50, 76)
	angular := d.one(2)
	pts := outline(d, oval{cx, ground, rx, ry}, angular)
	shape := smooth(pts)
	if angular {
		shape = straight(pts)
	}
	top := pts[0]
	for _, q := range pts {
		if q.y < top.y {
			top = q
		}
	}

	groundLine(p, d, cx, ground, rx)
	id := "r" + hex.EncodeToString(d.seed[:4])
	p.raw(`<clipPath id="`, id, `"><path d="`, shape, `"/></clipPath>`)
	p.path("o", shape)
	p.raw(`<g clip-path="url(#`, id, `)">`)
	if d.one(3) {
		vein(p, d, cx, ground-ry*0.9, rx)
	}
	shade(p, d, oval{cx, ground, rx, ry})
	speckles(p, d, oval{cx, ground - ry*0.8, rx * 0.8, ry * 0.7})
	cracks(p, d, top, angular)
	if angular {
		facets(p, d, pts, cx, ground-ry)
	}
	p.end()
	p.path("l", shape)
	if d.one(3) {
		moss(p, d, pts)
	}
	company(p, d, cx, ground, rx)

	p.line("m", 84, 205, 156, 205)
	p.raw(`<g font-style="italic">`)
	p.text("", textLine{120, 226, 17, 200}, name)
	p.end()
	return p.done()
}

// outline goes round the rock once, flat where it rests.
func outline(d *dice, o oval, angular bool) []point {
	n := 12 + d.pick(4)
	if angular {
		n = 8 + d.pick(3)
	}
	lean := d.in(-0.22, 0.22)
	pts := make([]point, n)
	for i := range pts {
		a := 2*math.Pi*float64(i)/float64(n) + d.in(-0.1, 0.1)
		k := d.in(0.88, 1.08)
		x, y := o.rx*k*math.Cos(a), o.ry*k*math.Sin(a)
		y = math.Min(y, o.ry*0.72)
		pts[i] = point{o.x + x - lean*y, o.y - o.ry*0.72 + y}
	}
	return pts
}

func groundLine(p *pen, d *dice, cx, ground, rx float64) {
	p.line("l", cx-rx-d.in(22, 34), ground, cx+rx+d.in(22, 34), ground)
	for i := range 7 {
		x := cx + rx*0.2 + float64(i)*9 + d.in(-2, 2)
		p.line("h", x, ground+4, x-9, ground+11)
	}
}

// shade hatches the side away from the light.
func shade(p *pen, d *dice, o oval) {
	step := d.in(5, 7.5)
	for i := range 11 {
		f := float64(i)
		x := o.x + o.rx*1.15 - f*step
		length := (62 - f*5) * o.ry / 60
		p.line("h", x, o.y, x+length*0.42, o.y-length)
	}
}

func speckles(p *pen, d *dice, o oval) {
	for range 5 + d.pick(14) {
		a, k := d.in(0, 6.283), math.Sqrt(d.in(0, 1))
		p.circle("f", o.x+o.rx*k*math.Cos(a), o.y+o.ry*k*math.Sin(a), d.in(0.7, 1.9))
	}
}

func cracks(p *pen, d *dice, top point, angular bool) {
	for range 1 + d.pick(2) {
		x, y := top.x+d.in(-24, 24), top.y-2
		var path strings.Builder
		path.WriteString("M" + xy(x, y))
		for range 3 + d.pick(3) {
			x += d.in(-9, 9)
			y += d.in(7, 14)
			path.WriteString("L" + xy(x, y))
		}
		p.path("l", path.String())
		if !angular {
			p.line("l", x, y, x+d.in(5, 10), y+d.in(3, 7))
		}
	}
}

// facets run from an inner ridge to some of the corners.
func facets(p *pen, d *dice, pts []point, cx, cy float64) {
	ridge := point{cx + d.in(-14, 14), cy + d.in(-4, 12)}
	for i, q := range pts {
		if q.y < cy+12 && i%2 == 0 {
			p.line("l", ridge.x, ridge.y, q.x, q.y)
		}
	}
}

// vein is the one seam of another colour.
func vein(p *pen, d *dice, cx, cy, rx float64) {
	y1, y2 := cy+d.in(-10, 40), cy+d.in(-10, 40)
	for i := range 1 + d.pick(2) {
		o := float64(i) * 7
		p.path("r", "M"+xy(cx-rx-12, y1+o)+"C"+xy(cx-rx/3, y2-22+o)+" "+xy(cx+rx/3, y1+22+o)+" "+xy(cx+rx+12, y2+o))
	}
}

// moss sits along the upper edge.
func moss(p *pen, d *dice, pts []point) {
	for _, q := range pts {
		if q.y > 110 {
			continue
		}
		for range 5 {
			x := q.x + d.in(-8, 8)
			p.line("h", x, q.y+d.in(0, 4), x+d.in(-3, 3), q.y-d.in(2, 7))
		}
	}
}

// company is whatever stands beside the rock.
func company(p *pen, d *dice, cx, ground, rx float64) {
	x := cx - rx - d.in(8, 16)
	switch d.pick(5) {
	case 0: // grass
		for i := range 5 {
			f := float64(i - 2)
			p.path("l", "M"+xy(x+f*2, ground)+"q"+xy(f, -10)+" "+xy(f*5, -16-d.in(0, 8)))
		}
	case 1: // a daisy
		p.path("l", "M"+xy(x, ground)+"q3 -16 0 -30")
		for i := range 7 {
			p.raw(`<ellipse class="o" cx="`, num(x), `" cy="`, num(ground-36), `" rx="2.4" ry="5.5" transform="rotate(`,
				num(float64(i)*360/7), ` `, xy(x, ground-30.5), `)"/>`)
		}
		p.circle("a", x, ground-30.5, 3.4)
	case 2: // a smaller one
		p.path("o", "M"+xy(x-12, ground)+"q-2 -11 9 -13q13 -1 13 13Z")
	case 3: // a snail, passing
		p.path("l", "M"+xy(x-14, ground-1)+"h24q6 0 5 -8m0 0l-2 -5m2 5l4 -4")
		p.circle("o", x-3, ground-9, 8)
		p.path("r", "M"+xy(x-3, ground-9)+"m0 0a2 2 0 0 1 2 2a4 4 0 0 1 -6 -2a5 5 0 0 1 9 -1")
	case 4: // nothing; some rocks prefer it
	}
}
