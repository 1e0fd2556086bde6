package services

import "testing"

// A client whose names take their time keeps four of the places where addresses are looked up, and
// the others are everybody's.
func TestLooksAreShared(t *testing.T) {
	s := &sending{asking: map[string]int{}}
	for i := range lookupsEach + 2 {
		if ok := s.ask("a", 1); ok != (i < lookupsEach) {
			t.Errorf("look %d of one client: %v", i, ok)
		}
	}
	if !s.ask("b", 1) || !s.ask("b", -1) || len(s.asking) != 1 {
		t.Errorf("asking = %v", s.asking)
	}
	if s.ask("a", -1); !s.ask("a", 1) || s.ask("a", 1) {
		t.Error("a place that is free is not given again, or given twice")
	}
}
