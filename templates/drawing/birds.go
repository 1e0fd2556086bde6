package drawing

// bird is a bird in profile: trunk, neck, head, bill, tail, wing and legs.
type bird struct {
	x, y, rx, ry, rot float64
	neck              string
	neckW             float64
	hx, hy, hr        float64
	bill              string // filled path
	billFill          string
	tail              string // filled path, behind the trunk
	wing              string // filled path, on the trunk
	wingFill          string
	legs              string // stroked path
	legClass          string
	fill              string
	before            func(*body)
	after             func(*pen)
	eyeX, eyeY        float64
}

func (q bird) draw(p *pen) {
	if q.legs != "" {
		class := q.legClass
		if class == "" {
			class = "l"
		}
		p.path(class, q.legs)
	}
	if q.bill != "" {
		p.path(q.billFill, q.bill)
		p.path("l", q.bill)
	}
	b := new(body)
	if q.tail != "" {
		b.shape(q.tail)
	}
	b.round(q.x, q.y, q.rx, q.ry, q.rot)
	if q.neck != "" {
		b.limb(q.neckW, q.neck)
	}
	if q.before != nil {
		q.before(b)
	}
	b.round(q.hx, q.hy, q.hr, q.hr, 0)
	b.ink(p, q.fill)
	if q.wing != "" {
		p.path(q.wingFill, q.wing)
		p.path(map[bool]string{true: "i", false: "l"}[q.fill == "b"], q.wing)
	}
	if q.after != nil {
		q.after(p)
	}
	eye(p, q.eyeX, q.eyeY, q.fill == "b")
}

var birds = map[string]beast{
	"heron": {scene: water, draw: bird{
		x: 86, y: 92, rx: 36, ry: 17, rot: 14, neck: "M112 92Q136 92 124 66Q114 44 130 34", neckW: 8,
		hx: 134, hy: 32, hr: 9, bill: "M140 28L184 36L140 38Z", billFill: "a",
		tail: "M62 80L30 94L60 100Z", wing: "M112 86Q84 78 48 96Q76 116 112 98Z", wingFill: "s",
		legs: "M90 106L86 168M100 106L102 134L94 136", fill: "w",
		after: func(p *pen) {
			p.path("f", "M142 26Q126 18 104 26Q122 26 132 32Z")
			p.path("h", "M118 96l-4 12M122 92l0 12M114 98l-8 10M60 96q24 -6 42 -2M66 101q20 0 34 -3")
		},
		eyeX: 138, eyeY: 30,
	}.draw},
	"magpie": {scene: land, draw: bird{
		x: 98, y: 98, rx: 34, ry: 23, rot: -24, hx: 132, hy: 72, hr: 16,
		bill: "M144 66L164 74L145 78Z", billFill: "f", tail: "M76 100L10 134L16 142L84 118Z",
		wing: "M116 88Q92 82 62 112Q92 118 114 100Z", wingFill: "d",
		legs: "M98 118V160M90 164l8 -4l10 4M112 112V160M104 164l8 -4l10 4", fill: "b",
		after: func(p *pen) {
			p.path("y", "M124 96Q126 112 108 118Q92 122 88 116Q108 112 116 98Z")
			p.path("y", "M110 84Q98 82 88 92Q100 96 112 92Z")
			p.raw(`<circle class="o" cx="170" cy="77" r="5"/>`)
			p.path("r", "M170 66v3M180 77h-3M177 70l-2 2M177 84l-2 -2")
		},
		eyeX: 136, eyeY: 68,
	}.draw},
	"robin": {scene: land, draw: bird{
		x: 98, y: 112, rx: 38, ry: 34, rot: -14, hx: 122, hy: 82, hr: 24,
		bill: "M143 78L158 83L143 88Z", billFill: "f", tail: "M68 112L26 128L34 140L78 134Z",
		wing: "M96 98Q70 98 48 128Q84 138 104 120Z", wingFill: "s",
		legs: "M96 144V160M86 164l10 -4l12 3M112 142V160M102 164l10 -4l12 3", fill: "w",
		after: func(p *pen) {
			p.path("a", "M143 78Q136 64 126 74Q112 84 108 102Q110 126 124 132Q138 118 141 96Q146 88 143 78Z")
			p.path("h", "M62 124q14 2 30 -4M70 116q12 0 24 -4")
		},
		eyeX: 122, eyeY: 74,
	}.draw},
	"goose": {scene: land, draw: bird{
		x: 82, y: 112, rx: 48, ry: 29, rot: -4, neck: "M118 104Q140 96 132 66Q128 44 142 36", neckW: 15,
		hx: 146, hy: 36, hr: 13, bill: "M156 30L178 38Q176 44 156 44Z", billFill: "a",
		tail: "M42 100L18 96L40 126Z", wing: "M112 98Q76 86 34 104Q60 134 104 124Q116 112 112 98Z", wingFill: "s",
		legs: "M78 140V160M70 164h18l-10 -5ZM98 138V160M90 164h18l-10 -5Z", legClass: "r", fill: "w",
		after: func(p *pen) { p.path("h", "M54 108q20 14 46 8M62 102q18 10 42 8M52 116q18 10 40 8") },
		eyeX:  149, eyeY: 32,
	}.draw},
	"swift": {scene: air, draw: func(p *pen) {
		b := new(body).shape("M112 84Q98 34 34 14Q58 58 92 92Z").shape("M112 84Q150 92 176 150Q126 132 96 100Z")
		b.shape("M92 94L50 122L40 146L64 128L58 150L104 104Z").round(108, 84, 26, 13, -34).round(128, 70, 11, 10, 0)
		b.ink(p, "b")
		p.path("f", "M137 66l9 -3l-6 8Z")
		p.ellipse("y", 128, 77, 5, 3.5, -34)
		p.path("i", "M100 80Q86 50 58 32M116 92Q142 106 158 130")
		eye(p, 132, 66, true)
	}},
	"owl": {scene: land, draw: func(p *pen) {
		p.path("m", "M20 150H180")
		b := new(body).round(100, 112, 38, 44, 0).round(100, 72, 40, 32, 0)
		b.shape("M66 58L62 30L88 48Z").shape("M134 58L138 30L112 48Z")
		b.ink(p, "g")
		p.ellipse("p", 100, 122, 24, 28, 0)
		for row := range 3 {
			for i := range 4 - row%2 {
				p.path("l", "M"+xy(84+float64(i)*10+float64(row%2)*5-3, 108+float64(row)*12)+"q3 5 6 0")
			}
		}
		p.path("l", "M64 94Q54 124 72 146M136 94Q146 124 128 146")
		for _, x := range []float64{82, 118} {
			p.circle("o", x, 70, 17)
			p.circle("f", x, 70, 8)
			p.circle("p", x+2.5, 67.5, 2.6)
		}
		p.path("a", "M94 78h12l-6 14Z")
		p.path("l", "M84 154v6m-6 0q6 -7 12 0m26 -6v6m-6 0q6 -7 12 0")
		p.path("l", "M28 162H172M40 168H150")
	}},
	"pigeon": {scene: land, draw: bird{
		x: 92, y: 112, rx: 42, ry: 27, rot: -16, neck: "M116 100L128 76", neckW: 22,
		hx: 130, hy: 66, hr: 14, bill: "M142 64L156 70L142 73Z", billFill: "f",
		tail: "M62 110L18 132L28 144L74 136Z", wing: "M116 100Q84 86 46 124Q84 140 112 118Z", wingFill: "s",
		legs: "M92 136V160M82 164l10 -4l12 3M108 134V160M98 164l10 -4l12 3", legClass: "r", fill: "g",
		after: func(p *pen) {
			p.path("l", "M66 116q16 10 34 6M76 108q14 8 30 5")
			p.path("r", "M118 84q8 6 20 2M114 92q10 7 24 1")
			p.path("o", "M86 141h12v9h-12ZM86 141l6 5l6 -5")
		},
		eyeX: 133, eyeY: 62,
	}.draw},
	"duck": {scene: water, draw: bird{
		x: 88, y: 128, rx: 54, ry: 27, rot: -3, neck: "M126 118L138 90", neckW: 22,
		hx: 142, hy: 82, hr: 18, bill: "M156 76Q172 82 184 80Q184 90 158 92Z", billFill: "a",
		tail: "M44 118L16 102Q16 126 44 138Z", wing: "M116 118Q84 100 44 120Q66 148 108 140Q118 130 116 118Z",
		wingFill: "s", fill: "w",
		after: func(p *pen) {
			p.path("f", "M126 74Q126 64 142 64Q160 66 159 84Q152 98 128 96Q122 88 126 74Z")
			p.path("h", "M60 122q20 14 46 8M70 116q16 10 38 7")
			p.path("l", "M22 108q-8 -2 -8 -8")
			p.circle("p", 148, 77, 2.6)
		},
		eyeX: 148.6, eyeY: 77,
	}.draw},
	"penguin": {scene: land, draw: func(p *pen) {
		b := new(body).round(100, 106, 40, 54, 0).round(100, 54, 27, 26, 0)
		b.shape("M64 84Q38 112 44 140Q60 128 72 108Z").shape("M136 84Q162 112 156 140Q140 128 128 108Z")
		b.ink(p, "b")
		p.path("y", "M100 70Q134 78 130 116Q126 152 100 154Q74 152 70 116Q66 78 100 70Z")
		p.path("y", "M100 72Q80 72 80 54Q82 42 92 46Q98 50 100 58Q102 50 108 46Q118 42 120 54Q120 72 100 72Z")
		p.circle("d", 90, 54, 2.6)
		p.circle("d", 110, 54, 2.6)
		p.path("a", "M92 62h16l-8 9Z")
		p.path("a", "M70 160q6 -8 22 -4l2 8h-24ZM130 160q-6 -8 -22 -4l-2 8h24Z")
		p.path("h", "M100 154q-2 8 0 8")
	}},
	"rooster": {scene: land, draw: bird{
		x: 96, y: 110, rx: 38, ry: 28, rot: -18, neck: "M118 98L132 62", neckW: 22,
		hx: 136, hy: 54, hr: 14, bill: "M148 52L164 58L148 63Z", billFill: "s",
		wing: "M112 102Q84 92 58 116Q84 134 110 118Z", wingFill: "s",
		legs: "M96 134V160M84 164l12 -4l14 3M112 132V160M100 164l12 -4l14 3", fill: "w",
		before: func(b *body) {
			b.limb(9, "M70 112Q34 108 20 140").limb(9, "M70 106Q34 86 16 108").limb(9, "M72 100Q50 66 22 76").limb(9,
				"M78 98Q64 62 44 54")
		},
		after: func(p *pen) {
			p.path("a", "M126 44Q122 32 130 36Q130 24 137 33Q144 22 147 35Q156 32 150 46Q138 38 126 44Z")
			p.path("a", "M144 66q10 4 6 16q-8 2 -9 -12Z")
			p.path("h", "M118 72l-6 12M124 78l-4 14M132 80l-2 12M112 84l-6 10M72 116q16 6 30 2M80 110q12 4 24 2")
		},
		eyeX: 140, eyeY: 51,
	}.draw},
}
