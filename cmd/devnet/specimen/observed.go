package specimen

import (
	"context"
	"fmt"
	"os"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/declarations"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
)

// stamp of an observation.
func at(week, day, hour int) string { return moment(week, day, hour).Format(time.RFC3339) }

// monday is what is observed in a week before its census: hosts that declared themselves, and a key
// that changed hands.
func (m *maker) monday(ctx context.Context, week int) ([]record.Observation, error) {
	if week == 41 && m.site == nil {
		handover, err := m.handOver(ctx)
		if err != nil {
			return nil, err
		}
		return []record.Observation{{At: at(week, 0, 9), Kind: record.ObservationKeyEvent, Handover: &handover}}, nil
	}
	host := map[int]string{36: "vault.gate.street", 38: "well.gate.street", 39: "yard.gate.street",
		42: "zinc.gate.street", 43: "arch.gate.street"}[week]
	if host == "" {
		return nil, nil
	}
	report, _, err := fetch.Walk(ctx, m.client, declarations.Checker{Host: host},
		fetch.WalkStart{URL: declarations.Start(host), Kinds: []string{"get"}})
	if err != nil {
		return nil, fmt.Errorf("reading what %s declares: %w", host, err)
	}
	own := report.File.On(host, func(u string) (string, error) { return m.client.Parse(u, fetch.Rule{}) })
	if len(own.Doors) == 0 {
		return nil, fmt.Errorf("%s declares no door: %s", host, report.Reason)
	}
	d := &record.Declaration{Host: host, Shape: report.File.Shape, Foreign: own.Foreign}
	for _, door := range own.Doors {
		d.Doors = append(d.Doors, door.URL)
	}
	return []record.Observation{{At: at(week, 0, 10), Kind: record.ObservationDeclaration, Declaration: d}}, nil
}

// rest is what is observed in a week after its census.
func (m *maker) rest(ctx context.Context, week int) ([]record.Observation, error) {
	word := func(word, epitaph string) record.Observation {
		return record.Observation{At: at(week, 2, 15), Kind: record.ObservationRetiredWord,
			Word: &record.Said{Text: word}, Epitaph: epitaph}
	}
	issued := func(anchors, audits, certificates int64) record.Observation {
		return record.Observation{At: at(week, 6, 23), Kind: record.ObservationArtifactsIssued,
			Issued: &record.Issued{Total: anchors + audits + certificates,
				Classes: []record.IssuedClass{{Class: "bitcoin_anchor", Total: anchors},
					{Class: "certificate", Total: certificates}, {Class: "service_audit", Total: audits}}}}
	}
	walked := func(host, usdc string, claim *record.WalkClaim) record.Observation {
		return record.Observation{At: at(week, 3, 12), Kind: record.ObservationPaidWalk,
			Walk: &record.PaidWalk{Host: host, URL: "https://" + host + "/paid", Network: "eip155:8453",
				Transaction: "0x" + attest.Digest(digest("a purchase at "+host)).String(), USDC: usdc, Claim: claim}}
	}
	// own is a purchase by the store's own wallet, and told one by a seller or a stranger.
	own := func(host string, claim *record.WalkClaim) record.Observation {
		o := walked(host, "0.01", claim)
		o.Walk.By = record.BoughtByStore
		return o
	}
	told := func(host, by, twice, second string) record.Observation {
		o := walked(host, "0.01", answered(200))
		o.Walk.By, o.Walk.ChargedTwice, o.Walk.Second = by, twice, second
		return o
	}
	unpaid := func(host string, claim *record.WalkClaim) record.Observation {
		return record.Observation{At: at(week, 3, 13), Kind: record.ObservationUnpaidWalk,
			Unpaid: &record.UnpaidWalk{Host: host, URL: "https://" + host + "/paid", Network: "eip155:8453",
				USDC: "0.01", Claim: claim}}
	}
	switch week {
	case 35:
		return []record.Observation{issued(0, 0, 2)}, nil
	case 37:
		return []record.Observation{word("frictionless", "It met a table of states and was never seen again.")}, nil
	case 38:
		return []record.Observation{walked("almanac.mill.street", "0.01", answered(200))}, nil
	case 39:
		// The text of a tip is sold: whoever keeps it salts it.
		tip, err := record.Say(&counter{n: 1 << 48},
			"Send OPTIONS to nobody. Read the Allow header of the 405: a door that takes POST says so there, and it "+
				"costs nothing to listen.")
		if err != nil {
			return nil, err
		}
		return []record.Observation{
			{At: at(week, 2, 11), Kind: record.ObservationPublishedTip, Tip: &record.Tip{ID: "tip_specimenaaaaaaaaaaaa",
				Title: record.Said{Text: "Doors that answer GET with 405"}, Text: tip}},
			issued(1, 2, 9),
		}, nil
	case 40:
		refreshed, err := m.refresh(ctx, week, "wick.dock.street")
		return []record.Observation{refreshed}, err
	case 41:
		return []record.Observation{{At: at(week, 4, 16), Kind: record.ObservationStandingNote,
			Note: &record.StandingNote{Host: "vane.dock.street", Lane: "host", SignedAt: at(week, 4, 15),
				Statement: record.Said{Text: "We move house. The door is shut on some Tuesdays until the middle of " +
					"November, and open on all other days."}}}}, nil
	case 42:
		return []record.Observation{word("seamless", "Every seam it denied has been found and sewn.")}, nil
	case 43:
		return []record.Observation{
			walked("chart.mill.street", "0.01", nil),
			{At: at(week, 3, 17), Kind: record.ObservationStandingNote,
				Note: &record.StandingNote{Host: "chart.mill.street", Lane: "wallet", SignedAt: at(week, 3, 16),
					Statement: record.Said{Text: "The retry key is kept for a week. Send it again as often as you " +
						"like."},
					PayTo: &record.PayTo{Network: "eip155:8453", Digest: exchange.PayToDigest("eip155:8453",
						m.address("chart.mill.street"))}}},
			issued(2, 5, 21),
		}, nil
	case 45:
		refreshed, err := m.refresh(ctx, week, "paper.dock.street")
		return []record.Observation{refreshed,
			word("revolutionary", "It went round once and came back to where it had been."),
			own("bell.mill.street", answered(200)), unpaid("wick.dock.street", answered(402))}, err
	case 46:
		back, err := m.refresh(ctx, week, "vane.dock.street")
		if err != nil {
			return nil, err
		}
		missed, err := m.row(40, "bridge.quay.street")
		return []record.Observation{back, issued(3, 8, 34),
			{At: at(week, 6, 23), Kind: record.ObservationErratum, Erratum: &record.Erratum{Leaf: missed.Leaf,
				Reason: "The resolver that was asked for this name that morning was the one at fault: nothing was " +
					"seen of the door.", VerdictNow: record.VerdictNotProbed}},
			own("drum.hill.street", answered(500)), own("echo.mill.street", answered(200)),
			unpaid("knot.hill.street", nil), told("atlas.mill.street", record.BoughtBySeller, record.ChargedNo, ""),
			told("ladle.hill.street", record.BoughtByStranger, record.ChargedYes,
				"0x"+attest.Digest(digest("a second purchase at ladle.hill.street")).String())}, err
	}
	return nil, nil
}

// answered is what a door answered to a payment, as its walker tells it.
func answered(status int64) *record.WalkClaim {
	body := map[int64]string{200: `{"celsius":21}`, 402: `{}`, 500: `{"error":"later"}`}[status]
	return &record.WalkClaim{Status: status, BodySHA256: attest.Digest(digest(body)).String(), Bytes: int64(len(body)),
		LatencyMS: 840, ContentType: "application/json"}
}

// row is what the record says of a host in a week.
func (m *maker) row(week int, host string) (record.StoredRow, error) {
	r, err := record.Open(os.DirFS(m.dir), m.writer().Ring)
	if err != nil {
		return record.StoredRow{}, err
	}
	for row, err := range r.Rows(int64(week - firstWeek + 1)) {
		if err != nil || row.Host == host {
			return row, err
		}
	}
	return record.StoredRow{}, fmt.Errorf("week %d has no row of %s", week, host)
}

// refresh walks one door between two rounds, as a buyer of a refresh has it done.
func (m *maker) refresh(ctx context.Context, week int, host string) (record.Observation, error) {
	m.clock.Set(moment(week, 4, 9))
	report, judgement, err := m.walk(ctx, "https://"+host+"/paid")
	if err != nil {
		return record.Observation{}, fmt.Errorf("walking to %s again: %w", host, err)
	}
	return rejudge.RefreshFrom(host, report, judgement)
}
