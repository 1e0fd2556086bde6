package probe

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"store.example/agentstore/corpus/attest/base58"
	"store.example/agentstore/corpus/attest/spl"
	"store.example/agentstore/corpus/exchange"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// KindAccounts is a question to a node of Solana: what the accounts hold without which nothing that
// is signed for an entry settles. The node is whoever walks's own; its address stands nowhere.
const KindAccounts = "solana-accounts"

// accountsLabel and a network are what stands for the address of a node in a recording.
const accountsLabel = "rpc:"

// FromAccounts is where a challenge of published evidence comes from that holds no terms, but what
// a node said of the accounts of an entry.
const FromAccounts = "accounts"

// The accounts that are asked for, in their order. payTo has a token account under each of the two
// token programs; which one counts is known by the mint's.
const (
	accountMint = iota
	accountFeePayer
	accountPayTo
	accountToken
	accountToken2022
	accountsAsked
)

// accountBytes is how much is read of an account: a token account, and what kind one of the newer
// program is.
const accountBytes = 166

// ReadsAccounts has a battery that replays clients ask nodes of these networks, CAIP-2 names of
// Solana's clusters, for the accounts of the entry that the stock client picks. What was not asked,
// or not answered, is not judged.
func (p *Preflight) ReadsAccounts(on ...string) { p.nodes = on }

// NodeOf is the network whose node a recorded request asked, "" for a request to a door.
func NodeOf(r exchange.Request) string {
	network, ok := strings.CutPrefix(r.URL, accountsLabel)
	if !ok {
		return ""
	}
	return network
}

// AtDoor is a recording without what a node was asked after the door.
func AtDoor(recorded []exchange.Exchange) []exchange.Exchange {
	if n := len(recorded); n > 0 && NodeOf(recorded[n-1].Request) != "" {
		return recorded[:n-1]
	}
	return recorded
}

// atDoor is AtDoor of published evidence, and what the node said.
func atDoor(evidence []exchange.Redacted) (door []exchange.Redacted, read *exchange.Redacted) {
	if n := len(evidence); n > 1 && strings.HasPrefix(evidence[n-1].URL, accountsLabel) {
		return evidence[:n-1], &evidence[n-1]
	}
	return evidence, nil
}

// asksAccounts is the question that follows a look at a door, whose answer is the last exchange that
// is recorded; false where there is nothing to ask or nobody to be asked.
func (p *Preflight) asksAccounts(v *View, recorded []exchange.Exchange) (Next, bool) {
	if len(p.nodes) == 0 || !p.battery.Replays {
		return Next{}, false
	}
	r, picked := v.chosen()
	if !picked || family(r.Network) != familySolana || !slices.Contains(p.nodes, r.Network) || v.problemOf(r) != "" {
		return Next{}, false
	}
	keys, ok := accountsOf(recorded[len(recorded)-1], r.Index)
	if !ok {
		return Next{}, false
	}
	body, err := json.Marshal(question{"2.0", 1, "getMultipleAccounts", []any{keys, how{"base64", "confirmed",
		slice{0, accountBytes}}}})
	if err != nil {
		return Next{}, false
	}
	return Next{Kind: KindAccounts, Request: exchange.Request{Method: http.MethodPost, URL: accountsLabel + r.Network,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: body}}, true
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

// accountsOf reads an entry's accounts from the terms as the door sent them, false where they are
// none.
func accountsOf(x exchange.Exchange, index int) (keys []string, ok bool) {
	var terms struct {
		Accepts []struct {
			Asset string `json:"asset"`
			PayTo string `json:"payTo"`
			Extra struct {
				FeePayer string `json:"feePayer"`
			} `json:"extra"`
		} `json:"accepts"`
	}
	value := strings.TrimRight(strings.TrimSpace(x.Response.Header.Get("Payment-Required")), "=")
	raw, err := base64.RawStdEncoding.DecodeString(value)
	if err != nil {
		raw, err = base64.RawURLEncoding.DecodeString(value)
	}
	// Entries beside the one that is meant may be of any form.
	if err != nil || json.Unmarshal(raw, &terms) != nil || index >= len(terms.Accepts) {
		return nil, false
	}
	e := terms.Accepts[index]
	mint, errMint := base58.ParseAccount(e.Asset)
	payTo, errPayTo := base58.ParseAccount(e.PayTo)
	if _, err := base58.ParseAccount(e.Extra.FeePayer); err != nil || errMint != nil || errPayTo != nil {
		return nil, false
	}
	keys = []string{e.Asset, e.Extra.FeePayer, e.PayTo}
	for _, program := range []spl.Key{spl.Token, spl.Token2022} {
		k := spl.Associated(payTo, program, mint)
		keys = append(keys, base58.Encode(k[:]))
	}
	return keys, true
}

// account is what a node says of one.
type account struct {
	Lamports uint64   `json:"lamports"`
	Owner    string   `json:"owner"`
	Data     []string `json:"data"` // base64, and that word
}

// Words for an account in published evidence.
const (
	accountFine      = "fine"
	accountAbsent    = "absent"
	accountOther     = "something else"
	accountFrozen    = "frozen"
	accountStrangers = "another owner's"
)

// redactAccounts brings a node's answer into published form: of each account a word, and no
// address. An answer that is none holds a problem in their place.
func redactAccounts(x exchange.Exchange) exchange.Redacted {
	door := x
	door.Response.Header, door.Request.Body, door.Request.Header = nil, nil, nil
	r := redact(door)
	r.Challenges = []exchange.Challenge{{From: FromAccounts, Bytes: len(x.Response.Body)}}
	c := &r.Challenges[0]
	said, problem := accountsSaid(x)
	if problem != "" {
		c.Problem = problem
		return r
	}
	value, err := json.Marshal(said, json.Deterministic(true))
	if err != nil {
		c.Problem = "what the node said has no form"
		return r
	}
	c.Value = jsontext.Value(value)
	return r
}

// accountWords are a word for each account that counts.
type accountWords struct {
	Mint     string `json:"mint"`
	FeePayer string `json:"fee_payer"`
	Token    string `json:"token_account"`
}

// accountsSaid reads an answer, or says why it is none.
func accountsSaid(x exchange.Exchange) (words accountWords, problem string) {
	var asked struct {
		Params []jsontext.Value `json:"params"`
	}
	var keys []string
	if json.Unmarshal(x.Request.Body, &asked) != nil || len(asked.Params) == 0 ||
		json.Unmarshal(asked.Params[0], &keys) != nil || len(keys) != accountsAsked {
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
	case said.ID != 1 || len(said.Result.Value) != accountsAsked:
		return words, "the node answered something else"
	}
	a := said.Result.Value
	words.Mint, words.FeePayer = a[accountMint].mint(), a[accountFeePayer].payer()
	token := a[accountToken]
	if a[accountMint] != nil && a[accountMint].Owner == base58.Encode(spl.Token2022[:]) {
		token = a[accountToken2022]
	}
	mint, errMint := base58.ParseAccount(keys[accountMint])
	payTo, errPayTo := base58.ParseAccount(keys[accountPayTo])
	if errMint != nil || errPayTo != nil {
		return words, "the question is none"
	}
	words.Token = token.token(a[accountMint], mint, payTo)
	return words, ""
}

// tokenProgram reports whether an account belongs to a token program.
func (a *account) tokenProgram() bool {
	return a.Owner == base58.Encode(spl.Token[:]) || a.Owner == base58.Encode(spl.Token2022[:])
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
		return accountAbsent
	}
	b := a.bytes()
	if !a.tokenProgram() || len(b) != mintLength && (len(b) != accountBytes || b[kindAt] != kindMint) ||
		b[mintInitialized] != 1 {
		return accountOther
	}
	return accountFine
}

// payer judges who pays a transaction's fee: an account with lamports and without data, which
// belongs to nobody's program.
func (a *account) payer() string {
	switch system := (spl.Key{}); {
	case a == nil || a.Lamports == 0:
		return accountAbsent
	case a.Owner != base58.Encode(system[:]) || len(a.bytes()) > 0:
		return accountOther
	}
	return accountFine
}

// token judges payTo's token account for a mint.
func (a *account) token(ofMint *account, mint, payTo spl.Key) string {
	if a == nil || a.Lamports == 0 {
		return accountAbsent
	}
	b := a.bytes()
	if ofMint == nil || a.Owner != ofMint.Owner || len(b) != tokenLength &&
		(len(b) != accountBytes || b[kindAt] != kindOfTokens) || !bytes.Equal(b[:32], mint[:]) {
		return accountOther
	}
	switch {
	case b[tokenStateAt] == stateFrozen:
		return accountFrozen
	case b[tokenStateAt] != stateInitialized:
		return accountOther
	case !bytes.Equal(b[32:64], payTo[:]):
		return accountStrangers
	}
	return accountFine
}

// readAccounts takes what a node said, if it is of the network of the entry that is judged.
func (v *View) readAccounts(read *exchange.Redacted) {
	r, picked := v.chosen()
	if read == nil || !picked || read.URL != accountsLabel+r.Network || len(read.Challenges) != 1 ||
		read.Challenges[0].From != FromAccounts {
		return
	}
	c := read.Challenges[0]
	var words accountWords
	if c.Value == nil || json.Unmarshal(c.Value, &words) != nil {
		v.unread = c.Problem
		return
	}
	v.accounts = &words
}

// accountsProblem says which account keeps what is signed for the entry from settling, "" for none
// or where nobody was asked.
func (v *View) accountsProblem() string {
	if v.accounts == nil {
		return ""
	}
	for _, a := range []struct{ is, name string }{
		{v.accounts.Mint, "asset, as a mint,"},
		{v.accounts.FeePayer, "extra.feePayer, as an account that pays fees,"},
		{v.accounts.Token, "payTo's token account for the mint"},
	} {
		if a.is != accountFine {
			return a.name + " is " + a.is + " on chain"
		}
	}
	return ""
}
