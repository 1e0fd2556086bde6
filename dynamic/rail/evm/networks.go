package evm

import (
	"math/big"
	"time"
)

// Known are the networks whose values are known in advance; Preset fills a Config from a row. USDC addresses, EIP-712
// names and versions are those of the stock client's default table (@x402/evm 2.27.0), so that stock buyers pay them.
// The names differ: a row that says "USDC" where the token says "USD Coin" makes every signature invalid, which Check
// finds out at start.
//
// MaxFee is ten times what a busy day asks for, so that a day that asks for more waits instead of being paid for. DataFee
// is the OP Stack's GasPriceOracle; Arbitrum has its data fee within the gas, which is why more of it is expected there.
// The price of a network's coin is not here: it is the keeper's, with its date.
//
// Depth and finality: Base, Arbitrum and Celo have one sequencer, whose word is enough for small sums, and finalize
// with Ethereum; Polygon reorganises now and then, so a few blocks are waited for; Avalanche is final on acceptance.
var Known = []Config{
	{
		Network: "eip155:8453", ChainID: 8453, Name: "Base",
		Asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", AssetName: "USD Coin", AssetVersion: "2",
		GenesisHash:     "0xf712aa9241cc24369b143cf6dce85f0902a9731e70d66818a3a5845b296c73dd",
		DomainSeparator: "0x02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f",
		Depth:           1, Poll: time.Second, MaxFee: gwei(10), DataFee: gasPriceOracle,
	},
	{
		Network: "eip155:137", ChainID: 137, Name: "Polygon",
		Asset: "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", AssetName: "USD Coin", AssetVersion: "2",
		GenesisHash: "0xa9c28ce2141b56c474f1dc504bee9b01eb1bd7d1a507580d5519d4437a97de1b",
		Depth:       3, Poll: time.Second, MaxFee: gwei(3000),
	},
	{
		Network: "eip155:42161", ChainID: 42161, Name: "Arbitrum One",
		Asset: "0xaf88d065e77c8cC2239327C5EDb3A432268e5831", AssetName: "USD Coin", AssetVersion: "2",
		GenesisHash: "0x7ee576b35482195fc49205cec9af72ce14f003b9ae69f6ba0faef4514be8b442",
		Depth:       1, Poll: 500 * time.Millisecond, MaxFee: gwei(10), Gas: 160_000,
	},
	{
		Network: "eip155:43114", ChainID: 43114, Name: "Avalanche C-Chain",
		Asset: "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E", AssetName: "USD Coin", AssetVersion: "2",
		GenesisHash: "0x31ced5b9beb7f8782b014660da0cb18cc409f121f408186886e1ca3e8eeca96b",
		Depth:       1, Finality: 1, Poll: time.Second, MaxFee: gwei(300),
	},
	{
		Network: "eip155:84532", ChainID: 84532, Name: "Base Sepolia",
		Asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", AssetName: "USDC", AssetVersion: "2",
		GenesisHash: "0x0dcc9e089e30b90ddfc55be9a37dd15bc551aeee999d2e2b51414c54eaf934e4",
		Depth:       1, Poll: time.Second, MaxFee: gwei(10), DataFee: gasPriceOracle,
	},
	{
		Network: "eip155:42220", ChainID: 42220, Name: "Celo",
		Asset: "0xcebA9300f2b948710d2653dD7B07f33A8B32118C", AssetName: "USDC", AssetVersion: "2",
		GenesisHash: "0x19ea3339d3c8cda97235bc8293240d5b9dadcdfbb5d4b0b90ee731cac1bd11c3",
		Depth:       1, Poll: time.Second, MaxFee: gwei(500), DataFee: gasPriceOracle,
	},
}

// Preset is a copy of the row of Known for a network (CAIP-2), and whether there is one.
func Preset(network string) (Config, bool) {
	for _, c := range Known {
		if c.Network == network {
			return c, true
		}
	}
	return Config{}, false
}

// gasPriceOracle is where every chain of the OP Stack has it.
const gasPriceOracle = "0x420000000000000000000000000000000000000F"

func gwei(n int64) *big.Int { return new(big.Int).Mul(big.NewInt(n), big.NewInt(1e9)) }
