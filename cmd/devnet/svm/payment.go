package svm

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"slices"

	"store.example/agentstore/corpus/wallet"
)

// Payment is one of the scheme exact as the stock client makes it (x402 3.3): a message of version
// 0 with the limits of its fee, one TransferChecked and a memo. Accounts are base58.
type Payment struct {
	Payer           ed25519.PrivateKey
	From, To        string // token accounts
	Mint, FeePayer  string
	Amount          uint64
	Memo, Blockhash string
}

// The programs of a payment.
const (
	tokenProgram  = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
	budgetProgram = "ComputeBudget111111111111111111111111111111"
	memoProgram   = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"
)

// Sign is the transaction, signed by the payer alone. All its lists are shorter than 128, so that
// each length is one byte.
func (p Payment) Sign() ([]byte, error) {
	payer := wallet.EncodeBase58(p.Payer.Public().(ed25519.PublicKey))
	message := []byte{0x80, 2, 1, 4, 8} // version, signers, of these read only, others read only, accounts
	for _, name := range []string{p.FeePayer, payer, p.From, p.To, p.Mint, tokenProgram, budgetProgram, memoProgram,
		p.Blockhash} {
		b, err := wallet.DecodeBase58(name)
		if err != nil {
			return nil, err
		}
		message = append(message, b...)
	}
	amount := binary.LittleEndian.AppendUint64([]byte{12}, p.Amount)
	message = append(message, 4) // instructions: program, accounts, data
	for _, i := range []struct {
		program        byte
		accounts, data []byte
	}{
		{6, nil, binary.LittleEndian.AppendUint32([]byte{2}, 20_000)},
		{6, nil, binary.LittleEndian.AppendUint64([]byte{3}, 1)},
		{5, []byte{2, 4, 3, 1}, append(amount, 6)},
		{7, nil, []byte(p.Memo)},
	} {
		message = append(append(message, i.program, byte(len(i.accounts))), i.accounts...)
		message = append(append(message, byte(len(i.data))), i.data...)
	}
	message = append(message, 0) // tables
	return slices.Concat([]byte{2}, make([]byte, ed25519.SignatureSize), ed25519.Sign(p.Payer, message), message), nil
}

// Cosign is a payment with the fee payer's signature too, and its id.
func Cosign(wire []byte, feePayer ed25519.PrivateKey) (whole []byte, id string) {
	whole = slices.Clone(wire)
	s := ed25519.Sign(feePayer, wire[1+2*ed25519.SignatureSize:])
	copy(whole[1:], s)
	return whole, wallet.EncodeBase58(s)
}

// Payload is a transaction as the scheme has it on the wire.
func Payload(wire []byte) json.RawMessage {
	b, _ := json.Marshal(map[string]string{"transaction": base64.StdEncoding.EncodeToString(wire)}) // a string marshals
	return b
}
