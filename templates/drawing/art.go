package drawing

import (
	"embed"
	"path"
	"strings"
)

// art has what is drawn the same each time: a file for an animal (on 200 by 190 with its feet at
// 165, facing right), a sign (about the origin, within 30 units of it) and a publication, in the
// classes of Style.
//
//go:embed art
var art embed.FS

// piece is the elements of a file of art, without the <svg> around them.
func piece(name ...string) string {
	b, err := art.ReadFile("art/" + path.Join(name...) + ".svg")
	if err != nil {
		return ""
	}
	_, elements, _ := strings.Cut(strings.TrimSuffix(string(b), "\n</svg>\n"), "\n")
	return strings.ReplaceAll(elements, ">\n<", "><")
}

// bestiary says of every animal that there is a drawing of where it stands.
var bestiary = map[string]func(*pen, *dice){
	"ant":      land,
	"badger":   land,
	"bat":      air,
	"beaver":   land,
	"bee":      air,
	"carp":     deep,
	"cat":      land,
	"cow":      land,
	"crab":     land,
	"dog":      land,
	"donkey":   land,
	"duck":     water,
	"elephant": land,
	"fox":      land,
	"frog":     land,
	"goat":     land,
	"goose":    land,
	"hare":     land,
	"hedgehog": land,
	"heron":    water,
	"horse":    land,
	"ladybird": land,
	"magpie":   land,
	"mole":     land,
	"moth":     air,
	"mouse":    land,
	"octopus":  deep,
	"otter":    water,
	"owl":      land,
	"penguin":  land,
	"pig":      land,
	"pigeon":   land,
	"rabbit":   land,
	"robin":    land,
	"rooster":  land,
	"seahorse": deep,
	"sheep":    land,
	"snail":    land,
	"spider":   air,
	"squirrel": land,
	"swift":    air,
	"toad":     land,
	"tortoise": land,
	"whale":    water,
}
