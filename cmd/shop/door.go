package shop

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/templates"
)

// doorPage renders a paid door, in the looks of the published pages.
func (s *Shop) doorPage(d counter.Door) ([]byte, error) {
	v := templates.DoorView{Chrome: s.chrome(), Page: templates.Page{NoIndex: true}}
	if p := d.Refusal; p != nil {
		row, _ := problem.Lookup(p.Code)
		v.Lacks, v.Next = d.Offer != nil && lacks(d), p.Next
		if d.Asked || !v.Lacks { // who has not filled in the form yet has done nothing wrong
			v.Refusal = &templates.Refusal{Code: p.Code, Title: row.Title, Says: cmp.Or(p.Detail, row.Title+"."),
				Status: d.Status}
		}
		v.Page.Title = row.Title
		if to, ok := p.Extra["folded_into"].(string); ok {
			v.About = "/menu/" + to
		}
	}
	if o := d.Offer; o != nil {
		v.Page.Title, v.Page.Summary, v.Page.Path = o.Name, o.Description, cmp.Or(o.About, o.Path)
		v.Good, v.Tiers, v.About, v.At = o.Good, o.Tiers, o.About, o.Path
		for _, in := range o.Inputs {
			shown := templates.DoorInput{Input: in, Value: d.Given[in.Name]}
			if p := d.Refusal; p != nil && d.Asked {
				for _, f := range p.Fields {
					if f.Field == in.Name {
						shown.Problem = f.Problem
					}
				}
			}
			if content.IsCommon(in.Name) {
				v.Common = append(v.Common, shown)
			} else {
				v.Own = append(v.Own, shown)
			}
		}
	}
	for _, a := range d.Accepts {
		offer, err := doorOffer(a)
		if err != nil {
			return nil, err
		}
		v.Offers = append(v.Offers, offer)
	}
	for _, o := range d.LeftOut {
		v.LeftOut = append(v.LeftOut, templates.Fact{Name: o.Name, Value: o.Reason})
	}
	return templates.HTML(&v)
}

// lacks reports whether an order is refused for what is in it, so that another one may be taken.
func lacks(d counter.Door) bool {
	switch d.Refusal.Code {
	case "sold_out", "not_quoted", "gone":
		return false
	}
	return d.Refusal.Code == "invalid_input" || d.Asked && d.Status < http.StatusInternalServerError
}

// doorOffer is one of the terms as a page shows it.
func doorOffer(a rail.Requirement) (templates.DoorOffer, error) {
	amount, err := strconv.ParseInt(a.Amount, 10, 64)
	if err != nil {
		return templates.DoorOffer{}, err
	}
	name := a.Network
	if chain, ok := networks.Find(a.Network); ok {
		name = chain.Name
	}
	method, named := a.Extra["assetTransferMethod"]
	return templates.DoorOffer{Network: a.Network, Name: name, Amount: a.Amount, USDC: content.FormatUSDC(amount),
		Asset: a.Asset, PayTo: a.PayTo, Wallet: a.Scheme == "exact" && strings.HasPrefix(a.Network, "eip155:") &&
			(!named || method == networks.EIP3009)}, nil
}
