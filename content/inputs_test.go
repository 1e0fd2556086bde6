package content

import "testing"

func TestEveryInputIsDescribed(t *testing.T) {
	for _, in := range EveryInput() {
		if in.Help == "" || in.Max == 0 || in.Type == "" {
			t.Errorf("input %q has no help, limit or type", in.Name)
		}
	}
}
