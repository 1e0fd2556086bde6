package shop

import (
	"context"

	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/dynamic/keeper"
	"store.example/agentstore/dynamic/visitors"
)

// maxWaiting is how many of the oldest posts of a kind the keeper's desk counts.
const maxWaiting = 1000

// visitorRows are what visitors left and the keeper has not dealt with, on his desk.
func (s *Shop) visitorRows() (rows []keeper.Row) {
	for _, r := range []struct{ kind, name, title, verb string }{
		{visitors.KindLetter, "letters", "Letters", "store keeper reply LETTER -text-file FILE"},
		{visitors.KindGuestbook, "guestbook", "Guestbook", "store keeper keep ENTRY, or hide ENTRY"},
		{visitors.KindTip, "tips", "Tips", "store keeper publish-tip TIP -slug SLUG, or decline TIP"},
		{visitors.KindRequest, "requests", "Requests to quote",
			"store keeper quote REQUEST -price USDC, or decline REQUEST"},
	} {
		rows = append(rows, keeper.Row{Name: r.name, Title: r.title,
			Actions: []keeper.Action{{Verb: r.verb}},
			Read: func(ctx context.Context, _ *keeper.Desk) (list []keeper.Entry, err error) {
				for after, more := "", true; more && len(list) < maxWaiting; more = after != "" {
					var page []visitors.Post
					page, after, err = s.Visitors.Entries(ctx, r.kind, false, after, visitors.MaxPage)
					if err != nil {
						return list, err
					}
					for _, p := range page {
						says := keeper.Short(screen.Text(p.Text))
						list = append(list, keeper.Entry{ID: p.ID, Says: says, Since: p.At})
					}
				}
				return list, nil
			}})
	}
	return rows
}
