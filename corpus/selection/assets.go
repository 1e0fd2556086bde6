package selection

import "agentstore/corpus/networks"

// AssetTable names the edition of the default assets, which are those of package networks; it is dated by the client
// release they were read from.
const AssetTable = "x402-js/2.27.0"

// assets are the tokens that a stock client pays in unasked, in its own order.
var assets = networks.Tokens()
