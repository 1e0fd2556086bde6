package shop

import (
	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/watch"
)

// openWatches keeps the terms that were bought.
func (s *Shop) openWatches(metrics *dynamic.Metrics) error {
	keeper, err := watch.New(watch.Config{DB: s.DB, Readings: s.Desk.Sold(), Report: s.Till.SignReport,
		Close: s.Till.CloseWatch, Log: s.Log})
	if err != nil {
		return err
	}
	return s.runJob(keeper.Row(), metrics)
}
