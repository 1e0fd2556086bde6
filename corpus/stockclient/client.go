package stockclient

import "slices"

// A Client is a stock client at a version: what it can pay with, and which stages its selection
// has.
type Client struct {
	Name     string   // permanent: answers mention it
	Package  string   // npm package and version
	Families []string // "eip155", "solana": what is registered, in this order, as family:*
	Schemes  []string // what is registered on eip155 behind exact: Batch, Capture
	Flows    bool     // drops unknown extra.paymentFlow, prefers authorization
	Controls bool     // has spend controls
	Viem     string   // version of the wallet library that its error texts name
}

// Clients returns the clients that can be replayed, the default one first: the newest, with both
// families registered and nothing else configured.
func Clients() []Client { return slices.Clone(clients) }

var clients = []Client{
	newest("x402-js/2.27.0", []string{"eip155", "solana"}),
	newest("x402-js-evm/2.27.0", []string{"eip155"}),
	newest("x402-js-svm/2.27.0", []string{"solana"}),
	newest("x402-js-batch/2.27.0", []string{"eip155", "solana"}, Batch),
	newest("x402-js-capture/2.27.0", []string{"eip155", "solana"}, Capture),
	// The last one without flows and spend controls: it pays any asset and any amount.
	{Name: "x402-js/2.21.0", Package: "@x402/core 2.21.0", Families: []string{"eip155", "solana"}, Viem: "2.57.1"},
}

func newest(name string, families []string, schemes ...string) Client {
	return Client{Name: name, Package: "@x402/core 2.27.0", Families: families, Schemes: schemes,
		Flows: true, Controls: true, Viem: "2.57.1"}
}

// The schemes that a client may have registered on EVM behind exact.
const (
	Batch   = "batch-settlement"
	Capture = "auth-capture"
)

const schemeExact = "exact"

// registered are the schemes of a family, in the order in which they were registered.
func (c Client) registered(family string) []string {
	if family == familyEVM {
		return append([]string{schemeExact}, c.Schemes...)
	}
	return []string{schemeExact}
}

const familyEVM = "eip155"

// ClientByName finds a row of Clients; "" is the default.
func ClientByName(name string) (Client, bool) {
	if name == "" {
		return clients[0], true
	}
	i := slices.IndexFunc(clients, func(c Client) bool { return c.Name == name })
	if i < 0 {
		return Client{}, false
	}
	return clients[i], true
}

// Money is a ceiling in US dollars as a client is told it: a JavaScript number or a text such as
// "$1" or "1.50 USDC". The zero Money is the client's default of $1; Off is no ceiling.
type Money struct {
	Text   string  // when not ""
	Number float64 // when IsNumber
	// IsNumber says that Number was given.
	IsNumber bool
	Off      bool // false was given
}

// Controls are a client's spend controls. The zero Controls are those of a client configured with
// nothing.
type Controls struct {
	Off      bool // spendControls: false
	Max      Money
	AnyAsset bool // allowedAssets: true
	Allowed  []Allowed
}

// Allowed is an entry of allowedAssets.
type Allowed struct {
	Network string // pattern
	Asset   string // address, mint, or symbol of a default asset
	Max     string // atomic units; "" for no ceiling of its own
}

// Config is what somebody configured a client with.
type Config struct {
	Client   Client
	Controls Controls
}

const defaultMax = "$1"
