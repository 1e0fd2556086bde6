package stockclient

import (
	"math"
	"math/big"
	"regexp"
	"strings"
)

// text is String(maxAmountPerPayment ?? "$1").
func (m Money) text() string {
	switch {
	case m.Off:
		return "false"
	case m.IsNumber:
		return number(m.Number)
	case m.Text != "":
		return m.Text
	}
	return defaultMax
}

var money = regexp.MustCompile(`^\$?\s*(-?[0-9]+(?:\.[0-9]+)?)(?:\s+([A-Za-z][A-Za-z0-9.]*))?$`)

// parseMoney is the client's function of that name: the amount in plain decimals.
func parseMoney(m Money) (string, error) {
	if m.IsNumber {
		if math.IsNaN(m.Number) || math.IsInf(m.Number, 0) || m.Number < 0 {
			return "", throwf("Invalid money format: %s", number(m.Number))
		}
		return plain(number(m.Number)), nil
	}
	parts := money.FindStringSubmatch(strings.TrimSpace(m.text()))
	if parts == nil {
		return "", throwf("Invalid money format: %s", m.text())
	}
	if strings.HasPrefix(parts[1], "-") {
		return "", throwf("Invalid money format: %s", parts[1])
	}
	return parts[1], nil
}

// plain is numberToDecimalString: 1e-7 becomes 0.0000001.
func plain(s string) string {
	significand, exponent, scientific := strings.Cut(s, "e")
	if !scientific {
		return s
	}
	whole, fraction, _ := strings.Cut(significand, ".")
	n, _ := new(big.Int).SetString(strings.TrimPrefix(exponent, "+"), 10)
	all, point := whole+fraction, len(whole)+int(n.Int64())
	switch {
	case point <= 0:
		return "0." + strings.Repeat("0", -point) + all
	case point >= len(all):
		return all + strings.Repeat("0", point-len(all))
	}
	return all[:point] + "." + all[point:]
}

// isDigits is /^[0-9]+$/.
func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// isDecimal is /^-?[0-9]+\.?[0-9]*$/.
func isDecimal(s string) bool {
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	return isDigits(whole) && (fraction == "" || isDigits(fraction))
}

// tokenAmount is BigInt(convertToTokenAmount(amount, decimals)): further decimals are cut off, not
// rounded.
func tokenAmount(amount value, decimals int) (*big.Int, error) {
	s := text(amount)
	if strings.ContainsAny(s, "eE") {
		return nil, throwf("Invalid amount: %s — use decimal notation, not scientific notation", s)
	}
	if !isDecimal(s) {
		return nil, throwf("Invalid amount: %s", s)
	}
	if _, isText := amount.(string); !isText {
		return nil, throwf("decimalAmount.split is not a function or its return value is not iterable")
	}
	whole, fraction, _ := strings.Cut(s, ".")
	fraction += strings.Repeat("0", max(0, decimals-len(fraction)))
	n, _ := new(big.Int).SetString(whole+fraction[:decimals], 10)
	return n, nil
}
