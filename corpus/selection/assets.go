package selection

import "slices"

// An Asset is a token that a stock client pays in unasked.
type Asset struct {
	Network  string // CAIP-2
	Asset    string // contract in the case of EIP-55, or mint
	Symbol   string
	Decimals int
	Name     string // of the token's EIP-712 domain; "" on Solana
	Version  string // of the same domain
	Method   string // eip3009, permit2 or, on Solana, transfer
}

// AssetTable names the edition of the default assets below; it is dated by the client release they were read from.
const AssetTable = "x402-js/2.27.0"

// Assets returns the default assets of AssetTable, by family and in the client's order.
func Assets() []Asset { return slices.Clone(assets) }

var assets = []Asset{
	{"eip155:8453", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "USDC", 6, "USD Coin", "2", "eip3009"},
	{"eip155:84532", "0x036CbD53842c5426634e7929541eC2318f3dCF7e", "USDC", 6, "USDC", "2", "eip3009"},
	{"eip155:1", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "USDC", 6, "USD Coin", "2", "eip3009"},
	{"eip155:43114", "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E", "USDC", 6, "USD Coin", "2", "eip3009"},
	{"eip155:4326", "0xFAfDdbb3FC7688494971a79cc65DCa3EF82079E7", "MegaUSD", 18, "MegaUSD", "1", "permit2"},
	{"eip155:143", "0x754704Bc059F8C67012fEd69BC8A327a5aafb603", "USDC", 6, "USDC", "2", "eip3009"},
	{"eip155:988", "0x779Ded0c9e1022225f8E0630b35a9b54bE713736", "USDT0", 6, "USDT0", "1", "eip3009"},
	{"eip155:2201", "0x78Cf24370174180738C5B8E352B6D14c83a6c9A9", "USDT0", 6, "USDT0", "1", "eip3009"},
	{"eip155:137", "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", "USDC", 6, "USD Coin", "2", "eip3009"},
	{"eip155:42161", "0xaf88d065e77c8cC2239327C5EDb3A432268e5831", "USDC", 6, "USD Coin", "2", "eip3009"},
	{"eip155:421614", "0x75faf114eafb1BDbe2F0316DF893fd58CE46AA4d", "USDC", 6, "USD Coin", "2", "eip3009"},
	{"eip155:31612", "0xdD468A1DDc392dcdbEf6db6e34E89AA338F9F186", "mUSD", 18, "Mezo USD", "1", "permit2"},
	{"eip155:31611", "0x118917a40FAF1CD7a13dB0Ef56C86De7973Ac503", "mUSD", 18, "Mezo USD", "1", "permit2"},
	{"eip155:723487", "0x33ad9e4BD16B69B5BFdED37D8B5D9fF9aba014Fb", "SBC", 6, "Stable Coin", "1", "permit2"},
	{"eip155:72344", "0x33ad9e4BD16B69B5BFdED37D8B5D9fF9aba014Fb", "SBC", 6, "Stable Coin", "1", "permit2"},
	{"eip155:36900", "0x9cb8142aEBBcdc60AF7c97Af897A67A8f3CA71C2", "USDC.e", 6, "USDC.e", "2", "eip3009"},
	{"eip155:190415", "0x401eCb1D350407f13ba348573E5630B83638E30D", "USDC.e", 6, "Bridged USDC", "2", "eip3009"},
	{"eip155:181228", "0x401eCb1D350407f13ba348573E5630B83638E30D", "USDC.e", 6, "Bridged USDC", "2", "eip3009"},
	{"eip155:50", "0xfA2958CB79b0491CC627c1557F441eF849Ca8eb1", "USDC", 6, "USDC", "2", "eip3009"},
	{"eip155:51", "0xb5AB69F7bBada22B28e79C8FFAECe55eF1c771D4", "USDC", 6, "USDC", "2", "eip3009"},
	{"eip155:38833", "0xA5b8BF902b2844dA17d4506cc827F7F1681735E7", "USDC", 6, "USDC", "1", "permit2"},
	{"eip155:14", "0xe7cd86e13AC4309349F30B3435a9d337750fC82D", "USDT0", 6, "USD₮0", "1", "eip3009"},
	{"eip155:42220", "0xcebA9300f2b948710d2653dD7B07f33A8B32118C", "USDC", 6, "USDC", "2", "eip3009"},
	{"eip155:42220", "0x48065fbBE25f71C9282ddf5e1cD6D6A887483D5e", "USDT", 6, "Tether USD", "1", "eip3009"},
	{"eip155:42220", "0xD2ab3C9A02DBBAB236BfEC45D1d755DF4267F771", "USAT", 6, "Tether America USD", "1", "eip3009"},
	{"eip155:11142220", "0x01C5C0122039549AD1493B8220cABEdD739BC44E", "USDC", 6, "USDC", "2", "eip3009"},
	{"eip155:1329", "0xe15fC38F6D8c56aF07bbCBe3BAf5708A2Bf42392", "USDC", 6, "USDC", "2", "eip3009"},
	{"eip155:1328", "0x4fCF1784B31630811181f670Aea7A7bEF803eaED", "USDC", 6, "USDC", "2", "eip3009"},
	{"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "USDC", 6, "", "", "transfer"},
	{"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB", "USDT", 6, "", "", "transfer"},
	{"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "2u1tszSeqZ3qBWF3uNGPFc8TzMk2tdiwknnRMWGWjGWH", "USDG", 6, "", "", "transfer"},
	{"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo", "PYUSD", 6, "", "", "transfer"},
	{"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "CASHx9KJUStyftLFWGvEVf59SGeG9sh5FfcnZMVPCASH", "CASH", 6, "", "", "transfer"},
	{"solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1", "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU", "USDC", 6, "", "", "transfer"},
	{"solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1", "4F6PM96JJxngmHnZLBh9n58RH4aTVNWvDs2nuwrT5BP7", "USDG", 6, "", "", "transfer"},
	{"solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1", "CXk2AMBfi3TwaEL2468s6zP8xq9NxTXjp9gjMgzeUynM", "PYUSD", 6, "", "", "transfer"},
	{"solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z", "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU", "USDC", 6, "", "", "transfer"},
	{"solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z", "4F6PM96JJxngmHnZLBh9n58RH4aTVNWvDs2nuwrT5BP7", "USDG", 6, "", "", "transfer"},
	{"solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z", "CXk2AMBfi3TwaEL2468s6zP8xq9NxTXjp9gjMgzeUynM", "PYUSD", 6, "", "", "transfer"},
}
