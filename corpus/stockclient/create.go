package stockclient

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/corpus/networks"
)

// create is what the client does with the chosen entry before its wallet signs: the scheme's
// createPaymentPayload, as far as it depends on the challenge. On Solana the client also asks a
// node, which is not replayed.
func (r *run) create(e entry, now time.Time) error {
	r.at, r.about = StageCreation, AboutMethod
	if e.family == "solana" {
		r.about = AboutSolana
	}
	var ceiling *big.Int
	if r.config.Client.Controls {
		// The ceiling is looked up once more, for the scheme; with the controls off too.
		def, err := defaultAsset(e)
		if err != nil {
			return err
		}
		if !r.config.Controls.Off {
			if ceiling, _, err = r.limit(e, def); err != nil {
				return err
			}
		}
	}
	switch {
	case e.family == "solana":
		return r.createSolana(e)
	case e.scheme == Batch:
		return r.createBatch(e, ceiling, now)
	case e.scheme == Capture:
		return r.createCapture(e, now)
	}
	return r.createEVM(e, now)
}

func (r *run) createEVM(e entry, now time.Time) error {
	extra := e.get("extra")
	deadline := plus(float64(now.Unix()), e.get("maxTimeoutSeconds"))
	if maybe(extra, "assetTransferMethod") == value("permit2") {
		if err := r.address(e.get("asset")); err != nil {
			return err
		}
		if err := r.payToAndChain(e); err != nil {
			return err
		}
		return r.numbers(e.get("amount"), deadline)
	}
	if err := r.payToAndChain(e); err != nil {
		return err
	}
	if falsy(maybe(extra, "name")) || falsy(maybe(extra, "version")) {
		return throwf("EIP-712 domain parameters (name, version) are required in payment requirements for asset %s",
			text(e.get("asset")))
	}
	if err := r.address(e.get("asset")); err != nil {
		return err
	}
	return r.numbers(e.get("amount"), deadline)
}

// payToAndChain reads whom an entry pays, and on which chain.
func (r *run) payToAndChain(e entry) error {
	before := r.about
	r.about = AboutPayTo
	if err := r.address(e.get("payTo")); err != nil {
		return err
	}
	r.about = AboutNetwork
	if err := chainNumber(e.network); err != nil {
		return err
	}
	r.about = before
	return nil
}

func (r *run) createSolana(e entry) error {
	payTo, _ := e.get("payTo").(string)
	if _, err := networks.ParseSolanaAccount(payTo); err != nil {
		r.about = AboutPayTo
		return inexact{"payTo is not a Solana address"}
	}
	n, err := bigInt(e.get("amount"))
	if err != nil {
		r.about = AboutAmount
		return err
	}
	if n.Sign() < 0 || n.BitLen() > 64 {
		r.about = AboutAmount
		return inexact{"the amount does not fit into 64 bits"}
	}
	extra := e.get("extra")
	if falsy(maybe(extra, "feePayer")) {
		return throwf("feePayer is required in paymentRequirements.extra for SVM transactions")
	}
	if memo, ok := maybe(extra, "memo").(string); ok && len(memo) > 256 {
		return throwf("extra.memo exceeds maximum 256 bytes")
	}
	return nil
}

// inexact is an exception whose text is ours, not the client's.
type inexact struct{ message string }

func (i inexact) Error() string { return i.message }

// isHexAddress is /^0x[a-fA-F0-9]{40}$/.
func isHexAddress(s string) bool {
	return len(s) == 42 && s[:2] == "0x" && strings.Trim(s[2:], "0123456789abcdefABCDEF") == ""
}

// address is viem's getAddress, which does not mind the case.
func (r *run) address(v value) error {
	s := text(v)
	if !isHexAddress(s) {
		return r.noAddress(s)
	}
	if _, isText := v.(string); !isText {
		return throwf("address.toLowerCase is not a function")
	}
	return nil
}

func (r *run) noAddress(s string) error {
	return throwf("Address %q is invalid.\n\n- Address must be a hex value of 20 bytes (40 hex characters).\n"+
		"- Address must match its checksum counterpart.\n\nVersion: viem@%s", raw(s), r.config.Client.Viem)
}

// raw prints with %q as JavaScript prints a string between quotes: as it is.
type raw string

func (s raw) Format(f fmt.State, _ rune) { fmt.Fprint(f, `"`+string(s)+`"`) }

var caipEVM = regexp.MustCompile(`^eip155:([0-9]+)$`)

// chainNumber is getEvmChainId.
func chainNumber(network value) error {
	s, ok := network.(string)
	if !ok {
		return throwf("network.startsWith is not a function")
	}
	m := caipEVM.FindStringSubmatch(s)
	if m == nil {
		return throwf("Invalid CAIP-2 chain ID: %s", s)
	}
	if f, _ := strconv.ParseFloat(m[1], 64); f > 1<<53-1 {
		return throwf("Invalid CAIP-2 chain ID: %s", s)
	}
	return nil
}

// plus is (now + v).toString().
func plus(now float64, v value) value {
	switch v := v.(type) {
	case nil:
		return number(now)
	case undefined:
		return "NaN"
	case bool:
		if v {
			now++
		}
		return number(now)
	case float64:
		return number(now + v)
	}
	return number(now) + text(v)
}

// numbers is BigInt of the amount and of the deadline, and then viem's refusal of what no uint256
// can hold.
func (r *run) numbers(amount, deadline value) error {
	about := []string{AboutAmount, r.about}
	numbers := make([]*big.Int, 2)
	for i, v := range []value{amount, deadline} {
		var err error
		if numbers[i], err = bigInt(v); err != nil {
			r.about = about[i]
			return err
		}
	}
	most := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))
	for i, n := range numbers {
		r.about = about[i]
		if n.Sign() < 0 || n.Cmp(most) > 0 {
			return throwf("Number \"%dn\" is not in safe 256-bit unsigned integer range (0n to %dn)\n\nVersion: "+
				"viem@%s", n, most, r.config.Client.Viem)
		}
	}
	return nil
}

// bigInt is BigInt(v) (ECMA-262, section 21.2.1.1).
func bigInt(v value) (*big.Int, error) {
	switch v := v.(type) {
	case nil, undefined:
		return nil, throwf("Cannot convert %s to a BigInt", text(v))
	case bool:
		if v {
			return big.NewInt(1), nil
		}
		return new(big.Int), nil
	case float64:
		if v != math.Trunc(v) || math.IsInf(v, 0) {
			return nil, throwf("The number %s cannot be converted to a BigInt because it is not an integer", number(v))
		}
		n, _ := big.NewFloat(v).Int(nil)
		return n, nil
	}
	s := text(v)
	trimmed := strings.TrimFunc(s, space)
	base, body := 10, trimmed
	if len(trimmed) > 2 && trimmed[0] == '0' {
		switch trimmed[1] | 0x20 {
		case 'x':
			base, body = 16, trimmed[2:]
		case 'o':
			base, body = 8, trimmed[2:]
		case 'b':
			base, body = 2, trimmed[2:]
		}
	}
	switch {
	case trimmed == "":
		return new(big.Int), nil
	case base != 10 && (body[0] == '+' || body[0] == '-'), strings.Contains(body, "_"):
	default:
		if n, ok := new(big.Int).SetString(body, base); ok {
			return n, nil
		}
	}
	return nil, throwf("Cannot convert %s to a BigInt", s)
}

// space is what JavaScript trims: White_Space of Unicode without U+0085, and the byte order mark.
func space(c rune) bool {
	switch c {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff:
		return true
	}
	return c >= 0x2000 && c <= 0x200a
}
