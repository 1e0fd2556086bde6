package census

import (
	"encoding/json/v2"
	"slices"
	"strings"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/probe"
)

// maxAddresses bounds how many addresses of one door are looked at.
const maxAddresses = 16

// addresses finds what the terms that were judged want to be paid at, on networks where money has a
// worth. Judged terms hold digests alone, so the addresses come from the raw answer, and only those
// count whose digest was judged.
func addresses(recorded []exchange.Exchange, terms []probe.Requirement) map[string][]string {
	var out map[string][]string
	recorded = probe.AtDoor(recorded)
	if len(recorded) == 0 || len(terms) == 0 {
		return nil
	}
	var challenge struct {
		Accepts []struct {
			Network string `json:"network"`
			PayTo   string `json:"payTo"`
		} `json:"accepts"`
	}
	value := recorded[len(recorded)-1].Response.Header.Get("PAYMENT-REQUIRED")
	raw, ok := exchange.DecodeBase64(value)
	if !ok || json.Unmarshal(raw, &challenge) != nil {
		return nil
	}
	for i, a := range challenge.Accepts {
		if i == maxAddresses {
			break
		}
		judged := slices.ContainsFunc(terms, func(r probe.Requirement) bool {
			return r.Network == a.Network && r.PayToDigest == exchange.PayToDigest(a.Network, a.PayTo)
		})
		form := exchange.PayToForm(a.PayTo)
		if !judged || !mainnet(a.Network) || form != exchange.FormEVM && form != exchange.FormSolana &&
			form != exchange.FormEVMBadChecksum {
			continue
		}
		address := a.PayTo
		if form != exchange.FormSolana {
			address = strings.ToLower(address)
		}
		if !slices.Contains(out[a.Network], address) {
			if out == nil {
				out = map[string][]string{}
			}
			out[a.Network] = append(out[a.Network], address)
		}
	}
	return out
}

// mainnet reports whether a network is known and its money real.
func mainnet(id string) bool {
	c, ok := networks.Find(id)
	return ok && !c.Testnet
}
