package probe

import (
	"cmp"
	"math/big"
	"strings"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/networks"
)

// capUSD is the most that an unattended stock client pays at once, in dollars.
const capUSD = 1

// withinCap reports whether an amount of digits is at most the stock client's ceiling in a token of
// so many decimals.
func withinCap(amount string, decimals int) bool {
	n, ok := new(big.Int).SetString(amount, 10)
	if !ok {
		return false
	}
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)
	return n.Cmp(limit.Mul(limit, big.NewInt(capUSD))) <= 0
}

// The families of networks that the battery knows how to judge.
const (
	familyEVM    = "eip155"
	familySolana = "solana"
)

// family is the namespace of a CAIP-2 name, "" for a name of another form.
func family(network string) string {
	namespace, _, _ := networks.SplitCAIP2(network)
	return namespace
}

// isChainID accepts what the stock client accepts: eip155 and digits.
func isChainID(network string) bool {
	digits, ok := strings.CutPrefix(network, familyEVM+":")
	return ok && isDigits(digits)
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// isEVMForm tells whether a form is one of an Ethereum address, payable or not.
func isEVMForm(form string) bool {
	return form == exchange.FormEVM || form == exchange.FormEVMBadChecksum || form == exchange.FormEVMZero
}

// USDC returns an entry's amount in atomic units of USDC, six decimals, without leading zeros: only
// where the asset is a known USDC on a network that is no test network and the amount is a whole
// number that fits.
func (r Requirement) USDC() (atomic string, ok bool) {
	a, ok := networks.FindToken(r.Network, r.Asset)
	if !ok || a.Symbol != "USDC" || a.Decimals != 6 || testnet(r.Network) || r.amountProblem() != "" {
		return "", false
	}
	atomic = cmp.Or(strings.TrimLeft(r.Amount, "0"), "0")
	return atomic, true
}

// testnet reports whether a network is known to be one whose tokens are worth nothing.
func testnet(network string) bool {
	c, ok := networks.Find(network)
	return ok && c.Testnet
}
