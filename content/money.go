package content

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// USDC is one US dollar in atomic units; the token has six decimals.
const USDC = 1_000_000

const usdcDecimals = 6

// ErrAmount is what ParseUSDC returns for text that is not an amount.
var ErrAmount = errors.New("not an amount of USDC such as 0.5 or 20, with at most six decimals")

// ParseUSDC reads a decimal amount of USDC into atomic units. It takes digits,
// with at most six more after a point, no sign, no exponent and no leading
// zeros; trailing zeros are fine.
func ParseUSDC(s string) (int64, error) {
	whole, frac, point := strings.Cut(s, ".")
	if !digits(whole) || point && !digits(frac) || len(frac) > usdcDecimals || len(whole) > 1 && whole[0] == '0' {
		return 0, ErrAmount
	}
	w, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || w > math.MaxInt64/USDC-1 {
		return 0, ErrAmount
	}
	f, err := strconv.ParseInt((frac + "000000")[:usdcDecimals], 10, 64)
	if err != nil {
		return 0, ErrAmount
	}
	return w*USDC + f, nil
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// FormatUSDC writes atomic units as the shortest decimal: "0.5", "3", "0.005".
// ParseUSDC reads back every amount that is not negative.
func FormatUSDC(atomic int64) string {
	sign := ""
	u := uint64(atomic)
	if atomic < 0 {
		sign, u = "-", -u
	}
	whole := strconv.FormatUint(u/USDC, 10)
	frac := strconv.FormatUint(u%USDC, 10)
	frac = strings.Repeat("0", usdcDecimals-len(frac)) + frac
	frac = strings.TrimRight(frac, "0")
	if frac == "" {
		return sign + whole
	}
	return sign + whole + "." + frac
}
