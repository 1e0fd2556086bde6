package stockclient

import (
	"math"
	"math/big"
	"net/http"
	"slices"
	"strings"

	"store.example/agentstore/corpus/networks"
)

// v1Networks are the networks of EVM that x402-fetch 1.2.0 knows, by their short names.
var v1Networks = []string{"abstract", "abstract-testnet", "base-sepolia", "base", "avalanche-fuji", "avalanche",
	"iotex", "sei", "sei-testnet", "polygon", "polygon-amoy", "peaq", "story", "educhain", "skale-base-sepolia"}

// judgeV1 replays x402-fetch 1.2.0 with an account of EVM: it reads the body alone, refuses the
// whole offer for one entry that is not of its form, prefers USDC in the spelling of its own table,
// on whatever network, and pays at most a tenth of a dollar (of any token with six decimals) unless
// it was told otherwise. Texts of its schema library are not repeated.
func (d *Door) judgeV1(unlimited bool) Answer {
	a := Answer{Dropped: []Dropped{}, Hazards: []Hazard{}, CannotSee: cannotSee, Assets: AssetTable,
		CapApplied: Cap{USD: "0.1", Source: "default"}}
	if unlimited {
		a.CapApplied = Cap{Source: "off"}
	}
	stop := func(outcome, stage, text string) Answer {
		a.Outcome, a.Stage, a.ThrowsWith = outcome, stage, text
		return a
	}
	if d.Status != http.StatusPaymentRequired {
		return stop(CannotSimulate, StageChallenge, errNo402.Error())
	}
	if _, a.Cause = d.refusedHead(); a.Cause != "" {
		return stop(WouldThrow, StageFetch, "fetch failed")
	}
	body, err := d.body()
	if err != nil {
		return stop(WouldThrow, StageChallenge, "the body holds no JSON")
	}
	list, ok := maybe(body, "accepts").([]value)
	if !ok {
		return stop(WouldThrow, StageChallenge, "the body has no list accepts")
	}
	for _, e := range list {
		if bad := badV1(e); bad != "" {
			return stop(WouldThrow, StageChallenge, "an entry of accepts has no valid "+bad)
		}
	}
	if len(list) == 0 {
		return stop(WouldThrow, StageScheme, "accepts is empty")
	}
	// It does not ask which networks its account can pay on.
	at := max(0, slices.IndexFunc(list, func(e value) bool { return v1USDC(e) != nil }))
	e := list[at]
	amount := text(maybe(e, "maxAmountRequired"))
	a.Chosen = &Chosen{Index: at, Network: shown(maybe(e, "network")), Asset: shown(maybe(e, "asset")),
		AmountAtomic: shown(amount)}
	a.Chosen.WindowSeconds, _ = maybe(e, "maxTimeoutSeconds").(float64)
	if n, ok := new(big.Int).SetString(amount, 10); !unlimited && (!ok || n.Cmp(big.NewInt(100_000)) > 0) {
		return stop(WouldThrow, StageCap, "Payment amount exceeds maximum allowed")
	}
	if !slices.Contains(v1Networks, text(maybe(e, "network"))) {
		return stop(WouldThrow, StageScheme, "Invalid svm wallet client provided")
	}
	if t := v1USDC(e); t != nil && (maybe(maybe(e, "extra"), "name") != value(t.Name) ||
		maybe(maybe(e, "extra"), "version") != value(t.Version)) {
		a.hazard("domain-differs", "extra.name and extra.version are not those of the token, so the signature will "+
			"not settle")
	}
	a.Outcome = WouldSign
	return a
}

// badV1 names the member that the client's schema refuses, "" for none.
func badV1(e value) string {
	if scheme := maybe(e, "scheme"); scheme != value("exact") {
		return "scheme"
	}
	network, _ := maybe(e, "network").(string)
	if !slices.Contains(v1Networks, network) && network != "solana" && network != "solana-devnet" {
		return "network"
	}
	if amount, _ := maybe(e, "maxAmountRequired").(string); !isDigits(amount) || len(amount) > 78 {
		return "maxAmountRequired"
	}
	if at, _ := maybe(e, "resource").(string); !strings.Contains(at, "://") {
		return "resource"
	}
	for _, name := range []string{"description", "mimeType"} {
		if _, ok := maybe(e, name).(string); !ok {
			return name
		}
	}
	for _, name := range []string{"payTo", "asset"} {
		if s, _ := maybe(e, name).(string); s == "" || strings.HasPrefix(s, "0x") && !isHexAddress(s) ||
			strings.ContainsAny(s, ". ") {
			return name
		}
	}
	if s, ok := maybe(e, "maxTimeoutSeconds").(float64); !ok || s != math.Trunc(s) {
		return "maxTimeoutSeconds"
	}
	for _, name := range []string{"extra", "outputSchema"} {
		switch maybe(e, name).(type) {
		case undefined, *object:
		default:
			return name
		}
	}
	return ""
}

// v1USDC is the USDC of an entry's network in the spelling of the client's table, nil for another
// token.
func v1USDC(e value) *networks.Token {
	chain, ok := networks.FindV1(text(maybe(e, "network")))
	if !ok {
		return nil
	}
	t, ok := networks.USDC(chain.ID)
	if !ok || maybe(e, "asset") != value(t.Address) {
		return nil
	}
	return &t
}
