package drawing

import "fmt"

// Label draws two words on a badge: what it is about, and what is said of it on a ground of a
// colour. None of them may hold markup.
func Label(label, said, colour string) []byte {
	left, right := 7*len(label)+12, 7*len([]rune(said))+12
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="22" role="img" aria-label="%[5]s: %[6]s">`+
		`<title>%[5]s: %[6]s</title><rect width="%[2]d" height="22" fill="#241f19"/><rect x="%[2]d" width="%[3]d" height="22" fill="%[4]s"/>`+
		`<g fill="#f7f2e6" font-family="ui-monospace,Menlo,Consolas,monospace" font-size="11.5" text-anchor="middle">`+
		`<text x="%[7]d" y="15">%[5]s</text><text x="%[8]d" y="15">%[6]s</text></g></svg>`+"\n",
		left+right, left, right, colour, label, said, left/2, left+right/2)
}
