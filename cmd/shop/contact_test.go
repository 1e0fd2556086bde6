package shop

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/content"
)

// TestStaleContactIsTold: nothing is said while the file is good for a month, then a line a day.
func TestStaleContactIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log quiet
		site := &content.Site{}
		site.Config.SecurityExpires = time.Now().Add(40*24*time.Hour + time.Minute)
		s := &Shop{Site: site, Log: slog.New(slog.NewTextHandler(&log, nil))}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.watchContact(ctx) }()
		for _, want := range []struct {
			days        int
			soon, stale int
		}{{10, 0, 0}, {1, 1, 0}, {29, 30, 0}, {2, 30, 2}} {
			time.Sleep(time.Duration(want.days) * 24 * time.Hour)
			synctest.Wait()
			soon, stale := strings.Count(log.String(), "goes stale soon"), strings.Count(log.String(), "is stale")
			if soon != want.soon || stale != want.stale {
				t.Errorf("after %d more days: %d warnings and %d errors, want %d and %d", want.days, soon, stale,
					want.soon, want.stale)
			}
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
