package networks

// solanaDev is the mint of USDC on the devnet and on the testnet of Solana.
const solanaDev = "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU"

// tokens are the stock client's own.
var tokens = []Token{
	{"eip155:8453", "USDC", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "USD Coin", "2", 6, EIP3009, ""},
	{"eip155:84532", "USDC", "0x036CbD53842c5426634e7929541eC2318f3dCF7e", "USDC", "2", 6, EIP3009, ""},
	{"eip155:1", "USDC", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "USD Coin", "2", 6, EIP3009, ""},
	{"eip155:43114", "USDC", "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E", "USD Coin", "2", 6, EIP3009, ""},
	{"eip155:4326", "MegaUSD", "0xFAfDdbb3FC7688494971a79cc65DCa3EF82079E7", "MegaUSD", "1", 18, Permit2, ""},
	{"eip155:143", "USDC", "0x754704Bc059F8C67012fEd69BC8A327a5aafb603", "USDC", "2", 6, EIP3009, ""},
	{"eip155:988", "USDT0", "0x779Ded0c9e1022225f8E0630b35a9b54bE713736", "USDT0", "1", 6, EIP3009, ""},
	{"eip155:2201", "USDT0", "0x78Cf24370174180738C5B8E352B6D14c83a6c9A9", "USDT0", "1", 6, EIP3009, ""},
	{"eip155:137", "USDC", "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", "USD Coin", "2", 6, EIP3009, ""},
	{"eip155:42161", "USDC", "0xaf88d065e77c8cC2239327C5EDb3A432268e5831", "USD Coin", "2", 6, EIP3009, ""},
	{"eip155:421614", "USDC", "0x75faf114eafb1BDbe2F0316DF893fd58CE46AA4d", "USD Coin", "2", 6, EIP3009, ""},
	{"eip155:31612", "mUSD", "0xdD468A1DDc392dcdbEf6db6e34E89AA338F9F186", "Mezo USD", "1", 18, Permit2, ""},
	{"eip155:31611", "mUSD", "0x118917a40FAF1CD7a13dB0Ef56C86De7973Ac503", "Mezo USD", "1", 18, Permit2, ""},
	{"eip155:723487", "SBC", "0x33ad9e4BD16B69B5BFdED37D8B5D9fF9aba014Fb", "Stable Coin", "1", 6, Permit2, ""},
	{"eip155:72344", "SBC", "0x33ad9e4BD16B69B5BFdED37D8B5D9fF9aba014Fb", "Stable Coin", "1", 6, Permit2, ""},
	{"eip155:36900", "USDC.e", "0x9cb8142aEBBcdc60AF7c97Af897A67A8f3CA71C2", "USDC.e", "2", 6, EIP3009, ""},
	{"eip155:190415", "USDC.e", "0x401eCb1D350407f13ba348573E5630B83638E30D", "Bridged USDC", "2", 6, EIP3009, ""},
	{"eip155:181228", "USDC.e", "0x401eCb1D350407f13ba348573E5630B83638E30D", "Bridged USDC", "2", 6, EIP3009, ""},
	{"eip155:50", "USDC", "0xfA2958CB79b0491CC627c1557F441eF849Ca8eb1", "USDC", "2", 6, EIP3009, ""},
	{"eip155:51", "USDC", "0xb5AB69F7bBada22B28e79C8FFAECe55eF1c771D4", "USDC", "2", 6, EIP3009, ""},
	{"eip155:38833", "USDC", "0xA5b8BF902b2844dA17d4506cc827F7F1681735E7", "USDC", "1", 6, Permit2, ""},
	{"eip155:14", "USDT0", "0xe7cd86e13AC4309349F30B3435a9d337750fC82D", "USD₮0", "1", 6, EIP3009, ""},
	{"eip155:42220", "USDC", "0xcebA9300f2b948710d2653dD7B07f33A8B32118C", "USDC", "2", 6, EIP3009, ""},
	{"eip155:42220", "USDT", "0x48065fbBE25f71C9282ddf5e1cD6D6A887483D5e", "Tether USD", "1", 6, EIP3009, ""},
	{"eip155:42220", "USAT", "0xD2ab3C9A02DBBAB236BfEC45D1d755DF4267F771", "Tether America USD", "1", 6, EIP3009, ""},
	{"eip155:11142220", "USDC", "0x01C5C0122039549AD1493B8220cABEdD739BC44E", "USDC", "2", 6, EIP3009, ""},
	{"eip155:1329", "USDC", "0xe15fC38F6D8c56aF07bbCBe3BAf5708A2Bf42392", "USDC", "2", 6, EIP3009, ""},
	{"eip155:1328", "USDC", "0x4fCF1784B31630811181f670Aea7A7bEF803eaED", "USDC", "2", 6, EIP3009, ""},
	{Solana, "USDC", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "", "", 6, Transfer, ProgramToken},
	{Solana, "USDT", "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB", "", "", 6, Transfer, ProgramToken},
	{Solana, "USDG", "2u1tszSeqZ3qBWF3uNGPFc8TzMk2tdiwknnRMWGWjGWH", "", "", 6, Transfer, ProgramToken2022},
	{Solana, "PYUSD", "2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo", "", "", 6, Transfer, ProgramToken2022},
	{Solana, "CASH", "CASHx9KJUStyftLFWGvEVf59SGeG9sh5FfcnZMVPCASH", "", "", 6, Transfer, ProgramToken2022},
	{SolanaDevnet, "USDC", solanaDev, "", "", 6, Transfer, ProgramToken},
	{SolanaDevnet, "USDG", "4F6PM96JJxngmHnZLBh9n58RH4aTVNWvDs2nuwrT5BP7", "", "", 6, Transfer, ProgramToken2022},
	{SolanaDevnet, "PYUSD", "CXk2AMBfi3TwaEL2468s6zP8xq9NxTXjp9gjMgzeUynM", "", "", 6, Transfer, ProgramToken2022},
	{SolanaTestnet, "USDC", solanaDev, "", "", 6, Transfer, ProgramToken},
	{SolanaTestnet, "USDG", "4F6PM96JJxngmHnZLBh9n58RH4aTVNWvDs2nuwrT5BP7", "", "", 6, Transfer, ProgramToken2022},
	{SolanaTestnet, "PYUSD", "CXk2AMBfi3TwaEL2468s6zP8xq9NxTXjp9gjMgzeUynM", "", "", 6, Transfer, ProgramToken2022},
}

// beside are Circle's coins on networks that the stock client's table leaves out, by the coin's own
// contract there.
var beside = []Token{
	{"eip155:480", "USDC", "0x79A02482A880bCE3F13e09Da970dC34db4CD24d1", "USDC", "2", 6, EIP3009, ""},
}
