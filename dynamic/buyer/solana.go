package buyer

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/rail/solana"
)

// solanaSeconds is for how long a signature on Solana can be worth money: the 150 blocks for which
// a blockhash is good take a minute, or twice that where the cluster is slow. Nothing in the
// transaction shortens it.
const solanaSeconds = 120

// wireTransaction is the payload of the scheme on Solana.
type wireTransaction struct {
	Transaction string `json:"transaction"`
}

// solanaExtra is what terms on Solana say beside (x402 3.3).
type solanaExtra struct {
	FeePayer  string `json:"feePayer"`
	Memo      string `json:"memo"`
	Blockhash string `json:"recentBlockhash"`
	LastValid string `json:"lastValidBlockHeight"`
}

func solanaAddress(s string) (string, error) {
	if !solana.IsAddress(s) {
		return "", errors.New("no address of Solana in its one spelling")
	}
	if a, err := wallet.ParseSolanaAddress(s); err != nil || a == [32]byte{} {
		return "", errors.New("the system program")
	}
	return s, nil
}

func isSolana(network string) bool {
	f, _ := familyOf(network)
	return f.namespace == wallet.NamespaceSolana
}

func solanaPayer(c *Config) string {
	if len(c.Solana) != ed25519.PrivateKeySize {
		return ""
	}
	return wallet.EncodeBase58(c.Solana.Public().(ed25519.PublicKey))
}

// solanaJudge reads what a payment is made of beside the token, amount and receiver.
func solanaJudge(e *Entry, _ wireExtra) string {
	var x solanaExtra
	if json.Unmarshal(e.extra, &x) != nil {
		return "extra cannot be read"
	}
	_, err := strconv.ParseUint(x.LastValid, 10, 63)
	switch {
	case !solana.IsAddress(x.FeePayer):
		return fmt.Sprintf("its fee payer %s is no address", quoted(x.FeePayer))
	case len(x.Memo) > solana.MaxMemo || !utf8.ValidString(x.Memo):
		return fmt.Sprintf("its memo is longer than %d bytes, or no text", solana.MaxMemo)
	case x.Blockhash != "" && !solana.IsAddress(x.Blockhash):
		return fmt.Sprintf("its blockhash %s is none", quoted(x.Blockhash))
	case x.LastValid != "" && err != nil:
		return fmt.Sprintf("its last valid block height %s is none", quoted(x.LastValid))
	}
	e.solana = x
	return ""
}

func solanaAble(c *Config, e *Entry) string {
	payer := solanaPayer(c)
	switch {
	case c.MaxValidity < solanaSeconds*time.Second:
		return fmt.Sprintf("a signature on %s is good for up to %d s, which is longer than may be", e.Chain,
			solanaSeconds)
	case payer != "" && payer == e.solana.FeePayer:
		return "it wants the paying wallet to pay the network's fee too"
	case payer != "" && payer == e.payTo:
		return "the money would go to where it comes from"
	case e.solana.Blockhash == "" && c.SolanaRPC == "":
		return "it gives no recent blockhash, and no node of Solana is configured to ask for one"
	}
	return ""
}

// solanaDraft makes the message that will be signed: its SHA-256 is the purchase's nonce. Where a
// door gives memo and blockhash, two purchases can come to the same message, which pays once.
func solanaDraft(ctx context.Context, b *Buyer, p *purchase, e Entry) error {
	x := e.solana
	if x.Memo == "" {
		var r [16]byte
		rand.Read(r[:])
		x.Memo = hex.EncodeToString(r[:]) // as stock clients do
	}
	if x.Blockhash == "" {
		ctx, cancel := context.WithTimeout(ctx, b.cfg.Timeout)
		defer cancel()
		h, err := solana.Latest(ctx, e.Network, []string{b.cfg.SolanaRPC})
		if err != nil {
			return err
		}
		x.Blockhash = h.Blockhash
	}
	message, err := solana.Transfer{
		Payer: p.Payer, FeePayer: x.FeePayer, PayTo: p.PayTo, Mint: e.asset.Address, Amount: uint64(p.Amount),
		Decimals: decimals, Memo: x.Memo, Blockhash: x.Blockhash,
	}.Message()
	if err != nil {
		return err
	}
	sum := sha256.Sum256(message)
	p.message, p.Nonce = message, hex.EncodeToString(sum[:])
	return nil
}

func solanaSign(b *Buyer, p *purchase, _ Entry) (any, error) {
	return wireTransaction{solana.Wire(p.message, [64]byte(ed25519.Sign(b.cfg.Solana, p.message)))}, nil
}
