package counter

import (
	"net/http"
	"slices"
	"time"

	"agentstore/content"
	"agentstore/content/api"
	"agentstore/dynamic/goods"
	"agentstore/dynamic/pay"
	"agentstore/dynamic/route"
	"agentstore/dynamic/till"

	"github.com/google/jsonschema-go/jsonschema"
)

// buyTime is how long an answer to a purchase may take: beside the wait for the chain there is what comes before it, the
// look at the payment above all. The server's own limit holds where it leaves that much.
func (c *Counter) buyTime() time.Duration {
	const before, usual = 15 * time.Second, 60 * time.Second
	if c.SettleWait+before <= usual {
		return 0
	}
	return c.SettleWait + before
}

func statuses(codes ...int) []api.Response {
	var out []api.Response
	for _, c := range codes {
		out = append(out, api.Response{Status: c, ContentType: "application/problem+json", Description: http.StatusText(c)})
	}
	return out
}

func ok(v api.Response, more ...api.Response) []api.Response {
	v.Status, v.ContentType = http.StatusOK, "application/json"
	return append([]api.Response{v}, more...)
}

// A face is a route and the method that answers it, bound when there is a counter.
type face struct {
	api.Route
	late   bool // route.Row.ValidateLate
	handle func(*Counter, http.ResponseWriter, *http.Request) error
}

// Routes describes the routes of a counter that speaks the given protocols, nil for those of the table.
func Routes(protocols []pay.Row) []api.Route {
	var out []api.Route
	for _, f := range faces(protocols) {
		out = append(out, f.Route)
	}
	return out
}

// Rows are the routes of this counter.
func (c *Counter) Rows() []route.Row {
	var out []route.Row
	for _, f := range faces(c.rows) {
		row := route.Row{Route: f.Route, ValidateLate: f.late, Handle: func(w http.ResponseWriter, r *http.Request) error { return f.handle(c, w, r) }}
		if row.Paid {
			row.Timeout = c.buyTime()
		}
		out = append(out, row)
	}
	return out
}

func faces(protocols []pay.Row) []face {
	if protocols == nil {
		protocols = Protocols
	}
	return slices.Concat(sales(protocols), readings(), claims())
}

var private = []string{"Cache-Control"}

// sales are the routes that are paid for.
func sales(protocols []pay.Row) []face {
	return []face{
		{
			Route: api.Route{
				Name: "buy_item", Method: http.MethodGet, Pattern: "/api/buy/{item_id}", Tags: []string{"purchase"}, Serve: api.Paid, Paid: true,
				Summary: "Buy one good with one signed payment",
				Description: "Without a payment: 402 with the terms in PAYMENT-REQUIRED and in the body. With PAYMENT-SIGNATURE: the goods are made, the payment is settled, " +
					"the certificate is signed and everything is in the answer. The same payment again gets the same answer and is never charged twice.",
				Params:    append(buyParams(protocols), buyInputs()...),
				Responses: buyResponses(protocols),
			},
			late:   true,
			handle: (*Counter).serveBuy,
		},
		{
			Route: api.Route{
				Name: "buy_item_post", Method: http.MethodPost, Pattern: "/api/buy/{item_id}", Tags: []string{"purchase"}, Serve: api.Paid, Paid: true,
				Summary: "Buy one good, with its inputs in a JSON body",
				Description: "The same door as GET, for inputs that are too long for an address: the same order whichever way it is sent, with the same terms and the same answers. " +
					"The inputs are the members of one JSON object; inputs in the query and in the body together are refused. Its 402 describes the body.",
				Params:    buyParams(protocols),
				Body:      &api.Body{Optional: true, ContentType: api.JSON, Schema: buyBody(), Limit: maxInputs, Description: "The good's inputs; none for a good that needs none"},
				Responses: buyResponses(protocols),
			},
			late:   true,
			handle: (*Counter).serveBuy,
		},
	}
}

// readings are the routes that tell how something stands.
func readings() []face {
	return []face{
		{
			Route: api.Route{
				Name: "window_v1", Method: http.MethodGet, Pattern: "/api/window/v1", Tags: []string{"storefront"}, Serve: api.Ledger, Version: "v1", Since: api.ContractSince, Tool: "look_in_window",
				Summary:     "What is on display now",
				Description: "The live stock of every good that is counted: how many are left, or why none is to be had. Free; it reserves nothing.",
				Responses:   ok(api.Response{Schema: api.SchemaFor[Window](), Headers: private, Description: "What is on display"}, statuses(503)...),
			},
			handle: (*Counter).serveWindow,
		},
		{
			Route: api.Route{
				Name: "purchase_status", Method: http.MethodGet, Pattern: "/api/purchase-status/{purchase_id}", Tags: []string{"purchase"}, Serve: api.Private,
				Budget: "purchase_status", Tool: "check_purchase", Summary: "What became of a purchase",
				Description: "Payment state, original terms and whatever was delivered, for the holder of the status token. Free, and readable after the authorization has expired. Submits no payment.",
				Params: []api.Param{
					{Name: "purchase_id", In: api.Path, Type: "string", Required: true, MinLength: 1, MaxLength: 64, Pattern: "^[a-z0-9_]+$", Description: "recovery.purchase_id"},
					{Name: "Authorization", In: api.Header, Type: "string", MaxLength: 80, Description: "Bearer and recovery.status_token"},
				},
				Responses: ok(api.Response{Schema: api.SchemaFor[PurchaseStatus](), Headers: private, Description: "The purchase as it stands"}, statuses(401, 503)...),
			},
			handle: (*Counter).serveStatus,
		},
		{
			Route: api.Route{
				Name: "verify_artifact", Method: http.MethodGet, Pattern: "/api/verify/{id}", Tags: []string{"verify"}, Serve: api.Ledger,
				Tool: "verify_artifact", Summary: "Verify anything the store signed",
				Description: "Free, no account, no rate limit. Checked anew at every read; carries the exact signed bytes. A browser gets a page that prints on one sheet.",
				Params: []api.Param{
					{Name: "id", In: api.Path, Type: "string", Required: true, MinLength: 1, MaxLength: 60, Description: "cert_…, or of the record round_…, row_… (its log index), observation_…"},
				},
				Responses: ok(api.Response{Schema: api.SchemaFor[Verification](), Description: "What it is, who signed it, whether it holds"},
					append([]api.Response{{Status: http.StatusOK, ContentType: api.HTML, Description: "The same, for people"}}, statuses(404, 503)...)...),
			},
			handle: (*Counter).serveVerify,
		},
		{
			Route: api.Route{
				Name: "badge", Method: http.MethodGet, Pattern: "/badges/{patron_number}.svg", Tags: []string{"verify"}, Serve: api.Ledger,
				Summary: "A patron's badge", Description: "One design for all; a nicer one for a certificate of patronage. It says so when the payment was reversed.",
				Params: []api.Param{
					{Name: "patron_number", In: api.Path, Type: "string", Required: true, MinLength: 1, MaxLength: 19, Pattern: "^[1-9][0-9]*$", Description: "sequential from 1"},
				},
				Responses: append([]api.Response{{Status: http.StatusOK, ContentType: api.SVG, Description: "The badge"}}, statuses(404, 503)...),
			},
			handle: (*Counter).serveBadge,
		},
	}
}

// claims are the routes by which a wallet gets back what it bought.
func claims() []face {
	return []face{
		{
			Route: api.Route{
				Name: "claims_challenge", Method: http.MethodPost, Pattern: "/api/claims/challenge", Tags: []string{"purchase"}, Serve: api.Private, Budget: "claims",
				Summary:     "Ask for a text to prove a wallet with",
				Description: "A CAIP-122 text (Sign-In with Ethereum), bound to this store, a single-use nonce and five minutes.",
				Body:        &api.Body{ContentType: "application/json", Schema: api.SchemaFor[ClaimsChallengeRequest](), Limit: maxBody},
				Responses:   ok(api.Response{Schema: api.SchemaFor[ClaimsChallenge](), Headers: private, Description: "The text to sign"}, statuses(400, 413, 415, 429, 503)...),
			},
			handle: (*Counter).serveChallenge,
		},
		{
			Route: api.Route{
				Name: "claims", Method: http.MethodPost, Pattern: "/api/claims", Tags: []string{"purchase"}, Serve: api.Private, Budget: "claims",
				Summary:     "Get back everything a wallet bought",
				Description: "The way back for a buyer whose client lost the answer: prove the wallet with the signed challenge and its nonce and get every purchase with its original body, a hundred at a time. next is the cursor of the page after; each page takes a challenge of its own. A wrong signature spends nothing.",
				Body:        &api.Body{ContentType: "application/json", Schema: api.SchemaFor[ClaimsRequest](), Limit: maxBody},
				Responses:   ok(api.Response{Schema: api.SchemaFor[Claims](), Headers: private, Description: "Purchases, newest first"}, statuses(400, 403, 413, 415, 429, 503)...),
			},
			handle: (*Counter).serveClaims,
		},
	}
}

// buyParams are the parameters of a purchase beside its inputs.
func buyParams(protocols []pay.Row) []api.Param {
	params := []api.Param{
		{Name: "item_id", In: api.Path, Type: "string", Required: true, MinLength: 1, MaxLength: 60, Pattern: "^[a-z0-9_]+$", Description: "id from /menu.json"},
		{Name: "Idempotency-Key", In: api.Header, Type: "string", MinLength: 16, MaxLength: 130,
			Description: "one key per order, 16 to 128 printable ASCII characters; one pair of double quotes around it is taken off first; the 402 suggests one, with which two equal orders within five minutes are one; the slot belongs to the paying wallet"},
	}
	for _, p := range protocols {
		params = append(params, p.Params...)
	}
	return params
}

// buyResponses are the answers to a purchase.
func buyResponses(protocols []pay.Row) []api.Response {
	delivery, terms := api.SchemaFor[till.Delivery](), api.SchemaFor[challengeBody]()
	delivery.Properties["deliverable"] = goods.Schema(goods.Kinds)
	var asks, answers []string
	for _, p := range protocols {
		asks, answers = append(asks, p.Terms...), append(answers, p.Answers...)
		for _, name := range p.Body.PropertyOrder {
			terms.Properties[name] = p.Body.Properties[name]
		}
		terms.PropertyOrder, terms.Required = append(terms.PropertyOrder, p.Body.PropertyOrder...), append(terms.Required, p.Body.Required...)
	}
	return ok(api.Response{Schema: delivery, Headers: append(slices.Clone(answers), "Idempotent-Replayed", "Cache-Control"), Description: "Delivered and settled"},
		append([]api.Response{{Status: http.StatusPaymentRequired, ContentType: "application/problem+json", Schema: terms,
			Headers: append(slices.Concat(asks, answers), "Cache-Control"), Description: "Payment required, or the payment was not taken and why"}},
			statuses(400, 404, 409, 410, 422, 429, 500, 503)...)...)
}

// buyBody is buyInputs as the JSON object of a POST.
func buyBody() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: make(map[string]*jsonschema.Schema), AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
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

// buyInputs describes the inputs of all goods as parameters of the one purchase route. Which of them a good takes,
// and which it needs, its own page and its 402 say.
func buyInputs() []api.Param {
	var out []api.Param
	for _, in := range content.EveryInput() {
		out = append(out, api.Param{Name: in.Name, In: api.QueryP, Type: in.Type, Format: in.Format, MaxLength: in.Max, Pattern: in.Pattern, Multiline: in.Multiline, Description: in.Help})
	}
	return out
}
