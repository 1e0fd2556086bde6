package buyer

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	"store.example/agentstore/corpus/wallet"
)

func evmAddress(s string) (string, error) {
	a, err := wallet.ParseAddress(s)
	if err == nil && a.IsZero() {
		err = errors.New("the zero address")
	}
	return a.String(), err
}

func evmPayer(c *Config) string {
	if c.Wallet == nil {
		return ""
	}
	return c.Wallet.Address().String()
}

// evmJudge compares the EIP-712 domain that a door names with the token's own.
func evmJudge(e *Entry, x wireExtra) string {
	switch {
	case x.Method != "" && x.Method != "eip3009":
		return fmt.Sprintf("transfer method %s is not eip3009", quoted(x.Method))
	case x.Name != e.asset.Name || x.Version != e.asset.Version:
		return fmt.Sprintf("it names the token %s version %s, but the token calls itself %q version %q, so a "+
			"signature would be void", quoted(x.Name), quoted(x.Version), e.asset.Name, e.asset.Version)
	}
	return ""
}

// evmDraft chooses the nonce: a random one, or that of the challenge.
func evmDraft(_ context.Context, _ *Buyer, p *purchase, e Entry) error {
	var nonce [32]byte
	rand.Read(nonce[:])
	if e.challenge != nil {
		nonce = challengeNonce(e.challenge)
	}
	p.Nonce = nonceText(nonce)
	return nil
}

// evmSign makes the one authorization of a purchase: an EIP-3009 TransferWithAuthorization over
// exactly the chosen entry's amount, receiver and token.
func evmSign(b *Buyer, p *purchase, e Entry) (any, error) {
	key := b.cfg.Wallet
	domain, err := e.asset.domain()
	if err != nil {
		return nil, err
	}
	to, err := wallet.ParseChecksummed(p.PayTo)
	if err != nil {
		return nil, err
	}
	a := wallet.Authorization{From: key.Address(), To: to, Value: wallet.NewUint256(uint64(p.Amount)),
		ValidBefore: wallet.NewUint256(uint64(p.ValidBefore))}
	if _, err := hex.Decode(a.Nonce[:], []byte(p.Nonce[2:])); err != nil {
		return nil, err
	}
	return wirePayload{
		Authorization: wireAuthorization{
			From: a.From.String(), To: a.To.String(), Value: a.Value.String(),
			ValidAfter: a.ValidAfter.String(), ValidBefore: a.ValidBefore.String(), Nonce: p.Nonce,
		},
		Signature: "0x" + hex.EncodeToString(key.Sign(a.Digest(domain.Separator()))),
	}, nil
}
