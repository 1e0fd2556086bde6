package till

import (
	"context"
	"errors"
	"time"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/rail"
)

// signedText is a text and what is said to be its signature.
type signedText struct {
	text      string
	signature []byte
}

// prove judges whether an account signed a text, and returns the network for which that holds, ""
// for all: a key signs for its address everywhere, a contract for its own network alone. client is
// whom the reading of chains is counted on.
func (t *Till) prove(ctx context.Context, k walletKind, a wallet.Account, s signedText, client string) (network string,
	err error) {
	if k.signed(a.Address, s.text, s.signature) {
		return "", nil
	}
	if !k.contracts {
		return "", &Error{Code: CodeNotSigned, Refusal: &rail.Refusal{Reason: "the signature is not by its key"}}
	}
	network = a.Chain.String()
	// Whoever signs wrongly makes us ask a chain, so that has a budget.
	rd, err := t.reads.Spend(ctx, readWallet, client)
	if err != nil {
		return "", err
	}
	if !rd.Granted {
		return "", &Error{Code: CodeProvingBudget, Retry: rd.Window, OfClient: rd.OfClient}
	}
	if err := t.cfg.Gas.Ready(ctx, network); err != nil {
		return "", &Error{Code: CodeNetworkDown, Retry: outRetry, Err: err}
	}
	err = t.byNet[network].ProveSigner(ctx, a.Address, []byte(s.text), s.signature)
	if refusal, ok := errors.AsType[*rail.Refusal](err); ok {
		return "", &Error{Code: CodeNotSigned, Refusal: refusal}
	}
	if err != nil {
		return "", &Error{Code: CodeProvingDown, Retry: 5 * time.Second, Err: err}
	}
	return network, nil
}

// ProveText judges whether an address, or a CAIP-10 account, signed a text as its wallets do
// (EIP-191, EIP-1271, signMessage on Solana). It returns the address, of a contract the CAIP-10
// account, in its one spelling; or why it does not hold. An error means that it could not be judged
// at the moment.
func (t *Till) ProveText(ctx context.Context, address, signature, text, client string) (who, why string, err error) {
	a, field, problem := t.Wallet(address, "")
	if field != "" {
		return "", field + " " + problem, nil
	}
	k, ok := kindOf(a.Chain.Namespace)
	if !ok {
		return "", "no wallets of its namespace are known", nil
	}
	raw, err := k.signature(signature)
	if err != nil {
		return "", "signature " + err.Error(), nil
	}
	network, err := t.prove(ctx, k, a, signedText{text, raw}, client)
	if e, said := errors.AsType[*Error](err); said && e.Code == CodeNotSigned {
		return "", "the signature is not by this address", nil
	}
	if err != nil {
		return "", "", err
	}
	if network != "" {
		return a.String(), "", nil
	}
	return a.Address, "", nil
}
