package derive

import (
	"iter"

	"store.example/agentstore/corpus/record"
)

// Compare derives the difference of two rounds from their rows, which are read once, side by side.
func Compare(from, to record.Round, a, b iter.Seq2[record.StoredRow, error]) (Diff, error) {
	out := newDiff(from, to)
	nextA, stopA := iter.Pull2(a)
	defer stopA()
	nextB, stopB := iter.Pull2(b)
	defer stopB()
	x, errX, okX := nextA()
	y, errY, okY := nextB()
	for okX || okY {
		if errX != nil {
			return Diff{}, errX
		}
		if errY != nil {
			return Diff{}, errY
		}
		switch {
		case !okY || okX && x.Host < y.Host:
			out.add(&x.Row, nil)
			x, errX, okX = nextA()
		case !okX || y.Host < x.Host:
			out.add(nil, &y.Row)
			y, errY, okY = nextB()
		default:
			out.add(&x.Row, &y.Row)
			x, errX, okX = nextA()
			y, errY, okY = nextB()
		}
	}
	return out, nil
}

// add compares the rows of one host, of which either may be missing.
func (d *Diff) add(x, y *record.Row) {
	p := pairOf(x, y)
	d.HostsInFrom, d.HostsInTo, d.HostsInBoth = d.HostsInFrom+p.inFrom, d.HostsInTo+p.inTo, d.HostsInBoth+
		p.inFrom*p.inTo
	switch {
	case p.inFrom > p.inTo:
		d.Disappeared = append(d.Disappeared, x.Host)
	case p.inFrom < p.inTo:
		d.Appeared = append(d.Appeared, y.Host)
	}
	if !p.compares {
		return
	}
	if x.Verdict != y.Verdict {
		d.Transitions = append(d.Transitions, Transition{Host: x.Host, From: x.Verdict, To: y.Verdict,
			Battery: x.Battery != y.Battery})
	}
	d.Drift = append(d.Drift, Drifts(x, y)...)
}

// WalletFacts derives a round's facts about addresses from its rows.
func WalletFacts(r record.Round, rows iter.Seq2[record.StoredRow, error]) (Wallets, error) {
	facts, _, err := Share(r, rows)
	return facts, err
}

// Share derives a round's facts about addresses and which of them were shared.
func Share(r record.Round, rows iter.Seq2[record.StoredRow, error]) (Wallets, Sharing, error) {
	w := newWallets(r, newAddresses())
	for row, err := range rows {
		if err != nil {
			return Wallets{}, Sharing{}, err
		}
		w.add(&row.Row)
	}
	facts, shared, _ := w.done()
	return facts, shared, nil
}

// Trajectory derives a round's point from its rows.
func Trajectory(r record.Round, rows iter.Seq2[record.StoredRow, error]) (Week, error) {
	w := newWeek(r)
	for row, err := range rows {
		if err != nil {
			return Week{}, err
		}
		w.add(&r, &row.Row)
	}
	return w, nil
}
