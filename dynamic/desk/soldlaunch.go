package desk

import (
	"cmp"
	"context"
	"net/http"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/goods"
)

// soldLaunch looks at a door that is to be bought at. Where there is nothing to buy, nothing is
// sold.
func (d *Desk) soldLaunch(ctx context.Context, a ask) (*goods.Reading, error) {
	if d.cfg.Payable == nil {
		return nil, &goods.Away{Item: content.KindLaunch}
	}
	l, _, err := d.soldProbe(ctx, a)
	if err != nil {
		return nil, err
	}
	method := cmp.Or(l.report.ProbeMethod.Used, http.MethodGet)
	if why := d.cfg.Payable(ctx, a.url, method); why != "" {
		return nil, &goods.Unread{Code: goods.CodeNotRead, Sent: true, Detail: "Nothing can be bought there: " + why +
			". The free probe says more of the door."}
	}
	r, err := a.reading(l.reported())
	if err == nil {
		r.Door, r.Method = a.url, method
	}
	return r, err
}
