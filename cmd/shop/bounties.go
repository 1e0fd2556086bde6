package shop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/bounty"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/keeper"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/evm"
)

// BountiesConfig is what rewards are paid from, and to whom not.
type BountiesConfig struct {
	Key    string   `toml:"key" doc:"File (0600) with the hex key of the account that pays rewards, on every network with EIP-3009. store serve signs with it, so it is an account of its own, neither relayer nor pay_to nor that of payouts.key, and holds no more than the rewards of a week or two. Empty pays none."`
	Screen []string `toml:"screen" doc:"Lists of addresses that nothing is paid to: files, or https addresses, with one address a line. They are read every ten minutes. While one cannot be read, or is empty, nothing is paid."`
}

func (c BountiesConfig) check() error {
	if c.Key != "" && len(c.Screen) == 0 {
		return errors.New("bounties.screen is needed with bounties.key: without a list nothing is paid")
	}
	for _, s := range c.Screen {
		if strings.Contains(s, "://") && !strings.HasPrefix(s, "https://") {
			return fmt.Errorf("bounties.screen: %q is neither a file nor an https address", s)
		}
	}
	return nil
}

// rewards is the account that pays rewards.
type rewards struct{ key *wallet.Key }

func (a rewards) Address() string { return a.key.Address().String() }

func (a rewards) Sign(p *rail.Payment) error {
	cfg, known := evm.Preset(p.Network)
	if !known {
		return fmt.Errorf("no authorization can be signed for %s", p.Network)
	}
	evm.SignPayout(cfg, p, a.key)
	return nil
}

// openRewards reads the account that pays rewards, nil where none is configured.
func (s *Shop) openRewards() (bounty.Account, error) {
	c := &s.Config
	if c.Bounties.Key == "" {
		return nil, nil
	}
	raw, err := ReadSecret(c.Bounties.Key)
	if err != nil {
		return nil, missingKey("bounties.key", err)
	}
	key, err := wallet.ParseKey(strings.TrimSpace(string(raw)))
	if err != nil {
		return nil, errors.New("bounties.key is not the hex of a key") // its error may say what stands there
	}
	a := rewards{key}
	for _, r := range s.Rails {
		info := r.Info()
		for _, other := range append([]string{info.PayTo}, info.Accounts...) {
			if strings.EqualFold(other, a.Address()) {
				return nil, fmt.Errorf("bounties.key is of %s, which is another account of the store's: give it a key "+
					"of its own", other)
			}
		}
	}
	return a, nil
}

// openBounties makes the bounty board.
func (s *Shop) openBounties(key *attest.Key, ready func(context.Context, string) error) (err error) {
	account, err := s.openRewards()
	if err != nil {
		return err
	}
	var screen *bounty.Screen
	if account != nil {
		screen = &bounty.Screen{Sources: s.Config.Bounties.Screen, Load: s.loadScreen, Log: s.Log}
	}
	var own []string
	if s.launch.purse != nil {
		own = append(own, s.launch.purse.Account)
	}
	s.Bounties, err = bounty.New(bounty.Config{BaseURL: s.Config.BaseURL, Own: own, DB: s.DB, Key: key, Rails: s.Rails,
		Ready:   ready,
		Account: account, Wallets: s.Till, Screen: screen, Chrome: s.chrome, Log: s.Log,
		Read: func(ctx context.Context, raw string) (bounty.Door, error) {
			t, err := s.Desk.Sold().Terms(ctx, raw)
			return bounty.Door{URL: t.URL, Host: t.Host, Network: t.Network, Asset: t.Asset, PayTo: t.PayTo,
				Amount: t.Amount}, err
		}, OptedOut: func(ctx context.Context, host string) bool {
			u, told := errors.AsType[*goods.Unread](s.Desk.Sold().MayRead(ctx, host))
			return told && u.Code == goods.CodeOptedOut
		}})
	if err == nil && account != nil {
		s.runs = append(s.runs, s.Bounties.Run, screen.Run)
	}
	return err
}

// loadScreen reads a list of addresses that nothing is paid to.
func (s *Shop) loadScreen(ctx context.Context, source string) ([]byte, error) {
	if !strings.HasPrefix(source, "https://") {
		f, err := os.Open(source)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(io.LimitReader(f, bounty.MaxScreen+1))
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	x, err := s.client.Do(ctx, exchange.Request{Method: http.MethodGet, URL: source}, fetch.Rule{})
	if err != nil {
		return nil, err
	}
	if x.Response.Status != http.StatusOK || x.Error.Stage != "" || x.Response.Truncated {
		return nil, fmt.Errorf("it answers with status %d, and not whole: %s", x.Response.Status, x.Error.Stage)
	}
	return x.Response.Body, nil
}

// bountyClass is the payout of a bounty, as it is verified. The board is opened later.
func (s *Shop) bountyClass() counter.Class {
	return counter.Class{Name: attest.ClassBounty, Prefix: attest.PrefixBounty, Page: s.artifactPage,
		DoesNotProve: "That the door delivered anything, or that buyer and seller are different people. It proves " +
			"that this store saw the settlement in a final block, and what it pays for that.",
		Load: func(c *counter.Counter, ctx context.Context, id string) (*counter.Verification, error) {
			proof, ok, err := s.Bounties.Signed(ctx, id)
			if !ok || err != nil {
				return nil, err
			}
			return c.Checked(id, attest.ClassBounty, proof)
		}}
}

// bountyRow is what of the board waits for the keeper.
func (s *Shop) bountyRow() keeper.Row {
	return keeper.Row{Name: "bounties", Title: "Bounties",
		Actions: []keeper.Action{{Verb: "store keeper post-bounty URL -reward USDC", Page: "bounties#"}},
		Read: func(ctx context.Context, _ *keeper.Inbox) (list []keeper.Entry, err error) {
			all, err := s.Bounties.Waiting(ctx)
			for _, m := range all {
				e := keeper.Entry{ID: m.ID, Says: screen.Text(m.Says), Network: m.Network, Since: m.Since,
					Late: m.Late}
				if m.Reward > 0 {
					e.USDC = content.FormatUSDC(m.Reward)
				}
				list = append(list, e)
			}
			return list, err
		}}
}

// KeeperBounty is a bounty as the keeper reads it.
type KeeperBounty struct {
	BountyID    string `json:"bounty_id" doc:"The bounty."`
	Status      string `json:"status" doc:"How it stands."`
	URL         string `json:"url" wide:"true" doc:"The door."`
	Domain      string `json:"domain"`
	Network     string `json:"network" doc:"The network that is bought on."`
	PayTo       string `json:"pay_to"`
	CostsUSDC   string `json:"costs_usdc" doc:"What a purchase costs."`
	RewardUSDC  string `json:"reward_usdc" doc:"What is paid for a purchase."`
	PayoutOn    string `json:"payout_network"`
	OpenedAt    string `json:"opened_at,omitzero"`
	ExpiresAt   string `json:"expires_at,omitzero" doc:"Until when it is open, UTC."`
	Note        string `json:"note,omitzero" wide:"true" doc:"Your note."`
	Tx          string `json:"tx,omitzero"` // of the purchase that was claimed with
	Payer       string `json:"payer,omitzero"`
	PayoutTo    string `json:"payout_to,omitzero" doc:"Who is paid."`
	Observation string `json:"observation,omitzero" wide:"true" doc:"What the claimant observed: a stranger's text."`
	Trouble     string `json:"trouble,omitzero" wide:"true" doc:"Why its payout would fail."`
	PaidTx      string `json:"paid_tx,omitzero" doc:"The transaction that paid."`
}

func keeperBounty(b *bounty.Bounty, now time.Time) KeeperBounty {
	v := KeeperBounty{BountyID: b.ID, Status: b.Status(now), URL: b.URL, Domain: b.Domain, Network: b.Network,
		PayTo: b.PayTo, CostsUSDC: content.FormatUSDC(b.Amount), RewardUSDC: content.FormatUSDC(b.Reward),
		PayoutOn: b.PayoutNetwork, OpenedAt: b.Opened.Format(time.RFC3339), ExpiresAt: b.Expires.Format(time.RFC3339),
		Note: b.Note}
	if c := b.Claim; c != nil {
		v.Tx, v.Payer, v.PayoutTo, v.Observation = c.Tx, c.Payer, c.PayoutTo, lines(c.Said)
		v.Trouble = screen.Text(c.Trouble)
		if c.Paid != nil {
			v.PaidTx = c.Paid.Tx
		}
	}
	return v
}

type postBountyIn struct {
	URL    string  `arg:"URL" doc:"the door by its https address, and the reward with -reward, such as 0.10"`
	Reward dollars `flag:"reward" doc:"what is paid for a purchase, in USDC, at most 0.25" need:"name the reward with -reward, such as 0.10"`
	Note   string  `flag:"text" file:"text-file" doc:"a note for whoever reads the board"`
}

// postBounty puts a reward on the board.
func (s *Shop) postBounty(ctx context.Context, in postBountyIn, dry bool) (KeeperBounty, error) {
	b, err := s.Bounties.Post(ctx, bounty.Posting{URL: in.URL, Reward: int64(in.Reward), Note: in.Note}, dry)
	if err != nil {
		return KeeperBounty{}, err
	}
	return keeperBounty(&b, b.Opened), nil
}

// bounties lists the bounties of the last weeks.
func (s *Shop) bounties(ctx context.Context, _ nothing) ([]KeeperBounty, error) {
	all, now, err := s.Bounties.All(ctx)
	out := make([]KeeperBounty, len(all))
	for i := range all {
		out[i] = keeperBounty(&all[i], now)
	}
	return out, err
}
