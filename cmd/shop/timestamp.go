package shop

import (
	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/timestamp"
)

// openTimestamps has the digests that were bought handed in, where calendars are configured.
func (s *Shop) openTimestamps(o Options, metrics *dynamic.Metrics) error {
	c := &s.Config
	if len(c.Timestamps.Calendars) == 0 {
		return nil
	}
	client, err := Outside{Reach: o.Reach, Log: s.Log}.client(c)
	if err != nil {
		return err
	}
	calendars, upgrades, err := c.Timestamps.remotes(client)
	if err != nil {
		return err
	}
	cfg := timestamp.Config{DB: s.DB, Calendars: calendars, Upgrades: upgrades[len(calendars):], Log: s.Log}
	if b := (bitcoin{file: c.Timestamps.Headers, explorers: c.Timestamps.Explorers, client: client}); b.file != "" ||
		len(b.explorers) > 0 {
		cfg.Header = b.Header
	}
	stamper, err := timestamp.New(cfg)
	if err != nil {
		return err
	}
	return s.runJob(stamper.Row(), metrics)
}

// runJob has a kind of work that is due later done while the store runs.
func (s *Shop) runJob(job schedule.Job, metrics *dynamic.Metrics) error {
	work, err := schedule.New(schedule.Config{DB: s.DB, Jobs: []schedule.Job{job}, Log: s.Log,
		Exclusive: s.exclusive, Started: metrics.Late})
	if err != nil {
		return err
	}
	s.runs = append(s.runs, work.Run)
	return nil
}
