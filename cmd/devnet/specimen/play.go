package specimen

import (
	_ "embed"
	"encoding/json"
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
)

// controlHost is the store's own door, which is walked to see whether the line is up.
const controlHost = "control.store.street"

// rolesJSON are the store's own door; who sells as long as it is there; who begins to sell or
// stops; who goes on selling and changes its lists, accounts, prices and networks; who asks for
// another method or protocol, leads elsewhere, or declares itself; who comes late, or is met on a
// bad day.
//
//go:embed roles.json
var rolesJSON []byte

// thePlay is what happens on the street of the specimen. Nobody here exists.
func thePlay() street.Play {
	var roles []street.Role
	if err := json.Unmarshal(rolesJSON, &roles); err != nil {
		panic(err) // it is part of this program
	}
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
		Roles: roles,
	}
}
