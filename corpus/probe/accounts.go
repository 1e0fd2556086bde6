package probe

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"net/http"
	"slices"
	"strings"

	"store.example/agentstore/corpus/exchange"
)

// KindAccounts is a question to a node of Solana: what the accounts hold without which nothing that
// is signed for an entry settles. The node is whoever walks's own; its address stands nowhere.
const KindAccounts = "solana-accounts"

// accountsLabel and a network are what stands for the address of a node in a recording.
const accountsLabel = "rpc:"

// FromAccounts is where a challenge of published evidence comes from that holds no terms, but what
// a node said of the accounts of an entry.
const FromAccounts = "accounts"

// Accounts makes the question to a node and reads its raw answer; accounts.Reader does.
type Accounts interface {
	// Question is the body that asks for the accounts of an entry that a door sent, false where it
	// names none.
	Question(door exchange.Exchange, index int) (body []byte, ok bool)
	// Said reads what was recorded of an answer, or says why it is none.
	Said(x exchange.Exchange) (words AccountWords, problem string)
}

// ReadsAccounts has a battery that replays clients ask nodes of these networks, CAIP-2 names of
// Solana's clusters, for the accounts of the entry that the stock client picks. What was not asked,
// or not answered, is not judged. Without a network, answers that are recorded are read.
func (p *Preflight) ReadsAccounts(by Accounts, on ...string) { p.accounts, p.nodes = by, on }

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

// asksAccounts is the question that follows a look at a door, whose answer is the last exchange
// that is recorded; false where there is nothing to ask or nobody to be asked.
func (p *Preflight) asksAccounts(v *View, recorded []exchange.Exchange) (Next, bool) {
	if len(p.nodes) == 0 || !p.battery.Replays {
		return Next{}, false
	}
	r, picked := v.chosen()
	if !picked || family(r.Network) != familySolana || !slices.Contains(p.nodes, r.Network) || v.problemOf(r) != "" {
		return Next{}, false
	}
	body, ok := p.accounts.Question(recorded[len(recorded)-1], r.Index)
	if !ok {
		return Next{}, false
	}
	return Next{Kind: KindAccounts, Request: exchange.Request{Method: http.MethodPost, URL: accountsLabel + r.Network,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: body}}, true
}

// Words for an account in published evidence.
const (
	AccountFine      = "fine"
	AccountAbsent    = "absent"
	AccountOther     = "something else"
	AccountFrozen    = "frozen"
	AccountStrangers = "another owner's"
)

// redactAccounts brings a node's answer into published form: of each account a word, and no
// address. An answer that is none holds a problem in their place.
func (p *Preflight) redactAccounts(x exchange.Exchange) exchange.Redacted {
	door := x
	door.Response.Header, door.Request.Body, door.Request.Header = nil, nil, nil
	r := redact(door)
	r.Challenges = []exchange.Challenge{{From: FromAccounts, Bytes: len(x.Response.Body)}}
	c := &r.Challenges[0]
	said, problem := p.accounts.Said(x)
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

// AccountWords are a word for each account that counts.
type AccountWords struct {
	Mint     string `json:"mint"`
	FeePayer string `json:"fee_payer"`
	Token    string `json:"token_account"`
}

// readAccounts takes what a node said, if it is of the network of the entry that is judged.
func (v *View) readAccounts(read *exchange.Redacted) {
	r, picked := v.chosen()
	if read == nil || !picked || read.URL != accountsLabel+r.Network || len(read.Challenges) != 1 ||
		read.Challenges[0].From != FromAccounts {
		return
	}
	c := read.Challenges[0]
	var words AccountWords
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
		if a.is != AccountFine {
			return a.name + " is " + a.is + " on chain"
		}
	}
	return ""
}
