package buyer

import (
	"crypto/ed25519"
	"encoding/hex"
	"fmt"

	"store.example/agentstore/corpus/wallet"
)

// PurchaseReport is what a buyer tells a store of a purchase at somebody's door: the body of POST
// /api/purchase-report. The store reads the transactions on their network; the rest is published as
// the buyer's word.
type PurchaseReport struct {
	URL     string `json:"url" jsonschema:"the door, over https, without its query"`
	By      string `json:"by" jsonschema:"seller where the door is yours, else stranger"`
	Network string `json:"network" jsonschema:"that was paid on (CAIP-2)"`
	TxHash  string `json:"tx_hash" jsonschema:"the transaction that settled the purchase"`
	Payer   string `json:"payer" jsonschema:"the wallet that paid the door"`
	// Status and what follows are of the answer to the payment.
	Status      int64  `json:"status,omitzero" jsonschema:"of the door's answer to the payment; 0 or left out where none came"`
	BodySHA256  string `json:"body_sha256,omitzero"`
	Bytes       int64  `json:"bytes,omitzero"`
	LatencyMS   int64  `json:"latency_ms,omitzero"`
	ContentType string `json:"content_type,omitzero"`
	// ChargedTwice is what became of the same order made again: yes, with SecondTx, or no; empty
	// where that was not tried.
	ChargedTwice string `json:"charged_twice,omitzero" jsonschema:"yes or no, where the same order was made again as after a lost answer"`
	SecondTx     string `json:"second_tx_hash,omitzero" jsonschema:"the other transaction that the order was charged in, with yes"`
	Signature    string `json:"payer_signature" jsonschema:"the payer's signature over the text that the refusal without it gives"`
}

// Text is what the payer signs, for the store at a host, so that whoever reads a transaction on its
// chain cannot tell of it as theirs.
func (r PurchaseReport) Text(host string) string {
	return fmt.Sprintf("%s: put my purchase on the public record.\n\nDoor: %s\nBy: %s\nNetwork: %s\nTransaction: %s\n"+
		"Payer: %s\nStatus: %d\nBody SHA-256: %s\nBytes: %d\nMilliseconds: %d\nContent type: %s\nCharged twice: %s\n"+
		"Second transaction: %s", host, r.URL, r.By, r.Network, r.TxHash, r.Payer, r.Status, r.BodySHA256, r.Bytes,
		r.LatencyMS, r.ContentType, r.ChargedTwice, r.SecondTx)
}

// Sign signs a report for the store at a host, with the wallet that paid: an EVM one or, where that
// is nil, one of Solana.
func (r *PurchaseReport) Sign(host string, evm *wallet.Key, solana ed25519.PrivateKey) {
	if evm == nil {
		r.Signature = wallet.EncodeBase58(ed25519.Sign(solana, []byte(r.Text(host))))
		return
	}
	r.Signature = "0x" + hex.EncodeToString(evm.Sign(wallet.PersonalHash(r.Text(host))))
}
