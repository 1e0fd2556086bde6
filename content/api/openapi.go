package api

import (
	"bytes"
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// ContractVersion is the version of the API description.
const ContractVersion = "0.3.0"

// ContractSince is the UTC date from which that version is served.
const ContractSince = "2026-11-20"

// Info is what the API description says of the service as a whole.
type Info struct {
	BaseURL     string // https://store.example, without a slash at its end
	Title       string
	Summary     string   // one sentence
	Description string   // Markdown
	Guidance    string   // for agents: how to use the service, x-guidance
	Contact     string   // mailto: or https: address
	License     string   // SPDX identifier; empty: none named
	Networks    []string // on which payments are taken, CAIP-2, in the order in which they are offered
	Prices      []int64  // what paid routes ask, in atomic units of USDC (millionths); empty: not said
}

// member is one member of a JSON object whose members keep their order.
type member struct {
	name  string
	value any
}

// object is a JSON object in a fixed order. Members without a value are left out.
type object []member

// MarshalJSONTo writes the members in their order.
func (o object) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, m := range o {
		if empty(m.value) {
			continue
		}
		if err := enc.WriteToken(jsontext.String(m.name)); err != nil {
			return err
		}
		if err := json.MarshalEncode(enc, m.value, json.Deterministic(true)); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case object:
		return v == nil
	case []any:
		return v == nil
	case []string:
		return len(v) == 0
	case *float64:
		return v == nil
	case *jsonschema.Schema:
		return v == nil
	}
	return false
}

// BuildOpenAPI renders the OpenAPI 3.1 description of all public routes: those of the documents
// first, in their order, then the others in theirs. Equal inputs give equal bytes.
func BuildOpenAPI(info Info, routes []Route, documents []Document) ([]byte, error) {
	all := Published(routes, documents)
	paths := object{}
	at := make(map[string]int)
	names := make(map[string]bool)
	tags := make(map[string]bool)
	for _, r := range all {
		if names[r.Name] {
			return nil, fmt.Errorf("describing the API: operation %s is there twice", r.Name)
		}
		names[r.Name] = true
		tags[r.Tag] = true
		op := member{strings.ToLower(r.Method), operation(info, r)}
		i, known := at[r.Pattern]
		if !known {
			at[r.Pattern] = len(paths)
			paths = append(paths, member{r.Pattern, object{op}})
			continue
		}
		item := paths[i].value.(object)
		if slices.ContainsFunc(item, func(m member) bool { return m.name == op.name }) {
			return nil, fmt.Errorf("describing the API: %s %s is there twice", r.Method, r.Pattern)
		}
		paths[i].value = append(item, op)
	}
	var tagList []any
	for _, t := range slices.Sorted(maps.Keys(tags)) {
		tagList = append(tagList, object{{"name", t}, {"description", tagText[t]}})
	}
	common, err := share(paths)
	if err != nil {
		return nil, fmt.Errorf("describing the API: %w", err)
	}
	doc := object{
		{"openapi", "3.1.0"},
		{"info", object{
			{"title", info.Title}, {"summary", info.Summary}, {"description", info.Description},
			{"x-guidance", info.Guidance}, {"contact", contact(info)}, {"license", license(info)},
			{"version", ContractVersion},
		}},
		{"servers", []any{object{{"url", info.BaseURL}}}},
		{"x-service-info", object{
			{"categories", []string{"shopping", "data"}},
			{"docs", object{{"homepage", info.BaseURL + "/"}, {"apiReference", info.BaseURL + "/openapi.json"},
				{"llms", info.BaseURL + "/llms.txt"}}},
		}},
		// Nothing needs an account: a payment is made per request, and a bearer token comes with
		// what it opens.
		{"security", []any{object{}}},
		{"tags", tagList},
		{"paths", paths},
		{"components", append(common, member{"securitySchemes", securitySchemes})},
	}
	var buf bytes.Buffer
	if err := lines(&buf, doc, 3); err != nil {
		return nil, fmt.Errorf("describing the API: %w", err)
	}
	buf.WriteByte('\n')
	return buf.Bytes(), nil
}

// securitySchemes are the two uses of Authorization.
var securitySchemes = object{
	{"bearer", object{
		{"type", "http"}, {"scheme", "bearer"},
		{"description", "The private token that came with what is asked for, such as " +
			"recovery.status_token of a purchase."},
	}},
	{"payment", object{
		{"type", "http"}, {"scheme", "payment"},
		{"description", "A credential of the Payment scheme (MPP) that answers a challenge in " +
			"WWW-Authenticate of a 402."},
	}},
}

// Published is what the API description holds: the routes of the documents and the routes, without
// what is internal.
func Published(routes []Route, documents []Document) []Route {
	var all []Route
	for _, d := range documents {
		all = append(all, d.Routes()...)
		all = append(all, d.OwnPaths()...)
	}
	all = append(all, routes...)
	return slices.DeleteFunc(all, func(r Route) bool { return r.Internal })
}

func contact(info Info) any {
	address, isMail := strings.CutPrefix(info.Contact, "mailto:")
	switch {
	case info.Contact == "":
		return nil
	case isMail:
		return object{{"name", info.Title}, {"email", address}}
	default:
		return object{{"name", info.Title}, {"url", info.Contact}}
	}
}

func license(info Info) any {
	if info.License == "" {
		return nil
	}
	return object{{"name", info.License}, {"identifier", info.License}}
}

func operation(info Info, r Route) object {
	op := object{
		{"operationId", r.Name},
		{"summary", strings.TrimSuffix(r.Summary, ".")},
		{"description", cmp.Or(r.Description, r.Summary)},
		{"tags", []string{r.Tag}},
	}
	if !r.Deprecated.IsZero() {
		op = append(op, member{"deprecated", true})
	}
	security := []any{object{}}
	var params []any
	for _, p := range r.Params {
		switch {
		case p.In != Header || !strings.EqualFold(p.Name, "Authorization"):
			params = append(params, parameter(p))
		// OpenAPI takes this field as a security scheme only. One of several ways to pay is none
		// that has to be.
		case r.Paid:
			security = append(security, object{{"payment", []any{}}})
		default:
			security = []any{object{{"bearer", []any{}}}}
		}
	}
	op = append(op, member{"security", security}, member{"parameters", params})
	if r.Body != nil {
		op = append(op, member{"requestBody", object{
			{"description", strings.TrimSuffix(r.Body.Description, ".") + ". At most " + strconv.FormatInt(r.Body.Limit,
				10) + " bytes."},
			{"required", !r.Body.Optional},
			{"content", object{{bare(r.Body.ContentType), object{{"schema", r.Body.Schema},
				{"examples", examples(r.Body.Examples)}}}}},
		}})
	}
	op = append(op, member{"responses", responses(r)})
	if r.Prices != nil {
		info.Prices = r.Prices
	}
	if r.Paid && !r.Quoted {
		op = append(op, member{"x-payment-info", paymentInfo(info)}, member{"x-price-options", priceOptions(info)})
	}
	return op
}

func parameter(p Param) object {
	return object{
		{"name", p.Name}, {"in", string(p.In)}, {"description", p.Description}, {"required", p.Required},
		{"schema", limited(p)}, {"example", p.Example}, {"examples", examples(p.Examples)},
	}
}

// examples are the values by their names, nil for none.
func examples(all []Example) (by object) {
	for _, e := range all {
		by = append(by, member{e.Name, object{{"value", e.Value}}})
	}
	return by
}

// limited is the schema of a parameter's values.
func limited(p Param) object {
	schema := object{{"type", p.Type}, {"format", p.Format}}
	if p.MinLength > 0 && p.Type == "string" {
		schema = append(schema, member{"minLength", p.MinLength})
	}
	if p.MaxLength > 0 && p.Type == "string" {
		schema = append(schema, member{"maxLength", p.MaxLength})
	}
	return append(schema, member{"pattern", p.Pattern}, member{"enum", p.Enum}, member{"minimum", p.Minimum},
		member{"maximum", p.Maximum})
}

// response is what is said of one status.
type response struct {
	text    string
	fields  []string // of the header
	content object   // by media type
}

// object is the response as OpenAPI writes it.
func (r response) object() object {
	var headers object
	for _, name := range r.fields {
		headers = append(headers, member{name, object{
			{"description", headerText[name]}, {"schema", object{{"type", headerType(name)}}},
		}})
	}
	return object{{"description", r.text}, {"headers", headers}, {"content", r.content}}
}

// aProblem is the content of a problem document.
var aProblem = object{{"schema", object{{"$ref", "#/components/schemas/Problem"}}}}

// declared are the responses that a route names, by status.
func declared(r Route) map[int]*response {
	all := map[int]*response{}
	for _, res := range r.Responses {
		to := all[res.Status]
		if to == nil {
			to = &response{text: cmp.Or(res.Description, http.StatusText(res.Status))}
			all[res.Status] = to
		}
		for _, h := range res.Headers {
			if !slices.Contains(to.fields, h) {
				to.fields = append(to.fields, h)
			}
		}
		if res.ContentType == "" {
			continue
		}
		media := object{}
		if s := res.Schema; s != nil {
			media = object{{"schema", s}}
		} else if bare(res.ContentType) == problemType {
			media = aProblem
		} else if !strings.HasPrefix(bare(res.ContentType), "application/") {
			media = object{{"schema", object{{"type", "string"}}}}
		}
		to.content = append(to.content, member{bare(res.ContentType), media})
	}
	return all
}

// responses are what a route declares, by status, and the refusals that its shape implies.
func responses(r Route) object {
	all := declared(r)
	says := object{{problemType, aProblem}}
	if r.Image() {
		says = object{{SVG, object{{"schema", object{{"type", "string"}}}}}}
	}
	refuse := func(status int, text string, fields ...string) {
		if all[status] == nil {
			all[status] = &response{text, fields, says}
		}
	}
	judged := r.Serve != File && r.Serve != Negotiated // its inputs are: a file has none
	if judged || slices.ContainsFunc(r.Params, func(p Param) bool { return p.In != Path }) || r.Body != nil {
		refuse(400, "An input is missing, unknown or invalid.")
	}
	if slices.ContainsFunc(r.Params, func(p Param) bool { return p.In == Path }) {
		refuse(404, "There is nothing of that name.")
	}
	if r.Paid {
		refuse(402, "Payment required: the terms are in PAYMENT-REQUIRED, WWW-Authenticate and the body.",
			"PAYMENT-REQUIRED", "WWW-Authenticate")
	}
	if r.Body != nil {
		refuse(413, "The body is larger than the limit.")
		refuse(415, "The body has another media type than "+bare(r.Body.ContentType)+".")
	}
	if r.Budget != "" {
		refuse(429, "The budget of the window is spent; this says nothing about what was asked.", "Retry-After",
			"Accept-Signature")
		for _, status := range []int{200, 429} {
			if res := all[status]; res != nil {
				res.fields = append(res.fields, RateFields...)
			}
		}
	}
	if judged {
		refuse(500, "A fault of the service.")
	}
	var list object
	for _, status := range slices.Sorted(maps.Keys(all)) {
		list = append(list, member{strconv.Itoa(status), all[status].object()})
	}
	return list
}

const problemType = "application/problem+json"

// RateFields are the header fields of metered answers.
var RateFields = []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit", "RateLimit-Policy"}

var headerText = map[string]string{
	"PAYMENT-REQUIRED": "The terms: base64 of the JSON of an x402 version 2 PaymentRequired.",
	"WWW-Authenticate": "The terms by MPP, where its networks take payments: challenges of the Payment scheme, two " +
		"at most, for the least amount; Accept-Payment says by which methods.",
	"Payment-Receipt":     "What was settled by MPP: base64url of the JSON of a receipt.",
	"PAYMENT-RESPONSE":    "What was settled: base64 of the JSON of an x402 SettleResponse.",
	"Idempotent-Replayed": "true where this is the original answer given again.",
	"Retry-After":         "Seconds to wait before trying again.",
	"Accept-Signature":    "How to sign (RFC 9421), where a caller known by a key would be let through.",
	"RateLimit-Limit":     "Uses in the window, of the tightest count.",
	"RateLimit-Remaining": "Uses that are left of it.",
	"RateLimit-Reset":     "Seconds to the end of the window.",
	"RateLimit":           "What is left of each count, draft-ietf-httpapi-ratelimit-headers.",
	"RateLimit-Policy":    "Each count with its window, draft-ietf-httpapi-ratelimit-headers.",
}

func headerType(name string) string {
	switch name {
	case "Retry-After", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset":
		return "integer"
	}
	return "string"
}

// mppMethods are those of MPP that are taken there; usdc is on other networks too, as its
// challenges say.
var mppMethods = []string{"evm", "usdc"}

// What is paid by MPP: USDC on Base.
const (
	mppNetwork  = "eip155:8453"
	mppCurrency = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
)

// paymentInfo is the extension by which readers of x402 and of MPP find paid operations.
func paymentInfo(info Info) object {
	price := object{{"mode", "dynamic"}, {"currency", "USD"}}
	switch len(info.Prices) {
	case 0:
	case 1:
		price = object{{"mode", "fixed"}, {"currency", "USD"}, {"amount", usd(info.Prices[0])}}
	default:
		price = append(price, member{"min", usd(slices.Min(info.Prices))}, member{"max", usd(slices.Max(info.Prices))})
	}
	protocols := []any{object{{"x402", object{{"networks", info.Networks}}}}}
	if !slices.Contains(info.Networks, mppNetwork) {
		return object{{"price", price}, {"protocols", protocols}}
	}
	// draft-payment-discovery: the amount is null because it depends on what is bought, and no
	// other member is allowed.
	offers := []any{}
	for _, method := range mppMethods {
		offers = append(offers, object{{"intent", "charge"}, {"method", method}, {"amount", jsontext.Value("null")},
			{"currency", mppCurrency},
			{"description", "USDC on " + mppNetwork + "; the amount is in the challenge"}})
	}
	return object{{"price", price},
		{"protocols", append(protocols, object{{"mpp", object{{"networks", []string{mppNetwork}}}}})},
		{"offers", offers}}
}

// priceOptions are all amounts that are asked, in USDC, the least first.
func priceOptions(info Info) []string {
	var list []string
	for _, p := range slices.Compact(slices.Sorted(slices.Values(info.Prices))) {
		list = append(list, usd(p))
	}
	return list
}

// usd writes atomic units (millionths) as a decimal number without needless zeros.
func usd(atomic int64) string {
	whole, rest := atomic/1e6, atomic%1e6
	if rest == 0 {
		return strconv.FormatInt(whole, 10)
	}
	return fmt.Sprintf("%d.%s", whole, strings.TrimRight(fmt.Sprintf("%06d", rest), "0"))
}

func problemSchema() object {
	text := func(description string) object { return object{{"type", "string"}, {"description", description}} }
	return object{
		{"type", "object"},
		{"description", "An RFC 9457 problem document. Further members depend on the type."},
		{"required", []string{"type", "title", "status", "detail", "instance", "error"}},
		{"properties", object{
			{"type", object{{"type", "string"}, {"format", "uri"},
				{"description", "The address of the problem's page; its last segment is the code."}}},
			{"title", text("The kind of problem, always the same for a type.")},
			{"status", object{{"type", "integer"}, {"description", "The HTTP status."}}},
			{"detail", text("What happened and what to do next.")},
			{"instance", text("The path that was asked for, without its query.")},
			{"error", text("The same text as detail, for older clients.")},
			{"errors", object{{"type", "array"}, {"description", "Each input that is wrong."}, {"items", object{
				{"type", "object"}, {"required", []string{"field", "problem"}},
				{"properties", object{{"field", text("Its name.")}, {"problem", text("What is wrong with it.")}}},
			}}}},
			{"delivered", object{{"type", "boolean"},
				{"description", "After a payment was presented: whether the goods were delivered."}}},
			{"billed", object{{"type", "string"}, {"enum", []string{"yes", "no", "unknown"}},
				{"description", "After a payment was presented: whether money moved."}}},
			{"retry", object{{"type", "string"}, {"enum", []string{"never", "now", "after", "same_payment"}},
				{"description", "After a payment was presented: whether and how to try again."}}},
			{"next_step", text("What to do now.")},
		}},
	}
}

var tagText = map[string]string{
	tagStorefront: "What is sold and what is free to read.",
	tagAgents:     "Files for agents and for readers of the API.",
	tagSigning:    "What is needed to verify what the store signed.",
	"purchase":    "Buying, and getting back what was bought.",
	"verify":      "Verification of what the store signed, and badges.",
}
