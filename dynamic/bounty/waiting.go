package bounty

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Matter is something about the board that waits for the keeper.
type Matter struct {
	ID      string // of a bounty; "" for what is about all of them
	Says    string
	Network string
	Since   time.Time
	Reward  int64
	Late    bool // somebody waits because of it
}

// Waiting lists what waits for the keeper: a screen that is closed, a float that is short, and
// payouts that nobody has redeemed.
func (d *Service) Waiting(ctx context.Context) (list []Matter, err error) {
	all, now, err := d.All(ctx)
	if err != nil {
		return nil, err
	}
	if _, closed := d.cfg.Screen.State(); closed != nil && d.cfg.Account != nil {
		list = append(list, Matter{Says: "No reward is paid: " + closed.Error() + ".", Late: true})
	}
	d.mu.Lock()
	for network, f := range d.float {
		if f.Short() {
			list = append(list, Matter{Says: "Fund it: " + f.String() + ".", Network: network, Late: true})
		}
	}
	d.mu.Unlock()
	slices.SortFunc(list, func(a, b Matter) int { return strings.Compare(a.Network, b.Network) })
	for _, b := range slices.Backward(all) {
		if b.Status(now) != StatusHeld {
			continue
		}
		m := Matter{ID: b.ID, Network: b.PayoutNetwork, Since: b.Claim.At, Reward: b.Reward,
			Says: "Its payout is signed and not redeemed.", Late: b.Claim.Trouble != ""}
		if m.Late {
			m.Says = "Its payout would fail: " + b.Claim.Trouble
		}
		list = append(list, m)
	}
	return list, nil
}
