package desk

import (
	"context"
	"encoding/base64"
	"encoding/json/v2"
	"net/http"
	"net/url"
	"strconv"

	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/stockclient"
	"store.example/agentstore/dynamic/goods"
)

// Terms are what a stock buyer would sign at a door.
type Terms struct {
	URL, Host             string
	Network, Asset, PayTo string
	Amount                int64 // atomic units
}

// Terms reads a door and the entry of its terms that a stock buyer without spend controls would
// sign, for whom somebody else is asked to buy there: a door that is not ready has none. A host
// that opted out is not read.
func (s Sold) Terms(ctx context.Context, raw string) (Terms, error) {
	d := s.d
	if d.cfg.Client.Private() {
		return Terms{}, &goods.Away{Item: "bounty"} // what is read in a private network is never published
	}
	at, err := d.door(raw)
	if err != nil {
		return Terms{}, unreadTarget(err)
	}
	u, err := url.Parse(at)
	if err != nil {
		return Terms{}, err
	}
	if err := d.lookup(ctx, at); err != nil {
		return Terms{}, unreadTarget(err)
	}
	if err := d.mayRead(ctx, u.Hostname()); err != nil {
		return Terms{}, err
	}
	l, _, err := d.soldProbe(ctx, ask{url: at, host: u.Hostname(), target: at})
	if err != nil {
		return Terms{}, unreadTarget(err)
	}
	none := &goods.Unread{Code: goods.CodeNotRead, Sent: true,
		Detail: "The door is not ready, or asks for nothing that a stock buyer would sign."}
	x := judged(l)
	rep, err := stockclient.Read(x).Judge(stockclient.Profile{SpendControlsDisabled: true})
	if err != nil {
		return Terms{}, err
	}
	chosen := rep.YourClient.Chosen
	if l.report.Verdict != probe.Ready || rep.YourClient.Outcome != stockclient.WouldSign || chosen == nil {
		return Terms{}, none
	}
	payTo, ok := payTo(x.Response.Header, chosen.Index)
	amount, err := strconv.ParseInt(chosen.AmountAtomic, 10, 64)
	if !ok || err != nil || amount <= 0 {
		return Terms{}, none
	}
	return Terms{URL: at, Host: u.Hostname(), Network: chosen.Network, Asset: chosen.Asset, PayTo: payTo,
		Amount: amount}, nil
}

// payTo is who an entry of a challenge pays.
func payTo(h http.Header, i int) (string, bool) {
	raw, err := base64.StdEncoding.DecodeString(h.Get("PAYMENT-REQUIRED"))
	if err != nil {
		return "", false
	}
	var terms struct {
		Accepts []struct {
			PayTo string `json:"payTo"`
		} `json:"accepts"`
	}
	if json.Unmarshal(raw, &terms) != nil || i < 0 || i >= len(terms.Accepts) {
		return "", false
	}
	return terms.Accepts[i].PayTo, terms.Accepts[i].PayTo != ""
}
