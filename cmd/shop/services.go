package shop

import (
	"context"
	"errors"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/ots/calendar"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/archive"
	"store.example/agentstore/dynamic/desk"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/keeper"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/services"
)

// goodsKinds describe all kinds of goods, whatever a store is configured for.
func goodsKinds() []goods.Kind { return services.New(services.Config{}).Kinds() }

// openServices makes what completes later what is sold, of what is configured for it.
func (s *Shop) openServices(o Options, metrics *dynamic.Metrics) error {
	visits, err := Outside{Log: s.Log, Reach: o.Reach}.client(&s.Config)
	if err != nil {
		return err
	}
	anchors, err := s.anchorConfig(o)
	if err != nil {
		return err
	}
	callbacks, err := s.callbackConfig(o)
	if err != nil {
		return err
	}
	s.services = services.New(services.Config{BaseURL: s.Config.BaseURL, DB: s.DB, Log: s.Log,
		Readings: s.Desk.Sold(), Addresses: s.Desk.Sold(), Visits: visits, Spend: s.spendVisit, Anchors: anchors,
		Launches: s.launchConfig(metrics.Launch), Callbacks: callbacks})
	return nil
}

// spendVisit takes a visit from the budget of the instruments, and a request from its host's.
func (s *Shop) spendVisit(ctx context.Context, url string) (bool, time.Duration, error) {
	rd, err := s.budgets.Spend(ctx, desk.BudgetPreflight, "")
	if err != nil || !rd.Granted {
		return false, rd.Reset, err
	}
	granted, reset, err := s.spendHost(ctx, url)
	if !granted {
		err = errors.Join(err, s.budgets.GiveBack(ctx, rd))
	}
	return granted, reset, err
}

// callbackConfig is what word is sent with, nothing where there is no key for it.
func (s *Shop) callbackConfig(o Options) (cfg services.CallbackConfig, err error) {
	c := &s.Config
	if c.Keys.Webhook == "" {
		return cfg, nil
	}
	if cfg.Key, err = InForce(c.Keys.Webhook, attest.PurposeWebhook, s.Ring); err != nil {
		return cfg, err
	}
	cfg.Spend = s.spendHost
	cfg.Client, err = Outside{Log: s.Log, Reach: func(f *fetch.Config) {
		f.Timeout, f.MaxBytes = services.WordTimeout, services.WordMaxBytes
		if o.Reach != nil {
			o.Reach(f)
		}
	}}.client(c)
	return cfg, err
}

// spendHost takes a request from the budget of a URL's host.
func (s *Shop) spendHost(ctx context.Context, url string) (bool, time.Duration, error) {
	return desk.SpendHost(ctx, s.budgets, url)
}

// callbackRow tells the keeper which buyers could not be told that their orders are completed.
func (s *Shop) callbackRow() keeper.Row {
	return keeper.Row{Name: "callbacks", Title: "Failed callbacks",
		Actions: []keeper.Action{{Verb: "store keeper find ORDER", Page: "find?q="}},
		Read: func(ctx context.Context, _ *keeper.Inbox) (list []keeper.Entry, err error) {
			err = s.DB.View(ctx, func(tx ledger.Tx) error {
				list = nil
				failed, err := services.ListGivenUp(tx)
				for _, rec := range failed {
					says := screen.Count(rec.Made, "attempt") + " at " + rec.Host() +
						": the buyer was not told, reads it in the order, and may ask for it again."
					list = append(list, keeper.Entry{ID: rec.Order, Since: rec.Last(), Says: says})
				}
				return err
			})
			return list, err
		}}
}

// anchorConfig is what digests that were bought are timestamped with, nothing where no calendars
// are configured.
func (s *Shop) anchorConfig(o Options) (cfg services.AnchorConfig, err error) {
	c := &s.Config
	if len(c.Timestamps.Calendars) == 0 {
		return cfg, nil
	}
	client, err := Outside{Reach: o.Reach, Log: s.Log}.client(c)
	if err != nil {
		return cfg, err
	}
	calendars, asked, err := calendar.All(client, c.Timestamps.Calendars, c.Timestamps.Upgrades)
	if err != nil {
		return cfg, err
	}
	cfg.Calendars, cfg.Upgrades = calendars, asked[len(calendars):]
	if h := c.Timestamps.headers(client); h.Any() {
		cfg.Header = h.Header
	}
	return cfg, nil
}

// weather is that of the shop in the hour that begins at a time, from what everybody can read: of
// the rounds the newest of a week before the hour's own, and of the counts of artifacts that stand
// in the record what came on in the seven days before that week's end. So it turns with the ISO
// week, and in the middle of an hour only where a week is published late.
func (s *Shop) weather(hour time.Time) content.Weather {
	if s.archive == nil {
		return weatherOf(nil, nil, hour)
	}
	now := s.archive.Now()
	if now == nil {
		return weatherOf(nil, nil, hour)
	}
	seen := s.seen.Load()
	if seen == nil || seen.state != now || !seen.hour.Equal(hour) {
		seen = &seenWeather{now, hour, weatherOf(now.Rounds, now.Feed, hour)}
		s.seen.Store(seen)
	}
	return seen.weather
}

// seenWeather is what was looked up last, which most requests ask for again.
type seenWeather struct {
	state   *archive.State
	hour    time.Time
	weather content.Weather
}

func weatherOf(rounds []record.Round, feed []record.Observation, hour time.Time) content.Weather {
	week := content.Week(hour)
	w, clear := content.Weather{}, false
	for _, r := range rounds { // oldest first
		if r.Week < week {
			w.Week, clear = r.Week, !r.Coverage.Suspect && r.Coverage.Probed >= r.Coverage.PreviousProbed
		}
	}
	sold := false
	if monday, ok := content.WeekStart(w.Week); ok {
		end := monday.AddDate(0, 0, 7)
		sold = issued(feed, end) > issued(feed, monday)
	}
	w.Word = content.WeatherOf(clear, sold)
	return w
}

// issued is how many artifacts the record counts before a time.
func issued(feed []record.Observation, before time.Time) int64 {
	total := int64(0)
	for _, o := range feed {
		if o.Issued == nil {
			continue
		}
		if at, err := time.Parse(time.RFC3339, o.At); err == nil && at.Before(before) {
			total = max(total, o.Issued.Total)
		}
	}
	return total
}
