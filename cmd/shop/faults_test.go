package shop

import (
	"path/filepath"
	"strings"
	"testing"
)

// A fault is one wrong value of a configuration that is otherwise right, and what the error says of
// how to mend it. The key is named as the error names it.
type fault struct{ key, value, mend string }

var faults = []fault{
	{"base_url", `""`, "must be https://host"},
	{"base_url", `"store.example"`, "must be https://host"},
	{"base_url", `"ftp://store.example"`, "must be https://host"},
	{"base_url", `"https://store.example/"`, "without a path or a slash at its end"},
	{"base_url", `"https://store.example/shop"`, "without a path"},
	{"base_url", `"https://store.example?x=1"`, "must be https://host"},
	{"base_url", `"https://me:pass@store.example"`, "must be https://host"},
	{"base_url", `"http://store.example"`, "must be https unless"},
	{"base_url", `5`, "see store config"},
	{"listen", `"4020"`, "such as 127.0.0.1:4020"},
	{"listen", `"127.0.0.1"`, "such as 127.0.0.1:4020"},
	{"listen", `"127.0.0.1:99999"`, "such as 127.0.0.1:4020"},
	{"listen", `4020`, "see store config"},
	{"debug_listen", `"0.0.0.0:4021"`, "such as 127.0.0.1:4021"},
	{"debug_listen", `"4021"`, "such as 127.0.0.1:4021"},
	{"debug_listen", `"store.example:4021"`, "such as 127.0.0.1:4021"},
	{"ledger", `""`, "give exactly one of ledger and ledger_file"},
	{"ledger", `"sqlite:var/ledger"`, "bolt:var/ledger.bolt"},
	{"ledger", `"var/ledger.bolt"`, "bolt:var/ledger.bolt"},
	{"ledger", `"bolt:"`, "bolt:var/ledger.bolt"},
	{"ledger_file", `"ledger.address"`, "give exactly one of ledger and ledger_file"},
	{"host_pages_max", `-1`, "0 is no limit"},
	{"host_pages_max", `"many"`, "see store config"},
	{"keys.identity", `""`, "store key init"},
	{"keys.ring", `""`, "store key init"},
	{"keys.secret", `""`, "store key init"},
	{"keys.older", `"old.pem"`, "see store config"},
	{"tls.email", `"me@store.example"`, "tls.storage is needed, a folder such as var/tls"},
	{"tls.redirect", `"0.0.0.0:80"`, "tls.storage is needed"},
	{"network.id", `""`, "id and pay_to are needed"},
	{"network.id", `"base"`, "eip155:8453"},
	{"network.id", `"eip155:"`, "eip155:8453"},
	{"network.id", `"bitcoin:000000000019d6689c085ae165831e93"`, "eip155:8453"},
	{"network.id", `"eip155:137"`, "stands twice"},
	{"network.pay_to", `""`, "id and pay_to are needed"},
	{"network.pay_to", `"me.eth"`, "name a wallet of yours"},
	{"network.pay_to", `"0x1234"`, "name a wallet of yours"},
	{"network.pay_to", `"0x7e5F4552091A69125d5DfCb7b8C2659029395Bdf"`, "name a wallet of yours"},
	{"network.pay_to", `"0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"`, "is the contract of USDC on Base"},
	{"network.pay_to", `"0x0000000000000000000000000000000000000000"`, "name a wallet of yours"},
	{"network.rpc", `["https://base.example"]`, "give exactly one of rpc and rpc_file"},
	{"network.rpc", `"https://base.example"`, "see store config"},
	{"network.rpc_file", `""`, "give exactly one of rpc and rpc_file"},
	{"network.relayer_key", `""`, "give exactly one of relayer_key and facilitator"},
	{"network.facilitator", `"https://facilitator.example"`, "give exactly one of relayer_key and facilitator"},
	{"network.together", `-1`, "between 0 and 50"},
	{"network.together", `51`, "between 0 and 50"},
	{"network.transfer", `"cash"`, "is neither eip3009 nor permit2"},
	{"network.coin_price", `"dear"`, "such as"},
	{"network.coin_price", `"-3"`, "such as"},
	{"network.coin_price", `"0"`, "give its price"},
	{"network.coin_price", `3000`, "see store config"},
	{"network.coin_price_date", `"yesterday"`, "such as 2026-11-20"},
	{"network.coin_price_date", `"20.11.2026"`, "such as 2026-11-20"},
	{"network.max_fee_wei", `"lots"`, "such as"},
	{"network.gas_alarm_wei", `"0.01"`, "such as"},
	{"network.settle_cost", `"cheap"`, "give coin_price and coin_price_date"},
	{"network.depth", `-1`, "0 takes the known network's"},
	{"network.finality", `-1`, "0 takes the known network's"},
	{"network.depth", `"deep"`, "see store config"},
	{"network.poll", `"often"`, "such as 45s"},
	{"network.poll", `"-1s"`, "such as 45s"},
	{"network.genesis_hash", `"0x12"`, "or any for a local chain"},
	{"network.factories", `["wallet"]`, "name contracts"},
	{"gas.subsidy", `"much"`, "such as"},
	{"gas.reverts", `"-1"`, "such as"},
	{"instruments.contact", `"me"`, "such as https://"},
	{"instruments.walks", `-1`, "0 takes"},
	{"instruments.recordings_max", `-1`, "0 takes"},
	{"instruments.host_requests", `-5`, "0 takes"},
	{"instruments.own_addresses", `["store.example"]`, "such as 192.0.2.7"},
	{"census.cap", `-1`, "0 takes"},
	{"census.workers", `-1`, "0 takes"},
	{"census.spacing", `"fast"`, "such as 45s"},
	{"census.control", `"http://control.store.example/paid"`, "must be an https URL"},
	{"discovery.name", `""`, "give each a name of its own"},
	{"discovery.name", `"second"`, "give each a name of its own"},
	{"discovery.url", `"http://catalogue.example"`, "must be https://host/path"},
	{"discovery.url", `""`, "must be https://host/path"},
	{"timestamps.calendars", `["https://a.pool.opentimestamps.org"]`, "name two or more"},
	{"timestamps.calendars", `["http://a.example", "https://b.example"]`, "is not https://host"},
	{"timestamps.explorers", `["https://esplora.example/api"]`, "name two or more"},
	{"timestamps.explorers", `["https://a.example/", "https://b.example"]`, "without a slash at its end"},
	{"witness.url", `"witness.example"`, "https"},
	{"witness.key", `"witness.example"`, "+"},
	{"facilitator.listen", `"127.0.0.1:4030"`, "give listen and pay_to together"},
	{"facilitator.pay_to", `["0x7E5F4552091A69125d5dfCb7b8C2659029395Bdf"]`, "give listen and pay_to together"},
	{"facilitator.wait", `"10m"`, "for which stock clients wait"},
	{"launch.daily", `"little"`, "such as"},
	{"bounties.key", `"bounty.key"`, "bounties.screen is needed"},
	{"bounties.screen", `["http://list.example"]`, "https"},
	{"trade.account", `"The Bazaar"`, "lower-case"},
	{"trade.account", `""`, "lower-case"},
	{"trade.account", `"sandbox"`, "give each a name of its own"},
	{"trade.partner", `""`, "name the marketplace"},
	{"trade.secret", `""`, "the file of its secret"},
	{"trade.credit", `"some"`, "such as"},
	{"trade.daily", `"all"`, "such as"},
	{"desk.listen", `"0.0.0.0:4022"`, "such as 127.0.0.1:4022"},
	{"desk.listen", `"4022"`, "such as 127.0.0.1:4022"},
	{"server.settle_wait", `"soon"`, "such as 45s"},
	{"server.settle_wait", `45`, "see store config"},
	{"server.max_in_flight", `-1`, "0 takes"},
	{"server.log_level", `"loud"`, "debug, info, warn, error"},
	{"server.trusted_proxies", `["proxy.example"]`, "such as 10.0.0.0/8"},
	{"server.trusted_proxies", `["10.0.0.0/33"]`, "such as 10.0.0.0/8"},
}

// with is a configuration with another value of a key, the first in which it stands.
func with(t *testing.T, text, key, value string) string {
	t.Helper()
	table, name, ok := strings.Cut(key, ".")
	at := 0
	if !ok {
		name = key
	} else if at = strings.Index(text, "["+table+"]"); at < 0 {
		t.Fatalf("there is no table %s", table)
	}
	from := strings.Index(text[at:], "\n"+name+" = ")
	if from < 0 {
		t.Fatalf("there is no key %s", key)
	}
	from += at + 1
	return text[:from] + name + " = " + value + text[from+strings.IndexByte(text[from:], '\n'):]
}

// TestFaultsAreExplained: of each fault the error says where it is (file and key) and how to mend
// it.
func TestFaultsAreExplained(t *testing.T) {
	t.Parallel()
	good := Annotated(Example())
	seen := make(map[fault]bool)
	for _, f := range faults {
		file := write(t, with(t, good, f.key, f.value))
		_, err := Load(file)
		if err == nil {
			t.Errorf("%s = %s is taken", f.key, f.value)
			continue
		}
		said := err.Error()
		name := f.key[strings.IndexByte(f.key, '.')+1:]
		if !strings.Contains(said, file) || !strings.Contains(said, name) || !strings.Contains(said, f.mend) {
			t.Errorf("%s = %s: want the file, the key and %q in: %s", f.key, f.value, f.mend,
				strings.ReplaceAll(said, filepath.Dir(file), ""))
		}
		if key := (fault{f.key, f.value, ""}); seen[key] {
			t.Errorf("%s = %s stands twice", f.key, f.value)
		} else {
			seen[key] = true
		}
	}
	t.Logf("%d faults", len(faults))
}
