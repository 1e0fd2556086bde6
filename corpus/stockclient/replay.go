package stockclient

import (
	"math/big"
	"slices"
	"strings"

	"store.example/agentstore/corpus/networks"
)

// The stages at which an entry of accepts can drop out, in order.
const (
	StageScheme    = "scheme"
	StageFlow      = "payment-flow"
	StageAssets    = "asset-allowlist"
	StageCap       = "amount-cap"
	StagePrefer    = "prefer-authorization"
	StageSelector  = "not-selected"
	StageCreation  = "payload-creation"
	StageChallenge = "challenge"
	StageFetch     = "fetch" // before the client sees an answer
)

// Dropped is an entry that the client does not sign, and the stage that decided it.
type Dropped struct {
	Index   int    `json:"index"`
	Network string `json:"network"`
	Asset   string `json:"asset"`
	Stage   string `json:"stage"` // Stage…
	Why     string `json:"why"`
}

// entry is an element of accepts that is still in the running. Its network matched a registered
// pattern and its scheme is registered there, so it is an object; its network is a string or an
// array that prints as one.
type entry struct {
	index   int
	v       value
	network value
	family  string
	scheme  string
}

func (e entry) get(name string) value { return maybe(e.v, name) }
func (e entry) flow() value           { return maybe(e.get("extra"), "paymentFlow") }

// A run is one selection.
type run struct {
	config  Config
	dropped []Dropped
	at      string // the stage that runs
	about   string // what it looks at, About…
}

// choose is createPaymentPayload up to the choice, and selectPaymentRequirements. The error is
// thrown.
func (r *run) choose(required value) (entry, error) {
	version, err := get(required, "x402Version")
	if err != nil {
		return entry{}, err
	}
	if version != value(2.0) {
		return entry{}, throwf("No client registered for x402 version: %s", text(version))
	}
	left, err := r.schemes(maybe(required, "accepts"))
	if err != nil {
		return entry{}, err
	}
	if r.config.Client.Flows {
		if left, err = r.flows(left); err != nil {
			return entry{}, err
		}
	}
	if r.config.Client.Controls && !r.config.Controls.Off {
		if left, err = r.assets(left); err != nil {
			return entry{}, err
		}
		if left, err = r.caps(left); err != nil {
			return entry{}, err
		}
	}
	if r.config.Client.Flows {
		left = r.prefer(left)
	}
	for _, e := range left[1:] {
		r.drop(e.index, e.v, StageSelector,
			"an earlier entry survived too, and the first survivor is signed whatever the price")
	}
	return left[0], nil
}

func (r *run) drop(index int, v value, stage, why string) {
	r.dropped = append(r.dropped, Dropped{Index: index, Network: shown(maybe(v, "network")),
		Asset: shown(maybe(v, "asset")), Stage: stage, Why: why})
}

// shown is a value for people, bounded.
func shown(v value) string {
	if v == (undefined{}) {
		return ""
	}
	s := text(v)
	if len(s) > 120 {
		s = strings.ToValidUTF8(s[:120], "") + "…"
	}
	return s
}

func (r *run) schemes(accepts value) ([]entry, error) {
	r.at = StageScheme
	list, ok := accepts.([]value)
	if !ok {
		if nullish(accepts) {
			return nil, throwf("Cannot read properties of %s (reading 'filter')", text(accepts))
		}
		return nil, throwf("paymentRequirements.filter is not a function")
	}
	var left []entry
	r.about = AboutNetwork
	for i, v := range list {
		network, err := get(v, "network")
		if err != nil {
			return nil, err
		}
		family := ""
		for _, f := range r.config.Client.Families {
			if matches(f+":*", text(network)) {
				family = f
				break
			}
		}
		switch {
		case family == "":
			r.drop(i, v, StageScheme, "the client has nothing registered for this network")
		default:
			scheme, _ := maybe(v, "scheme").(string)
			known := r.config.Client.registered(family)
			if slices.Contains(known, scheme) {
				left = append(left, entry{i, v, network, family, scheme})
				continue
			}
			r.about = AboutMethod
			r.drop(i, v, StageScheme, knowsAlone(known))
		}
	}
	if len(left) > 0 {
		r.about = AboutMethod
		return left, nil
	}
	b := append([]byte("No network/scheme registered for x402 version: 2 which comply with the payment requirements. "),
		`{"x402Version":2,"paymentRequirements":`...)
	b = append(appendJSON(b, list), `,"x402Versions":[2],"networks":[`...)
	var schemes []string
	for i, f := range r.config.Client.Families {
		if i > 0 {
			b = append(b, ',')
		}
		b, schemes = appendString(b, f+":*"), append(schemes, r.config.Client.registered(f)...)
	}
	return nil, thrown{string(append(b, `],"schemes":["`...)) + strings.Join(schemes, `","`) + `"]}`}
}

// knowsAlone says which schemes a client has on a network.
func knowsAlone(schemes []string) string {
	if len(schemes) == 1 {
		return "the client knows the scheme exact alone on this network"
	}
	return "the client knows the schemes " + strings.Join(schemes, " and ") + " alone on this network"
}

func (r *run) flows(in []entry) (left []entry, err error) {
	r.at = StageFlow
	for _, e := range in {
		if f := e.flow(); nullish(f) || f == value("authorization") || f == value("upfront") || f == value("escrow") {
			left = append(left, e)
		} else {
			r.drop(e.index, e.v, StageFlow, "extra.paymentFlow is none the client knows")
		}
	}
	if len(left) == 0 {
		return nil, throwf("No payment requirements with a recognized paymentFlow for x402 version: 2")
	}
	return left, nil
}

// defaultAsset is findDefaultAsset of the entry's scheme.
func defaultAsset(e entry) (*networks.Token, error) {
	network, asset := text(e.network), e.get("asset")
	if e.family == "solana" {
		if _, isText := e.network.(string); !isText ||
			!slices.ContainsFunc(assets, func(a networks.Token) bool { return a.Network == network }) {
			return nil, throwf("Unsupported SVM network: %s", network)
		}
		for i := range assets {
			if assets[i].Network == network && asset == value(assets[i].Address) {
				return &assets[i], nil
			}
		}
		return nil, nil
	}
	lower, known := "", false
	for i := range assets {
		if assets[i].Network != network {
			continue
		}
		if !known {
			var err error
			if lower, err = toLowerCase(asset, "asset"); err != nil {
				return nil, err
			}
			known = true
		}
		if lowerAssets[i] == lower {
			return &assets[i], nil
		}
	}
	return nil, nil
}

// toLowerCase is v.toLowerCase(), where expression is how the client's source names v.
func toLowerCase(v value, expression string) (string, error) {
	switch v := v.(type) {
	case string:
		return strings.ToLower(v), nil
	case nil, undefined:
		return "", throwf("Cannot read properties of %s (reading 'toLowerCase')", text(v))
	}
	return "", throwf("%s.toLowerCase is not a function", expression)
}

// allowed is findSpendControlAssetEntry.
func (r *run) allowed(e entry, def *networks.Token) (*Allowed, error) {
	if r.config.Controls.AnyAsset {
		return nil, nil
	}
	for i := range r.config.Controls.Allowed {
		a := &r.config.Controls.Allowed[i]
		if !matches(a.Network, text(e.network)) {
			continue
		}
		asset, err := toLowerCase(e.get("asset"), "requirement.asset")
		if err != nil {
			return nil, err
		}
		if want := strings.ToLower(a.Asset); want == asset || def != nil && strings.ToLower(def.Symbol) == want {
			return a, nil
		}
	}
	return nil, nil
}

func (r *run) assets(in []entry) (left []entry, err error) {
	r.at = StageAssets
	if r.config.Controls.AnyAsset {
		return in, nil
	}
	for _, e := range in {
		def, err := defaultAsset(e)
		if err != nil {
			return nil, err
		}
		ok := def != nil
		if !ok {
			a, err := r.allowed(e, nil)
			if err != nil {
				return nil, err
			}
			ok = a != nil
		}
		if ok {
			left = append(left, e)
		} else {
			r.drop(e.index, e.v, StageAssets, "the asset is not one of the client's default assets on this network")
		}
	}
	if len(left) == 0 {
		return nil, throwf("All payment requirements were rejected by spendControls: only default assets or entries " +
			"in spendControls.allowedAssets are allowed. Add an allowedAssets entry for non-default tokens, set " +
			"allowedAssets: true, " +
			"or set spendControls: false.")
	}
	return left, nil
}

// limit is resolveAtomicSpendCap; own says that the ceiling is the asset's own entry's. Nil is no
// ceiling.
func (r *run) limit(e entry, def *networks.Token) (ceiling *big.Int, own bool, err error) {
	a, err := r.allowed(e, def)
	if err != nil {
		return nil, false, err
	}
	if a != nil && a.Max != "" {
		if !isDigits(a.Max) {
			return nil, true, throwf("spendControls.allowedAssets[].maxAmountPerPayment must be an integer atomic "+
				"amount, not a dollar value; got %s",
				appendString(nil, a.Max))
		}
		n, _ := new(big.Int).SetString(a.Max, 10)
		return n, true, nil
	}
	if def == nil || r.config.Controls.Max.Off {
		return nil, false, nil
	}
	usd, err := parseMoney(r.config.Controls.Max)
	if err != nil {
		return nil, false, err
	}
	n, err := tokenAmount(usd, def.Decimals)
	return n, false, err
}

func (r *run) caps(in []entry) (left []entry, err error) {
	r.at = StageCap
	symbol, byAsset, everyOwn := "", false, true
	for _, e := range in {
		r.about = AboutMethod
		def, err := defaultAsset(e)
		if err != nil {
			return nil, err
		}
		ceiling, own, err := r.limit(e, def)
		if err != nil {
			return nil, err
		}
		everyOwn = everyOwn && own
		if ceiling == nil {
			left = append(left, e)
			continue
		}
		r.about = AboutAmount
		ok, why, err := r.within(e.get("amount"), ceiling, own)
		if err != nil {
			return nil, err
		}
		if ok {
			left = append(left, e)
			continue
		}
		if own {
			byAsset = true
		} else {
			symbol = def.Symbol
		}
		r.drop(e.index, e.v, StageCap, why)
	}
	if len(left) > 0 {
		return left, nil
	}
	if byAsset && everyOwn {
		return nil, throwf("All payment requirements were rejected by spendControls.allowedAssets " +
			"maxAmountPerPayment. " +
			"Raise the per-asset cap, or omit maxAmountPerPayment to allow uncapped (default assets then fall back " +
			"to the top-level USD cap).")
	}
	if symbol != "" {
		symbol = ", including " + symbol
	}
	return nil, throwf("All payment requirements were rejected by spendControls.maxAmountPerPayment (%s%s). "+
		"Raise maxAmountPerPayment, set it to false to disable, set allowedAssets[].maxAmountPerPayment for a "+
		"per-asset atomic cap, "+
		"or set spendControls: false to disable all spend controls.", r.config.Controls.Max.text(), symbol)
}

// within compares an amount with its ceiling. What is not all digits counts as dollars, unless the
// ceiling is the asset's own.
func (r *run) within(amount value, ceiling *big.Int, own bool) (bool, string, error) {
	if s := text(amount); isDigits(s) {
		n, _ := new(big.Int).SetString(s, 10)
		return n.Cmp(ceiling) <= 0, "the amount is above the client's ceiling per payment", nil
	}
	if own {
		return false, "the amount is no integer, and the asset has a ceiling in atomic units", nil
	}
	n, err := tokenAmount(amount, 18)
	if err != nil {
		return false, "", err
	}
	usd, err := parseMoney(r.config.Controls.Max)
	if err != nil {
		return false, "", err
	}
	most, err := tokenAmount(usd, 18)
	if err != nil {
		return false, "", err
	}
	return n.Cmp(most) <= 0, "the amount is no integer; read as dollars it is above the client's ceiling per payment",
		nil
}

func (r *run) prefer(in []entry) []entry {
	authorizes := func(e entry) bool { f := e.flow(); return nullish(f) || f == value("authorization") }
	if !slices.ContainsFunc(in, authorizes) {
		return in
	}
	var left []entry
	for _, e := range in {
		if authorizes(e) {
			left = append(left, e)
		} else {
			r.drop(e.index, e.v, StagePrefer, "it wants to be paid up front or into escrow, and an authorization is "+
				"on offer")
		}
	}
	return left
}

// matches is networkMatchesPattern: * stands for anything but line breaks, all else for itself.
func matches(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return s == pattern
	}
	rest, ok := strings.CutPrefix(s, parts[0])
	if !ok {
		return false
	}
	last := parts[len(parts)-1]
	if rest, ok = strings.CutSuffix(rest, last); !ok {
		return false
	}
	for _, p := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, p)
		if !found {
			return false
		}
		rest = after
	}
	// No pattern here holds a line break, so none may stand in what * matched.
	return !strings.ContainsAny(s, "\n\r\u2028\u2029")
}
