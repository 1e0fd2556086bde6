// Package stockclient replays how a stock x402 client chooses among the ways of paying that a door
// offers, and where it throws instead, without a wallet and without a network: the scheme filter,
// the flow filter, the spend controls (default assets, ceilings), the preference for
// authorizations, the first survivor, and what signing the chosen entry then needs.
//
// The clients are JavaScript, and their answers to odd input follow from that language: an amount
// that is a JSON number works, a missing one throws. The package therefore keeps the challenge as
// the values that JSON.parse makes (value.go) and repeats the operations that the client makes on
// them, so that index and error text are equal to the stock client's; a test runs both beside each
// other. What JavaScript strings can hold and Go strings cannot (lone surrogates, and bytes that
// are not UTF-8) is answered with CannotSimulate.
//
//	report, err := Read(x).Judge(Profile{})
//	report.YourClient.Outcome // would_sign, would_throw or cannot_simulate
//
// It judges recorded exchanges and fetches nothing.
package stockclient
