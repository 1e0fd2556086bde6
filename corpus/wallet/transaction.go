package wallet

import (
	"math/big"
)

// Transaction is a call of a contract as a wallet sends it itself (EIP-1559). Fees are in wei for a
// unit of gas.
type Transaction struct {
	ChainID, Nonce, Gas uint64
	Tip, MaxFee         *big.Int
	To                  Address
	Data                []byte
}

// SignTransaction returns the transaction as a node takes it, and its hash.
func (k *Key) SignTransaction(t Transaction) (raw []byte, hash [32]byte) {
	n := func(v uint64) []byte { return rlpNumber(new(big.Int).SetUint64(v)) }
	body := [][]byte{n(t.ChainID), n(t.Nonce), rlpNumber(t.Tip), rlpNumber(t.MaxFee), n(t.Gas), rlpBytes(t.To[:]),
		n(0), rlpBytes(t.Data), rlpList()}
	sig := k.Sign(Keccak256([]byte{2}, rlpList(body...)))
	r, s := new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:64])
	body = append(body, n(uint64(sig[64]-27)), rlpNumber(r), rlpNumber(s))
	raw = append([]byte{2}, rlpList(body...)...)
	return raw, Keccak256(raw)
}

// rlpNumber, rlpBytes and rlpList encode as the Recursive Length Prefix of Ethereum does.
func rlpNumber(n *big.Int) []byte { return rlpBytes(n.Bytes()) }

func rlpBytes(b []byte) []byte {
	if len(b) == 1 && b[0] < 0x80 {
		return b
	}
	return append(rlpHead(0x80, len(b)), b...)
}

func rlpList(items ...[]byte) []byte {
	var all []byte
	for _, item := range items {
		all = append(all, item...)
	}
	return append(rlpHead(0xc0, len(all)), all...)
}

func rlpHead(kind byte, n int) []byte {
	if n < 56 {
		return []byte{kind + byte(n)}
	}
	size := big.NewInt(int64(n)).Bytes()
	return append([]byte{kind + 55 + byte(len(size))}, size...)
}
