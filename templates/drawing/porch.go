package drawing

import (
	"strconv"
	"strings"
)

// Porch draws the porch at an hour of the day (0 to 23, UTC), in a season, in the weather of the
// shop, with as many seats as are out, at most eight.
func Porch(hour int, season, weather string, seats int) string {
	night := hour < 6 || hour >= 21
	p := newPen(640, 300, "The porch at "+strconv.Itoa(hour)+" o'clock",
		"A wooden porch with a roof and a rail, "+strconv.Itoa(seats)+" seats out, in "+season+". Weather: "+
			weather+".")
	p.rect("p", box{0, 0, 640, 300}, 0)
	porchSky(p, hour, night, weather == "fair" || weather == "still")
	porchHill(p, season)
	porchWeather(p, weather)
	// The floor, drawn over the garden; its boards, and two steps down.
	p.path("o", "M60 226H580L610 262H30Z")
	for x := 100.0; x < 560; x += 46 {
		p.line("h", x, 228, 320+(x-320)*1.09, 261)
	}
	p.path("o", "M250 262H390V274H250ZM240 274H400V286H240Z")
	for i := range min(seats, 8) {
		// From the middle outwards, so that few of them stand together.
		side := float64(1 - i%2*2)
		seat(p, 320+side*[]float64{34, 78, 142, 190}[i/2], 222, i%4 < 2)
	}
	porchHouse(p, night)
	return p.done()
}

// porchSky is the sun by its hour, or the moon, where the sky is clear.
func porchSky(p *pen, hour int, night, clear bool) {
	if !clear {
		return
	}
	if night {
		p.path("a", "M470 62a24 24 0 1 0 22 33a19 19 0 0 1 -22 -33Z")
		for i, at := range []point{{150, 84}, {214, 120}, {262, 76}, {356, 104}, {414, 78}, {540, 122}} {
			r := 2 + float64(i%2)
			p.path("h", "M"+xy(at.x-r, at.y)+"h"+num(2*r)+"M"+xy(at.x, at.y-r)+"v"+num(2*r))
		}
		return
	}
	// East at six, west at nine in the evening, highest in between.
	t := float64(hour-6) / 15
	p.circle("a", 120+400*t, 176-92*hump(t), 18)
}

// porchHill is the far ridge with the road, and the tree in front of it by the season.
func porchHill(p *pen, season string) {
	p.path("m", "M40 192Q130 150 230 178T420 168T600 190")
	p.path("h", "M300 226Q308 196 340 184Q352 178 348 172")
	p.line("l", 122, 226, 122, 148)
	p.path("l", "M122 184L100 158M122 172L146 146M122 154L112 132")
	switch season {
	case "summer":
		p.path("o", "M122 96a30 26 0 0 1 30 30a24 24 0 0 1 -14 36q-34 12 -46 -6a26 26 0 0 1 4 -42a26 24 0 0 1 26 -18Z")
		p.path("h", "M106 122q8 6 16 0M124 140q8 6 16 0M104 148q6 4 12 0")
	case "spring":
		for _, at := range []point{{98, 154}, {104, 166}, {148, 142}, {140, 156}, {110, 130}, {116, 140}, {128, 150}} {
			p.circle("a", at.x, at.y, 3)
		}
	case "autumn":
		for _, at := range []point{{98, 156}, {148, 144}, {110, 130}, {96, 222}, {112, 219}, {138, 222}, {152, 218}} {
			p.path("r", "M"+xy(at.x-4, at.y)+"q4 -5 8 0")
		}
	case "winter":
		p.path("m", "M96 226q26 -8 54 0M100 154q-4 -4 -8 -2M148 142q4 -4 8 0")
	}
}

// porchWeather is the weather of the shop.
func porchWeather(p *pen, weather string) {
	switch weather {
	case "fair":
		p.path("l", "M360 132q6 -8 12 0q6 -8 12 0M388 148q5 -7 10 0q5 -7 10 0")
	case "still":
		p.path("h", "M176 128h74M196 136h40M436 142h60")
	case "showers":
		p.path("o", "M238 114a16 16 0 0 1 8 -30a24 24 0 0 1 44 -6a20 20 0 0 1 22 36Z")
		var rain strings.Builder
		for i := range 30 {
			x, y := 90+float64(i*97%470), 124+float64(i*53%84)
			rain.WriteString("M" + xy(x, y) + "l-5 13")
		}
		p.path("h", rain.String())
	case "fog":
		for i := range 5 {
			y, x := 128+float64(i)*20, 70+float64(i*61%110)
			p.path("m", "M"+xy(x, y)+"q30 -8 60 0t60 0t60 0t60 0t60 0t60 0")
		}
	}
}

// porchHouse is what stands in front: the roof with its fringe, posts, the rail, and a lamp that is
// lit at night.
func porchHouse(p *pen, night bool) {
	p.path("o", "M18 60L70 14H570L622 60Z")
	var shingles strings.Builder
	for row := range 3 {
		y := 26 + float64(row)*12
		for x := 76 - float64(row)*14; x < 566+float64(row)*14; x += 28 {
			shingles.WriteString("M" + xy(x+float64(row%2)*14, y) + "q7 6 14 0")
		}
	}
	p.path("h", shingles.String())
	var fringe strings.Builder
	fringe.WriteString("M18 60")
	for range 30 {
		fringe.WriteString("q10 14 20.13 0")
	}
	p.path("l", fringe.String())
	for _, x := range []float64{64, 212, 428, 576} {
		p.rect("o", box{x - 5, 66, 10, 160}, 0)
		p.path("l", "M"+xy(x-18, 66)+"Q"+xy(x-5, 70)+" "+xy(x-5, 86)+"M"+xy(x+18, 66)+"Q"+xy(x+5, 70)+" "+xy(x+5, 86))
	}
	for _, from := range []float64{69, 433} {
		p.path("l", "M"+xy(from, 186)+"h138M"+xy(from, 216)+"h138")
		for x := from + 12; x < from+136; x += 14 {
			p.line("h", x, 186, x, 216)
		}
	}
	p.path("l", "M320 68V86M308 104L312 86H328L332 104Z")
	if night {
		p.circle("a", 320, 99, 6)
		p.path("r", "M304 112l-8 10M320 114v12M336 112l8 10")
	}
	p.rect("o", box{240, 39, 160, 24}, 2)
	p.text("c", textLine{320, 56, 13, 150}, "NOTHING FOR SALE")
}

// seat is a chair or a stool that stands on the floor at y.
func seat(p *pen, x, y float64, chair bool) {
	if !chair {
		p.path("o", "M"+xy(x-14, y-20)+"h28v5h-28Z")
		p.path("l", "M"+xy(x-10, y-15)+"l-3 27M"+xy(x+10, y-15)+"l3 27M"+xy(x-11, y)+"h22")
		return
	}
	p.path("l", "M"+xy(x-12, y-48)+"V"+num(y+12)+"M"+xy(x+12, y-48)+"V"+num(y+12))
	p.path("h", "M"+xy(x-6, y-44)+"V"+num(y-18)+"M"+xy(x, y-44)+"V"+num(y-18)+"M"+xy(x+6, y-44)+"V"+num(y-18))
	p.path("o", "M"+xy(x-12, y-50)+"h24v6h-24ZM"+xy(x-16, y-18)+"h32v6h-32Z")
}

// hump is a half circle over 0..1.
func hump(t float64) float64 { return 4 * t * (1 - t) }
