package shop

import (
	"context"
	"log/slog"
	"time"

	"store.example/agentstore/dynamic/schedule"
)

// contactNotice is how long before security.txt goes stale the log says so: who finds a weakness
// takes a stale file for none (RFC 9116, section 2.5.5).
const contactNotice = 30 * 24 * time.Hour

// watchContact warns once a day of a security.txt that goes stale soon or has, until ctx ends.
func (s *Shop) watchContact(ctx context.Context) error {
	return schedule.Every(ctx, 24*time.Hour, func(ctx context.Context) {
		expires := s.Site.Now().Config.SecurityExpires
		if left := time.Until(expires); left < contactNotice {
			level, says := slog.LevelWarn, "security.txt goes stale soon"
			if left <= 0 {
				level, says = slog.LevelError, "security.txt is stale"
			}
			s.Log.Log(ctx, level, says, "expires", expires.UTC().Format(time.DateOnly),
				"hint", "set security_expires in site.toml to at most a year from date, and build")
		}
	})
}
