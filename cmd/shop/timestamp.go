package shop

import "store.example/agentstore/dynamic/services"

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
	calendars, upgrades, err := c.Timestamps.remotes(client)
	if err != nil {
		return cfg, err
	}
	cfg.Calendars, cfg.Upgrades = calendars, upgrades[len(calendars):]
	if b := (bitcoin{file: c.Timestamps.Headers, explorers: c.Timestamps.Explorers, client: client}); b.file != "" ||
		len(b.explorers) > 0 {
		cfg.Header = b.Header
	}
	return cfg, nil
}
