package stockclient

import (
	"math"
	"math/big"
	"strings"
	"time"

	"store.example/agentstore/corpus/exchange"
)

// depositMultiplier is how many times the amount a client deposits that is told no other sum, and
// how many times its ceiling it deposits at most.
const depositMultiplier = 5

// zeroAddress is what no key is behind.
const zeroAddress = "0x0000000000000000000000000000000000000000"

// createBatch is createPaymentPayload of BatchSettlementEvmScheme for a channel that nobody funded:
// the deposit and the first voucher are signed (@x402/evm 2.27.0, batch-settlement/client). The
// client asks no node where its wallet cannot.
func (r *run) createBatch(e entry, ceiling *big.Int, now time.Time) error {
	extra := e.get("extra")
	authorizer := maybe(extra, "receiverAuthorizer")
	if !falsy(authorizer) {
		if err := r.address(authorizer); err != nil {
			return err
		}
	}
	if falsy(authorizer) || text(authorizer) == zeroAddress {
		return throwf("Payment requirements must include a non-zero extra.receiverAuthorizer")
	}
	r.about = AboutNetwork
	if err := chainNumber(e.network); err != nil {
		return err
	}
	if err := r.channel(e, maybe(extra, "withdrawDelay")); err != nil {
		return err
	}
	r.about = AboutAmount
	amount, err := bigInt(e.get("amount"))
	if err != nil {
		return err
	}
	d, err := depositOf(amount, maybe(extra, "minDeposit"), ceiling)
	if err != nil {
		return err
	}
	r.about = AboutMethod
	method := maybe(extra, "assetTransferMethod")
	switch {
	case method == value("permit2"):
		deadline := plusNumber(float64(now.Unix()), e.get("maxTimeoutSeconds"))
		if f, isNumber := deadline.(float64); isNumber {
			deadline = number(math.Floor(f)) // of a text the client makes a number of more digits
		}
		return r.signDeposit(d, amount, deadline)
	case !nullish(method) && method != value("eip3009"):
		return throwf("unsupported batch-settlement assetTransferMethod: %s", text(method))
	case falsy(maybe(extra, "name")) || falsy(maybe(extra, "version")):
		return throwf("EIP-712 domain parameters (name, version) are required in payment requirements for asset %s",
			text(e.get("asset")))
	}
	return r.signDeposit(d, amount, plusNumber(float64(now.Unix()), e.get("maxTimeoutSeconds")))
}

// channel is computeChannelId, as far as it throws.
func (r *run) channel(e entry, delay value) error {
	r.about = AboutPayTo
	validate := func(v value) error {
		if s, ok := v.(string); ok && !strictAddress(s) {
			return r.noAddress(s)
		}
		return nil
	}
	if err := validate(e.get("payTo")); err != nil {
		return err
	}
	r.about = AboutMethod
	if err := validate(e.get("asset")); err != nil {
		return err
	}
	if seconds, ok := delay.(float64); ok {
		n, err := bigInt(seconds)
		if err != nil {
			return err
		}
		if err := r.uint(n, 40, ""); err != nil {
			return err
		}
	}
	// What is no text is found when it is written.
	for _, name := range []string{"payTo", "asset"} {
		if _, isText := e.get(name).(string); !isText {
			return r.notText(e.get(name))
		}
	}
	return nil
}

// notText is what viem makes of an address that is no text.
func (r *run) notText(v value) error {
	if s := text(v); !isHexAddress(s) {
		return r.noAddress(s)
	}
	return inexact{"an address is no text"}
}

// strictAddress is isAddress of viem, which minds the checksum.
func strictAddress(s string) bool {
	if !isHexAddress(s) {
		return false
	}
	digits := s[2:]
	return digits == strings.ToLower(digits) || digits != strings.ToUpper(digits) &&
		exchange.PayToForm(s) == exchange.FormEVM
}

// depositOf is depositAmountForRequest of a channel that nobody funded: the deposit that the seller
// names, or five times the amount, and no more than five times the client's ceiling.
func depositOf(amount *big.Int, minDeposit value, ceiling *big.Int) (*big.Int, error) {
	target := new(big.Int).Mul(amount, big.NewInt(depositMultiplier))
	if named := announced(minDeposit, amount); named != nil {
		target = named
	}
	if amount.Cmp(target) > 0 {
		target = amount
	}
	if ceiling == nil || ceiling.Sign() <= 0 {
		return target, nil
	}
	most := new(big.Int).Mul(ceiling, big.NewInt(depositMultiplier))
	if amount.Cmp(most) > 0 {
		return nil, throwf("Required deposit %d exceeds depositMultiplier × spendControls.maxAmountPerPayment (%d). "+
			"Raise maxAmountPerPayment or depositMultiplier.", amount, most)
	}
	if target.Cmp(most) > 0 {
		return most, nil
	}
	return target, nil
}

// announced is parseAnnouncedMinDeposit: nil where the client passes over what the seller names.
func announced(minDeposit value, amount *big.Int) *big.Int {
	s, ok := minDeposit.(string)
	if !ok || !isDigits(s) {
		return nil
	}
	n, _ := new(big.Int).SetString(s, 10)
	if n.Sign() <= 0 || n.Cmp(amount) < 0 {
		return nil
	}
	return n
}

// signDeposit is the two signatures of a first payment.
func (r *run) signDeposit(deposit, amount *big.Int, deadline value) error {
	end, err := bigInt(deadline)
	if err != nil {
		return err
	}
	for _, n := range []struct {
		n     *big.Int
		bits  int
		about string
	}{{deposit, 256, AboutAmount}, {end, 256, AboutMethod}, {amount, 128, AboutAmount}} {
		r.about = n.about
		if err := r.uint(n.n, n.bits, "n"); err != nil {
			return err
		}
	}
	return nil
}

// uint is viem's refusal of what an unsigned integer of so many bits cannot hold; suffix is "n"
// where it was given a bigint.
func (r *run) uint(n *big.Int, bits int, suffix string) error {
	most := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(bits)), big.NewInt(1))
	if n.Sign() >= 0 && n.Cmp(most) <= 0 {
		return nil
	}
	return throwf("Number \"%d%s\" is not in safe %d-bit unsigned integer range (0%s to %d%s)\n\nVersion: viem@%s", n,
		suffix, bits, suffix, most, suffix, r.config.Client.Viem)
}

// The escrow contracts of commerce-payments that a client knows, the first where none is named
// (@x402/evm 2.27.0, auth-capture/constants.ts).
const (
	EscrowV11 = "0xf96815976523E00e65Be8f34cA5e64b4f41EB19c"
	EscrowV10 = "0xBdEA0D1bcC5966192B070Fdf62aB4EF5b4420cff"
)

// captureNumbers are the members of extra that have to be numbers, in the client's order.
var captureNumbers = []string{"captureDeadline", "refundDeadline", "minFeeBps", "maxFeeBps"}

// createCapture is createPaymentPayload of AuthCaptureEvmScheme (@x402/evm 2.27.0).
func (r *run) createCapture(e entry, now time.Time) error {
	extra := e.get("extra")
	if nullish(extra) {
		return throwf("Cannot read properties of %s (reading 'name')", text(extra))
	}
	for _, name := range []string{"name", "version"} {
		if falsy(maybe(extra, name)) {
			return throwf("EIP-712 domain parameter '%s' is required in payment requirements for asset %s", name,
				text(e.get("asset")))
		}
	}
	required := func(name string) error { return throwf("'%s' is required in payment requirements extra", name) }
	for _, name := range []string{"captureAuthorizer", "feeRecipient"} {
		if falsy(maybe(extra, name)) {
			return required(name)
		}
	}
	for _, name := range captureNumbers {
		if _, ok := maybe(extra, name).(float64); !ok {
			return required(name)
		}
	}
	seconds, ok := e.get("maxTimeoutSeconds").(float64)
	if !ok {
		return throwf("'maxTimeoutSeconds' is required in PaymentRequirements (used to derive preApprovalExpiry)")
	}
	r.about = AboutNetwork
	if err := chainNumber(e.network); err != nil {
		return err
	}
	r.about = AboutMethod
	if _, known := escrowOf(maybe(extra, "authCaptureEscrow")); !known {
		return throwf("Invalid authCaptureEscrow in payment requirements extra")
	}
	r.about = AboutAmount
	amount, err := bigInt(e.get("amount"))
	if err != nil {
		return err
	}
	return r.paymentInfo(e, amount, float64(now.Unix())+seconds)
}

// paymentInfo is the encoding of what is signed for, in the order of its members.
func (r *run) paymentInfo(e entry, amount *big.Int, before float64) error {
	extra := e.get("extra")
	for _, a := range []struct {
		about string
		v     value
	}{{AboutMethod, maybe(extra, "captureAuthorizer")}, {AboutPayTo, e.get("payTo")}, {AboutMethod, e.get("asset")}} {
		r.about = a.about
		if err := r.strict(a.v); err != nil {
			return err
		}
	}
	r.about = AboutAmount
	if err := r.uint(amount, 120, ""); err != nil {
		return err
	}
	r.about = AboutMethod
	if err := r.number(before, 48); err != nil {
		return err
	}
	for i, name := range captureNumbers {
		f, _ := maybe(extra, name).(float64)
		if err := r.number(f, []int{48, 48, 16, 16}[i]); err != nil {
			return err
		}
	}
	return r.strict(maybe(extra, "feeRecipient"))
}

func (r *run) strict(v value) error {
	s, isText := v.(string)
	switch {
	case !isText:
		return r.notText(v)
	case !strictAddress(s):
		return r.noAddress(s)
	}
	return nil
}

// number is encodeNumber of viem for a number.
func (r *run) number(f float64, bits int) error {
	most := float64(uint64(1)<<bits - 1) // exact: at most 48 bits
	if f < 0 || f > most {
		return throwf("Number %q is not in safe %d-bit unsigned integer range (0 to %s)\n\nVersion: viem@%s",
			raw(number(f)), bits, number(most), r.config.Client.Viem)
	}
	_, err := bigInt(f)
	return err
}

// escrowOf is resolveAuthCaptureDeployment: which contract holds the money.
func escrowOf(v value) (escrow string, known bool) {
	s, isText := v.(string)
	switch {
	case v == undefined{} || isText && s == "":
		return EscrowV11, true
	case !isText || !strictAddress(s):
		return "", false
	case strings.EqualFold(s, EscrowV11):
		return EscrowV11, true
	case strings.EqualFold(s, EscrowV10):
		return EscrowV10, true
	}
	return "", false
}

// KnownEscrow reports whether a client signs for a contract as the escrow of auth-capture.
func KnownEscrow(address string) bool {
	_, known := escrowOf(address)
	return known
}

// plusNumber is now + v, which is a text only where v is none of the values that are numbers.
func plusNumber(now float64, v value) value {
	switch v := v.(type) {
	case nil:
		return now
	case undefined:
		return math.NaN()
	case bool:
		if v {
			return now + 1
		}
		return now
	case float64:
		return now + v
	}
	return number(now) + text(v)
}
