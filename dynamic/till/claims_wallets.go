package till

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/rail"
)

// A walletKind is how the wallets of one namespace of CAIP-2 sign in (CAIP-122). Each has its row
// in walletKinds.
type walletKind struct {
	namespace string
	how       string // to sign, for people
	// named is an address as challenges are made for it.
	named func(address string) string
	// text is what is signed.
	text func(wallet.SignIn) (string, error)
	// signature reads a signature as its wallets write it.
	signature func(string) ([]byte, error)
	// signed reports whether the key of an address signed a text. No chain is asked.
	signed func(address, text string, signature []byte) bool
	// contracts says that an address can be a contract's, which its chain is asked about.
	contracts bool
}

var walletKinds = []walletKind{
	{
		namespace: wallet.NamespaceEVM,
		how: "personal_sign (EIP-191) over challenge exactly as it stands; a smart wallet signs as EIP-1271 " +
			"asks.",
		named: strings.ToLower, text: wallet.SignIn.Ethereum, signature: hexSignature,
		signed: func(address, text string, signature []byte) bool {
			signer, err := wallet.Recover(wallet.PersonalHash(text), wallet.NormalizeV(signature))
			return err == nil && signer.String() == address
		},
		contracts: true,
	},
	{
		namespace: wallet.NamespaceSolana,
		how: "signMessage (ed25519) over challenge exactly as it stands, its bytes as they are; signature is base58 " +
			"of the 64 bytes.",
		named: func(address string) string { return address }, text: wallet.SignIn.Solana, signature: base58Signature,
		signed: func(address, text string, signature []byte) bool {
			pub, err := wallet.ParseSolanaAddress(address)
			return err == nil && wallet.VerifySolana(pub, text, signature)
		},
	},
}

// maxSignature bounds what a smart wallet may sign with, in bytes.
const maxSignature = 4096

func hexSignature(s string) ([]byte, error) {
	b, err := hex.DecodeString(strings.TrimPrefix(s, "0x"))
	if err != nil || len(b) == 0 || len(b) > maxSignature {
		return nil, errors.New("must be hex of at most 4096 bytes")
	}
	return b, nil
}

func base58Signature(s string) ([]byte, error) {
	b, err := wallet.DecodeBase58(s)
	if err != nil || len(b) != 64 {
		return nil, errors.New("must be base58 of 64 bytes")
	}
	return b, nil
}

func kindOf(namespace string) (walletKind, bool) {
	i := slices.IndexFunc(walletKinds, func(k walletKind) bool { return k.namespace == namespace })
	if i < 0 {
		return walletKind{}, false
	}
	return walletKinds[i], true
}

// Wallet finds the account that an address, or a CAIP-10 account, names on a network where payments
// are taken: the one that is named, or the first on which there are such addresses. field says
// which of the two is wrong, "" where neither is.
func (t *Till) Wallet(address, network string) (a wallet.Account, field, problem string) {
	if i := strings.LastIndexByte(address, ':'); i >= 0 {
		if i == 0 || network != "" && network != address[:i] {
			return a, "network", "is not that of the account"
		}
		address, network = address[i+1:], address[:i]
	}
	unsold := false
	for _, r := range t.cfg.Rails {
		id := r.Info().Network
		chain, err := wallet.ParseChainID(id)
		if _, ok := kindOf(chain.Namespace); err != nil || !ok {
			continue
		}
		a, err := wallet.NewAccount(chain, address)
		switch {
		case err == nil && (network == "" || network == id):
			return a, "", ""
		case err == nil:
			unsold = true
		}
	}
	switch {
	case unsold || network != "" && t.byNet[network] == nil:
		return a, "network", "is not one this store takes payments on, or the address is of another kind"
	case strings.HasPrefix(address, "0x"):
		return a, "address", "must be 0x and 40 hex digits, on a network this store takes payments on"
	}
	return a, "address", "must be 0x and 40 hex digits, or base58 of 32 bytes, on a network this store takes " +
		"payments on"
}

// SignHow says how the wallet of an account signs a challenge.
func SignHow(a wallet.Account) string {
	k, _ := kindOf(a.Chain.Namespace)
	return k.how
}

// ReadSignature reads a signature as the wallets of an account's namespace write it. The error says
// what it must be.
func ReadSignature(a wallet.Account, s string) ([]byte, error) {
	k, ok := kindOf(a.Chain.Namespace)
	if !ok {
		return nil, errors.New("is of no wallet that is known")
	}
	return k.signature(s)
}

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
