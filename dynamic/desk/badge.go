package desk

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/corpus/tier"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/templates/drawing"
)

// checkBadge shows the last reading of a door and its age. It never probes: a badge is asked for by
// every visitor of a page, and a door must not be walked for that.
func (d *Desk) checkBadge(w http.ResponseWriter, r *http.Request) error {
	raw := route.Inputs(r).String("url")
	door, err := d.cfg.Client.Parse(raw, fetch.Rule{})
	if err != nil {
		// Whoever looks at the page sees an image or nothing, so the refusal is one too.
		return writeBadge(w, http.StatusBadRequest, drawing.Label("x402 check", "not a door's URL", "#4d5a66"))
	}
	u, err := url.Parse(door)
	if err != nil {
		return err
	}
	last, err := d.cfg.Record.Reading(r.Context(), u.Hostname())
	if err != nil {
		return err
	}
	if own := d.cfg.Keep.Last(door); own != nil && (last == nil || own.ObservedAt > last.ObservedAt) {
		last = own
	}
	return writeBadge(w, http.StatusOK, badge(last, time.Now()))
}

func writeBadge(w http.ResponseWriter, status int, svg []byte) error {
	w.Header().Set("Cache-Control", "public, max-age=300")
	return route.Send(w, status, api.SVG, svg)
}

// hostBadge shows what the signed record says of a host, and how old its newest observation is.
func (d *Desk) hostBadge(w http.ResponseWriter, r *http.Request) error {
	door, err := d.cfg.Client.Parse("https://"+route.Inputs(r).String("host")+"/", fetch.Rule{})
	if err != nil {
		return writeBadge(w, http.StatusBadRequest, drawing.Label("x402 record", "not a host", "#4d5a66"))
	}
	u, err := url.Parse(door)
	if err != nil {
		return err
	}
	if u.Path != "/" || u.RawQuery != "" {
		return writeBadge(w, http.StatusBadRequest, drawing.Label("x402 record", "not a host", "#4d5a66"))
	}
	held, err := d.cfg.Record.Host(r.Context(), u.Hostname())
	if err != nil {
		return err
	}
	return writeBadge(w, http.StatusOK, recordBadge(held, time.Now()))
}

// recordBadge draws a tier with its fraction and its age.
func recordBadge(held HostHistory, now time.Time) []byte {
	said, colour := "never met", "#4d5a66"
	if held.Tier != nil {
		said = held.Tier.Line
		switch held.Tier.Name {
		case tier.TierStanding, tier.TierEstablished:
			colour = "#46591c"
		case tier.TierBroken:
			colour = "#a01f2c"
		}
		if held.Passport != nil {
			said += " · " + age(held.Passport.ObservedAt, now)
		}
	}
	return drawing.Label("x402 record", said, colour)
}

// badge draws the two words. The verdict is said, then coloured.
func badge(last *LastReading, now time.Time) []byte {
	said, colour := "no reading", "#4d5a66"
	if last != nil {
		switch last.Verdict {
		case probe.Ready:
			colour = "#46591c"
		case probe.NotReady, probe.Unreachable:
			colour = "#a01f2c"
		}
		said = fmt.Sprintf("%s (%s) · %s", verdictWords(last.Verdict), last.Battery, age(last.ObservedAt, now))
	}
	return drawing.Label("x402 check", said, colour)
}

func verdictWords(v probe.Verdict) string {
	switch v {
	case probe.Ready:
		return "ready"
	case probe.NotReady:
		return "not ready"
	case probe.Unreachable:
		return "unreachable"
	case probe.MethodUnresolved:
		return "not exercised"
	}
	return "not probed"
}

// age says how old a reading is, in its largest whole unit.
func age(observed string, now time.Time) string {
	at, err := time.Parse(time.RFC3339, observed)
	if err != nil {
		return "of unknown age"
	}
	d := max(0, now.Sub(at))
	switch {
	case d < time.Minute:
		return "under a minute old"
	case d < time.Hour:
		return screen.Count(int(d/time.Minute), "minute") + " old"
	case d < 24*time.Hour:
		return screen.Count(int(d/time.Hour), "hour") + " old"
	}
	return screen.Count(int(d/(24*time.Hour)), "day") + " old"
}

func (d *Desk) hostBadgeRow() route.Row {
	return instrument(api.Route{
		Name: "host_badge", Method: http.MethodGet, Pattern: "/badge/host.svg", Serve: api.Ledger,
		Summary: "A host's tier in the record, as a badge",
		Description: "Shows the tier with its fraction and weeks, and the age of the newest signed observation. It " +
			"contacts nobody.",
		Params: []api.Param{{Name: "host", In: api.QueryP, Type: "string", Required: true, MinLength: 1,
			MaxLength: 255, Description: "Host name"}},
		Responses: []api.Response{{Status: http.StatusOK, ContentType: api.SVG, Description: "The badge"}},
	}, d.hostBadge)
}

func (d *Desk) badgeRow() route.Row {
	return instrument(api.Route{
		Name: "check_badge", Method: http.MethodGet, Pattern: "/badge/check.svg", Serve: api.Ledger,
		Summary: "The last reading of a door, as a badge",
		Description: "Shows the verdict of the newest reading and its age. It is not a probe: asking for it never " +
			"contacts the door.",
		Params: []api.Param{{Name: "url", In: api.QueryP, Type: "string", Format: "uri", Required: true,
			MinLength: 1, MaxLength: maxURL, Description: "https URL of the door"}},
		Responses: []api.Response{{Status: http.StatusOK, ContentType: api.SVG, Description: "The badge"}},
	}, d.checkBadge)
}
