package schedule

import (
	"context"
	"time"
)

// Every does something at once and then at each interval, until ctx ends. It is for what a process
// does for itself, and keeps nothing; what is due to happen once is a task.
func Every(ctx context.Context, d time.Duration, do func(context.Context)) error {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		do(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
