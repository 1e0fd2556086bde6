package main

import (
	"context"
	"errors"
	"regexp"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/visitors"
)

// visitorFlags are the flags of the keeper's verbs about what visitors left.
type visitorFlags struct {
	done  bool
	price string
	page  visitors.TipPage
	work  shop.VisitorWork
}

func (k *keeperCall) declareVisitors() {
	f := k.flags
	f.BoolVar(&k.done, "done", false, "lists: what is done, in place of what waits")
	f.StringVar(&k.page.Slug, "slug", "", "publish-tip: the last word of the page's address")
	f.StringVar(&k.page.Title, "title", "", "publish-tip: its title")
	f.StringVar(&k.page.Summary, "summary", "", "publish-tip: one sentence for the index")
	f.StringVar(&k.price, "price", "", "quote: what the work costs, in USDC, such as 12.50")
}

// visitorVerbs are the keeper's verbs about what visitors left.
func visitorVerbs() (all []keeperVerb) {
	for _, v := range []struct {
		name, about, short string
		form               *regexp.Regexp // of what it is about; nil for nothing
		what               string         // that is
		fill               func(k *keeperCall) error
	}{
		{"waiting", "", "say what visitors left", nil, "", nil},
		{"letters", "", "list letters", nil, "", nil},
		{"read", "LETTER", "read a letter, which tells its writer so", letterForm,
			"the letter, let_ and twenty characters", nil},
		{"reply", "LETTER", "sign the reply to a letter, once", letterForm,
			"the letter, let_ and twenty characters", (*keeperCall).fillText},
		{"guestbook", "", "list the guestbook", nil, "", nil},
		{"keep", "ENTRY", "show an entry", entryForm, "the entry, gst_ and twenty characters", nil},
		{"hide", "ENTRY", "hide an entry", entryForm, "the entry, gst_ and twenty characters", nil},
		{"tips", "", "list tips", nil, "", nil},
		{"publish-tip", "TIP", "make a paid page of a tip", regexp.MustCompile(`^tip_[a-z2-7]{20}$`),
			"the tip, tip_ and twenty characters", (*keeperCall).fillPage},
		{"requests", "", "list requests", nil, "", nil},
		{"quote", "REQUEST", "sign the price of a request", regexp.MustCompile(`^req_[a-z2-7]{20}$`),
			"the request, req_ and twenty characters", (*keeperCall).fillPrice},
		{"decline", "ID", "decline a tip or a request", regexp.MustCompile(`^(tip|req)_[a-z2-7]{20}$`),
			"the tip or request", nil},
		{"stamp-line", "WEEK", "set what a week's stamp says", regexp.MustCompile(`^[0-9]{4}-W[0-9]{2}$`),
			"the week, such as 2026-W48", (*keeperCall).fillText},
	} {
		row := keeperVerb{name: v.name, about: v.about, short: v.short}
		row.form = func(k *keeperCall) string {
			if v.form != nil && !v.form.MatchString(k.about) {
				return "name " + v.what
			}
			k.work = shop.VisitorWork{Verb: v.name, About: k.about, Done: k.done}
			if v.fill != nil {
				if err := v.fill(k); err != nil {
					return err.Error()
				}
			}
			return ""
		}
		row.run = func(ctx context.Context, k *keeperCall) error {
			return shop.Visitors(ctx, k.cfg, k.work, k.dry, k.logger, k.stdout)
		}
		all = append(all, row)
	}
	return all
}

var (
	letterForm = regexp.MustCompile(`^let_[a-z2-7]{20}$`)
	entryForm  = regexp.MustCompile(`^gst_[a-z2-7]{20}$`)
)

// fillText takes what is to be said.
func (k *keeperCall) fillText() (err error) {
	if k.work.Text, err = k.words(); err == nil && k.work.Text == "" {
		err = errors.New("say what with -text-file or -text")
	}
	return err
}

// fillPage takes what a tip's page is to be.
func (k *keeperCall) fillPage() (err error) {
	k.work.Page = k.page
	if k.work.Page.Text, err = k.words(); err != nil {
		return err
	}
	return k.work.Page.Check()
}

// fillPrice takes what work is to cost.
func (k *keeperCall) fillPrice() (err error) {
	if k.work.Price, err = content.ParseUSDC(k.price); err != nil || k.work.Price <= 0 {
		return errors.New("name the price with -price, such as 12.50")
	}
	return nil
}
