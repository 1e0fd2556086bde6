package cmd

// An arrow says which packages of ours one of ours may import, in its code and, beside those and testKits, in its tests.
// Patterns are as in under.
type arrow struct {
	from       string
	may, tests []string
}

// testKits may be imported by any test: devnet's chains, stock clients, linters and browser, and the conformance tests.
var testKits = []string{"cmd/devnet/bitcoin", "cmd/devnet/browser", "cmd/devnet/chain", "cmd/devnet/chaintest", "cmd/devnet/clients", "cmd/devnet/daemon", "cmd/devnet/lint", "cmd/devnet/npmtest", "cmd/devnet/oracles", "cmd/devnet/token",
	"corpus/corpustest", "corpus/record/recordtest", "dynamic/ledger/ledgertest", "dynamic/rail/railtest"}

var arrows = []arrow{
	{from: "cmd/check", may: []string{"cmd/check/kit"}},
	{from: "cmd/check/kit", may: []string{"corpus/attest", "corpus/exchange", "corpus/fetch", "corpus/probe", "corpus/visible", "corpus/walk"}},
	{from: "cmd/devnet", may: []string{"*"}},
	{from: "cmd/bench", may: []string{"*"}},
	{from: "cmd/devnet/bitcoin", may: []string{"cmd/devnet/daemon", "cmd/devnet/npmtest"}},
	{from: "cmd/devnet/browser", may: []string{"cmd/devnet/npmtest"}},
	{from: "cmd/devnet/chain", may: []string{"cmd/devnet/token"}},
	{from: "cmd/devnet/chaintest", may: []string{"cmd/devnet/chain", "cmd/devnet/daemon", "cmd/devnet/npmtest", "cmd/devnet/token"}},
	{from: "cmd/devnet/clients", may: []string{"cmd/devnet/npmtest"}},
	{from: "cmd/devnet/daemon"},
	{from: "cmd/devnet/lint", may: []string{"cmd/devnet/npmtest"}, tests: []string{"cmd/shop", "generator"}},
	{from: "cmd/devnet/npmtest"},
	{from: "cmd/devnet/oracles", may: []string{"cmd/devnet/npmtest"}},
	{from: "cmd/devnet/specimen", may: []string{"cmd/devnet/street", "corpus/...", "dynamic/ledger", "dynamic/roster"}, tests: []string{"content"}},
	{from: "cmd/devnet/street", may: []string{"corpus/attest", "corpus/botauth", "corpus/exchange", "corpus/fetch", "corpus/networks", "corpus/probe"}, tests: []string{"corpus/a2a", "corpus/conformance", "corpus/doors", "corpus/onpage", "corpus/walk"}},
	{from: "cmd/devnet/token"},
	{from: "cmd/shop", may: []string{"content/...", "corpus/...", "dynamic/...", "generator", "templates/..."}},
	{from: "cmd/store", tests: []string{"cmd/devnet/street"}, may: []string{"cmd/check/kit", "cmd/shop", "cmd/verify/kit", "content/...", "corpus/...", "dynamic/...", "generator", "templates/..."}},
	{from: "cmd/verify", may: []string{"cmd/verify/kit"}, tests: []string{"corpus/audit", "corpus/record", "corpus/tlog", "corpus/attest", "corpus/exchange", "corpus/ots", "corpus/probe"}},
	{from: "cmd/verify/wasm", may: []string{"cmd/verify/kit", "corpus/audit"}, tests: []string{"corpus/record", "corpus/attest", "corpus/bundle", "corpus/exchange", "corpus/probe", "templates"}},
	{from: "cmd/verify/kit", may: []string{"corpus/audit", "corpus/record", "corpus/tlog", "corpus/attest", "corpus/bundle", "corpus/visible"}, tests: []string{"corpus/exchange", "corpus/probe"}},

	{from: "content"},
	{from: "content/api"},
	{from: "corpus"},
	{from: "corpus/audit", may: []string{"corpus/attest", "corpus/durable", "corpus/ots", "corpus/probe", "corpus/record", "corpus/tlog", "corpus/visible"}, tests: []string{"corpus/exchange"}},
	{from: "corpus/durable"},
	{from: "corpus/record", may: []string{"corpus/attest", "corpus/durable", "corpus/exchange", "corpus/networks", "corpus/ots", "corpus/probe", "corpus/tlog"}, tests: []string{"corpus/audit"}},
	{from: "corpus/tlog", may: []string{"corpus/attest", "corpus/durable"}, tests: []string{"corpus/audit"}},
	{from: "corpus/view", may: []string{"corpus/attest", "corpus/durable", "corpus/extsort", "corpus/record"}, tests: []string{"corpus/exchange"}},
	{from: "corpus/record/recordtest", may: []string{"corpus/attest", "corpus/durable", "corpus/exchange", "corpus/probe", "corpus/record", "corpus/tlog"}},
	{from: "corpus/attest", may: []string{"corpus/extsort"}},
	{from: "corpus/attest/wallet"},
	{from: "corpus/census", may: []string{"corpus/record", "corpus/attest", "corpus/doors", "corpus/exchange", "corpus/fetch", "corpus/networks", "corpus/ots", "corpus/probe", "corpus/walk"}},
	{from: "corpus/corpustest", may: []string{"corpus/record", "corpus/attest", "corpus/exchange", "corpus/probe"}},
	{from: "corpus/bundle", may: []string{"corpus/audit", "corpus/record", "corpus/tlog", "corpus/attest", "corpus/ots", "corpus/visible"}, tests: []string{"corpus/exchange", "corpus/probe"}},
	{from: "corpus/derive", may: []string{"corpus/record", "corpus/tlog", "corpus/attest"}},
	{from: "corpus/doors", may: []string{"corpus/exchange", "corpus/fetch", "corpus/probe"}, tests: []string{"corpus/attest"}},
	{from: "corpus/exchange"},
	{from: "corpus/extsort"},
	{from: "corpus/ots"},
	{from: "corpus/ots/calendar", may: []string{"corpus/exchange", "corpus/fetch", "corpus/ots"}, tests: []string{"corpus/attest"}},
	{from: "corpus/probe", may: []string{"corpus/attest/...", "corpus/exchange", "corpus/networks", "corpus/verdict"}, tests: []string{"corpus/audit", "corpus/record"}},
	{from: "corpus/witness", may: []string{"corpus/tlog", "corpus/exchange", "corpus/fetch"}, tests: []string{"corpus/record", "corpus/attest"}},
	{from: "corpus/walk", may: []string{"corpus/exchange", "corpus/fetch", "corpus/probe"}, tests: []string{"corpus/attest"}},
	{from: "corpus/fetch", may: []string{"corpus/attest", "corpus/exchange"}},
	{from: "corpus/a2a", may: []string{"corpus/attest", "corpus/did", "corpus/exchange", "corpus/probe", "corpus/verdict"}, tests: []string{"corpus/walk"}},
	{from: "corpus/botauth", may: []string{"corpus/attest", "corpus/did", "corpus/exchange", "corpus/probe", "corpus/verdict"}},
	{from: "corpus/conformance", may: []string{"corpus/attest/...", "corpus/did", "corpus/exchange", "corpus/probe", "corpus/verdict"}},
	{from: "corpus/did", may: []string{"corpus/attest/wallet"}, tests: []string{"corpus/attest"}},
	{from: "corpus/networks", tests: []string{"corpus/attest/wallet"}},
	{from: "corpus/onpage", may: []string{"corpus/exchange", "corpus/probe", "corpus/verdict"}},
	{from: "corpus/verdict"},
	{from: "corpus/visible"},
	{from: "corpus/selection", may: []string{"corpus/attest/...", "corpus/exchange", "corpus/networks", "corpus/probe"}},
	{from: "templates", tests: []string{"corpus/tlog"}, may: []string{"content", "corpus/record", "corpus/attest", "corpus/derive", "corpus/networks", "templates/drawing"}},
	{from: "templates/drawing", tests: []string{"content"}},
	{from: "generator", may: []string{"content/...", "corpus/...", "generator/...", "templates/..."}},
	{from: "generator/bulk", may: []string{"corpus/record", "corpus/tlog", "corpus/attest", "generator/gitpack"}, tests: []string{"corpus/audit", "corpus/exchange", "corpus/ots", "corpus/probe"}},
	{from: "generator/gitpack"},

	{from: "dynamic", may: []string{"content/...", "corpus/...", "dynamic/...", "templates"}},
	{from: "dynamic/archive", may: []string{"corpus/record", "corpus/tlog", "corpus/view", "corpus/attest", "corpus/derive", "corpus/exchange", "corpus/networks"}},
	{from: "dynamic/budget", may: []string{"content/api", "dynamic/ledger", "dynamic/problem"}},
	{from: "dynamic/buyer", may: []string{"corpus/attest/...", "corpus/networks", "dynamic/ledger", "dynamic/rail", "dynamic/rail/x402"}},
	{from: "dynamic/challenge", may: []string{"dynamic/ledger"}},
	{from: "dynamic/desk", tests: []string{"dynamic", "dynamic/ledger/postgres"}, may: []string{"content/...", "corpus/...", "dynamic/archive", "dynamic/budget", "dynamic/challenge", "dynamic/feed", "dynamic/ledger", "dynamic/problem", "dynamic/route", "templates"}},
	{from: "dynamic/feed", tests: []string{"corpus/audit"}, may: []string{"corpus/record", "corpus/attest", "dynamic/ledger"}},
	{from: "dynamic/goods", may: []string{"content", "corpus/...", "dynamic/feed", "dynamic/ledger", "templates/drawing"}},
	{from: "dynamic/ledger"},
	{from: "dynamic/ledger/bolt", may: []string{"dynamic/ledger"}},
	{from: "dynamic/ledger/ledgertest", may: []string{"dynamic/ledger"}},
	{from: "dynamic/ledger/postgres", may: []string{"dynamic/ledger"}},
	{from: "dynamic/problem", may: []string{"content/api"}},
	{from: "dynamic/rail", may: []string{"corpus/attest/..."}},
	{from: "dynamic/rail/evm", may: []string{"corpus/attest/...", "corpus/networks", "dynamic/rail"}, tests: []string{"dynamic/ledger", "dynamic/rail/facilitator", "dynamic/rail/gas"}},
	{from: "dynamic/rail/facilitator", may: []string{"corpus/attest/...", "dynamic/ledger", "dynamic/rail", "dynamic/rail/gas"}, tests: []string{"dynamic/rail/evm"}},
	{from: "dynamic/rail/gas", may: []string{"dynamic/ledger", "dynamic/rail"}},
	{from: "dynamic/rail/railtest", may: []string{"dynamic/rail"}},
	{from: "dynamic/rail/x402", may: []string{"corpus/attest/...", "dynamic/rail"}},
	{from: "dynamic/roster", tests: []string{"corpus/audit", "cmd/devnet/street", "corpus/ots", "dynamic/ledger/bolt", "dynamic/ledger/postgres"}, may: []string{"content/api", "corpus/record", "corpus/attest", "corpus/census", "corpus/derive",
		"corpus/exchange", "corpus/fetch", "corpus/probe", "corpus/walk", "dynamic/feed", "dynamic/ledger", "dynamic/problem", "dynamic/route"}},
	{from: "dynamic/route", may: []string{"content/api", "dynamic/problem"}},
	{from: "dynamic/schedule", may: []string{"dynamic/ledger"}, tests: []string{"dynamic/ledger/bolt"}},
	{from: "dynamic/till", tests: []string{"dynamic/ledger/bolt", "dynamic/ledger/postgres", "dynamic/rail/evm"}, may: []string{"content/...", "corpus/record", "corpus/attest/...",
		"dynamic/budget", "dynamic/challenge", "dynamic/feed", "dynamic/goods", "dynamic/ledger", "dynamic/problem", "dynamic/rail", "dynamic/rail/gas", "dynamic/rail/x402", "dynamic/route", "templates/drawing"}},
}

// A door says which packages may import a module, or a part of one, in their code and, beside those, in their tests.
// The row with the longest path speaks for an import. The last row is of the standard library.
type door struct {
	module      string
	only, tests []string
}

var doors = []door{
	{module: "github.com/BurntSushi/toml", only: []string{"cmd/shop", "content"}},
	{module: "github.com/andybalholm/brotli", only: []string{"generator"}, tests: []string{"dynamic"}},
	{module: "github.com/cenkalti/backoff", only: []string{"corpus/census", "dynamic/ledger/postgres"}},
	{module: "github.com/decred/dcrd/dcrec/secp256k1", only: []string{"corpus/attest/wallet"}},
	{module: "github.com/ethereum/go-ethereum", only: []string{"cmd/devnet/...", "dynamic/rail/evm"}, tests: []string{"corpus/attest/wallet", "dynamic/till"}},
	{module: "github.com/ethereum/go-ethereum/common", only: []string{"cmd/bench", "cmd/devnet/...", "dynamic/rail/evm"}, tests: []string{"corpus/attest/wallet", "dynamic/..."}},
	{module: "github.com/ethereum/go-ethereum/core", only: []string{"cmd/devnet/..."}},
	{module: "github.com/ethereum/go-ethereum/core/types", only: []string{"cmd/bench", "cmd/devnet/...", "dynamic/rail/evm"}, tests: []string{"dynamic/till"}},
	{module: "github.com/ethereum/go-ethereum/crypto", only: []string{"cmd/bench", "cmd/devnet/...", "cmd/shop", "dynamic/rail/evm"}, tests: []string{"corpus/attest/wallet", "dynamic/..."}},
	{module: "github.com/ethereum/go-ethereum/eth", only: []string{"cmd/devnet/chain"}},
	{module: "github.com/ethereum/go-ethereum/miner", only: []string{"cmd/devnet/chain"}},
	{module: "github.com/ethereum/go-ethereum/node", only: []string{"cmd/devnet/chain"}},
	{module: "github.com/ethereum/go-ethereum/p2p", only: []string{"cmd/devnet/chain"}},
	{module: "github.com/fsnotify/fsnotify", only: []string{"generator"}},
	{module: "github.com/getkin/kin-openapi", tests: []string{"*"}},
	{module: "github.com/go-chi/chi", only: []string{"dynamic"}},
	{module: "github.com/go-git/go-git", only: []string{"generator/..."}},
	{module: "github.com/go-json-experiment/json", only: []string{"*"}},
	{module: "github.com/google/go-cmp", tests: []string{"*"}},
	{module: "github.com/google/jsonschema-go", only: []string{"content/api", "dynamic/till"}},
	{module: "github.com/gowebpki/jcs", only: []string{"corpus/attest"}},
	{module: "github.com/holiman/uint256", only: []string{"cmd/devnet/..."}},
	{module: "github.com/jackc/pgx", only: []string{"dynamic/ledger/ledgertest", "dynamic/ledger/postgres"}},
	{module: "github.com/klauspost/compress", only: []string{"generator/..."}},
	{module: "github.com/lmittmann/tint", only: []string{"cmd/devnet", "cmd/store"}},
	{module: "github.com/ncruces/go-sqlite3", only: []string{"generator/bulk"}},
	{module: "github.com/prometheus/client_golang", only: []string{"dynamic"}},
	{module: "github.com/rogpeppe/go-internal", tests: []string{"*"}},
	{module: "github.com/schollz/progressbar", only: []string{"cmd/store"}},
	{module: "github.com/yuin/goldmark", only: []string{"generator"}},
	{module: "go.etcd.io/bbolt", only: []string{"dynamic/ledger/bolt"}},
	{module: "golang.org/x/crypto", only: []string{"corpus/attest/wallet", "corpus/exchange"}},
	{module: "golang.org/x/mod", only: []string{"corpus/tlog"}},
	{module: "golang.org/x/net", only: []string{"corpus/onpage"}, tests: []string{"generator"}},
	{module: "golang.org/x/net/publicsuffix", only: []string{"corpus/census"}},
	{module: "golang.org/x/net/idna", only: []string{"corpus/fetch"}},
	{module: "golang.org/x/net/dns", tests: []string{"corpus/fetch"}},
	{module: "golang.org/x/sync", only: []string{"*"}},
	{module: "golang.org/x/term", only: []string{"cmd/store"}},
	{module: "golang.org/x/sys", only: []string{"generator"}},
	{module: "golang.org/x/text", only: []string{"dynamic/goods"}},
	{module: "rsc.io/qr", only: []string{"templates"}},

	{module: "testing", only: []string{"corpus/corpustest", "corpus/record/recordtest", "cmd/devnet/bitcoin", "cmd/devnet/browser", "cmd/devnet/chaintest", "cmd/devnet/clients", "cmd/devnet/daemon", "cmd/devnet/lint", "cmd/devnet/npmtest", "cmd/devnet/oracles", "dynamic/ledger/ledgertest", "dynamic/rail/railtest"}, tests: []string{"*"}},
}

// apart says what a package is never linked with, however far away.
var apart = []struct {
	from  string
	never []string
}{
	{"cmd/check", []string{"dynamic/...", "generator/...", "templates/...", "content/...", "github.com/ethereum/...", "github.com/go-chi/..."}},
	{"cmd/verify", []string{"dynamic/...", "generator/...", "templates/...", "github.com/ethereum/...", "github.com/go-chi/..."}},
	{"cmd/store", []string{"cmd/devnet/...", "testing", "github.com/ethereum/go-ethereum/node"}},
	{"content", []string{"dynamic/...", "generator/...", "templates/..."}},
	{"corpus/audit", []string{"dynamic/...", "generator/...", "github.com/ethereum/..."}},
	{"corpus/view", []string{"dynamic/...", "generator/...", "github.com/ethereum/..."}},
	{"templates", []string{"dynamic/...", "generator/..."}},
	{"generator", []string{"dynamic/...", "github.com/ethereum/...", "github.com/go-chi/..."}},
	{"dynamic", []string{"cmd/...", "generator/...", "testing"}},
	{"dynamic/rail/evm", []string{"cmd/...", "testing"}},
}
