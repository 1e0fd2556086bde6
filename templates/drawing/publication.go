package drawing

// desks are the publications that have a drawing at their head.
var desks = []struct{ name, title, desc string }{
	{"almanac", "The almanac on its desk", "An open almanac, the sun over lines of writing on the left page, four " +
		"phases of the moon over a month of days on the right one. Beside it an ink bottle with a quill, and a " +
		"weather glass on the wall that points between change and fair."},
	{"gazette", "The gazette on its rail", "A rail with three newspapers hung over it, the one in the middle called " +
		"The Gazette, with a picture of a door on which 402 stands. Under it a tied bundle of older issues, and a " +
		"pair of spectacles."},
}

// Publication draws the place where a publication is read, "" for one that has no drawing.
func Publication(name string) string {
	for _, d := range desks {
		if d.name == name {
			p := newPen(640, 250, d.title, d.desc)
			p.raw(piece("publication", name))
			return p.done()
		}
	}
	return ""
}
