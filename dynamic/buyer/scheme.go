package buyer

import (
	"context"
	"slices"
	"strings"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/rail"
)

// schemeExact is the scheme of a payment that is settled once, as it was signed.
const schemeExact = "exact"

// A scheme is how one scheme of x402 is judged and paid on the networks of one namespace of CAIP-2.
// Each has its row in schemes.
type scheme struct {
	name, namespace string
	flows           []string // values of paymentFlow that are paid
	// judge says why an entry's extra cannot be paid, empty where it can.
	judge func(e *Entry, x wireExtra) string
	// able says why this buyer cannot pay an entry that could be paid, empty where it can.
	able func(c *Config, e *Entry) string
	// seconds is for how long a signature that may be valid for so many is valid.
	seconds func(allowed int64) int64
	// draft decides on all that will be signed; it signs nothing.
	draft func(ctx context.Context, b *Buyer, p *purchase, e Entry) error
	// sign gives the scheme's payload, signed.
	sign func(b *Buyer, p *purchase, e Entry) (any, error)
}

// schemes stand in the order in which they are paid: of the entries that can be paid, those of the
// first row go first.
var schemes = []scheme{
	{
		name: schemeExact, namespace: wallet.NamespaceEVM, flows: []string{flowAuthorization, flowUpfront},
		judge: evmJudge, able: func(*Config, *Entry) string { return "" },
		seconds: func(allowed int64) int64 { return allowed }, draft: evmDraft, sign: evmSign,
	},
	{
		name: schemeExact, namespace: wallet.NamespaceSolana, flows: []string{flowAuthorization, flowUpfront},
		judge: solanaJudge, able: solanaAble,
		seconds: func(int64) int64 { return solanaSeconds }, draft: solanaDraft, sign: solanaSign,
	},
	{
		name: rail.SchemeVouchers, namespace: wallet.NamespaceEVM, flows: []string{flowAuthorization},
		judge: voucherJudge, able: voucherAble,
		seconds: func(allowed int64) int64 { return allowed }, draft: voucherDraft, sign: voucherSign,
	},
	{
		name: rail.SchemeCapture, namespace: wallet.NamespaceEVM, flows: []string{flowAuthorization, flowEscrow},
		judge: holdJudge, able: holdAble,
		seconds: func(allowed int64) int64 { return allowed }, draft: holdDraft, sign: holdSign,
	},
}

// The values of paymentFlow that are known.
const (
	flowAuthorization = "authorization"
	flowUpfront       = "upfront"
	flowEscrow        = "escrow"
)

// Schemes are the names of the schemes that are paid, in the order in which they are.
func Schemes() (names []string) {
	for _, s := range schemes {
		if !slices.Contains(names, s.name) {
			names = append(names, s.name)
		}
	}
	return names
}

// schemeOf is the row of a scheme on a network, and its place among them; ok is false for one that
// is not paid there.
func schemeOf(name, network string) (s scheme, place int, ok bool) {
	namespace, _, _ := strings.Cut(network, ":")
	i := slices.IndexFunc(schemes, func(s scheme) bool { return s.name == name && s.namespace == namespace })
	if i < 0 {
		return scheme{}, 0, false
	}
	return schemes[i], slices.Index(Schemes(), name), true
}
