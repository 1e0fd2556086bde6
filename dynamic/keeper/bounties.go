package keeper

import (
	"context"
	"net/http"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/dynamic/bounty"
)

// Bounties are the bounty board as the keeper has it; a [bounty.Desk] is one.
type Bounties interface {
	// All lists those of the last weeks, the newest first.
	All(ctx context.Context) ([]bounty.Bounty, time.Time, error)
	// Post reads a door and puts a reward on the board; dry writes nothing.
	Post(ctx context.Context, p bounty.Posting, dry bool) (bounty.Bounty, error)
}

// bountyView is a bounty on the page: what a door or a claimant says is visible text.
type bountyView struct {
	bounty.Bounty
	Status        string
	Said, Trouble []string
}

func viewOf(b bounty.Bounty, now time.Time) bountyView {
	v := bountyView{Bounty: b, Status: b.Status(now)}
	v.URL, v.Domain, v.Network = screen.Text(b.URL), screen.Text(b.Domain), screen.Text(b.Network)
	v.PayTo, v.Note = screen.Text(b.PayTo), screen.Text(b.Note)
	if c := b.Claim; c != nil {
		v.Said, v.Trouble = visibleLines(c.Said), visibleLines(c.Trouble)
	}
	return v
}

// visibleLines are the lines of a stranger's text, none of nothing.
func visibleLines(s string) (all []string) {
	for line := range strings.Lines(s) {
		all = append(all, screen.Text(strings.TrimSuffix(line, "\n")))
	}
	return all
}

// boardView is the page of bounties.
type boardView struct {
	URL, Reward, Note string // as they were written before
	Says              string
	Preview           *bountyView // what would be posted
	Most, Week        string
	MaxNote           int
	All               []bountyView
}

// bounties shows the board, and posts a reward.
func (v *visit) bounties(string) {
	view := boardView{Most: content.FormatUSDC(bounty.MaxReward), Week: content.FormatUSDC(bounty.WeeklyBudget),
		MaxNote: bounty.MaxNote}
	if v.r.Method == http.MethodPost && v.posted(&view) {
		return
	}
	all, now, err := v.cfg.Bounties.All(v.r.Context())
	if err != nil {
		v.broken(err)
		return
	}
	for _, b := range all {
		view.All = append(view.All, viewOf(b, now))
	}
	if view.Says != "" {
		v.w.WriteHeader(http.StatusConflict)
	}
	v.page("bounties", "Bounties", view)
}

// posted posts a reward, or tries whether that could be done; it reports whether the form is done
// with.
func (v *visit) posted(view *boardView) bool {
	form := v.r.PostForm
	view.URL, view.Reward = strings.TrimSpace(form.Get("url")), strings.TrimSpace(form.Get("reward"))
	view.Note = unixLines(form.Get("note"))
	reward, err := content.ParseUSDC(view.Reward)
	if err != nil {
		view.Says = "the reward is in USDC, such as 0.10"
		return false
	}
	post := form.Get("do") == "deliver"
	b, err := v.cfg.Bounties.Post(v.r.Context(), bounty.Posting{URL: view.URL, Reward: reward, Note: view.Note}, !post)
	switch {
	case err != nil:
		view.Says = screen.Text(err.Error())
		return false
	case post:
		v.goTo("bounties#" + b.ID)
		return true
	}
	shown := viewOf(b, b.Opened)
	view.Preview = &shown
	return false
}
