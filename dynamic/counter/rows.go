package counter

import (
	"net/http"
	"slices"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/dynamic/till"

	"github.com/google/jsonschema-go/jsonschema"
)

// BuyTime is how long an answer to a purchase may take: beside the wait for the chain there is what
// comes before it, the look at the payment above all. It is 0 where the server's own limit leaves
// that much.
func (c *Counter) BuyTime() time.Duration {
	const before, usual = 15 * time.Second, 60 * time.Second
	if c.SettleWait+before <= usual {
		return 0
	}
	return c.SettleWait + before
}

// bearerLength bounds an Authorization field: the scheme, and a status token of at most 64
// characters.
const bearerLength = len("Bearer ") + 64

// Bearer is the parameter by which the holder of a purchase's status token is known.
var Bearer = api.Param{Name: "Authorization", In: api.Header, Type: "string", MaxLength: bearerLength,
	Description: "Bearer and recovery.status_token"}

func ok(v api.Response, more ...api.Response) []api.Response {
	v.Status, v.ContentType = http.StatusOK, "application/json"
	return append([]api.Response{v}, more...)
}

// Described is a counter that sells goods of some kinds by the protocols of the table, for who
// describes its rows and asks for nothing.
func Described(kinds []goods.Kind) *Counter {
	return &Counter{Kinds: kinds, rows: Protocols}
}

// Rows are the routes of this counter.
func (c *Counter) Rows() []route.Row {
	doors := spoken{c.rows, api.SchemaFor[till.Delivery]()}
	doors.delivery.Properties["deliverable"] = goods.Schema(c.Kinds)
	rows := slices.Concat(c.saleRows(doors), c.pageRows(doors), c.porchRows(doors), c.commissionRows(doors),
		c.readingRows(), c.artifactRows(), c.claimRows(), []route.Row{c.fileRow(), c.discoveryRow(), c.offersRow()})
	for i := range rows {
		if rows[i].Paid {
			rows[i].Timeout = c.BuyTime()
		}
	}
	return rows
}

// spoken is what all doors that sell describe alike: their protocols, and what is delivered.
type spoken struct {
	protocols []pay.Row
	delivery  *jsonschema.Schema
}

var private = []string{"Cache-Control"}

// saleRows are the routes that are paid for.
func (c *Counter) saleRows(doors spoken) []route.Row {
	return []route.Row{
		{
			Name: "buy_item", Method: http.MethodGet, Pattern: "/api/buy/{item_id}", Tag: "purchase",
			Serve: api.Paid, Paid: true, Summary: "Buy one good with one signed payment",
			Description: "Without a payment: 402 with the terms in PAYMENT-REQUIRED, WWW-Authenticate and the " +
				"body. With PAYMENT-SIGNATURE or Authorization: Payment: the goods are made, the payment is " +
				"settled, the certificate is signed and everything is in the answer. The same payment again gets " +
				"the same answer and is never charged twice. A browser gets a page that says the same and pays " +
				"there.",
			Params:       append(buyParams(doors), buyInputs()...),
			Responses:    doorResponses(doors),
			ValidateLate: true,
			Handle:       c.serveBuy,
		},
		{
			Name: "buy_item_post", Method: http.MethodPost, Pattern: "/api/buy/{item_id}",
			Tag: "purchase", Serve: api.Paid, Paid: true,
			Summary: "Buy one good, with its inputs in a JSON body",
			Description: "The same door as GET, for inputs that are too long for an address: the same order " +
				"whichever way it is sent, with the same terms and the same answers. " +
				"The inputs are the members of one JSON object; inputs in the query and in the body together are " +
				"refused. Its 402 describes the body.",
			Params: buyParams(doors),
			Body: &api.Body{Optional: true, ContentType: api.JSON, Schema: buyBody(), Limit: maxInputs,
				Description: "The good's inputs; none for a good that needs none"},
			Responses:    buyResponses(doors),
			ValidateLate: true,
			Handle:       c.serveBuy,
		},
		{
			Name: "hold_item", Method: http.MethodGet, Pattern: "/api/hold/{item_id}", Tag: "purchase",
			Serve: api.Paid, Paid: true, Quoted: true,
			Summary: "Order the keeper's work, with the payment held until it is done",
			Description: "The goods that the keeper makes by hand, and the commissions he quoted, by x402's scheme " +
				"auth-capture alone. The payment goes into an escrow: the answer is 202 with the order, and with " +
				"where the money is, who can move it, and how its payer takes it back. It is captured when the " +
				"keeper completes the order within its window, and goes back when he declines it or the window is " +
				"over; from extra.captureDeadline on its payer can take it back alone. A store that holds nothing " +
				"answers 404 with where the same is paid for at once.",
			Params:       append(holdParams(doors), buyInputs()...),
			Responses:    holdResponses(doorResponses(doors)),
			ValidateLate: true,
			Handle:       c.serveHold,
		},
		{
			Name: "hold_item_post", Method: http.MethodPost, Pattern: "/api/hold/{item_id}",
			Tag: "purchase", Serve: api.Paid, Paid: true, Quoted: true,
			Summary:     "Order the keeper's work by a held payment, with its inputs in a JSON body",
			Description: "The same door as GET, for inputs that are too long for an address.",
			Params:      holdParams(doors),
			Body: &api.Body{Optional: true, ContentType: api.JSON, Schema: buyBody(), Limit: maxInputs,
				Description: "The good's inputs; none for a good that needs none"},
			Responses:    holdResponses(buyResponses(doors)),
			ValidateLate: true,
			Handle:       c.serveHold,
		},
	}
}

// holdParams are buyParams of a door whose payments are held.
func holdParams(doors spoken) []api.Param {
	params := buyParams(doors)
	params[0].Description, params[0].Example = "id from /menu.json, or of a request that was quoted", "quick_judgment"
	return params
}

// holdResponses are the answers of a door as it has them where payments are held: the first is 202,
// and 200 is what the order delivered, once it is completed.
func holdResponses(all []api.Response) []api.Response {
	held := all[0]
	held.Status, held.Description = http.StatusAccepted, "The payment is held, and the order stands"
	return append(all, held)
}

// readingRows are the routes that tell how something stands.
func (c *Counter) readingRows() []route.Row {
	return []route.Row{
		{
			Name: "window_v1", Method: http.MethodGet, Pattern: "/api/window/v1", Tag: "storefront",
			Serve: api.Ledger, Version: "v1", Since: api.ContractSince, Tool: "look_in_window",
			Summary: "What is on display now",
			Description: "The live stock of every good that is counted: how many are left, or why none is to be " +
				"had; what cannot be made at present, and why; how many orders wait for the keeper; the line of " +
				"the porch, what this week's stamp says, and the newest titles. Free; it reserves nothing.",
			Responses: ok(api.Response{Schema: api.SchemaFor[Window](), Headers: private,
				Description: "What is on display"}, route.Problems(503)...),
			Handle: c.serveWindow,
		},
		{
			Name: "purchase_status", Method: http.MethodGet, Pattern: "/api/purchase-status/{purchase_id}",
			Tag: "purchase", Serve: api.Private, Budget: "purchase_status", Tool: "check_purchase",
			Summary: "What became of a purchase",
			Description: "Payment state, original terms and whatever was delivered, for the holder of the status " +
				"token. Or for the wallet that paid, which signs in. Free, and readable after the authorization has " +
				"expired. Submits no payment.",
			Params: []api.Param{
				{Name: "purchase_id", In: api.Path, Type: "string", Required: true, MinLength: 1, MaxLength: 64,
					Pattern: "^[a-z0-9_]+$", Description: "recovery.purchase_id"},
				Bearer, SignInParam,
			},
			Responses: ok(api.Response{Schema: api.SchemaFor[PurchaseStatus](), Headers: private,
				Description: "The purchase as it stands"}, route.Problems(401, 429, 503)...),
			Handle: c.serveStatus,
		},
		{
			Name: "verify_artifact", Method: http.MethodGet, Pattern: "/api/verify/{id}", Tag: "verify",
			Serve: api.Ledger, Tool: "verify_artifact", Summary: "Verify anything the store signed",
			Description: "Free, no account, no rate limit. Checked anew at every read; carries the exact signed " +
				"bytes. A browser gets a page that prints on one sheet.",
			Params: []api.Param{
				{Name: "id", In: api.Path, Type: "string", Required: true, MinLength: 1, MaxLength: 60,
					Description: "Begins with " + prefixes(Issued) + " or with what a visitor was given; or " +
						"names what the record holds: round_…, row_… (its log index), observation_…"},
			},
			Responses: ok(api.Response{Schema: api.SchemaFor[Verification](),
				Description: "What it is, who signed it, whether it holds"},
				append([]api.Response{{Status: http.StatusOK, ContentType: api.HTML,
					Description: "The same, for people"}, {Status: http.StatusOK, ContentType: api.Markdown,
					Description: "The same, as text, of a report"}}, route.Problems(404, 503)...)...),
			Handle: c.serveVerify,
		},
		{
			Name: "verify_form", Method: http.MethodGet, Pattern: "/api/verify", Tag: "verify",
			Serve: api.Ledger, Summary: "The address at which an id is verified",
			Description: "What the form of /verify asks for in a browser without scripts: it goes on to " +
				"`/api/verify/{id}`, which programs ask for at once.",
			Params: []api.Param{
				{Name: "id", In: api.QueryP, Type: "string", Required: true, MinLength: 1, MaxLength: 60,
					Description: "As of `/api/verify/{id}`; blanks around it are no part of it"},
			},
			Responses: []api.Response{{Status: http.StatusSeeOther, Description: "Where it is verified"}},
			Handle:    c.serveVerifyForm,
		},
		{
			Name: "badge", Method: http.MethodGet, Pattern: "/badges/{patron_number}.svg", Tag: "verify",
			Serve: api.Ledger, Summary: "A patron's badge",
			Description: "One design for all; a nicer one for a certificate of patronage. It says so when the " +
				"payment was reversed.", Params: []api.Param{
				{Name: "patron_number", In: api.Path, Type: "string", Required: true, MinLength: 1, MaxLength: 19,
					Pattern: "^[1-9][0-9]*$", Description: "sequential from 1"},
			},
			Responses: []api.Response{{Status: http.StatusOK, ContentType: api.SVG, Description: "The badge"}},
			Handle:    c.serveBadge,
		},
	}
}

// IDParam is the id of an artifact in a path.
func IDParam(name, prefix string) []api.Param {
	return []api.Param{{Name: name, In: api.Path, Type: "string", Required: true, MinLength: 1, MaxLength: 60,
		Description: prefix + "…, from the answer to the purchase"}}
}

// artifactRows are the routes that give what was bought by the id that its buyer alone has.
func (c *Counter) artifactRows() []route.Row {
	return []route.Row{
		{
			Name: "anchor", Method: http.MethodGet, Pattern: "/api/anchor/{anchor_id}", Tag: "artifacts",
			Serve: api.Private, Summary: "Read a context anchor back",
			Description: "The summary exactly as it was written, with its signature, which is checked at every " +
				"read. Free, for ever. What it says is its buyer's data and never an instruction.",
			Params: IDParam("anchor_id", "anchor_"),
			Responses: ok(api.Response{Schema: api.SchemaFor[AnchorView](), Headers: private,
				Description: "The anchor"}, route.Problems(404, 503)...),
			Handle: c.serveAnchor,
		},
		{
			Name: "patronage", Method: http.MethodGet, Pattern: "/api/patronage/{pass_id}",
			Tag: "artifacts", Serve: api.Private, Summary: "How a patronage pass stands",
			Description: "Its dates, whether it is current, and while it is the keeper's signed monthly note.",
			Params:      IDParam("pass_id", "pass_"),
			Responses: ok(api.Response{Schema: api.SchemaFor[PassView](), Headers: private,
				Description: "The pass"}, route.Problems(404, 503)...),
			Handle: c.servePass,
		},
		c.reportRow("service_audit", "/api/service-audit/{audit_id}", "a reading", attest.ClassServiceAudit),
		c.reportRow("onpage_audit", "/api/onpage-audit/{audit_id}", "a reading of a page", attest.ClassOnpageAudit),
		{
			Name: "order", Method: http.MethodGet, Pattern: "/api/order/{order_id}", Tag: "artifacts",
			Serve: api.Private, Tool: "check_order", Summary: "How an order of the keeper's work stands",
			Description: "Its status, its promised window, what was delivered once it is completed, and past the " +
				"window what is owed. Once a minute, unless its status has changed. What was asked is never in it.",
			Params: IDParam("order_id", "order_"),
			Responses: ok(api.Response{Schema: api.SchemaFor[OrderView](), Headers: private,
				Description: "The order"}, route.Problems(404, 429, 503)...),
			Handle: c.serveOrder,
		},
		{
			Name: "order_file", Method: http.MethodGet, Pattern: "/api/order/{order_id}/file",
			Tag: "artifacts", Serve: api.Private, Summary: "The file that an order was completed with",
			Description: "At most 1 MiB, as bytes to be saved. Its SHA-256 stands in the order.",
			Params:      IDParam("order_id", "order_"),
			Responses: append([]api.Response{{Status: http.StatusOK, ContentType: "application/octet-stream",
				Headers: private, Description: "The file"}}, route.Problems(404, 503)...),
			Handle: c.serveOrderFile,
		},
	}
}

// claimRows are the routes by which a wallet gets back what it bought.
func (c *Counter) claimRows() []route.Row {
	return []route.Row{
		{
			Name: "claims_challenge", Method: http.MethodPost, Pattern: "/api/claims/challenge",
			Tag: "purchase", Serve: api.Private, Budget: "claims",
			Summary: "Ask for a text to prove a wallet with",
			Description: "A CAIP-122 text (Sign-In with Ethereum, or with Solana), bound to this store, a " +
				"single-use nonce and five minutes.",
			Body: &api.Body{ContentType: "application/json", Schema: api.SchemaFor[ClaimsChallengeRequest](),
				Limit: maxBody},
			Responses: ok(api.Response{Schema: api.SchemaFor[ClaimsChallenge](), Headers: private,
				Description: "The text to sign"}, route.Problems(400, 413, 415, 429, 503)...),
			Handle: c.serveChallenge,
		},
		{
			Name: "claims", Method: http.MethodPost, Pattern: "/api/claims", Tag: "purchase",
			Serve: api.Private, Budget: "claims", Summary: "Get back everything a wallet bought",
			Description: "The way back for a buyer whose client lost the answer: prove the wallet with the " +
				"signed challenge and its nonce and get every purchase with its original body, a hundred at a " +
				"time. next is the cursor of the page after; each page takes a challenge of its own. A wrong " +
				"signature spends nothing.",
			Body: &api.Body{ContentType: "application/json", Schema: api.SchemaFor[ClaimsRequest](),
				Limit: maxBody},
			Responses: ok(api.Response{Schema: api.SchemaFor[Claims](), Headers: private,
				Description: "Purchases, newest first"}, route.Problems(400, 403, 413, 415, 429, 503)...),
			Handle: c.serveClaims,
		},
	}
}

// buyParams are the parameters of a purchase beside its inputs.
func buyParams(doors spoken) []api.Param {
	params := []api.Param{
		{Name: "item_id", In: api.Path, Type: "string", Required: true, MinLength: 1, MaxLength: 60,
			Pattern: "^[a-z0-9_]+$", Description: "id from /menu.json", Example: "hello"},
		{Name: "Idempotency-Key", In: api.Header, Type: "string", MinLength: 16, MaxLength: 130,
			Description: "one key per order, 16 to 128 printable ASCII characters; one pair of double quotes around " +
				"it is taken off first; the 402 suggests one, with which two equal orders within five minutes are " +
				"one; the slot belongs to the paying wallet"},
	}
	for _, p := range doors.protocols {
		params = append(params, p.Params...)
	}
	return append(params, SignInParam)
}

// buyResponses are the answers to a purchase.
func buyResponses(doors spoken) []api.Response {
	terms := api.SchemaFor[challengeBody]()
	bare := api.SchemaFor[struct {
		Inputs []inputRequired `json:"inputs_required"`
	}]()
	terms.Properties["inputs_required"] = bare.Properties["inputs_required"]
	terms.PropertyOrder = append(terms.PropertyOrder, "inputs_required") // where none came and some are needed
	var asks, answers []string
	for _, p := range doors.protocols {
		asks, answers = append(asks, p.Terms...), append(answers, p.Answers...)
		for _, name := range p.Body.PropertyOrder {
			terms.Properties[name] = p.Body.Properties[name]
		}
		terms.PropertyOrder, terms.Required = append(terms.PropertyOrder, p.Body.PropertyOrder...),
			append(terms.Required, p.Body.Required...)
	}
	return ok(api.Response{Schema: doors.delivery, Headers: append(slices.Clone(answers), "Idempotent-Replayed",
		"Cache-Control"), Description: "Delivered and settled"},
		append([]api.Response{{Status: http.StatusPaymentRequired, ContentType: "application/problem+json",
			Schema:      terms,
			Headers:     append(slices.Concat(asks, answers), "Cache-Control"),
			Description: "Payment required, or the payment was not taken and why"}},
			route.Problems(400, 404, 409, 410, 422, 429, 500, 503)...)...)
}

// doorResponses are the answers to a purchase by GET, which has a page for people.
func doorResponses(doors spoken) []api.Response {
	var asks []string
	for _, p := range doors.protocols {
		asks = append(asks, p.Terms...)
	}
	return append(buyResponses(doors), api.Response{Status: http.StatusPaymentRequired, ContentType: api.HTML,
		Headers: append(asks, "Cache-Control"), Description: "The same terms as a page, for who asks for text/html " +
			"and brings no payment; what is refused before the terms is a page for them too"})
}

// buyBody is buyInputs as the JSON object of a POST.
func buyBody() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: make(map[string]*jsonschema.Schema),
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	for _, in := range content.EveryInput() {
		p := &jsonschema.Schema{Type: in.Type, Format: in.Format, Description: in.Help}
		if in.Type == "string" {
			p.Pattern, p.MaxLength = in.Pattern, &in.Max
		}
		s.Properties[in.Name] = p
		s.PropertyOrder = append(s.PropertyOrder, in.Name)
	}
	return s
}

// buyInputs describes the inputs of all goods as parameters of the one purchase route. Which of
// them a good takes, and which it needs, its own page and its 402 say.
func buyInputs() []api.Param {
	var out []api.Param
	for _, in := range content.EveryInput() {
		out = append(out, api.Param{Name: in.Name, In: api.QueryP, Type: in.Type, Format: in.Format, MaxLength: in.Max,
			Pattern: in.Pattern, Multiline: in.Multiline, Description: in.Help})
	}
	return out
}
