// Package caip2 reads the names of networks as CAIP-2 writes them, such as eip155:8453. It knows no
// network: those are in package networks.
package caip2

import "strings"

// Other stands for whatever is not the name of a network.
const Other = "other"

// Name is a network as it is counted, listed and hashed: a well-formed name as it is, in the
// namespace eip155 a chain id in plain digits; and Other for every other text.
func Name(network string) string {
	namespace, reference, ok := Split(network)
	if !ok || namespace == "eip155" && (strings.Trim(reference, "0123456789") != "" || reference[0] == '0') {
		return Other
	}
	return network
}

// Split takes a well-formed name apart; ok is false for every other text.
func Split(name string) (namespace, reference string, ok bool) {
	namespace, reference, ok = strings.Cut(name, ":")
	if !ok || len(namespace) < 3 || len(namespace) > 8 || reference == "" || len(reference) > 32 ||
		strings.Trim(namespace, "-0123456789abcdefghijklmnopqrstuvwxyz") != "" ||
		strings.Trim(reference, "-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return "", "", false
	}
	return namespace, reference, true
}
