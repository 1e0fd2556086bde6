package drawing

import (
	"maps"
	"strings"
)

// quad is a four-legged animal in profile. Places are absolute, so that one
// row is one animal and can be tuned alone.
type quad struct {
	x, y, rx, ry, rot float64 // trunk
	hips, chest       float64 // where hind and fore legs stand
	leg               float64 // width of a leg; 0 for none in sight
	neck              string  // path from trunk to head
	neckW             float64
	hx, hy, hr, hry   float64 // head
	hrot              float64
	mx, my, mrx, mry  float64 // muzzle, none if mrx is 0
	mrot              float64
	tail              string
	tailW             float64
	fill              string
	before            func(*body) // parts behind the head: ears, tails, spines
	after             func(*pen)  // what is drawn on top
	eyeX, eyeY        float64
}

// draw puts the animal together. Far legs are first and darker.
func (q quad) draw(p *pen) {
	if q.fill == "" {
		q.fill = "w"
	}
	if q.leg > 0 {
		far := new(body)
		for _, x := range []float64{q.hips + q.leg*1.25, q.chest - q.leg*1.25} {
			far.limb(q.leg*0.9, "M"+xy(x, q.y+q.ry*0.4)+"V"+num(163-q.leg/2))
		}
		far.ink(p, "g")
	}
	b := new(body)
	if q.tail != "" {
		b.limb(q.tailW, q.tail)
	}
	if q.leg > 0 {
		for _, x := range []float64{q.hips, q.chest} {
			b.limb(q.leg, "M"+xy(x, q.y)+"V"+num(163-q.leg/2))
		}
	}
	b.round(q.x, q.y, q.rx, q.ry, q.rot)
	if q.neck != "" {
		b.limb(q.neckW, q.neck)
	}
	if q.before != nil {
		q.before(b)
	}
	b.round(q.hx, q.hy, q.hr, q.hry, q.hrot)
	if q.mrx > 0 {
		b.round(q.mx, q.my, q.mrx, q.mry, q.mrot)
	}
	b.ink(p, q.fill)
	if q.after != nil {
		q.after(p)
	}
	if q.eyeX > 0 {
		eye(p, q.eyeX, q.eyeY, q.fill == "b")
	}
}

func onLand(q quad) beast { return beast{scene: land, draw: q.draw} }

var bestiary = merge(quadrupeds, birds, others)

func merge(tables ...map[string]beast) map[string]beast {
	all := make(map[string]beast)
	for _, t := range tables {
		maps.Copy(all, t)
	}
	return all
}

var quadrupeds = map[string]beast{
	"badger": onLand(quad{
		x: 84, y: 122, rx: 54, ry: 30, hips: 54, chest: 114, leg: 15, fill: "g",
		hx: 146, hy: 130, hr: 25, hry: 17, hrot: 14, mx: 166, my: 138, mrx: 11, mry: 8,
		tail: "M32 122L20 132", tailW: 9,
		before: func(b *body) { b.round(128, 113, 7, 7, 0) },
		after: func(p *pen) {
			p.path("p", "M122 120Q146 108 174 134Q170 142 160 145Q138 148 124 140Z")
			p.path("f", "M126 119Q146 114 170 133L166 138Q146 124 124 128Z")
			p.circle("f", 175, 136, 4)
			p.circle("p", 149, 124.5, 2)
		},
	}),
	"otter": {scene: water, draw: func(p *pen) {
		p.group("", "translate(12 10) scale(.9)")
		defer p.end()
		b := new(body).limb(16, "M30 142Q10 150 6 134").round(96, 138, 66, 21, -3)
		b.round(152, 112, 20, 17, -8).limb(26, "M138 132L150 118").round(137, 101, 5, 5, 0).round(159, 97, 5, 5, 0)
		b.limb(9, "M108 128Q112 112 122 112").limb(9, "M124 132Q126 118 130 114").limb(9, "M40 128Q44 112 36 106")
		b.ink(p, "g")
		p.ellipse("p", 158, 117, 10, 7, 0)
		p.ellipse("f", 160, 113, 3.5, 2.5, 0)
		p.path("h", "M152 118l-12 3M152 121l-10 6M164 118l10 2M163 121l9 5")
		eye(p, 147, 107, false)
		eye(p, 164, 105, false)
		p.ellipse("o", 125, 107, 10, 7, -20)
		p.path("h", "M118 108q6 -8 14 -4")
		p.path("l", "M154 121q4 3 8 0")
	}},
	"hare": onLand(quad{
		x: 84, y: 126, rx: 40, ry: 30, rot: -22, hips: 66, chest: 116, leg: 10,
		neck: "M108 112L126 96", neckW: 24, hx: 134, hy: 88, hr: 18, hry: 14, hrot: 14, mx: 147, my: 93, mrx: 8, mry: 7,
		before: func(b *body) {
			b.round(120, 52, 7, 30, -10).round(134, 50, 7, 30, 6).round(45, 132, 11, 10, 0)
			b.round(66, 142, 24, 19, -10).limb(11, "M62 158H94")
		},
		after: func(p *pen) {
			p.path("f", "M112 30q-1 -6 2 -7q4 6 6 12ZM132 28q0 -8 4 -8q4 6 4 12Z")
			p.path("h", "M148 96l14 3M148 98l12 7M120 58V74M134 58V72")
			p.path("l", "M64 126q20 2 20 20")
			p.circle("a", 154, 91, 2.6)
		},
		eyeX: 137, eyeY: 84,
	}),
	"hedgehog": onLand(quad{
		x: 92, y: 138, rx: 40, ry: 24, hips: 74, chest: 118, leg: 9,
		hx: 146, hy: 146, hr: 20, hry: 14, hrot: 10, mx: 167, my: 151, mrx: 9, mry: 5, mrot: 10,
		after: func(p *pen) {
			var spines strings.Builder
			spines.WriteString("M138 158")
			for i := range 17 {
				t := float64(i) / 16
				x, y := 138-96*t, 156-62*hump(0.08+0.9*t)
				spines.WriteString("L" + xy(x, y-9) + "L" + xy(x-6, y+5))
			}
			p.path("o", spines.String()+"L44 160Q92 164 138 158Z")
			for i := range 18 {
				row := i / 6
				x, y := 62+float64(i%6)*13+float64(row%2)*6, 118+float64(row)*15
				p.line("l", x, y, x-5, y-9)
			}
			p.round("o", 143, 133, 5, 6)
			p.circle("f", 176, 152, 4)
		},
		eyeX: 156, eyeY: 143,
	}),
	"donkey": onLand(quad{
		x: 84, y: 102, rx: 46, ry: 25, hips: 52, chest: 116, leg: 11, fill: "g",
		neck: "M116 92L140 62", neckW: 24, hx: 148, hy: 54, hr: 18, hry: 13, hrot: 40, mx: 162, my: 70, mrx: 12,
		mry: 10, mrot: 40, tail: "M40 96Q26 104 28 126", tailW: 4,
		before: func(b *body) { b.round(132, 24, 7, 22, -14).round(146, 22, 7, 22, 8) },
		after: func(p *pen) {
			p.path("f", "M24 124q4 -6 8 0l2 16q-6 6 -11 0ZM104 78L128 44L136 44L116 84Z")
			p.ellipse("p", 165, 73, 9, 8, 40)
			p.circle("f", 168, 70, 1.8)
			p.path("l", "M162 80q5 0 8 -3M92 79V96M80 96H102")
			p.path("h", "M132 36V14M146 34V14")
		},
		eyeX: 150, eyeY: 51,
	}),
	"beaver": onLand(quad{
		x: 92, y: 124, rx: 42, ry: 36, rot: -12, hips: 84, chest: 118, leg: 12, fill: "g",
		hx: 136, hy: 96, hr: 25, hry: 21, mx: 154, my: 102, mrx: 13, mry: 11,
		before: func(b *body) {
			b.shape("M62 148Q20 136 8 152Q4 162 20 163Q46 164 72 158Z").round(120, 77, 7, 7, 0)
		},
		after: func(p *pen) {
			p.path("h", "M14 156l8 -9M26 158l8 -12M38 158l8 -11M50 156l8 -8M16 148l12 9M28 145l14 11M42 146l12 8")
			p.path("o", "M152 111h9v12h-9ZM156.5 111v12")
			p.ellipse("f", 164, 98, 5, 4, 0)
			p.path("l", "M112 134q14 6 26 -2M120 140l-4 6M130 140v7M150 111q8 2 14 -3")
			p.path("h", "M156 105l16 3M156 107l13 8")
		},
		eyeX: 142, eyeY: 90,
	}),
	"mole": onLand(quad{
		x: 92, y: 134, rx: 54, ry: 28, fill: "b",
		hx: 142, hy: 140, hr: 22, hry: 17, hrot: 10, mx: 162, my: 145, mrx: 12, mry: 6, mrot: 10,
		tail: "M40 140Q28 140 26 130", tailW: 4,
		after: func(p *pen) {
			p.path("l y", "M118 144q-4 18 6 20l5 -6l2 8l6 -7l3 7l5 -8l4 5q6 -14 -8 -20Z")
			p.path("l y", "M58 152q-4 12 6 12l4 -4l3 5l5 -4q4 -8 -4 -12Z")
			p.circle("a", 174, 147, 5)
			p.path("i", "M146 131q4 -3 7 0")
			p.path("h", "M166 141l8 -8M168 151l10 6")
		},
	}),
	"cow": onLand(quad{
		x: 84, y: 100, rx: 52, ry: 29, hips: 46, chest: 118, leg: 13,
		neck: "M122 90L142 80", neckW: 30, hx: 150, hy: 78, hr: 18, hry: 16, hrot: 30, mx: 164, my: 91, mrx: 14,
		mry: 11, mrot: 30, tail: "M34 92Q22 104 24 128", tailW: 4,
		before: func(b *body) {
			b.round(128, 68, 11, 6, 24).limb(5, "M146 62Q142 50 150 46").limb(5, "M156 62Q160 52 168 52").round(66, 130,
				11, 8, 0)
		},
		after: func(p *pen) {
			p.path("f", "M20 124h8l2 14q-6 6 -11 0ZM52 76q20 -6 26 8q0 22 -16 20q-22 -4 -10 -28ZM92 104q18 -8 24 4q2 "+
				"18 -14 16q-16 -2 -10 -20ZM100 72q14 0 16 8q-8 8 -18 2Z")
			p.ellipse("s", 167, 93, 10, 8, 30)
			p.circle("f", 164, 91, 1.6)
			p.circle("f", 171, 93, 1.6)
			p.path("l", "M60 136v6M70 136v6")
		},
		eyeX: 152, eyeY: 74,
	}),
	"squirrel": onLand(quad{
		x: 104, y: 130, rx: 26, ry: 32, rot: 14, fill: "e",
		hx: 128, hy: 88, hr: 19, hry: 16, mx: 142, my: 93, mrx: 9, mry: 7,
		before: func(b *body) {
			b.limb(30, "M86 152Q40 150 50 100Q58 58 84 66")
			b.shape("M112 78L110 54L126 72Z").shape("M122 74L126 50L136 74Z")
			b.round(104, 148, 24, 16, 0).limb(9, "M100 160H132").limb(8, "M116 116Q130 120 140 112")
		},
		after: func(p *pen) {
			p.ellipse("p", 122, 132, 10, 18, 14)
			p.path("i", "M70 148Q50 140 58 104Q64 76 78 76M94 138q16 -4 20 12")
			p.path("o", "M138 106q12 -4 14 6q0 10 -8 12q-8 -6 -6 -18Z")
			p.path("l", "M137 107q8 3 16 2")
			p.circle("f", 150, 91, 2.6)
			p.circle("p", 132, 84, 3.4)
		},
		eyeX: 132.5, eyeY: 84,
	}),
	"fox": onLand(quad{
		x: 82, y: 112, rx: 42, ry: 20, rot: -4, hips: 54, chest: 112, leg: 8, fill: "e",
		neck: "M112 104L130 88", neckW: 22, hx: 138, hy: 82, hr: 18, hry: 14, hrot: 10,
		before: func(b *body) {
			b.shape("M126 72L124 46L142 68Z").shape("M138 68L146 46L152 72Z")
			b.shape("M140 70L174 92Q172 96 164 96L138 96Z").limb(22, "M44 110Q18 112 14 142")
		},
		after: func(p *pen) {
			p.path("p", "M4 140q10 -4 20 0q0 18 -14 24q-6 -12 -6 -24Z")
			p.path("l", "M4 140q10 -4 20 0q0 18 -14 24q-6 -12 -6 -24Z")
			p.path("p", "M138 94Q152 88 170 92Q172 96 164 96L140 98Q128 112 116 118Q126 102 138 94Z")
			p.circle("f", 172, 92, 4)
			p.path("f", "M129 64L127 52L134 62ZM145 62L147 52L149 64Z")
			for _, x := range []float64{54, 112} {
				p.path("f", "M"+xy(x-5, 146)+"h10v14a4 4 0 0 1 -10 0Z")
			}
		},
		eyeX: 146, eyeY: 78,
	}),
	"sheep": onLand(quad{
		x: 86, y: 108, rx: 40, ry: 26, hips: 66, chest: 108, leg: 8,
		hx: 146, hy: 92, hr: 15, hry: 11, hrot: 40,
		before: func(b *body) {
			for _, c := range []point{{46, 106}, {56, 90}, {74, 82}, {94, 80}, {112, 88}, {122, 104}, {112, 122},
				{94, 130}, {74, 130}, {54, 122}} {
				b.round(c.x, c.y, 15, 14, 0)
			}
			b.limb(20, "M116 98L138 86")
		},
		after: func(p *pen) {
			p.ellipse("f", 148, 92, 17, 12, 40)
			p.ellipse("f", 132, 84, 10, 5, 30)
			p.path("o", "M130 78q-4 -12 8 -12q6 -8 13 0q8 4 2 12q-10 -4 -14 4q-4 2 -9 -4Z")
			p.circle("p", 149, 87, 2.2)
			p.path("h", "M60 100q5 -6 10 0M84 96q5 -6 10 0M72 114q5 -6 10 0M98 112q5 -6 10 0")
			p.path("f", "M62 146h8v17h-8ZM104 146h8v17h-8Z")
		},
	}),
	"goat": onLand(quad{
		x: 82, y: 106, rx: 40, ry: 23, hips: 54, chest: 110, leg: 9,
		neck: "M112 96L132 66", neckW: 22, hx: 142, hy: 60, hr: 17, hry: 12, hrot: 24, mx: 156, my: 67, mrx: 9, mry: 7,
		mrot: 24, tail: "M42 98L34 84", tailW: 7,
		before: func(b *body) {
			b.round(124, 62, 11, 5, 30).limb(6, "M136 50Q132 26 112 24").limb(6,
				"M144 48Q144 26 128 18").shape("M146 76L150 96L158 74Z")
		},
		after: func(p *pen) {
			p.path("h", "M130 36l6 -3M124 29l4 -5M140 34l6 -2M135 25l5 -4M150 80l1 10")
			p.path("f", "M50 152h8v10h-8ZM106 152h8v10h-8Z")
			p.circle("f", 161, 66, 1.6)
			p.path("l", "M154 73q5 1 8 -2M76 124q10 4 18 0")
		},
		eyeX: 143, eyeY: 56,
	}),
	"mouse": onLand(quad{
		x: 86, y: 138, rx: 38, ry: 25, rot: -6, hips: 72, chest: 112, leg: 8, fill: "g",
		hx: 130, hy: 136, hr: 20, hry: 16, hrot: 16, mx: 147, my: 143, mrx: 9, mry: 6, mrot: 16,
		tail: "M50 150Q14 158 20 128Q26 106 42 112", tailW: 3,
		before: func(b *body) { b.round(112, 112, 15, 15, 0).round(132, 112, 13, 14, 0) },
		after: func(p *pen) {
			p.circle("p", 112, 113, 9)
			p.circle("p", 132, 113, 8)
			p.circle("a", 156, 145, 3.6)
			p.path("h", "M146 142l16 -6M146 145l18 4M146 147l14 10")
			p.path("l", "M62 136q16 -4 20 14")
		},
		eyeX: 137, eyeY: 131,
	}),
	"pig": onLand(quad{
		x: 86, y: 112, rx: 54, ry: 34, hips: 54, chest: 118, leg: 13,
		hx: 142, hy: 104, hr: 25, hry: 23, mx: 164, my: 110, mrx: 10, mry: 11,
		before: func(b *body) { b.shape("M126 88L120 66L142 78Z").shape("M142 80L150 62L158 84Z") },
		after: func(p *pen) {
			p.path("l", "M33 106q-12 -2 -10 -10q4 -7 9 0q1 8 -10 10q-8 0 -10 -5")
			p.ellipse("s", 168, 110, 6, 10, 0)
			p.ellipse("l", 168, 110, 6, 10, 0)
			p.path("l", "M167 107v1.5M169 112v1.5M154 124q5 2 9 -2M50 156v6M114 156v6")
			p.circle("a", 140, 114, 4)
		},
		eyeX: 148, eyeY: 99,
	}),
	"horse": onLand(quad{
		x: 82, y: 98, rx: 44, ry: 23, hips: 52, chest: 112, leg: 10,
		neck: "M112 88L140 50", neckW: 24, hx: 148, hy: 46, hr: 18, hry: 12, hrot: 44, mx: 161, my: 61, mrx: 10, mry: 8,
		mrot: 44, before: func(b *body) { b.shape("M138 36L138 16L150 32Z").limb(10, "M42 88Q20 92 20 134") },
		after: func(p *pen) {
			p.path("f", "M136 26Q118 34 112 58Q106 74 98 78L108 84Q126 66 134 46Q142 40 146 30Z")
			p.path("f", "M36 84Q14 92 12 138q8 6 16 0Q26 104 46 94Z")
			p.path("f", "M47 150h10v13h-10ZM107 150h10v13h-10Z")
			p.circle("f", 165, 61, 1.8)
			p.path("l", "M158 70q5 1 9 -3")
		},
		eyeX: 149, eyeY: 41,
	}),
	"cat": onLand(quad{
		x: 94, y: 132, rx: 29, ry: 32, fill: "b",
		hx: 112, hy: 84, hr: 25, hry: 21,
		before: func(b *body) {
			b.limb(10, "M76 156Q36 164 38 126Q38 108 52 108")
			b.shape("M92 74L92 46L112 66Z").shape("M112 66L132 46L134 76Z")
			b.limb(12, "M104 126V156").limb(12, "M120 122V156").round(84, 150, 22, 13, 0)
		},
		after: func(p *pen) {
			p.ellipse("y", 104, 80, 5, 6, 0)
			p.ellipse("y", 124, 80, 5, 6, 0)
			p.path("d", "M103 75h2v10h-2ZM123 75h2v10h-2Z")
			p.path("a", "M110 90h8l-4 5Z")
			p.path("i", "M114 95v4m-6 0q4 3 6 0q3 3 7 0M112 120V158")
			p.path("h", "M98 92l-22 -3M98 95l-21 5M130 92l22 -3M130 95l21 5")
		},
	}),
	"dog": onLand(quad{
		x: 84, y: 116, rx: 44, ry: 20, rot: -5, hips: 54, chest: 116, leg: 10,
		neck: "M114 108L130 88", neckW: 24, hx: 138, hy: 80, hr: 20, hry: 17, mx: 158, my: 87, mrx: 14, mry: 9, mrot: 6,
		tail: "M44 108Q26 98 30 74", tailW: 9,
		after: func(p *pen) {
			p.path("f", "M122 66q-14 8 -10 32q2 8 9 6q8 -4 8 -18q2 -12 2 -22Z")
			p.ellipse("f", 170, 83, 4.5, 3.5, 0)
			p.path("l", "M150 94q8 4 16 0")
			p.path("a", "M154 96q-1 10 4 12q6 -1 5 -12Z")
			p.path("r", "M114 112Q124 118 138 102")
			p.path("h", "M36 82q6 -3 6 -10M22 78q-4 -4 -3 -10")
			p.path("s", "M70 100q18 -6 26 4q-4 14 -18 12q-12 -4 -8 -16Z")
		},
		eyeX: 144, eyeY: 76,
	}),
	"rabbit": onLand(quad{
		x: 88, y: 134, rx: 38, ry: 28, rot: -8, hips: 78, chest: 116, leg: 9,
		hx: 128, hy: 108, hr: 21, hry: 18, mx: 141, my: 115, mrx: 10, mry: 8,
		before: func(b *body) {
			b.round(116, 70, 8, 25, -8).round(134, 70, 8, 25, 10).round(50, 140, 12, 12, 0).limb(11,
				"M70 158H98").round(76, 144, 22, 17, 0)
		},
		after: func(p *pen) {
			p.ellipse("s", 116, 70, 4, 18, -8)
			p.ellipse("s", 134, 70, 4, 18, 10)
			p.path("a", "M148 109h8l-4 5Z")
			p.path("l", "M152 114v4q-4 4 -8 1M74 128q22 0 22 20")
			p.path("h", "M142 116l-14 5M142 118l-11 10M150 118l14 5")
		},
		eyeX: 132, eyeY: 103,
	}),
	"elephant": onLand(quad{
		x: 82, y: 98, rx: 50, ry: 36, hips: 50, chest: 108, leg: 18, fill: "g",
		hx: 138, hy: 84, hr: 28, hry: 27,
		tail: "M33 88Q22 100 26 122", tailW: 4,
		before: func(b *body) { b.limb(13, "M156 90Q172 110 168 134Q166 150 178 150") },
		after: func(p *pen) {
			p.path("g", "M118 60Q98 62 98 92Q100 116 118 112Q132 106 132 84Q132 62 118 60Z")
			p.path("l", "M118 60Q98 62 98 92Q100 116 118 112Q132 106 132 84Q132 62 118 60Z")
			p.path("o", "M152 106q10 14 20 8q-12 -2 -12 -14Z")
			p.path("h", "M163 112q5 0 8 2M165 122q4 -1 8 1M164 132q4 -1 7 2")
			p.path("l", "M44 162h4M52 162h4M102 162h4M110 162h4")
		},
		eyeX: 146, eyeY: 78,
	}),
}

// hump is a half circle over 0..1.
func hump(t float64) float64 { return 4 * t * (1 - t) }

// round is an ellipse without a turn.
func (p *pen) round(class string, x, y, rx, ry float64) { p.ellipse(class, x, y, rx, ry, 0) }
