package stockclient

import (
	"strings"

	"store.example/agentstore/corpus/networks"
)

// AssetTable names the edition of the default assets, which are those of package networks; it is
// dated by the client release they were read from.
const AssetTable = "x402-js/2.27.0"

// assets are the tokens that a stock client pays in unasked, in its own order.
var assets = networks.Tokens()

// lowerAssets are their addresses in lower case.
var lowerAssets = func() []string {
	out := make([]string, len(assets))
	for i, a := range assets {
		out[i] = strings.ToLower(a.Address)
	}
	return out
}()
