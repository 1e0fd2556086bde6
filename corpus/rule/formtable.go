package rule

import (
	"fmt"
	"regexp"
	"strings"
)

// Form is what a name of the table of forms stands for: an object's members, kinds of which one
// fits, or the expression of a text.
type Form struct {
	Name       string
	Members    []Member
	Kinds      []string
	Expression string
}

// Member is a member of an object. Text says that an expression stands in the place of its kind.
type Member struct {
	Name, Kind     string
	Optional, Text bool
}

var (
	formRemark = regexp.MustCompile(`(?m)^#.*\n`)
	formGoesOn = regexp.MustCompile(`\n +`)
	formMember = regexp.MustCompile(`^(\w+)(\??)([:=])(.*)$`)
)

// FormTable reads the forms as their head says, in their order.
func FormTable() (all []Form, err error) {
	seen := make(map[string]bool)
	text := formRemark.ReplaceAllString(string(forms), "")
	for line := range strings.Lines(formGoesOn.ReplaceAllString(text, " ")) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		f, words := Form{Name: words[0]}, words[1:]
		if seen[f.Name] || len(words) == 0 {
			return nil, fmt.Errorf("reading the forms: %s stands twice, or for nothing", f.Name)
		}
		seen[f.Name] = true
		switch words[0] {
		case "=":
			f.Expression = strings.Join(words[1:], "")
		case "|":
			for i := 1; i < len(words); i += 2 {
				f.Kinds = append(f.Kinds, words[i])
			}
		default:
			for _, word := range words {
				m := formMember.FindStringSubmatch(word)
				if m == nil {
					return nil, fmt.Errorf("reading the forms: %s: %q is no member", f.Name, word)
				}
				f.Members = append(f.Members, Member{m[1], m[4], m[2] != "", m[3] == "="})
			}
		}
		all = append(all, f)
	}
	return all, nil
}
