package record

import "testing"

// A round that probed under 60 % of the hosts that the round before it did is suspect; at 60 % it
// is not.
func TestSuspectUnderSixtyPercent(t *testing.T) {
	for _, c := range []struct {
		before, now      int64
		capped, complete bool
		dropped, suspect bool
	}{
		{0, 0, false, true, false, false},
		{1, 0, false, true, true, true},
		{100, 40, false, true, true, true},
		{100, 59, false, true, true, true},
		{100, 60, false, true, false, false},
		{100, 61, false, true, false, false},
		{5, 3, false, true, false, false},
		{5, 2, false, true, true, true},
		{100, 100, true, true, false, true},
		{100, 100, false, false, false, true},
	} {
		r := Round{}
		r.Coverage.PreviousProbed, r.Coverage.Probed = c.before, c.now
		r.Roster.Capped = c.capped
		r.Roster.Sources = []RosterSource{{Complete: c.complete}}
		r.Count(nil)
		if r.Coverage.Dropped != c.dropped || r.Coverage.Suspect != c.suspect {
			t.Errorf("%+v: dropped %v, suspect %v", c, r.Coverage.Dropped, r.Coverage.Suspect)
		}
	}
}

// A round is suspect where its order and the one before's were both drawn by a value of the
// census's own.
func TestSuspectWhereNoBlockDecidedTwice(t *testing.T) {
	own, block := &Lot{Own: make([]byte, 32)}, &Lot{Header: make([]byte, 80)}
	for _, c := range []struct {
		now, before *Round
		want        bool
	}{
		{&Round{Lot: own}, nil, false}, {&Round{Lot: block}, nil, false}, {&Round{}, nil, false},
		{&Round{Lot: own}, &Round{Lot: own}, true},
		{&Round{Lot: own}, &Round{Lot: block}, false}, {&Round{Lot: block}, &Round{Lot: own}, false},
		{&Round{Lot: block}, &Round{Lot: block}, false}, {&Round{}, &Round{Lot: own}, false},
		{&Round{Lot: own}, &Round{}, false},
	} {
		if c.now.Count(c.before); c.now.Coverage.Suspect != c.want {
			t.Errorf("%+v after %+v: suspect %v", c.now.Lot, c.before, c.now.Coverage.Suspect)
		}
	}
}
