package drawing

import (
	"encoding/hex"
	"math"
	"strconv"
)

// Ornament draws the rosette that stands on a certificate, 160 by 160: turned
// from the certificate's own digest like the engine work on a banknote, so
// that no two certificates carry the same one.
func Ornament(seed []byte) string {
	d := newDice("ornament", seed)
	p := newPen(160, 160, "Rosette", "An engine-turned rosette drawn from the certificate's digest "+
		hex.EncodeToString(d.seed[:4])+".")
	for ring, class := range []string{"m", "h", "r"} {
		petals := float64(5 + d.pick(9))
		inner := d.in(0.45, 0.72)
		radius := 72 - float64(ring)*20
		const steps = 96
		pts := make([]point, steps)
		for i := range pts {
			a := 2 * math.Pi * float64(i) / steps
			k := radius * (inner + (1-inner)*(0.5+0.5*math.Cos(petals*a)))
			pts[i] = point{k * math.Cos(a), k * math.Sin(a)}
		}
		id := "o" + hex.EncodeToString(d.seed[:4]) + strconv.Itoa(ring)
		p.group(class, "translate(80 80)")
		p.raw(`<path id="`, id, `" d="`, straight(pts), `"/>`)
		turns := 4 - ring
		for i := 1; i < turns; i++ {
			p.raw(`<use href="#`, id, `" transform="rotate(`, num(float64(i)*360/petals/float64(turns)), `)"/>`)
		}
		p.end()
	}
	p.circle("o", 80, 80, 11)
	p.text("", textLine{80, 85, 14, 16}, strconv.QuoteRuneToASCII(rune('A' + d.pick(26)))[1:2])
	return p.done()
}
