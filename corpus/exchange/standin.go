package exchange

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"store.example/agentstore/corpus/networks"
)

// A StandIn is what is published in the place of an address at which a door wants to be paid. It
// has the form of that address (PayToForm) and tells nothing else of it: it is made of fixed text
// and the number of the address in its answer. Nobody holds its key, as it was made from none: it
// spells substitute, in ASCII on EVM networks and in base58 on Solana; a name ends in .invalid (RFC
// 2606).
type StandIn struct {
	Address string `json:"address"` // as it is published, in lower case where it is one of EVM
	Network string `json:"network"` // of the entry, networks.OtherNetwork for what is no name of one
	Digest  string `json:"digest"`  // PayToDigest of the address in whose place it stands
}

const (
	substituteHex    = "73756273746974757465" // substitute
	substituteBase58 = "Substitute"
)

// standIns finds what has the form of a stand-in.
var standIns = regexp.MustCompile(substituteHex + `[a-fA-F]{6}[0-9]{14}|A?` + substituteBase58 +
	`[1-9o]{33}|stand-in-[0-9]+\.invalid|\(stand-in [0-9]+\)`)

// HasStandIn reports whether a published text holds what has the form of a stand-in.
func HasStandIn(text string) bool { return len(findStandIns(text)) > 0 }

func findStandIns(text string) [][]int {
	if !strings.Contains(text, substituteHex) && !strings.Contains(text, substituteBase58) &&
		!strings.Contains(text, "stand-in") {
		return nil
	}
	return standIns.FindAllStringIndex(text, -1)
}

// standIn is what stands in the place of an address, the n-th of its answer: an address of the same
// form and, where it is one of EVM, in letters of the same case. What is nobody's address stays.
func standIn(address string, n int) string {
	switch form := PayToForm(address); form {
	case FormEmpty, FormEVMZero:
		return address
	case FormEVM, FormEVMBadChecksum:
		return "0x" + spelledLike(address[2:], func(letters string) string {
			return fmt.Sprintf("%s%s%014d", substituteHex, letters, n)
		})
	case FormSolana:
		first := ""
		if len(address) == 44 {
			first = "A" // so that it is as long
		}
		return first + substituteBase58 + strings.ReplaceAll(fmt.Sprintf("%033d", n), "0", "o")
	case FormName:
		return fmt.Sprintf("stand-in-%d.invalid", n)
	}
	return fmt.Sprintf("(stand-in %d)", n)
}

// spelledLike spells the six letters of other digits in the case of these: in one case, as a
// checksum (ERC-55), or mixed so that they are none.
func spelledLike(digits string, with func(letters string) string) string {
	switch digits {
	case strings.ToLower(digits):
		return with("abcdef")
	case strings.ToUpper(digits):
		return with("ABCDEF")
	case checksum(digits):
		return checksum(with("abcdef"))
	}
	if mixed := with("aBcDeF"); mixed != checksum(mixed) {
		return mixed
	}
	return with("AbCdEf")
}

// wellFormed reports whether it is one as Redact lists them.
func (s StandIn) wellFormed() bool {
	address := strings.TrimPrefix(s.Address, "0x")
	return standIns.FindString(address) == address && standIn(s.Address, 0) != s.Address &&
		addressKey(s.Address) == s.Address && networks.CAIP2Name(s.Network) == s.Network && len(s.Digest) == 64 &&
		strings.Trim(s.Digest, "0123456789abcdef") == ""
}

// compare orders a list of stand-ins, in which each stands once beside a network.
func (s StandIn) compare(o StandIn) int {
	return cmp.Or(strings.Compare(s.Address, o.Address), strings.Compare(s.Network, o.Network))
}

// PayToDigest is the digest of the address in whose place a stand-in stands beside a network, ""
// for what is none.
func (r Redacted) PayToDigest(network, address string) string {
	i, found := slices.BinarySearchFunc(r.StandIns,
		StandIn{Address: addressKey(address), Network: networks.CAIP2Name(network)}, StandIn.compare)
	if !found {
		return ""
	}
	return r.StandIns[i].Digest
}

// addressKey is an address as it is compared.
func addressKey(address string) string {
	if isHexAddress(address) {
		return strings.ToLower(address)
	}
	return address
}
