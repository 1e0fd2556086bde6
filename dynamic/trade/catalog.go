package trade

import (
	"cmp"
	"fmt"
	"net/http"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/account"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/dynamic/till"
)

// Catalog is what is sold on account, and at which prices.
type Catalog struct {
	WhatThisIs string `json:"what_this_is"`
	ShareBPS   int    `json:"share_bps"`
	Note       string `json:"note"`
	Items      []Item `json:"items"` // in shelf order
}

// Item is one good of the catalogue.
type Item struct {
	ItemID            string   `json:"item_id"`
	Name              string   `json:"name"`
	Subtitle          string   `json:"subtitle,omitempty"`
	Description       string   `json:"description"`
	WhatItReads       string   `json:"what_it_reads"`
	Constraints       []string `json:"constraints,omitempty"`
	Cadence           string   `json:"cadence"` // one_off | term
	RetailUSD         USD      `json:"retail_usd"`
	TradePriceUSD     USD      `json:"trade_price_usd"`
	StoreNetUSD       USD      `json:"store_net_usd"` // what the account owes for one
	ShareBPS          int      `json:"share_bps"`
	InputKind         string   `json:"input_kind"` // the input without which it is not made, or none
	Fields            []string `json:"fields"`
	Specimen          string   `json:"specimen,omitempty"`
	ArtifactClass     string   `json:"artifact_class"`
	Signs             string   `json:"signs"`
	DoesNotProve      string   `json:"does_not_prove"`
	VerifyURLTemplate string   `json:"verify_url_template"`
	ItemPage          string   `json:"item_page"`
	FrontDoor         string   `json:"front_door"`
}

// serveCatalog answers GET /api/trade/catalog, for an account or for one that begins.
func (d *Counter) serveCatalog(w http.ResponseWriter, r *http.Request) error {
	in := route.Inputs(r)
	a, book := &Account{}, account.Book{}
	note := "Prices of an account that begins. Add account={id} for those of an account."
	if id := in["account"]; id != "" {
		known, ok := d.account(id)
		if !ok {
			return refuse("unknown_account", "No account has this id. GET "+d.cfg.BaseURL+"/api/trade/contract lists "+
				"those that are open.")
		}
		a, note = known, "Prices and items of the account "+id+", for this month."
		err := d.view(r.Context(), func(tx ledger.Tx) (err error) {
			book, err = account.ReadBook(tx, id)
			return err
		})
		if err != nil {
			return err
		}
	}
	return counter.WriteJSON(w, d.catalog(a, book.Share(), note))
}

func (d *Counter) catalog(a *Account, share int, note string) Catalog {
	c := Catalog{ShareBPS: share, Note: note, Items: []Item{}, WhatThisIs: "What marketplaces may sell of this store " +
		"under their own roof. Each is delivered against one signed webhook and billed to the account: " +
		pricingRule + " What is signed verifies free at verify_url_template."}
	site := d.cfg.Site.Now()
	for _, g := range site.Goods {
		if o := d.cfg.Till.Good(site, g.ID); o != nil && d.sells(a, o) == nil {
			c.Items = append(c.Items, d.item(o, share))
		}
	}
	return c
}

func (d *Counter) item(o *till.Offer, share int) Item {
	g, t := o.Good, account.TermsOf(o.Price(), share)
	i := Item{ItemID: g.ID, Name: g.Name, Subtitle: g.Subtitle, Description: g.Description, WhatItReads: g.WhatItReads,
		Constraints: g.Constraints, Cadence: g.Cadence, RetailUSD: usd(o.Price()), TradePriceUSD: usd(t.Price),
		StoreNetUSD: usd(t.Net), ShareBPS: share, InputKind: inputKind(g), Fields: []string{},
		ArtifactClass: g.Artifact,
		Signs:         g.Signs, DoesNotProve: g.DoesNotProve, VerifyURLTemplate: d.cfg.BaseURL + "/api/verify/{id}",
		ItemPage: d.cfg.BaseURL + o.About, FrontDoor: d.cfg.BaseURL + o.Path}
	for _, in := range o.Inputs {
		i.Fields = append(i.Fields, in.Name)
	}
	return i
}

// inputKind is the input that a good is made from: the first that is required, else none.
func inputKind(g content.Good) string {
	for _, in := range g.Inputs {
		if in.Required {
			return in.Name
		}
	}
	return "none"
}

var pricingRule = fmt.Sprintf("trade_price_usd is retail_usd × 1.%02d ÷ (1 − share_bps ÷ 10000), rounded up to the "+
	"cent; the account keeps its share, rounded down to the cent, and owes store_net_usd.", account.MarkupBPS/100)

// Contract is how the counter is used, for machines.
type Contract struct {
	WhatThisIs string         `json:"what_this_is"`
	Version    string         `json:"version"` // v1
	Door       string         `json:"door"`    // URL template
	CheckDoor  string         `json:"check_door"`
	Statement  string         `json:"statement_door"`
	Catalog    string         `json:"catalog"`
	Body       ContractBody   `json:"body"`
	Dialects   []Dialect      `json:"dialects"`
	Secret     string         `json:"secret_form"`
	Checks     []Named        `json:"checks"` // in the order in which they are taken
	Pricing    Pricing        `json:"pricing"`
	Accounts   []OpenAccount  `json:"accounts"`
	Sandbox    SandboxTerms   `json:"sandbox"`
	Refusals   []NamedRefusal `json:"refusals"`
	Limits     ContractLimits `json:"limits"`
	Certified  string         `json:"what_certificates_say"`
}

// ContractBody says what an order holds.
type ContractBody struct {
	Members []Named `json:"members"`
	Repeats string  `json:"repeats"`
}

// Named is a name and what it means.
type Named struct {
	Name  string `json:"name"`
	Means string `json:"means"`
}

// Pricing is the rule of prices.
type Pricing struct {
	Rule      string          `json:"rule"`
	MarkupBPS int             `json:"markup_bps"`
	MinRetail USD             `json:"min_retail_usd"`
	Shares    []account.Share `json:"shares"` // by the orders of the month before
}

// OpenAccount is an account as everybody may know it.
type OpenAccount struct {
	ID          string `json:"id"`
	Partner     string `json:"partner"`
	Provisioned bool   `json:"provisioned"`
	Catalog     string `json:"catalog"`
}

// SandboxTerms say how the counter is tried out.
type SandboxTerms struct {
	Account string `json:"account"`
	Secret  string `json:"secret"` // everybody's
	PerDay  int    `json:"orders_a_day"`
	Note    string `json:"note"`
}

// NamedRefusal is one way in which the counter says no.
type NamedRefusal struct {
	Code   string `json:"code"`
	Status int    `json:"status"`
	When   string `json:"when"`
	Retry  string `json:"retry"`
	Page   string `json:"page"`
}

// ContractLimits are what is bounded.
type ContractLimits struct {
	WindowSeconds  int `json:"timestamp_window_seconds"`
	NonceSeconds   int `json:"nonce_kept_seconds_after_timestamp"`
	BodyBytes      int `json:"body_bytes"`
	OrderRefLength int `json:"order_ref_characters"`
	PurposeLength  int `json:"purpose_characters"`
	ChecksAnHour   int `json:"checks_an_hour"`
}

// serveContract answers GET /api/trade/contract.
func (d *Counter) serveContract(w http.ResponseWriter, r *http.Request) error {
	at := d.cfg.BaseURL + "/api/trade/"
	c := Contract{Version: "v1", Door: at + "{account}/{item_id}", CheckDoor: at + "{account}/check",
		Statement: at + "{account}/statement", Catalog: at + "catalog?account={account}", Dialects: Dialects,
		WhatThisIs: "A marketplace that the keeper knows sends one signed webhook for each order of its customer, " +
			"gets the goods in the answer, and pays later. Accounts are made by the keeper: write to him at " +
			d.cfg.BaseURL +
			"/api/letter.",
		Secret: "whsec_ and 24 to 64 bytes in base64; the HMAC's key is the bytes, in every dialect",
		Body: ContractBody{Members: []Named{
			{"account", "the account's id, as in the path"}, {"item_id", "the good's id, as in the path"},
			{"order_ref", "your own name of the order, unique for ever; webhook-id in the dialect standard-webhooks"},
			{"purpose", "optional: what your customer wants it for, which the certificate then says in place of the " +
				"good's own purpose; not in the sandbox"},
			{"…", "the inputs of the item, each a member: fields of the catalogue"}},
			Repeats: "The same order_ref with the same body, byte for byte, gets the first answer again, for ever, " +
				"and is billed once. With another body it is refused."},
		Pricing: Pricing{Rule: pricingRule, MarkupBPS: account.MarkupBPS, MinRetail: usd(account.MinRetail),
			Shares: account.Shares},
		Accounts: []OpenAccount{},
		Sandbox: SandboxTerms{Account: Sandbox, Secret: SandboxSecret, PerDay: till.SamplesADay, Note: "Samples of " +
			"what is made of a text, from public pools: no stock, patron number, register, callback or bill. Buyers' " +
			"texts are replaced. Certificates say settled_via: trade sandbox."},
		Limits: ContractLimits{int(window.Seconds()), int(nonceKept.Seconds()), maxBody, maxRef, maxPurpose,
			checksAnHour},
		Certified: "settled_via is trade; trade_partner is the account's name; trade_price_usd is the price; " +
			"trade_instruction is sha256-salted: and the SHA-256 of account.instruction_salt of the answer and the " +
			"signed body behind it. There are no fields of a payment."}
	for _, k := range checks {
		c.Checks = append(c.Checks, Named{k.name, k.means})
	}
	for _, a := range d.accounts {
		c.Accounts = append(c.Accounts, OpenAccount{a.ID, a.Partner, len(a.Secrets) > 0, at + "catalog?account=" +
			a.ID})
	}
	for _, f := range refusals {
		c.Refusals = append(c.Refusals, NamedRefusal{f.code, statusOf(f.code), f.when, cmp.Or(f.retry, "never"),
			d.cfg.BaseURL + "/problems/" + f.code})
	}
	return counter.WriteJSON(w, c)
}
