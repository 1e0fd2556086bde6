// This file reads the names of networks as CAIP-2 writes them, such as eip155:8453. It knows no
// network: those are in package networks.

package networks

import "strings"

// OtherNetwork stands for whatever is not the name of a network.
const OtherNetwork = "other"

// CAIP2Name is a network as it is counted, listed and hashed: a well-formed name as it is, in the
// namespace eip155 a chain id in plain digits; and Other for every other text.
func CAIP2Name(network string) string {
	namespace, reference, ok := SplitCAIP2(network)
	if !ok || namespace == "eip155" && (strings.Trim(reference, "0123456789") != "" || reference[0] == '0') {
		return OtherNetwork
	}
	return network
}

// SplitCAIP2 takes a well-formed name apart; ok is false for every other text.
func SplitCAIP2(name string) (namespace, reference string, ok bool) {
	namespace, reference, ok = strings.Cut(name, ":")
	if !ok || len(namespace) < 3 || len(namespace) > 8 || reference == "" || len(reference) > 32 ||
		strings.Trim(namespace, "-0123456789abcdefghijklmnopqrstuvwxyz") != "" ||
		strings.Trim(reference, "-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return "", "", false
	}
	return namespace, reference, true
}
