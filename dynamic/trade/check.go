package trade

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/dynamic/account"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/route"
)

// The window of timestamps, and for how long after its timestamp a nonce is kept.
const (
	window    = 300 * time.Second
	nonceKept = 360 * time.Second
)

// attempt is a request that says who signed it.
type attempt struct {
	id      string // of the account, as the path has it
	account *Account
	dialect *Dialect
	clear   bool // one dialect is spoken
	header  http.Header
	body    []byte
	now     time.Time
	at      time.Time // its timestamp, once that is read
	// used reports whether its nonce is spent; nil where that is found out when it is spent.
	used func(nonce string) (bool, error)
}

// Finding is what one check came to.
type Finding struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Code   string `json:"code,omitempty"` // of the refusal
	Detail string `json:"detail"`
}

// check is one of the checks of a signature: a row. judge gives the refusal's code and what is
// wrong, or "" and what is right.
type check struct {
	name  string
	means string
	judge func(a *attempt) (code, detail string, err error)
}

// checks are the four checks, in the order in which the order door takes them.
var checks = []check{
	{"account", "the account is known, has a secret here, and is the one that " + keyLabel + " names, if that is sent",
		(*attempt).judgeAccount},
	{"timestamp", "Unix seconds, at most 300 from the store's clock", (*attempt).judgeTimestamp},
	{"nonce", "of the dialect's form, and not used before", (*attempt).judgeNonce},
	{"signature", "HMAC-SHA256 by a secret of the account", (*attempt).judgeSignature},
}

// one is the value of a header that has to stand once.
func (a *attempt) one(name string) (value, problem string) {
	switch vs := a.header.Values(name); {
	case !a.clear:
		return "", "The request has headers of several dialects. Send those of one."
	case len(vs) == 0:
		return "", "The header " + name + " is missing."
	case len(vs) > 1:
		return "", "The header " + name + " stands more than once."
	default:
		return vs[0], ""
	}
}

func (a *attempt) judgeAccount() (string, string, error) {
	switch {
	case a.account == nil:
		return "unknown_account", "No account has this id. The contract lists those that are open.", nil
	case len(a.account.Secrets) == 0:
		return "account_not_provisioned", "The account is known, and its secret is not here yet.", nil
	}
	if vs := a.header.Values(keyLabel); len(vs) > 1 || len(vs) == 1 && vs[0] != a.id {
		return "bad_provider_key", keyLabel + " names another account than the path.", nil
	}
	return "", "The account is known and has a secret.", nil
}

func (a *attempt) judgeTimestamp() (string, string, error) {
	v, missing := a.one(a.dialect.Timestamp)
	if missing != "" {
		return "missing_headers", missing, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != v || n < 0 || n > 1<<40 {
		return "bad_timestamp", a.dialect.Timestamp + " must be whole Unix seconds in decimal.", nil
	}
	a.at = time.Unix(n, 0)
	if off := a.now.Sub(a.at); off > window || off < -window {
		return "stale_timestamp", fmt.Sprintf("It is %d seconds from the store's clock, and may be 300.",
			int64(off.Abs()/time.Second)), nil
	}
	return "", "It is within 300 seconds of the store's clock.", nil
}

func (a *attempt) judgeNonce() (string, string, error) {
	v, missing := a.one(a.dialect.Nonce)
	switch {
	case missing != "":
		return "missing_headers", missing, nil
	case !a.dialect.nonce.MatchString(v):
		return "bad_nonce", a.dialect.Nonce + " must match " + a.dialect.nonce.String() + ".", nil
	case a.used == nil:
		return "", "It has the dialect's form.", nil
	}
	used, err := a.used(a.nonce())
	if err != nil {
		return "", "", err
	}
	if used {
		return "replayed", "It was used before. Sign each request anew.", nil
	}
	return "", "It has the dialect's form and was not used.", nil
}

func (a *attempt) judgeSignature() (string, string, error) {
	v, missing := a.one(a.dialect.Signature)
	switch {
	case missing != "":
		return "missing_headers", missing, nil
	case a.account == nil || len(a.account.Secrets) == 0:
		return "bad_signature", "There is no secret to check it by.", nil
	case !a.dialect.signs(a.account.Secrets, v, a.header.Get(a.dialect.Timestamp), a.header.Get(a.dialect.Nonce),
		a.body):
		return "bad_signature", "It is not the HMAC-SHA256 over " + a.dialect.Covers + " by the account's secret.", nil
	}
	return "", "It is by the account's secret.", nil
}

// nonce is what is spent: a dialect whose header names the order is retried under the same name, at
// another time.
func (a *attempt) nonce() string {
	n := a.dialect.Name + " " + a.header.Get(a.dialect.Nonce)
	if a.dialect.Refs {
		n += " " + a.header.Get(a.dialect.Timestamp)
	}
	return n
}

// findings are those of all checks.
func (a *attempt) findings() (all []Finding, err error) {
	for _, c := range checks {
		code, detail, err := c.judge(a)
		if err != nil {
			return nil, err
		}
		all = append(all, Finding{c.name, code == "", code, detail})
	}
	return all, nil
}

// attempted reads who a request says that it is of, with its body.
func (d *Counter) attempted(r *http.Request) (*attempt, error) {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		return nil, refuse("cross_site_refused", "A page of another site sent this. Accounts sign on their own "+
			"servers: a secret has no place in a browser.")
	}
	body, err := route.ReadBody(r)
	if err != nil {
		return nil, err
	}
	a := &attempt{id: r.PathValue("account"), header: r.Header, body: body, now: d.cfg.Now()}
	a.account, _ = d.account(a.id)
	a.dialect, a.clear = dialectOf(r.Header)
	return a, nil
}

// Checked is the answer of the check desk.
type Checked struct {
	Account string    `json:"account"`
	Dialect string    `json:"dialect"`
	OK      bool      `json:"ok"` // all four checks pass
	Checks  []Finding `json:"checks"`
	// ExpectedSignature is what the signature header should say, of the sandbox alone, whose secret
	// is public.
	ExpectedSignature string `json:"expected_signature,omitempty"`
	SignedBytes       string `json:"signed_bytes,omitempty"` // of the sandbox alone: how what is signed begins
	Delivered         bool   `json:"delivered"`
	Consumed          bool   `json:"consumed"`
	Note              string `json:"note"`
}

// serveCheck answers POST /api/trade/{account}/check: what the order door would say of a signature.
// It delivers nothing and spends nothing.
func (d *Counter) serveCheck(w http.ResponseWriter, r *http.Request) error {
	if _, err := d.cfg.Budgets.Take(w, r, BudgetCheck, route.Client(r)); err != nil {
		return rateLimited(err)
	}
	a, err := d.attempted(r)
	if err != nil {
		return err
	}
	a.used = func(nonce string) (used bool, err error) {
		err = d.view(r.Context(), func(tx ledger.Tx) error {
			used, err = account.Used(tx, a.id, nonce)
			return err
		})
		return used, err
	}
	if a.account == nil {
		a.used = nil // nothing is spent under a name that nobody has
	}
	out := Checked{Account: a.id, Dialect: a.dialect.Name, OK: true, Note: "Send these headers and this body to POST " +
		d.cfg.BaseURL + "/api/trade/" + clip(a.id) + "/{item_id} to order. Nothing was delivered, spent or kept here."}
	if a.account == nil {
		out.Account, out.Note = clip(a.id), "No account has this id. GET "+d.cfg.BaseURL+"/api/trade/contract lists "+
			"them."
	}
	if out.Checks, err = a.findings(); err != nil {
		return err
	}
	for _, f := range out.Checks {
		out.OK = out.OK && f.OK
	}
	timestamp, noTime := a.one(a.dialect.Timestamp)
	nonce, noNonce := a.one(a.dialect.Nonce)
	if a.id == Sandbox && noTime == "" && noNonce == "" {
		out.ExpectedSignature = a.dialect.spell(a.dialect.sign(a.account.Secrets[0], timestamp, nonce, a.body))
		begins := string(a.dialect.join(timestamp, nonce, nil))
		out.SignedBytes = strings.ToValidUTF8(begins, "?") + fmt.Sprintf(" and the %d bytes of the body", len(a.body))
	}
	return counter.WriteJSON(w, out)
}

// clip keeps what a caller wrote short.
func clip(s string) string {
	if !IDForm.MatchString(s) {
		return "{account}"
	}
	return s
}
