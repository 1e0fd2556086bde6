package specimen

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"store.example/agentstore/cmd/devnet/street"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
)

// fates is what the record must say of each host, a letter a week: R ready, N not ready, U
// unreachable, in lower case where no list named the host and it was visited again; c the control
// door failed, k beyond the cap, i interrupted, m no method was named, b a bot wall answered,
// - refused by the guard, . no row.
var fates = []struct{ host, weeks string }{
	{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb" +
		"bbbbbbbbbbbbbbbbbbbbbbbbbbb.ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc.dddddddd" +
		"ddddddddddddddddddddddddddddddddddddddddd.long.street", ".......RRRRR"},
	{"almanac.mill.street", "RRRcRRRRRRRR"},
	{"anchor.hill.street", "RRRcruucuuuu"},
	{"arch.gate.street", "........RRRR"},
	{"atlas.mill.street", "....RRRRRRRR"},
	{"bakery.mill.street", "RRkcRRRRRRRR"},
	{"barrel.hill.street", "RRRcRRrrrrrr"},
	{"bell.mill.street", "RRRcRRRRRRRR"},
	{"bridge.quay.street", "..RcRURRRRRR"},
	{"candle.hill.street", "RRRRRRRRRRRR"},
	{"chart.mill.street", "RRRcRRRcRRRR"},
	{"compass.mill.street", "....RRRRRRRR"},
	{"crane.quay.street", "....bbRRRRRR"},
	{"drum.hill.street", "....RRRRRRRR"},
	{"easel.hill.street", "....RRRRRRRR"},
	{"echo.mill.street", "....RRRRRRRR"},
	{"eddy.quay.street", "....UURRRRRR"},
	{"ferry.mill.street", "....RrRcRRRR"},
	{"flask.hill.street", "..RcRRRRRRRR"},
	{"fog.quay.street", ".......NNNNN"},
	{"globe.hill.street", "....RRRcRRRR"},
	{"gull.quay.street", ".........RRR"},
	{"hammer.hill.street", ".....RRRRRRR"},
	{"hull.quay.street", "...........R"},
	{"index.json.street", "......RcRRRR"},
	{"ivory.hill.street", "..RcRRRRRRkR"},
	{"jar.hill.street", "....RRRRRRRR"},
	{"jetty.quay.street", "....RRRciRRR"},
	{"keel.quay.street", "........RRRR"},
	{"kettle.dock.street", ".NkRRRRRRRRR"},
	{"knot.hill.street", "......RRRRRR"},
	{"ladle.hill.street", "....RRRRRRRR"},
	{"lamp.dock.street", "NNNNNRRRRRRR"},
	{"loom.dock.street", "....NNRRRRkR"},
	{"mail.gate.street", "....RRRRRRRR"},
	{"mirror.dock.street", "..kcNNNRRRRR"},
	{"murk.quay.street", "...........N"},
	{"needle.dock.street", ".....NNRRRkR"},
	{"oil.gate.street", "RRkRRRRcRRRR"},
	{"oven.dock.street", ".......cNRRR"},
	{"paper.dock.street", "..kcRRRRNNNN"},
	{"post.gate.street", "....mmmmRRRR"},
	{"quill.dock.street", "....RRRcUURR"},
	{"quote.gate.street", "mmkmmmmcmmmm"},
	{"radio.dock.street", "....RRRRUUUU"},
	{"readme.md.street", "........RRRR"},
	{"rope.gate.street", "...--RRRRRRR"},
	{"salt.dock.street", "....RRNNNNNN"},
	{"sand.gate.street", "..........--"},
	{"tally.dock.street", "........RRRU"},
	{"tide.gate.street", ".....NNNNNNN"},
	{"umbrella.dock.street", "......RRRRNN"},
	{"urn.gate.street", "........NNNN"},
	{"vane.dock.street", "RRNcRRNRRRNR"},
	{"vault.gate.street", ".RRcRRRRRRRR"},
	{"well.gate.street", "...RRRRRRRRR"},
	{"wick.dock.street", "RRNcRRRNNNNN"},
	{"xn--bcher-kva.street", ".......cRRRR"},
	{"yard.gate.street", "....RRRRRRRR"},
	{"yarn.hill.street", "RRRcRrrrrRRR"},
	{"zinc.gate.street", ".......RRRRR"},
}

// letter is what fates says of a row.
func letter(r record.Row) string {
	s := map[string]string{record.VerdictReady: "R", record.VerdictNotReady: "N",
		record.VerdictUnreachable: "U"}[r.Verdict]
	if s == "" {
		s = map[string]string{record.ReasonControlFailed: "c", "beyond_cap": "k", "interrupted": "i",
			record.ReasonMethodUnresolved: "m", probe.ReasonChallenged: "b", "target_refused": "-"}[r.Reason]
	}
	if r.Source == record.SourceRevisit {
		s = strings.ToLower(s)
	}
	return s
}

// rounds reads the rows of the committed record, by week and host.
func rounds(t *testing.T) (map[int]record.Round, map[int]map[string]record.Row) {
	t.Helper()
	r, err := record.Open(os.DirFS(committed), ring(t))
	if err != nil {
		t.Fatal(err)
	}
	heads, all := map[int]record.Round{}, map[int]map[string]record.Row{}
	for i, round := range r.Rounds() {
		rows := map[string]record.Row{}
		for row, err := range r.Rows(round.Sequence) {
			if err != nil {
				t.Fatal(err)
			}
			rows[row.Host] = row.Row
		}
		heads[firstWeek+i], all[firstWeek+i] = round, rows
	}
	return heads, all
}

func TestFatesAreAsScripted(t *testing.T) {
	_, all := rounds(t)
	var named []string
	for _, f := range fates {
		named = append(named, f.host)
		var got strings.Builder
		for week := firstWeek; week <= lastWeek; week++ {
			s := "."
			if row, ok := all[week][f.host]; ok {
				s = letter(row)
			}
			got.WriteString(s)
		}
		if got.String() != f.weeks {
			t.Errorf("%.60s is %s, want %s", f.host, got.String(), f.weeks)
		}
	}
	for week, rows := range all {
		for host := range rows {
			if !slices.Contains(named, host) {
				t.Errorf("in week %d there is %s, which has no fate", week, host)
			}
		}
	}
	for _, r := range thePlay().Roles {
		if r.Host != controlHost && !slices.Contains(named, r.Host) {
			t.Errorf("%s is on the street and was never seen", r.Host)
		}
	}
}

// TestRowsSayWhatTheStreetWants holds every row that was observed against the row of the street
// that stood there.
func TestRowsSayWhatTheStreetWants(t *testing.T) {
	_, all := rounds(t)
	seen := 0
	for week, rows := range all {
		for _, role := range thePlay().Roles {
			row, ok := rows[role.Host]
			if !ok || row.Verdict == record.VerdictNotProbed {
				continue
			}
			door, ok := role.As(week)
			if !ok {
				t.Errorf("in week %d %s is observed and was not there", week, role.Host)
				continue
			}
			seen++
			// An advisory is raised from the day on which the instrument has it.
			raised := slices.DeleteFunc(slices.Clone(door.Want.Advisories), func(name string) bool {
				return slices.ContainsFunc(probe.Advisories(), func(a probe.Advisory) bool {
					return a.Name == name &&
						(row.ObservedAt[:10] < a.Since || a.Scheme != "")
				})
			})
			want := street.Want{V1: door.Want.V1, V2: door.Want.V2, FailedV2: door.Want.FailedV2, Advisories: raised,
				Level: door.Want.Level, Fault: door.Want.Fault, Protocols: door.Want.Protocols}
			got := street.Want{V1: probe.Verdict(row.AlsoUnder[0].Verdict), V2: probe.Verdict(row.Verdict),
				FailedV2: row.Failed, Advisories: row.Advisories, Level: row.ReachedLevel,
				Fault: probe.Fault(row.Fault), Protocols: row.Protocols}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("in week %d %s is %s (-want +got):\n%s", week, role.Host, door.Name, diff)
			}
		}
	}
	if seen < 400 {
		t.Errorf("only %d rows were compared", seen)
	}
}

func TestTermsMoveAsScripted(t *testing.T) {
	_, all := rounds(t)
	const base, polygon = "eip155:8453", "eip155:137"
	for _, c := range []struct {
		week             int
		host, usdc, paid string // by whose account
		networks         []string
	}{
		{37, "flask.hill.street", "0.01", "flask.hill.street", []string{base}},
		{39, "flask.hill.street", "0.025", "flask.hill.street", []string{base}},
		{46, "flask.hill.street", "0.005", "flask.hill.street", []string{base}},
		{40, "drum.hill.street", "0.01", "drum.hill.street", []string{base}},
		{41, "drum.hill.street", "0.01", "drum's new account", []string{base}},
		{43, "easel.hill.street", "0.01", "easel, fourth", []string{base}},
		{39, "globe.hill.street", "0.01", "globe.hill.street", []string{base}},
		{41, "globe.hill.street", "0.01", "globe.hill.street", []string{polygon, base}},
		{46, "globe.hill.street", "0.01", "globe.hill.street", []string{polygon, base, networks.Solana}},
		{46, "ivory.hill.street", "0.01", "the counting house", []string{base}},
		{46, "jar.hill.street", "0.01", "the counting house", []string{base}},
		{40, "ladle.hill.street", "0.01", "the counting house", []string{base}},
		{41, "ladle.hill.street", "0.01", "ladle", []string{base}},
	} {
		o := all[c.week][c.host].Offer
		if o == nil {
			t.Errorf("in week %d %s has no offer", c.week, c.host)
			continue
		}
		var payTo []record.PayTo
		for _, n := range c.networks {
			payTo = append(payTo, record.PayTo{Network: n, Digest: exchange.PayToDigest(n, street.Address(n, c.paid))})
		}
		slices.SortFunc(o.PayTo, func(a, b record.PayTo) int { return strings.Compare(a.Network, b.Network) })
		if o.MinUSDC != c.usdc || !slices.Equal(o.Networks, c.networks) || !slices.Equal(o.PayTo, payTo) {
			t.Errorf("in week %d %s asks for %s on %v at %v", c.week, c.host, o.MinUSDC, o.Networks, o.PayTo)
		}
	}
}

// TestNothingIsCalledUnreachableWhileTheControlFails looks at the weeks in which the walker's own
// line was down; hosts that had no answer to give in the second of them are not called unreachable
// either.
func TestNothingIsCalledUnreachableWhileTheControlFails(t *testing.T) {
	heads, all := rounds(t)
	for _, week := range []int{38, 42} {
		if heads[week].Control.Failed == 0 {
			t.Errorf("in week %d the control door never failed", week)
		}
		sheltered := 0
		for _, role := range thePlay().Roles {
			row, ok := all[week][role.Host]
			if ok && row.Reason == record.ReasonControlFailed {
				sheltered++
			}
			if ok && row.Verdict == record.VerdictUnreachable {
				t.Errorf("in week %d %s is called unreachable", week, role.Host)
			}
		}
		if sheltered < 10 {
			t.Errorf("in week %d the control door spoke for %d hosts", week, sheltered)
		}
	}
	for week, h := range heads {
		if week != 38 && week != 42 && h.Control.Failed > 0 {
			t.Errorf("in week %d the control door failed", week)
		}
	}
}

func TestRoundsOwnUpToWhatTheyMissed(t *testing.T) {
	heads, all := rounds(t)
	for week, h := range heads {
		capped, dropped := week == 37 || week == 45, week == 38
		incomplete := week == 40
		if h.Roster.Capped != capped || h.Coverage.Dropped != dropped || h.Coverage.Suspect != (capped || dropped ||
			incomplete) {
			t.Errorf("week %d: capped %v, %+v", week, h.Roster.Capped, h.Coverage)
		}
		for _, s := range h.Roster.Sources {
			if s.Complete == (incomplete && s.Name == "catalog") {
				t.Errorf("week %d: source %+v", week, s)
			}
		}
		for _, n := range h.Inflows.Networks {
			if n.Read == (week == 38 && n.Network == networks.Solana) {
				t.Errorf("week %d: inflow %+v", week, n)
			}
		}
	}
	for week, rows := range all {
		for host, row := range rows {
			if (row.Reason == "interrupted") != (week == interrupted && host == interruptedHost) {
				t.Errorf("week %d: %s is %s", week, host, row.Reason)
			}
		}
	}
}
