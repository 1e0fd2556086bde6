package record

import (
	"slices"

	"store.example/agentstore/corpus/probe"
)

// The most of each that is kept of what a list says of a door.
const (
	maxListedNetworks  = 16
	maxListedSchemes   = 8
	maxListedAddresses = 8
)

// OfferOf sums up ways to pay as a row does, nil for none. It is bounded, whatever they hold; whole
// says that nothing was left out.
func OfferOf(terms []probe.Requirement) (offer *RowOffer, whole bool) {
	if len(terms) == 0 {
		return nil, true
	}
	o := offerFrom(slices.Values(terms))
	whole = len(o.Networks) <= maxListedNetworks && len(o.Schemes) <= maxListedSchemes &&
		len(o.PayTo) <= maxListedAddresses &&
		o.NetworksLeftOut == 0 && o.PayToLeftOut == 0
	o.Networks = slices.Clip(o.Networks[:min(len(o.Networks), maxListedNetworks)])
	o.Schemes = slices.Clip(o.Schemes[:min(len(o.Schemes), maxListedSchemes)])
	o.PayTo = slices.Clip(o.PayTo[:min(len(o.PayTo), maxListedAddresses)])
	return o, whole
}
