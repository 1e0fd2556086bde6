// Package accounts asks nodes of Solana what they know of the accounts of an entry, and reads what
// they answer. It stands apart from package probe, which judges its words: a verifier of what is
// published asks nobody and reads no raw answer.
//
//	checker.ReadsAccounts(accounts.Reader{}, networks.Solana)
package accounts

import (
	"bytes"
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"

	"store.example/agentstore/corpus/networks"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/probe"
)

// A Reader implements probe.Accounts.
type Reader struct{}

// The accounts that are asked for, in their order. payTo has a token account under each of the two
// token programs; which one counts is known by the mint's.
const (
	mintAt = iota
	feePayerAt
	payToAt
	tokenAt
	token2022At
	asked
)

// MaxAnswer is how many bytes of a node's answer are read.
const MaxAnswer = 64 << 10

// accountBytes is how much is read of an account: a token account, and what kind one of the newer
// program is.
const accountBytes = 166

// Question is the body that asks for the accounts of an entry, false where it names none.
func (Reader) Question(door exchange.Exchange, index int) (body []byte, ok bool) {
	keys, ok := of(door, index)
	if !ok {
		return nil, false
	}
	body, err := json.Marshal(question{"2.0", 1, "getMultipleAccounts", []any{keys, how{"base64", "confirmed",
		slice{0, accountBytes}}}})
	return body, err == nil
}

type question struct {
	Version string `json:"jsonrpc"`
	ID      int    `json:"id"`
	Method  string `json:"method"`
	Params  []any  `json:"params"`
}

type how struct {
	Encoding   string `json:"encoding"`
	Commitment string `json:"commitment"`
	Slice      slice  `json:"dataSlice"`
}

type slice struct {
	Offset int `json:"offset"`
	Length int `json:"length"`
}

// of reads an entry's accounts from the terms as the door sent them, false where they are none.
func of(x exchange.Exchange, index int) (keys []string, ok bool) {
	var terms struct {
		Accepts []struct {
			Asset string `json:"asset"`
			PayTo string `json:"payTo"`
			Extra struct {
				FeePayer string `json:"feePayer"`
			} `json:"extra"`
		} `json:"accepts"`
	}
	raw, ok := exchange.DecodeBase64(x.Response.Header.Get("Payment-Required"))
	// Entries beside the one that is meant may be of any form.
	if !ok || json.Unmarshal(raw, &terms) != nil || index >= len(terms.Accepts) {
		return nil, false
	}
	e := terms.Accepts[index]
	mint, errMint := networks.ParseSolanaAccount(e.Asset)
	payTo, errPayTo := networks.ParseSolanaAccount(e.PayTo)
	if _, err := networks.ParseSolanaAccount(e.Extra.FeePayer); err != nil || errMint != nil || errPayTo != nil {
		return nil, false
	}
	keys = []string{e.Asset, e.Extra.FeePayer, e.PayTo}
	for _, program := range []networks.SolanaKey{networks.SPLToken, networks.SPLToken2022} {
		k := networks.SPLAssociated(payTo, program, mint)
		keys = append(keys, networks.EncodeBase58(k[:]))
	}
	return keys, true
}

// account is what a node says of one.
type account struct {
	Lamports uint64   `json:"lamports"`
	Owner    string   `json:"owner"`
	Data     []string `json:"data"` // base64, and that word
}

// Said reads an answer, or says why it is none.
func (Reader) Said(x exchange.Exchange) (words probe.AccountWords, problem string) {
	var question struct {
		Params []jsontext.Value `json:"params"`
	}
	var keys []string
	if json.Unmarshal(x.Request.Body, &question) != nil || len(question.Params) == 0 ||
		json.Unmarshal(question.Params[0], &keys) != nil || len(keys) != asked {
		return words, "the question is none"
	}
	if x.Response.Status == 0 || x.Error.Stage != "" || x.Response.Truncated {
		return words, "no node answered"
	}
	var said struct {
		ID     int `json:"id"`
		Result struct {
			Value []*account `json:"value"`
		} `json:"result"`
		Error jsontext.Value `json:"error"`
	}
	switch err := json.Unmarshal(x.Response.Body, &said); {
	case err != nil:
		return words, "the node's answer is not of its form"
	case len(said.Error) > 0 && said.Error.Kind() != 'n':
		return words, "the node refused"
	case said.ID != 1 || len(said.Result.Value) != asked:
		return words, "the node answered something else"
	}
	a := said.Result.Value
	words.Mint, words.FeePayer = a[mintAt].mint(), a[feePayerAt].payer()
	token := a[tokenAt]
	if a[mintAt] != nil && a[mintAt].Owner == networks.EncodeBase58(networks.SPLToken2022[:]) {
		token = a[token2022At]
	}
	mint, errMint := networks.ParseSolanaAccount(keys[mintAt])
	payTo, errPayTo := networks.ParseSolanaAccount(keys[payToAt])
	if errMint != nil || errPayTo != nil {
		return words, "the question is none"
	}
	words.Token = token.token(a[mintAt], mint, payTo)
	return words, ""
}

// tokenProgram reports whether an account belongs to a token program.
func (a *account) tokenProgram() bool {
	return a.Owner == networks.EncodeBase58(networks.SPLToken[:]) ||
		a.Owner == networks.EncodeBase58(networks.SPLToken2022[:])
}

// bytes is what was read of an account, nil for what cannot be read.
func (a *account) bytes() []byte {
	if len(a.Data) != 2 || a.Data[1] != "base64" || len(a.Data[0]) > base64.StdEncoding.EncodedLen(accountBytes) {
		return nil
	}
	b, err := base64.StdEncoding.DecodeString(a.Data[0])
	if err != nil {
		return nil
	}
	return b
}

// The layouts of the token programs: a mint of 82 bytes, a token account of 165; with extensions,
// the 166th says which of the two it is.
const (
	mintLength, mintInitialized    = 82, 45
	tokenLength, tokenStateAt      = 165, 108
	stateInitialized, stateFrozen  = 1, 2
	kindAt, kindMint, kindOfTokens = 165, 1, 2
)

func (a *account) mint() string {
	if a == nil || a.Lamports == 0 {
		return probe.AccountAbsent
	}
	b := a.bytes()
	if !a.tokenProgram() || len(b) != mintLength && (len(b) != accountBytes || b[kindAt] != kindMint) ||
		b[mintInitialized] != 1 {
		return probe.AccountOther
	}
	return probe.AccountFine
}

// payer judges who pays a transaction's fee: an account with lamports and without data, which
// belongs to nobody's program.
func (a *account) payer() string {
	switch system := (networks.SolanaKey{}); {
	case a == nil || a.Lamports == 0:
		return probe.AccountAbsent
	case a.Owner != networks.EncodeBase58(system[:]) || len(a.bytes()) > 0:
		return probe.AccountOther
	}
	return probe.AccountFine
}

// token judges payTo's token account for a mint.
func (a *account) token(ofMint *account, mint, payTo networks.SolanaKey) string {
	if a == nil || a.Lamports == 0 {
		return probe.AccountAbsent
	}
	b := a.bytes()
	if ofMint == nil || a.Owner != ofMint.Owner || len(b) != tokenLength &&
		(len(b) != accountBytes || b[kindAt] != kindOfTokens) || !bytes.Equal(b[:32], mint[:]) {
		return probe.AccountOther
	}
	switch {
	case b[tokenStateAt] == stateFrozen:
		return probe.AccountFrozen
	case b[tokenStateAt] != stateInitialized:
		return probe.AccountOther
	case !bytes.Equal(b[32:64], payTo[:]):
		return probe.AccountStrangers
	}
	return probe.AccountFine
}
