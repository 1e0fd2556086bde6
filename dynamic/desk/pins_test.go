package desk

import (
	"strconv"
	"testing"
	"time"
)

// TestPinsForgetNobody fills the table of readers: the one that is in it stays, a further one reads
// the newest, and an hour later there is room.
func TestPinsForgetNobody(t *testing.T) {
	var p pins
	at := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	p.pin("first", 7, at)
	for n := range maxPins + 10 {
		p.pin(strconv.Itoa(n), 8, at)
	}
	if n := p.number("first", 20, at); n != 7 {
		t.Errorf("the first reader is in %d, want 7", n)
	}
	if n := p.number("first", 0, at); n != 0 {
		t.Errorf("begun anew in %d, want the newest", n)
	}
	if n := p.number(strconv.Itoa(maxPins+9), 20, at); n != 0 || len(p.at) != maxPins {
		t.Errorf("a reader too many is in %d of %d", n, len(p.at))
	}
	later := at.Add(pinned)
	if p.pin("late", 9, later); p.number("late", 20, later) != 9 || p.number("first", 20, later) != 0 {
		t.Error("what is over takes room")
	}
}

// TestSharedBudgetsAreFair: what is everybody's, nobody may spend alone.
func TestSharedBudgetsAreFair(t *testing.T) {
	for _, l := range Budgets() {
		if l.Shared > 0 && !l.Fair {
			t.Errorf("budget %s is shared and not fair", l.Name)
		}
	}
}
