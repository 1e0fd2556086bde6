package drawing

import (
	"strconv"
	"time"
)

// TuesdayJar draws the jar of one Tuesday with its label. What floats in it
// follows from the date, so each Tuesday has its own. Number 0 is the jar in
// the window, which is not for sale and has no number.
func TuesdayJar(date time.Time, number int64) string {
	date = date.UTC()
	day, no := date.Format(time.DateOnly), "No. "+strconv.FormatInt(number, 10)
	title := "Jar " + strconv.FormatInt(number, 10) + ": Tuesday, " + date.Format("2 January 2006")
	if number == 0 {
		no, title = "on show", "A jar of Tuesday, "+date.Format("2 January 2006")
	}
	d := newDice("jar", []byte(day))
	p := newPen(220, 290, title,
		"A sealed preserving jar with a paper label, holding the light and the small things of one Tuesday.")
	p.rect("p", box{0, 0, 220, 290}, 0)
	p.line("l", 26, 268, 194, 268)
	for i := range 9 {
		x := 104 + float64(i)*11
		p.line("h", x, 272, x-8, 279)
	}

	id := "j" + strconv.FormatInt(date.Unix()/86400, 36)
	const glass = "M66 66C66 80 46 82 46 104V250C46 262 52 268 64 268H156C168 268 174 262 174 250V104C174 82 154 80 " +
		"154 66Z"
	p.raw(`<clipPath id="`, id, `"><path d="`, glass, `"/></clipPath>`)
	p.raw(`<g clip-path="url(#`, id, `)">`)
	tuesdayLight(p, d)
	p.end()
	p.path("l", glass)
	p.path("h", "M54 112V146M54 156V170M166 226V248")

	// The lid, its cloth and string.
	p.path("o", "M62 66H158V48Q158 42 152 42H68Q62 42 62 48Z")
	p.path("h", "M70 48V62M80 48V62M90 48V62M100 48V62M110 48V62M120 48V62M130 48V62M140 48V62M150 48V62")
	p.path("r", "M60 66H160M104 67q-12 10 -18 4q-1 -7 18 -4q19 -6 19 1q-6 7 -19 -1l-7 16m7 -16l9 15")

	// The label.
	p.rect("o", box{60, 138, 100, 64}, 2)
	p.rect("m", box{63, 141, 94, 58}, 1)
	p.raw(`<g letter-spacing="3">`)
	p.text("c", textLine{111, 157, 11, 90}, "TUESDAY")
	p.end()
	p.text("", textLine{110, 176, 14, 86}, date.Format("2 Jan 2006"))
	p.text("n", textLine{110, 192, 11, 84}, no)
	return p.done()
}

// tuesdayLight is what is in the jar: a horizon, weather over it, and one
// thing that happened to be there.
func tuesdayLight(p *pen, d *dice) {
	horizon := d.in(224, 232)
	sx, sy := d.in(84, 136), d.in(98, 112)
	switch d.pick(4) {
	case 0: // sun
		p.circle("a", sx, sy, 13)
		for i := range 8 {
			p.raw(`<path class="r" d="M`, xy(sx, sy-18), `v-6" transform="rotate(`, strconv.Itoa(i*45), ` `, xy(sx, sy),
				`)"/>`)
		}
	case 1: // cloud and rain
		p.path("o", "M"+xy(sx-26, sy+8)+"a11 11 0 0 1 6 -20a15 15 0 0 1 28 -3a12 12 0 0 1 14 23Z")
		for i := range 6 {
			x := sx - 20 + float64(i)*8
			p.line("h", x, sy+14, x-3, sy+20+d.in(0, 8))
		}
	case 2: // moon and a few stars
		p.path("a", "M"+xy(sx, sy-14)+"a14 14 0 1 0 13 19a11 11 0 0 1 -13 -19Z")
		for _, side := range []float64{-46, -30, 30, 44} {
			x, y := sx+side+d.in(-5, 5), d.in(92, 128)
			p.path("h", "M"+xy(x-3, y)+"h6M"+xy(x, y-3)+"v6")
		}
	case 3: // birds
		for i := range 4 {
			p.path("l", "M"+xy(58+float64(i)*26+d.in(-3, 3), d.in(92, 126))+"q4 -6 8 0q4 -6 8 0")
		}
	}
	hill := "M40 " + num(horizon) + "Q" + xy(d.in(70, 100), horizon-d.in(4, 12)) + " 110 " + num(horizon) + "T180 " +
		num(horizon)
	p.path("s", hill+"V270H40Z")
	p.path("l", hill)
	y := num(horizon + 20)
	switch d.pick(6) {
	case 0: // a house
		p.path("o", "M124 "+y+"v-20l14 -12l14 12v20Z")
		p.path("f", "M134 "+y+"v-11h8v11Z")
	case 1: // a tree
		p.path("o", "M84 "+y+"v-12a12 12 0 1 1 4 0v12Z")
	case 2: // a kettle
		p.path("o", "M122 "+y+"q-5 -19 12 -19q17 0 12 19ZM146 "+num(horizon+11)+"l9 -9M128 "+num(horizon+3)+
			"q6 -13 12 0")
		p.path("o", "M122 "+y+"q-5 -19 12 -19q17 0 12 19Z")
	case 3: // a bicycle
		b := horizon + 11
		p.circle("l", 92, b, 9)
		p.circle("l", 122, b, 9)
		p.path("l", "M92 "+num(b)+"l9 -14h16l5 14M101 "+num(b-14)+"l8 14h-17M109 "+num(b)+"l8 -14l-2 -5h6M98 "+
			num(b-17)+"h7")
	case 4: // a cat, looking out
		p.path("f", "M76 "+y+"q-4 -18 6 -22l-2 -9l6 4h6l6 -4l-1 9q9 6 5 22Z")
		p.path("l", "M100 "+y+"q12 0 11 -11")
	case 5: // a boat of folded paper
		p.path("o", "M112 "+num(horizon+8)+"h34l-8 11h-18ZM120 "+num(horizon+8)+"l9 -15l9 15")
	}
}
