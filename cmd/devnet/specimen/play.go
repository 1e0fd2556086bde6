package specimen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/cmd/devnet/street"
)

// The weeks of the record, ISO weeks of 2026.
const (
	firstWeek = 35
	lastWeek  = 46
)

// moment is a time in a week of the record: days after its Monday, and hours.
func moment(week, day, hour int) time.Time {
	return time.Date(2026, 8, 24+7*(week-firstWeek)+day, hour, 0, 0, 0, time.UTC)
}

// walkDay and walkHour are when a week's census begins: Tuesdays at six.
const walkDay, walkHour = 1, 6

// sealed is when a week's census is over.
func sealed(week int) time.Time { return moment(week, walkDay, walkHour).Add(street.WalkTime) }

// The catalogues.
const (
	bazaar  = "bazaar.lists.street"
	catalog = "catalog.lists.street"
	both    = bazaar + " " + catalog
)

// controlHost is the store's own door, which is walked to see whether the line is up.
const controlHost = "control.store.street"

// by reads what holds from a week on, a line each: "38 ready-bare".
func by(lines ...string) map[int]string {
	out := map[int]string{}
	for _, line := range lines {
		week, value, _ := strings.Cut(line, " ")
		n, err := strconv.Atoi(week)
		if err != nil || n < firstWeek || n > lastWeek {
			panic(fmt.Sprintf("the play has no week %q", week)) // the literals below
		}
		out[n] = value
	}
	return out
}

// since is what holds from one week on.
func since(week int, value string) map[int]string { return map[int]string{week: value} }

// longHost is a name of the greatest length there is.
var longHost = strings.Repeat("a", 63) + "." + strings.Repeat("b", 63) + "." + strings.Repeat("c", 63) + "." +
	strings.Repeat("d", 253-3*64-len(".long.street")) + ".long.street"

// thePlay is what happens on the street of the specimen. Nobody here exists.
func thePlay() street.Play {
	return street.Play{
		Seed: "specimen",
		Lists: []street.List{
			{Host: bazaar, Page: 20},
			{Host: catalog, Page: 5, Breaks: map[int]int{40: 5}}, // in week 40 its second page is not answered
		},
		Outages: []street.Span{
			{From: moment(38, walkDay, walkHour).Add(30 * time.Second),
				To: moment(38, walkDay, walkHour).Add(15 * time.Minute)},
			{From: moment(42, walkDay, walkHour).Add(40 * time.Second),
				To: moment(42, walkDay, walkHour).Add(60 * time.Second)},
		},
		Roles: slices.Concat([]street.Role{
			{Host: controlHost, Doc: "The store's own door.", Plot: by("35 ready-bare"), After: 50 * time.Second},
		}, sellers(), changers(), movers(), strangers(), latecomers()),
	}
}

// sellers sell as long as they are there.
func sellers() []street.Role {
	return []street.Role{
		{Host: "almanac.mill.street", Doc: "Sells on three rails all the time.", Plot: by("35 ready-many"),
			Lists: since(firstWeek, both)},
		{Host: "atlas.mill.street", Doc: "Says its terms twice, alike.", Plot: by("35 ready-mirrored"),
			Lists: since(39, bazaar), Price: by("35 40000")},
		{Host: "bakery.mill.street", Doc: "The least that sells.", Plot: by("35 ready-bare"),
			Lists: since(firstWeek, bazaar), Price: by("35 5000")},
		{Host: "bell.mill.street", Doc: "Signs no offers.", Plot: by("35 ready-without-offers"),
			Lists: since(firstWeek, both), Price: by("35 1000")},
		{Host: "chart.mill.street", Doc: "Takes a retry key.", Plot: by("35 ready-retry-key"),
			Lists: since(firstWeek, bazaar)},
		{Host: "compass.mill.street", Doc: "Speaks MPP beside x402.", Plot: by("35 ready-dual"), Lists: since(39, both),
			Price: by("35 20000")},
		{Host: "echo.mill.street", Doc: "Sells on Solana alone.", Plot: by("35 ready-solana-usdc"),
			Lists: since(39, bazaar)},
		{Host: "ferry.mill.street", Doc: "Sells on Polygon alone.", Plot: by("35 ready-eip155-137-usdc"),
			Lists: since(39, catalog)},
		{Host: "index.json.street", Doc: "A name that looks like a data file.", Plot: by("35 ready-bare"),
			Lists: since(41, bazaar)},
		{Host: "readme.md.street", Doc: "A name that looks like a text.", Plot: by("35 ready-bare"),
			Lists: since(43, catalog)},
		{Host: "xn--bcher-kva.street", Doc: "A name with an umlaut.", Plot: by("35 ready-bare"),
			Lists: since(42, bazaar), Price: by("35 30000")},
		{Host: longHost, Doc: "A name of the greatest length.", Plot: by("37 ready-bare"), Lists: since(42, bazaar)},
	}
}

// changers begin to sell or stop: they learn, break, and are mended.
func changers() []street.Role {
	return []street.Role{
		{Host: "kettle.dock.street", Doc: "Is not there, then sells.", Plot: by("35 status-404", "38 ready-bare"),
			Lists: since(36, bazaar)},
		{Host: "lamp.dock.street", Doc: "Learns the protocol step by step.",
			Plot: by("35 header-missing", "37 version-1", "40 ready-bare"), Lists: since(firstWeek, both)},
		{Host: "loom.dock.street", Doc: "Wants to be paid at a name, until it gives an address.",
			Plot: by("35 payto-name", "41 ready-without-offers"), Lists: since(39, bazaar)},
		{Host: "mirror.dock.street", Doc: "Moves from version 1 to 2, terms in the body first.",
			Plot: by("35 terms-v1", "39 terms-in-body", "42 ready-mirrored"), Lists: since(37, bazaar)},
		{Host: "needle.dock.street", Doc: "Comes with test tokens, then sells for money.",
			Plot: by("40 network-testnet", "42 ready-bare"), Lists: since(40, bazaar)},
		{Host: "oven.dock.street", Doc: "Leaves the token's name out for months.",
			Plot: by("35 method-without-domain", "44 ready-bare"), Lists: since(42, catalog)},

		{Host: "paper.dock.street", Doc: "Sells, then breaks.", Plot: by("35 ready-bare", "43 status-500"),
			Lists: since(37, bazaar)},
		{Host: "quill.dock.street", Doc: "Lets its certificate expire, and notices late.",
			Plot: by("35 ready-without-offers", "42 tls-expired", "45 ready-without-offers"), Lists: since(39, both)},
		{Host: "radio.dock.street", Doc: "Lets its name go.", Plot: by("35 ready-bare", "43 no-such-name"),
			Lists: since(39, bazaar), Price: by("35 7000")},
		{Host: "salt.dock.street", Doc: "Begins to give the good away.", Plot: by("35 ready-bare", "41 status-200"),
			Lists: since(39, bazaar)},
		{Host: "tally.dock.street", Doc: "Does not listen any more in the last week.",
			Plot: by("35 ready-retry-key", "46 connection-refused"), Lists: since(43, bazaar)},
		{Host: "umbrella.dock.street", Doc: "Becomes an application that answers everything with its page.",
			Plot: by("35 ready-bare", "45 html-200"), Lists: since(41, catalog)},
		{Host: "vane.dock.street", Doc: "Is down every now and then.", Plot: by("35 ready-bare", "37 status-503",
			"38 ready-bare", "41 status-503", "42 ready-bare", "45 status-503", "46 ready-bare"),
			Lists: since(firstWeek, bazaar)},
		{Host: "wick.dock.street", Doc: "Cannot decide how to write an amount.",
			Plot:  by("35 ready-bare", "37 amount-dollar", "39 ready-bare", "42 amount-dollar"),
			Lists: since(firstWeek, bazaar)},
	}
}

// movers go on selling, and change their lists, accounts, prices and networks.
func movers() []street.Role {
	const base, polygon, solana = "eip155:8453", "eip155:137", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
	return []street.Role{
		{Host: "yarn.hill.street", Doc: "Vanishes from the list, and returns.", Plot: by("35 ready-bare"),
			Lists: by("35 "+bazaar, "40 ", "44 "+bazaar)},
		{Host: "anchor.hill.street", Doc: "Vanishes from the list, and then from the net.",
			Plot: by("35 ready-bare", "40 no-such-name"), Lists: by("35 "+bazaar, "38 ")},
		{Host: "barrel.hill.street", Doc: "Vanishes from the list and goes on selling.",
			Plot: by("35 ready-without-offers"), Lists: by("35 "+catalog, "41 ")},
		{Host: "candle.hill.street", Doc: "Moves from one list to the other.", Plot: by("35 ready-bare"),
			Lists: by("35 "+bazaar, "40 "+catalog)},

		{Host: "drum.hill.street", Doc: "Moves to another account.", Plot: by("35 ready-bare"),
			Lists: since(39, bazaar), Payee: by("41 drum's new account")},
		{Host: "easel.hill.street", Doc: "Has another account every few weeks.", Plot: by("35 ready-bare"),
			Lists: since(39, bazaar), Payee: by("37 easel, second", "40 easel, third", "43 easel, fourth")},
		{Host: "flask.hill.street", Doc: "Changes its price twice.", Plot: by("35 ready-retry-key"),
			Lists: since(37, both), Price: by("35 10000", "39 25000", "44 5000")},
		{Host: "globe.hill.street", Doc: "Takes payment on more and more networks.",
			Plot: by("35 ready-without-offers"), Lists: since(39, bazaar),
			Networks: by("35 "+base, "40 "+base+" "+polygon, "45 "+base+" "+polygon+" "+solana)},
		{Host: "hammer.hill.street", Doc: "Adds a scheme of its own.", Plot: by("35 ready-bare", "41 scheme-beside"),
			Lists: since(40, bazaar)},
		{Host: "ivory.hill.street", Doc: "Is paid through the counting house.", Plot: by("35 ready-bare"),
			Lists: since(37, bazaar), Payee: by("35 the counting house")},
		{Host: "jar.hill.street", Doc: "Is paid through the counting house.", Plot: by("35 ready-bare"),
			Lists: since(39, both), Payee: by("35 the counting house")},
		{Host: "knot.hill.street", Doc: "Is paid through the counting house.", Plot: by("40 ready-without-offers"),
			Lists: since(40, catalog), Payee: by("40 the counting house")},
		{Host: "ladle.hill.street", Doc: "Leaves the counting house.", Plot: by("35 ready-bare"),
			Lists: since(39, bazaar), Payee: by("35 the counting house", "41 ladle")},
	}
}

// strangers ask for another method or protocol, lead elsewhere, or declare themselves.
func strangers() []street.Role {
	return []street.Role{
		{Host: "mail.gate.street", Doc: "Takes POST, and says so in a header.", Plot: by("35 post-by-allow"),
			Lists: since(39, bazaar)},
		{Host: "oil.gate.street", Doc: "Takes POST, and says so in its file.", Plot: by("35 post-by-discovery"),
			Lists: since(firstWeek, catalog)},
		{Host: "post.gate.street", Doc: "Takes POST and says so nowhere, until it does.",
			Plot: by("35 post-not-so", "43 post-by-allow"), Lists: since(39, bazaar)},
		{Host: "quote.gate.street", Doc: "Takes PUT, which nobody asks with.", Plot: by("35 put-only")},
		{Host: "rope.gate.street", Doc: "Resolves to this machine for a while.",
			Plot: by("35 points-to-loopback", "40 ready-bare"), Lists: since(38, bazaar)},
		{Host: "sand.gate.street", Doc: "Resolves to a cloud's metadata.", Plot: by("45 points-to-metadata"),
			Lists: since(45, bazaar)},
		{Host: "tide.gate.street", Doc: "Speaks MPP alone.", Plot: by("35 mpp", "41 mpp-expired"),
			Lists: since(40, bazaar)},
		{Host: "urn.gate.street", Doc: "Speaks MPP alone, with a point in the amount for a while.",
			Plot: by("35 mpp-amount", "44 mpp"), Lists: since(43, catalog)},

		{Host: "vault.gate.street", Doc: "Declares itself, as objects.", Plot: by("36 ready-without-offers"),
			File: by("36 objects")},
		{Host: "well.gate.street", Doc: "Declares itself, as addresses.", Plot: by("38 ready-bare"),
			File: by("38 strings")},
		{Host: "yard.gate.street", Doc: "Declares itself, in an API description.", Plot: by("39 ready-bare"),
			File: by("39 items")},
		{Host: "zinc.gate.street", Doc: "Declares itself, and others.", Plot: by("42 ready-bare"),
			File: by("42 foreign")},
		{Host: "arch.gate.street", Doc: "Declares itself, by one hop.", Plot: by("43 ready-bare"),
			File: by("43 pointed")},
	}
}

// latecomers come late, or are met on a bad day.
func latecomers() []street.Role {
	return []street.Role{
		{Host: "bridge.quay.street", Doc: "Has name servers that fail for a week.",
			Plot: by("35 ready-bare", "40 name-server-down", "41 ready-bare"), Lists: since(37, bazaar)},
		{Host: "crane.quay.street", Doc: "Turns walkers away, until it does not.",
			Plot: by("35 status-429", "41 ready-bare"), Lists: since(39, bazaar)},
		{Host: "eddy.quay.street", Doc: "Answers with noise, then with a broken line, then well.",
			Plot: by("35 head-garbage", "40 head-bad-line", "41 ready-bare"), Lists: since(39, bazaar)},
		{Host: "fog.quay.street", Doc: "Wrong in every way that terms can be.", Plot: by("35 everything"),
			Lists: since(42, bazaar)},
		{Host: "gull.quay.street", Doc: "Comes in week 44.", Plot: by("44 ready-bare"), Lists: since(44, bazaar),
			Price: by("44 100")},
		{Host: "hull.quay.street", Doc: "Comes in the last week.", Plot: by("46 ready-many"),
			Lists: since(46, catalog)},
		{Host: "jetty.quay.street", Doc: "Is left in the middle of a walk once.", Plot: by("35 ready-bare"),
			Lists: since(39, bazaar)},
		{Host: "murk.quay.street", Doc: "Writes control characters where networks belong, 64 times.",
			Plot: by("46 terms-hostile"), Lists: since(46, bazaar)},
		{Host: "keel.quay.street", Doc: "Signs another price than it asks.", Plot: by("35 offer-of-another-price"),
			Lists: since(43, bazaar)},
	}
}
