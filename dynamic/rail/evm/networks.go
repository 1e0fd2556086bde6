package evm

import (
	"math/big"
	"time"

	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/wallet"
)

// Known are the networks whose values are known in advance; Preset fills a Config from a row. Names
// of chains and USDC's address and EIP-712 domain come from package networks, which repeats the
// stock client's table, so that stock buyers pay them.
var Known = func() []Config {
	var list []Config
	for _, c := range rows {
		chain, _ := networks.Find(c.Network)
		token, ok := networks.USDC(c.Network)
		id, err := wallet.ParseChainID(c.Network)
		if err != nil || !ok {
			panic("evm: a network without a row in package networks: " + c.Network)
		}
		if c.ChainID, err = id.EVM(); err != nil {
			panic("evm: " + err.Error())
		}
		c.Name, c.Asset, c.AssetName, c.AssetVersion = chain.Name, token.Address, token.Name, token.Version
		list = append(list, c)
	}
	return list
}()

// rows are what only a rail has to know of a network.
//
// MaxFee is ten times what a busy day asks for, so that a day that asks for more waits instead of
// being paid for. DataFee is the OP Stack's GasPriceOracle; Arbitrum has its data fee within the
// gas, which is why more of it is expected there. The price of a network's coin is not here: it is
// the keeper's, with its date.
//
// Depth and finality: Base, Arbitrum and Celo have one sequencer, whose word is enough for small
// sums, and finalize with Ethereum; Polygon reorganises now and then, so a few blocks are waited
// for; Avalanche is final on acceptance.
var rows = []Config{
	{
		Network:         "eip155:8453",
		GenesisHash:     "0xf712aa9241cc24369b143cf6dce85f0902a9731e70d66818a3a5845b296c73dd",
		DomainSeparator: "0x02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f",
		Depth:           1, Poll: time.Second, MaxFee: gwei(10), DataFee: gasPriceOracle,
	},
	{
		Network:     "eip155:137",
		GenesisHash: "0xa9c28ce2141b56c474f1dc504bee9b01eb1bd7d1a507580d5519d4437a97de1b",
		Depth:       3, Poll: time.Second, MaxFee: gwei(3000),
	},
	{
		Network:     "eip155:42161",
		GenesisHash: "0x7ee576b35482195fc49205cec9af72ce14f003b9ae69f6ba0faef4514be8b442",
		Depth:       1, Poll: 500 * time.Millisecond, MaxFee: gwei(10), Gas: 160_000,
	},
	{
		Network:     "eip155:43114",
		GenesisHash: "0x31ced5b9beb7f8782b014660da0cb18cc409f121f408186886e1ca3e8eeca96b",
		Depth:       1, Finality: 1, Poll: time.Second, MaxFee: gwei(300),
	},
	{
		Network:     "eip155:84532",
		GenesisHash: "0x0dcc9e089e30b90ddfc55be9a37dd15bc551aeee999d2e2b51414c54eaf934e4",
		Depth:       1, Poll: time.Second, MaxFee: gwei(10), DataFee: gasPriceOracle,
	},
	{
		Network:     "eip155:42220",
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

// Observed is what is known in advance of a network whose arrivals are counted (NewObserver): the
// row of Known, or for a network on which nothing is sold the USDC of package networks, bridged
// where there is no other. The latter has no genesis hash, which a keeper reads from a node that he
// believes.
func Observed(network string) (Config, bool) {
	if c, ok := Preset(network); ok {
		return c, true
	}
	chain, known := networks.Find(network)
	id, err := wallet.ParseChainID(network)
	if err != nil || !known {
		return Config{}, false
	}
	for _, t := range networks.Known() {
		if t.Network == network && (t.Symbol == "USDC" || t.Symbol == "USDC.e") && t.Decimals == 6 {
			c := Config{Network: network, Name: chain.Name, Asset: t.Address, AssetName: t.Name,
				AssetVersion: t.Version, Depth: 1, Poll: time.Second}
			c.ChainID, err = id.EVM()
			return c, err == nil
		}
	}
	return Config{}, false
}

// gasPriceOracle is where every chain of the OP Stack has it.
const gasPriceOracle = "0x420000000000000000000000000000000000000F"

func gwei(n int64) *big.Int { return new(big.Int).Mul(big.NewInt(n), big.NewInt(1e9)) }
