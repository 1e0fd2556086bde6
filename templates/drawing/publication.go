package drawing

// desks are the drawings at the head of the publications that have one.
var desks = []struct {
	name string
	draw func() string
}{
	{"almanac", almanac},
	{"gazette", gazette},
}

// Publication draws the place where a publication is read, "" for one that has no drawing.
func Publication(name string) string {
	for _, d := range desks {
		if d.name == name {
			return d.draw()
		}
	}
	return ""
}

// almanac is the writing desk: an almanac open at this month between the ink and the weather glass.
func almanac() string {
	p := newPen(640, 250, "The almanac on its desk", "An open almanac, the sun over lines of writing on the left "+
		"page, four phases of the moon over a month of days on the right one. Beside it an ink bottle with a "+
		"quill, and a weather glass on the wall that points between change and fair.")
	p.rect("p", 0, 0, 640, 250, 0)
	p.path("l", "M24 222H616M24 232H616")
	for x := 60.0; x < 600; x += 90 {
		p.line("m", x, 232, x-8, 246)
	}
	// The quill stands in the bottle.
	p.path("o", "M104 184Q102 132 150 72Q160 122 122 168L112 196Z")
	p.path("h", "M150 72Q116 130 110 196M126 112l20 -4M118 132l24 -4M112 152l18 -4")
	p.path("o", "M74 222V194q0 -8 10 -9v-9h30v9q10 1 10 9v28Z")
	p.path("f", "M78 219V204h42v15Z")
	// The book, its cover first.
	p.path("o", "M168 96V218Q246 200 320 218Q394 200 472 218V96Z")
	p.path("o", "M178 84Q250 66 320 86V208Q250 188 178 206Z")
	p.path("o", "M462 84Q390 66 320 86V208Q390 188 462 206Z")
	p.circle("a", 249, 112, 13)
	p.path("r", "M249 92V88M249 132V136M229 112H225M269 112H273M235 98l-3 -3M263 98l3 -3M235 126l-3 3M263 126l3 3")
	for y := 150.0; y <= 180; y += 10 {
		p.path("h", "M196 "+num(y)+"Q250 "+num(y-13)+" 304 "+num(y+1))
	}
	almanacMonth(p)
	almanacGlass(p)
	return p.done()
}

// almanacMonth is the right page: the moon, and the days with one of them marked.
func almanacMonth(p *pen) {
	for i := range 4 {
		x, y := 347+29*float64(i), 106.0
		p.circle("l", x, y, 8)
		switch i {
		case 0:
			p.circle("f", x, y, 8)
		case 1:
			p.path("f", "M"+xy(x, y-8)+"a8 8 0 0 0 0 16Z")
		case 3:
			p.path("f", "M"+xy(x, y-8)+"a8 8 0 0 1 0 16Z")
		}
	}
	for i := range 31 {
		x, y := 343+16*float64(i%7), 132+12*float64(i/7)
		if i == 24 {
			p.circle("a", x, y, 4)
		} else {
			p.line("h", x-3, y, x+3, y)
		}
	}
}

// almanacGlass is the weather glass on its nail.
func almanacGlass(p *pen) {
	p.circle("f", 552, 30, 3)
	p.path("h", "M552 30L530 66M552 30L574 66")
	p.circle("o", 552, 112, 52)
	p.circle("m", 552, 112, 45)
	p.path("h", "M516 124l-6 2M522 94l-6 -4M552 76v-7M582 94l6 -4M588 124l6 2")
	p.text("q", 552, 92, 10, 40, "change")
	p.text("q", 530, 132, 10, 26, "rain")
	p.text("q", 575, 132, 10, 26, "fair")
	p.path("r", "M552 112L583 99")
	p.circle("f", 552, 112, 4)
}

// gazette is the reading rail: the newest issue over it, two older ones, a bundle on the floor.
func gazette() string {
	p := newPen(640, 250, "The gazette on its rail", "A rail with three newspapers hung over it, the one in the "+
		"middle called The Gazette, with a picture of a door on which 402 stands. Under it a tied bundle of older "+
		"issues, and a pair of spectacles.")
	p.rect("p", 0, 0, 640, 250, 0)
	p.path("l", "M24 234H616")
	p.path("o", "M30 26H610V34H30Z")
	p.path("l", "M52 26V12H44M588 26V12H596")
	for _, x := range []float64{70, 456} {
		p.rect("o", x, 22, 116, 136, 0)
		p.path("h", "M"+xy(x, 34)+"h116")
		p.path("f", "M"+xy(x+10, 44)+"h96v7h-96Z")
		columns(p, x+10, 62, 150, 42, 2)
	}
	p.rect("o", 216, 18, 208, 196, 0)
	p.path("h", "M216 34H424")
	p.text("", 320, 64, 27, 180, "The Gazette")
	p.path("l", "M230 74H410")
	p.path("h", "M230 78H410")
	columns(p, 230, 92, 206, 52, 3)
	p.rect("p", 288, 86, 64, 74, 0)
	p.path("o", "M296 154V92H344V154Z")
	p.path("h", "M302 128H338V148H302Z")
	p.text("c", 320, 116, 15, 36, "402")
	p.circle("a", 338, 122, 2)
	// The bundle, and what they are read with.
	for i := range 5 {
		p.rect("o", 74+float64(i%2)*4, 220-float64(i)*9, 104, 12, 2)
	}
	p.path("r", "M130 184V232M122 178q8 -8 8 6q0 -14 10 -6")
	p.circle("l", 503, 222, 11)
	p.circle("l", 539, 222, 11)
	p.path("l", "M514 220q7 -6 14 0M492 220l-14 -12M550 220l14 -12")
	return p.done()
}

// columns are so many columns of print, of which every seventh line ends a paragraph.
func columns(p *pen, x, top, bottom, wide float64, many int) {
	const gap = 12
	for c := range many {
		for i, y := 0, top; y <= bottom; i, y = i+1, y+8 {
			w := wide
			if (i+2*c)%7 == 6 {
				w *= .6
			}
			p.path("h", "M"+xy(x+(wide+gap)*float64(c), y)+"h"+num(w))
		}
	}
}
