package drawing

// others are the animals that are neither birds nor walk on four legs in
// profile.
var others = map[string]beast{
	"tortoise": {scene: land, draw: func(p *pen) {
		b := new(body).limb(17, "M58 140V156").limb(17, "M120 140V156").limb(7, "M40 146L24 152")
		b.limb(17, "M134 138Q152 136 156 118").round(160, 108, 16, 12, 10)
		b.ink(p, "g")
		p.path("o", "M30 146Q34 74 92 72Q148 76 150 146Q92 156 30 146Z")
		p.path("l", "M32 138Q92 150 149 138M70 104L92 90L114 104L108 130H76ZM92 90V73M70 104L48 94M114 104L136 96M76 "+
			"130L62 145M108 130L122 145")
		p.path("s", "M72 105L92 92L112 105L107 128H77Z")
		eye(p, 165, 104, false)
		p.path("l", "M164 114q6 2 10 -2M52 161h6M114 161h6")
	}},
	"snail": {scene: land, draw: func(p *pen) {
		b := new(body).limb(16, "M30 156H136Q160 154 158 122").round(160, 116, 11, 11, 0).limb(3,
			"M156 110L148 88").limb(3, "M164 108L170 88")
		b.ink(p, "g")
		p.circle("o", 92, 112, 46)
		p.path("l", "M92 112m0 -2a4 4 0 0 1 4 6a9 9 0 0 1 -16 -4a14 14 0 0 1 26 -8a20 20 0 0 1 -14 30a26 26 0 0 1 "+
			"-28 -26a32 32 0 0 1 34 -30a36 36 0 0 1 34 30")
		p.circle("a", 148, 86, 4)
		p.circle("a", 170, 86, 4)
		p.path("l", "M160 122q5 2 8 -2")
	}},
	"crab": {scene: land, draw: func(p *pen) {
		b := new(body)
		for _, s := range []float64{-1, 1} {
			for i := range 3 {
				f := float64(i)
				b.limb(6, "M"+xy(100+s*36, 124+f*5)+"L"+xy(100+s*(66+f*5), 122+f*10)+"L"+xy(100+s*(72+f*2), 160))
			}
			b.limb(9, "M"+xy(100+s*40, 114)+"L"+xy(100+s*66, 96)+"L"+xy(100+s*58, 76))
			b.limb(3, "M"+xy(100+s*13, 104)+"V82")
		}
		b.round(100, 124, 46, 26, 0)
		b.shape("M22 72Q14 40 46 38L42 56L58 48Q62 78 36 82Z").shape("M178 72Q186 40 154 38L158 56L142 48Q138 78 164 " +
			"82Z")
		b.ink(p, "e")
		for _, x := range []float64{87, 113} {
			p.circle("o", x, 80, 6)
			p.circle("f", x+1.5, 80, 2.4)
		}
		p.path("i", "M88 132q12 8 24 0M72 116q6 -6 12 -6M128 116q-6 -6 -12 -6")
	}},
	"moth": {scene: air, draw: func(p *pen) {
		wings := func() {
			p.path("o", "M100 74Q134 30 176 46Q182 82 148 98Q120 104 102 92Z")
			p.path("o", "M102 92Q140 96 150 126Q138 152 118 140Q104 124 100 104Z")
			p.path("h", "M108 80Q140 56 170 54M108 86Q140 78 170 72M108 90Q130 94 150 88M110 102Q128 112 138 128")
			p.circle("s", 148, 68, 9)
			p.circle("a", 148, 68, 4.5)
			p.circle("s", 126, 120, 6)
			p.path("l", "M100 66Q112 46 128 36M106 57l7 -1M110 50l8 0M116 44l8 1")
		}
		wings()
		p.raw(`<g transform="matrix(-1 0 0 1 200 0)">`)
		wings()
		p.end()
		new(body).round(100, 106, 9, 34, 0).round(100, 76, 10, 12, 0).ink(p, "g")
		p.path("l", "M93 104h14M93 114h14M94 124h12")
		p.circle("f", 96, 72, 2)
		p.circle("f", 104, 72, 2)
	}},
	"toad": {scene: land, draw: func(p *pen) {
		b := new(body).round(96, 128, 60, 34, 0).round(66, 94, 14, 14, 0).round(126, 94, 14, 14, 0).round(96, 108, 46,
			22, 0)
		b.round(38, 146, 22, 17, 0).round(154, 146, 22, 17, 0).limb(9, "M72 140V160M60 161H76").limb(9,
			"M120 140V160M116 161H132").limb(7, "M22 161H48").limb(7, "M144 161H170")
		b.ink(p, "g")
		p.path("l", "M56 116Q96 138 136 116")
		for _, x := range []float64{66, 126} {
			p.circle("p", x, 92, 8)
			p.raw(`<ellipse class="f" cx="`, num(x), `" cy="92" rx="6" ry="3"/>`)
		}
		for _, c := range []point{{48, 128}, {58, 138}, {140, 126}, {132, 138}, {152, 136}, {40, 140}, {96, 96},
			{88, 102}, {106, 101}} {
			p.circle("l", c.x, c.y, 2.5)
		}
		p.path("r", "M72 140Q96 152 120 140")
	}},
	"frog": {scene: land, draw: func(p *pen) {
		b := new(body).round(92, 124, 34, 26, -38).round(122, 96, 27, 19, -16).round(128, 76, 10, 10, 0)
		b.limb(13, "M66 140Q34 136 40 120Q52 108 78 140").limb(8, "M44 158Q60 150 78 156H98").limb(9,
			"M112 118L120 144L116 158H134")
		b.ink(p, "w")
		p.path("a", "M62 132Q78 104 104 94Q112 98 100 112Q82 124 74 142Z")
		p.circle("o", 129, 76, 8)
		p.circle("f", 131, 76, 4)
		p.path("l", "M108 104Q130 110 148 94M132 161l6 -2M96 159l8 -3M96 156l8 3")
		p.circle("f", 146, 88, 1.3)
	}},
	"spider": {scene: air, draw: func(p *pen) {
		p.path("m", "M100 0V60M20 0Q100 40 180 0M44 0Q100 22 156 0M100 0L30 60M100 0L170 60M40 51Q100 84 160 51")
		p.path("h", "M100 0V70")
		legs := func() {
			p.path("l", "M112 98Q140 72 150 92T160 124M112 104Q146 92 158 112T166 150M112 110Q140 112 146 134T144 "+
				"168M110 114Q128 124 128 146T120 172")
		}
		legs()
		p.raw(`<g transform="matrix(-1 0 0 1 200 0)">`)
		legs()
		p.end()
		new(body).round(100, 84, 22, 24, 0).round(100, 116, 14, 13, 0).ink(p, "b")
		p.path("a", "M100 72l7 8l-7 8l-7 -8ZM100 90l5 5l-5 5l-5 -5Z")
		for _, c := range []point{{94, 120}, {106, 120}, {97, 125}, {103, 125}} {
			p.circle("y", c.x, c.y, 2)
		}
	}},
	"octopus": {scene: deep, draw: func(p *pen) {
		b := new(body)
		for _, arm := range []string{
			"M78 110Q40 104 30 126Q26 146 44 144", "M84 116Q58 126 54 150Q58 168 74 160",
			"M92 118Q84 144 92 162Q98 172 108 166", "M106 118Q116 142 128 158Q142 166 148 152",
			"M116 112Q146 120 158 138Q168 152 180 142", "M120 104Q156 92 164 110Q168 126 154 124",
		} {
			b.limb(11, arm)
		}
		b.round(100, 70, 40, 42, 0).round(100, 106, 32, 18, 0)
		b.ink(p, "e")
		for _, x := range []float64{86, 114} {
			p.circle("o", x, 92, 9)
			p.raw(`<rect class="f" x="`, num(x-5), `" y="90.5" width="10" height="4" rx="2"/>`)
		}
		p.path("i", "M94 107q6 4 12 0M78 50q4 -8 12 -10")
		for _, c := range []point{{34, 128}, {37, 138}, {57, 148}, {63, 158}, {92, 150}, {97, 161}, {124, 152},
			{134, 159}, {154, 136}, {164, 144}, {158, 106}, {164, 116}} {
			p.circle("p", c.x, c.y, 2)
		}
	}},
	"ant": {scene: land, draw: func(p *pen) {
		p.path("l", "M96 124L78 142L70 164M104 126L102 146L96 164M112 124L126 142L136 164M92 118L70 128L56 164M116 "+
			"118L140 132L154 164M110 124L116 146L118 164")
		new(body).round(58, 108, 34, 21, -10).round(104, 116, 18, 12, 0).round(138, 108, 20, 16, 8).ink(p, "b")
		p.path("l", "M146 96Q150 80 164 80L172 86M138 93Q136 76 150 68L160 70M156 114l10 6M154 118l4 8")
		p.path("i", "M46 92Q38 106 46 124M62 88Q54 106 62 127")
		eye(p, 146, 104, true)
		p.path("o", "M62 84Q92 20 146 40Q122 48 112 68Q96 92 62 84Z")
		p.path("a", "M70 80Q98 38 138 42Q112 52 104 68Q92 86 70 80Z")
		p.path("i", "M76 78Q104 52 128 46M94 64l2 12M106 56l4 10M90 66l-4 -6M102 57l-4 -8")
	}},
	"bat": {scene: air, draw: func(p *pen) {
		p.group("", "translate(7 6) scale(.93)")
		defer p.end()
		wing := "M100 84Q112 62 128 56Q150 44 182 52Q196 76 192 116Q184 102 172 108Q164 96 150 108Q142 98 128 " +
			"112Q120 104 100 118Z"
		b := new(body).shape(wing)
		b.outer.WriteString(`<path transform="matrix(-1 0 0 1 200 0)" d="` + wing + `"/>`)
		b.inner.WriteString(`<path transform="matrix(-1 0 0 1 200 0)" d="` + wing + `"/>`)
		b.round(100, 104, 17, 25, 0).round(100, 76, 18, 16,
			0).shape("M84 72L82 44L100 64Z").shape("M116 72L118 44L100 64Z").limb(4, "M94 126V134").limb(4,
			"M106 126V134")
		b.ink(p, "b")
		ribs := "M128 58Q134 84 128 108M134 56Q150 78 150 104M140 54Q168 74 172 104"
		p.path("i", ribs)
		p.raw(`<path class="i" transform="matrix(-1 0 0 1 200 0)" d="`, ribs, `"/>`)
		for _, x := range []float64{93, 107} {
			p.circle("y", x, 75, 4)
			p.circle("d", x, 75.5, 2)
		}
		p.path("a", "M97 82h6l-3 4Z")
		p.path("y", "M95 88h10l-2 5l-2 -4h-2l-2 4Z")
		p.path("r", "M88 150q12 8 24 0M80 160q20 12 40 0")
	}},
	"whale": {scene: water, draw: func(p *pen) {
		p.group("", "translate(8 10) scale(.92)")
		defer p.end()
		b := new(body).shape("M184 112Q188 70 130 66Q76 66 52 108Q40 122 28 106Q22 88 4 88Q8 104 18 112Q4 118 4 " +
			"132Q24 132 34 124Q60 158 124 158Q180 156 184 112Z")
		b.ink(p, "g")
		p.path("p", "M184 116Q150 128 112 122Q116 148 124 158Q180 156 184 116Z")
		p.path("l", "M184 116Q150 128 112 122Q116 148 124 158M124 126Q126 146 134 157M138 126Q140 144 148 155M152 "+
			"124Q154 140 162 150M166 121Q168 134 174 140")
		p.path("g", "M108 126Q90 146 82 142Q80 128 98 116Z")
		p.path("l", "M108 126Q90 146 82 142Q80 128 98 116")
		eye(p, 146, 110, false)
		p.path("r", "M140 60V44Q140 32 126 34M140 44Q140 32 154 34M140 44V30")
	}},
	"seahorse": {scene: deep, draw: func(p *pen) {
		b := new(body).limb(26, "M112 68Q128 88 112 114").limb(18, "M108 110Q92 130 100 146").limb(10,
			"M100 142Q106 160 90 164Q76 162 80 150Q86 142 92 150")
		b.round(108, 54, 19, 15, -14).limb(9, "M118 56L152 66").shape("M94 46L84 30L98 36L104 22L110 36L120 30L116 " +
			"46Z").shape("M98 84L74 78L78 98L72 108L98 108Z")
		b.ink(p, "e")
		p.path("i", "M104 78Q116 82 128 78M106 90Q116 94 126 90M104 102Q114 108 124 102M100 114Q108 120 118 114M96 "+
			"124Q104 130 112 126M94 136Q100 140 108 136M80 84L96 90M80 96H96M80 104L96 100")
		eye(p, 112, 50, true)
		p.path("m", "M82 176Q66 150 80 126")
	}},
	"bee": {scene: air, draw: func(p *pen) {
		p.path("h", "M10 150q14 -24 30 -10t-6 14t20 -10")
		for _, rot := range []float64{-34, 8} {
			p.raw(`<g transform="rotate(`, num(rot), ` 96 86)">`)
			p.ellipse("o", 92, 54, 19, 36, 0)
			p.path("h", "M92 86V30M92 60l10 -12M92 68l-10 -12")
			p.end()
		}
		new(body).round(88, 114, 48, 30, 0).round(140, 106, 21, 20, 0).ink(p, "w")
		p.path("f", "M66 88Q58 114 66 140L54 135Q46 114 54 93ZM88 84Q80 114 88 144H74Q66 114 74 86ZM110 87Q102 114 "+
			"110 141L96 143.5Q88 114 96 84.5Z")
		p.path("f", "M40 108L24 114L40 120Z")
		p.path("l", "M146 88Q150 70 164 68M136 87Q136 68 148 60M150 114q6 2 9 -3M70 142l-4 12M90 144v12M110 140l4 12")
		p.circle("a", 165, 68, 3.5)
		p.circle("a", 149, 59, 3.5)
		eye(p, 147, 101, false)
	}},
	"ladybird": {scene: land, draw: func(p *pen) {
		p.path("l", "M66 140l-8 22M90 146l-2 17M116 146l4 17M134 138l12 24M152 98Q160 82 172 84M146 94Q148 76 160 72")
		p.circle("f", 173, 84, 3)
		p.circle("f", 161, 71, 3)
		new(body).round(146, 116, 22, 22, 0).ink(p, "b")
		b := new(body).shape("M34 144Q36 66 94 66Q144 68 146 144Q90 156 34 144Z")
		b.ink(p, "e")
		p.path("l", "M90 66Q84 110 88 150")
		for _, c := range []point{{62, 100}, {54, 128}, {76, 126}, {108, 92}, {126, 118}, {104, 126}, {92, 80}} {
			p.circle("d", c.x, c.y, 7)
		}
		p.path("y", "M146 100q8 -4 12 4q-4 6 -12 4Z")
		eye(p, 158, 112, true)
	}},
	"carp": {scene: deep, draw: func(p *pen) {
		b := new(body).shape("M172 108Q150 74 104 74Q68 78 46 104L14 80Q22 108 14 138L46 116Q68 142 104 144Q150 142 " +
			"172 108Z")
		b.shape("M78 84Q96 52 132 78Z").shape("M94 138L82 160L112 142Z").shape("M132 136L130 154L148 130Z")
		b.ink(p, "w")
		p.path("a", "M46 104L14 80Q22 108 14 138L46 116ZM82 82Q98 58 128 77Z")
		p.path("l", "M140 82Q126 108 140 136")
		for row := range 4 {
			for i := range 6 {
				x, y := 66+float64(i)*11+float64(row%2)*5, 92+float64(row)*12
				if row == 0 && i == 0 || row == 3 && i == 0 || x > 124 {
					continue
				}
				p.path("h", "M"+xy(x, y-5)+"q8 5 0 10")
			}
		}
		p.path("l", "M172 108q-7 4 -12 2M166 116q4 8 0 14M160 119q0 8 -5 12")
		eye(p, 154, 100, false)
		p.path("m", "M24 94l14 10M22 108h16M24 124l14 -10")
	}},
}
