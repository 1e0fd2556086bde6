package drawing

import (
	"strings"
)

// AnimalCard draws a lucky animal on a card, 220 by 310, with the word for its
// strength under it. The seed decides which way it looks and what is around
// it. An animal that is not in the bestiary did not sit, and its card shows tracks.
func AnimalCard(animal, strength string, seed []byte) string {
	d := newDice("card", seed)
	animal, strength = shorten(animal, 40), shorten(strength, 40)
	p := newPen(220, 310, "Lucky "+animal+": "+strength, "An animal card with a drawing of the "+animal+
		" and the word for its strength, "+strength+".")
	p.rect("p", box{0, 0, 220, 310}, 10)
	p.rect("l", box{7, 7, 206, 296}, 7)
	p.rect("m", box{12, 12, 196, 286}, 5)
	for _, c := range []point{{24, 24}, {196, 24}, {24, 286}, {196, 286}} {
		pip(p, c)
	}

	scene, known := bestiary[animal]
	if !known {
		scene = land
	}
	turn := "translate(10 32)"
	if d.one(2) {
		turn = "matrix(-1 0 0 1 210 32)"
	}
	p.group("", turn)
	scene(p, d)
	if known {
		p.raw(piece("animal", animal))
	} else {
		tracks(p)
	}
	p.end()

	p.raw(`<g letter-spacing="3">`)
	p.text("", textLine{111, 250, 20, 170}, strings.ToUpper(animal))
	p.end()
	p.line("m", 60, 260, 160, 260)
	p.raw(`<g font-style="italic">`)
	p.text("c", textLine{110, 281, 15, 150}, strength)
	p.end()
	return p.done()
}

// pip is the clover in a corner of the card.
func pip(p *pen, c point) {
	p.path("a", "M"+xy(c.x, c.y-5)+"l5 5l-5 5l-5 -5Z")
}

// land is ground with some grass and stones.
func land(p *pen, d *dice) {
	p.line("m", 12, 165, 188, 165)
	for range 3 + d.pick(4) {
		x := d.in(14, 186)
		if d.one(3) {
			p.path("m", "M"+xy(x-5, 165)+"q0 -5 5 -5q6 0 6 5")
			continue
		}
		p.path("m", "M"+xy(x-3, 165)+"l-2 -8M"+xy(x, 165)+"v-10M"+xy(x+3, 165)+"l3 -7")
	}
	sky(p, d)
}

// water is a surface to swim on.
func water(p *pen, d *dice) {
	for i := range 4 {
		x, y := d.in(2, 60), 152+float64(i)*9
		p.path("m", "M"+xy(x, y)+"q7 -5 14 0t14 0t14 0t14 0t14 0t14 0t14 0t14 0")
	}
	sky(p, d)
}

// deep is under the surface.
func deep(p *pen, d *dice) {
	for range 5 {
		p.circle("m", d.in(16, 184), d.in(8, 60), d.in(1.5, 4))
	}
	for range 3 {
		x := d.in(12, 188)
		p.path("m", "M"+xy(x, 178)+"q-7 -10 0 -20t0 -20t0 -16")
	}
}

// air has nothing under it.
func air(p *pen, d *dice) {
	for range 3 {
		p.path("m", "M"+xy(d.in(8, 130), d.in(140, 176))+"h"+num(d.in(20, 48)))
	}
	sky(p, d)
}

// sky is what stands over the animal: sun, moon or weather.
func sky(p *pen, d *dice) {
	x := d.in(20, 46)
	switch d.pick(4) {
	case 0:
		p.circle("m", x, 26, 10)
	case 1:
		p.path("m", "M"+xy(x, 14)+"a11 11 0 1 0 10 15a9 9 0 0 1 -10 -15Z")
	case 2:
		p.path("m", "M"+xy(x-14, 30)+"a7 7 0 0 1 4 -13a10 10 0 0 1 18 -1a8 8 0 0 1 7 14Z")
	case 3:
		for range 4 {
			sx, sy := d.in(8, 60), d.in(8, 44)
			p.path("m", "M"+xy(sx-3, sy)+"h6M"+xy(sx, sy-3)+"v6")
		}
	}
}

// tracks stand in for an animal that would not stay.
func tracks(p *pen) {
	for i := range 4 {
		x, y := 40+float64(i)*36, 140-float64(i%2)*26
		p.ellipse("f", oval{x, y, 8, 6}, 0)
		for j := range 3 {
			p.circle("f", x-8+float64(j)*8, y-11+abs2(j-1)*2, 3)
		}
	}
}

func abs2(i int) float64 { return float64(abs(i)) }
