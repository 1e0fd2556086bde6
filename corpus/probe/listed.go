package probe

import (
	"agentstore/corpus/exchange"
	"agentstore/corpus/networks"
)

// maxListed bounds the item of a catalogue whose terms are read, in bytes.
const maxListed = 64 << 10

// ListedTerms reads the ways to pay that an item of a catalogue states in its accepts, as those of a door's own challenge
// are read: addresses by form and digest. There are none where it states none, or none that can be read.
func ListedTerms(item []byte) []Requirement {
	if len(item) > maxListed {
		return nil
	}
	challenge := object(item)
	list, _ := challenge["accepts"].([]any)
	for i, each := range list {
		entry, _ := each.(map[string]any)
		if entry == nil || i == MaxEntries {
			continue
		}
		if chain, ok := networks.FindV1(str(entry, "network")); ok {
			entry["network"] = chain.ID
		}
		if address := str(entry, "payTo"); address != "" {
			entry["payTo"] = map[string]any{"form": exchange.PayToForm(address), "digest": exchange.PayToDigest(str(entry, "network"), address)}
		} else {
			delete(entry, "payTo")
		}
		if amount := str(entry, "maxAmountRequired"); amount != "" && !has(entry, "amount") {
			entry["amount"] = amount // version 1 calls it so
		}
	}
	return (&View{forms: map[string]string{}}).requirements(challenge)
}
