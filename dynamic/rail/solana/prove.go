package solana

import (
	"context"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/rail"
)

// maxMessage bounds a message that a wallet signed, in bytes.
const maxMessage = 16 << 10

// ProveSigner implements rail.Rail: ed25519 over the message as it is. Whoever pays here signs with
// a key of that address, so no chain is asked. A message that a node would read as one of a
// transaction is never taken: a wallet that signs such a text pays with it.
func (r *Rail) ProveSigner(_ context.Context, address string, message, signature []byte) error {
	who, err := parseKey(address)
	if err != nil || len(message) > maxMessage {
		return malformed("the address, the message or the signature has an impossible form")
	}
	if _, err := parseMessage(message); err == nil {
		return malformed("the message is one of a transaction")
	}
	if !wallet.VerifySolana(who, string(message), signature) {
		return &rail.Refusal{Reason: reasonSignature, Message: "the signature is not the account's"}
	}
	return nil
}
