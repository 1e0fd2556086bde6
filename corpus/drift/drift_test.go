package drift

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"
)

const (
	door   = "https://shop.example/paid"
	origin = "https://shop.example"
	usdc   = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
	right  = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
	wrong  = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
)

// accepts is an entry of x402, each member in a line of its own.
const accepts = `{"scheme":"exact","asset":"` + usdc + `",
"network":"NETWORK",
"amount":"PRICE",
"payTo":"PAYTO"}`

// challenge is an object with the form of a challenge.
const challenge = `{"resource":{"url":"` + door + `"},"accepts":[` + accepts + `],
"extensions":{
"bazaar":{"info":{"input":{"type":"http",
"method":"METHOD"}},
"schema":{"properties":{"input":{"properties":{"body":{"properties":{"INPUT":{}},"required":["INPUT"]}}}}}}}}`

const offer = `{"intent":"charge","currency":"` + usdc + `",
"method":"WAY",
"amount":"PRICE",
"recipient":"PAYTO"}`

const openAPI = `{"openapi":"3.1.0","paths":{"/{any}":{"get":{"x-payment-info":{"price":"9"}}},"/paid":{
"LOWER":{"responses":{"402":{}},"x-payment-info":INFO,
"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/In"}}}}}}},
"components":{"schemas":{"In":{"properties":{"INPUT":{}},"required":["INPUT"]}}}}`

// stated is a text with what the door says, or with another value for each member.
func stated(text string, drifted bool) string {
	values := []string{"NETWORK", "eip155:8453", "PRICE", "10000", "PAYTO", strings.ToLower(right), "METHOD", "POST",
		"LOWER", "post", "WAY", "evm", "INPUT", "city", "DOLLARS", "0.01"}
	if drifted {
		values = []string{"NETWORK", "eip155:137", "PRICE", "20000", "PAYTO", wrong, "METHOD", "GET", "LOWER", "get",
			"WAY", "tempo", "INPUT", "town", "DOLLARS", "0.02"}
	}
	return strings.NewReplacer(values...).Replace(text)
}

// at is the door, which refuses GET and says its terms to POST, in both protocols.
func at(t *testing.T) Live {
	t.Helper()
	request := `{"amount":"10000","currency":"` + usdc + `","recipient":"` + right + `","methodDetails":{"chainId":8453}}`
	live, ok := ReadLive([]exchange.Exchange{
		{Request: exchange.Request{Method: "GET", URL: door}, Response: exchange.Response{Status: 405}},
		{Request: exchange.Request{Method: "POST", URL: door}, Response: exchange.Response{Status: 402,
			Header: http.Header{
				"Payment-Required": {base64.StdEncoding.EncodeToString([]byte(stated(challenge, false)))},
				"Www-Authenticate": {`Payment id="a", realm="r", method="evm", intent="charge", request="` +
					base64.RawURLEncoding.EncodeToString([]byte(request)) + `"`}}}}})
	if !ok || len(live.terms) != 2 || live.inputs == nil {
		t.Fatalf("the door is read as %+v", live)
	}
	return live
}

// replay has a host answer by path.
func replay(t *testing.T, live Live, host map[string]string) Report {
	t.Helper()
	var recorded []exchange.Exchange
	c := Checker{Door: door, Live: live}
	for len(recorded) <= c.MaxRequests() {
		r, next, err := c.Step(recorded)
		if err != nil {
			t.Fatal(err)
		}
		if next == nil {
			return r
		}
		x := exchange.Exchange{Request: next.Request, Response: exchange.Response{Status: http.StatusNotFound}}
		if text, ok := host[strings.TrimPrefix(next.Request.URL, origin)]; ok {
			x.Response = exchange.Response{Status: http.StatusOK, Body: []byte(text)}
			if strings.HasPrefix(text, "event:") {
				x.Response.Header = http.Header{"Content-Type": {"text/event-stream"}}
			}
		}
		recorded = append(recorded, x)
	}
	t.Fatal("it asks for more than it said")
	return Report{}
}

const (
	card  = "/.well-known/mcp/server-card.json"
	agent = "/.well-known/agent-card.json"
	file  = "/.well-known/x402"
)

// Each declaration that says otherwise than the door is told so once for each member, with the
// value and the line where it stands; one that says the same is not.
func TestDeclarationsAgainstTheDoor(t *testing.T) {
	live := at(t)
	five := func(lines ...int) (out []string) {
		for i, m := range []string{Network, Price, PayTo, Method, Inputs} {
			out = append(out, fmt.Sprint(m, " ", lines[i]))
		}
		return out
	}
	remote := map[string]string{card: `{"remotes":[{"url":"https://else.example/mcp"},{"url":"/mcp"}]}`}
	for _, c := range []struct {
		name, by, path, text string
		beside               map[string]string
		want                 []string // of what drifted: member and line
	}{
		{"x402", X402, file, "{\"items\":[\n" + challenge + "]}", nil, five(3, 4, 5, 8, 7)},
		{"x402 in words", X402, file, "{\"version\":1,\n\"payTo\":\"PAYTO\",\n\"resources\":[\"/x\",\n" +
			"\"METHOD /paid\"]}", nil, []string{"payTo 2", "method 4"}},
		{"x402 in a word", X402, file, "{\"resources\":[\n\"METHOD /paid\"]}", nil, []string{"method 2"}},
		{"openapi", OpenAPI, "/openapi.json", strings.Replace(openAPI, "INFO", `{"price":{"mode":"fixed","currency":"USD",
"amount":"DOLLARS"},"protocols":[{"x402":{
"network":"NETWORK",
"payTo":"PAYTO"}}]}`, 1), nil, five(4, 3, 5, 2, 2)},
		{"openapi with accepts", OpenAPI, "/openapi.json", strings.Replace(openAPI, "INFO",
			`{"accepts":[`+accepts+`]}`, 1), nil, five(3, 4, 5, 2, 2)},
		{"mpp", MPP, "/openapi.json", strings.Replace(openAPI, "INFO", `{"offers":[`+strings.Replace(offer,
			"WAY", "evm", 1)+`]}`, 1), nil, five(3, 4, 5, 2, 2)[1:]},
		// By another payment method than the door's, amount and recipient are of another kind.
		{"mpp alone", MPP, "/openapi.json", strings.Replace(openAPI, "INFO", offer, 1), nil,
			[]string{"network 3", "method 2", "inputs 2"}},
		{"mcp card", MCP, card, "{\"_meta\":{\"shop.example/terms\":\n" + challenge + "}}", nil, five(3, 4, 5, 8, 7)},
		{"mcp tools", MCP, "/mcp", "{\"result\":{\"tools\":[{\"_meta\":{\"shop.example/terms\":\n" + challenge + "}}]}}",
			remote, five(3, 4, 5, 8, 7)},
		{"mcp stream", MCP, "/mcp", "event: message\ndata: " + strings.ReplaceAll(
			"{\"result\":{\"tools\":[{\"_meta\":{\"shop.example/terms\":"+challenge+"}}]}}", "\n", "") + "\n\n",
			remote, five(2, 2, 2, 2, 2)},
		{"a2a", A2A, agent, `{"url":"https://shop.example/a2a","capabilities":{"extensions":[
{"uri":"https://github.com/google-a2a/a2a-x402/v0.1","params":` + challenge + `}]}}`, nil, five(3, 4, 5, 8, 7)},
	} {
		for _, drifted := range []bool{false, true} {
			host := map[string]string{c.path: stated(c.text, drifted)}
			maps.Copy(host, c.beside)
			r := replay(t, live, host)
			got, want := []string(nil), c.want
			for _, f := range r.Findings {
				got = append(got, fmt.Sprint(f.Member, " ", f.Line))
				lines := strings.Split(host[c.path], "\n")
				if f.Declaration != c.by || f.URL != origin+c.path || f.Live == "" || f.Member != Inputs &&
					!strings.Contains(strings.ToUpper(lines[f.Line-1]), strings.ToUpper(f.Declared)) {
					t.Errorf("%s: %+v", c.name, f)
				}
			}
			if !drifted {
				want = nil
			}
			if d := cmp.Diff(want, got); d != "" || len(r.Unread) > 0 || !cmp.Equal(r.Compared, []string{c.by}) {
				t.Errorf("%s, drifted %v: %+v (-want +got):\n%s", c.name, drifted, r, d)
			}
		}
	}
}

// TestListings holds what facilitators list against the door: terms that are not the door's are
// told with their line, whatever else is listed, and what cannot be read contradicts nothing.
func TestListings(t *testing.T) {
	live := at(t)
	live.terms = append(live.terms, live.terms[0])
	if to := live.PayTos(); len(to) != 1 || !strings.EqualFold(to[0], right) {
		t.Fatalf("it is paid at %v", to)
	}
	const listings = "https://facilitator.example/v2/discovery/merchant?limit=100&payTo=" + right
	if got := ListingURL("https://facilitator.example/v2/", right); got != listings {
		t.Fatalf("asked at %s", got)
	}
	list := func(ref, total string, drifted bool) string {
		return "{\"x402Version\":2,\"payTo\":\"" + right + "\",\"pagination\":{\"limit\":100,\"offset\":0,\"total\":" +
			total + "},\n\"resources\":[{\"resource\":\"https://shop.example/other\",\"accepts\":[]},\n{\"resource\":\"" +
			ref + "\",\"type\":\"http\",\"accepts\":[" + stated(accepts, drifted) + "]}]}"
	}
	for name, c := range map[string]struct {
		status   int
		body     string
		total    int
		listed   bool
		findings []string
		unread   string
	}{
		"as the door says":    {200, list(door, "2", false), 2, true, nil, ""},
		"otherwise":           {200, list(door, "2", true), 2, true, []string{"network 4", "price 5", "payTo 6"}, ""},
		"another door":        {200, list("https://shop.example/paid/more", "2", true), 2, false, nil, ""},
		"another host":        {200, list("https://else.example/paid", "2", true), 2, false, nil, ""},
		"a total of text":     {200, list(door, "\"2\"", false), -1, true, nil, ""},
		"a total below zero":  {200, list(door, "-2", false), -1, true, nil, ""},
		"nobody it knows":     {404, "", 0, false, nil, ""},
		"not a JSON object":   {200, "[]", 0, false, nil, "not a JSON object"},
		"too many for it now": {429, "", 0, false, nil, "status 429"},
	} {
		r := Report{Compared: []string{}, Findings: []Finding{}, Unread: []Unread{}}
		err := r.AddListings(door, live, []exchange.Exchange{{Request: exchange.Request{Method: "GET", URL: listings},
			Response: exchange.Response{Status: c.status, Body: []byte(c.body)}}})
		var got []string
		for _, f := range r.Findings {
			got = append(got, fmt.Sprint(f.Member, " ", f.Line))
			if f.Declaration != Listed || f.URL != listings {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if d := cmp.Diff(c.findings, got); err != nil || d != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, d)
		}
		if c.unread != "" {
			if len(r.Unread) != 1 || !strings.Contains(r.Unread[0].Reason, c.unread) || len(r.Listings) > 0 {
				t.Errorf("%s: %+v", name, r)
			}
			continue
		}
		want := []Listing{{URL: listings, PayTo: right, Total: c.total, Listed: c.listed}}
		if d := cmp.Diff(want, r.Listings); d != "" || len(r.Unread) > 0 {
			t.Errorf("%s: %+v (-want +got):\n%s", name, r, d)
		}
	}
}

// What cannot be read, or says nothing of the door, contradicts nothing.
func TestNoLieWithoutProof(t *testing.T) {
	live := at(t)
	untried := live
	untried.Names, untried.Refused = "", nil
	for name, c := range map[string]struct {
		live       Live
		path, text string
		unread     string
	}{
		"a page":             {live, file, "<!doctype html>", "not a JSON object"},
		"a name twice":       {live, "/openapi.json", `{"paths":{},"paths":{}}`, "twice"},
		"too large":          {live, agent, `{"a":"` + strings.Repeat("x", MaxDocument) + `"}`, "2 MiB"},
		"an amount of words": {live, file, `{"items":[{"url":"/paid","accepts":[{"amount":"ten"}]}]}`, "whole number"},
		"a price of words":   {live, file, `{"items":[{"url":"/paid","price":"cheap"}]}`, "number of dollars"},
		"no list of tools":   {live, card, `{"remotes":[{"url":"/mcp"}]}`, "does not list its tools"},
		"another door":       {live, file, `{"items":[{"url":"/other","price":"9"}]}`, ""},
		"another host":       {live, file, `{"items":[{"url":"https://else.example/paid","price":"9"}]}`, ""},
		"a range":            {live, file, `{"items":[{"url":"/paid","price":{"min":"0.001","max":"1"}}]}`, ""},
		"a method untried":   {untried, file, `{"resources":["GET /paid"]}`, ""},
		"a name as long as the text": {live, "/openapi.json", `{"paths":{"/{` + strings.Repeat("x", 1<<20) +
			`}":{"get":{"x-payment-info":{"price":"9"},"a":[` + strings.Repeat("[],", 200_000) + `[]]}}}}`, ""},
		"composed inputs": {live, "/openapi.json", `{"paths":{"/paid":{"post":{"responses":{"402":{}},"requestBody":
{"content":{"application/json":{"schema":{"allOf":[{}]}}}}}}}}`, ""},
	} {
		r := replay(t, c.live, map[string]string{c.path: c.text})
		if len(r.Findings) > 0 || (c.unread != "") != (len(r.Unread) == 1) ||
			c.unread != "" && !strings.Contains(r.Unread[0].Reason, c.unread) {
			t.Errorf("%s: %.500v", name, r)
		}
	}
	if _, ok := ReadLive([]exchange.Exchange{{Response: exchange.Response{Status: 200}}}); ok {
		t.Error("a door that asks for no payment has terms")
	}
}

// A walk makes the request that lists tools, and no other POST of this checker.
func TestTheWalkKnowsTheList(t *testing.T) {
	for _, k := range fetch.Kinds() {
		if k.Name == KindTools && (k.Body != BodyTools || k.Leaves) || k.Name == probe.KindGet && k.Leaves {
			t.Errorf("the walk's kind is %+v", k)
		}
	}
}

func FuzzDocuments(f *testing.F) {
	f.Add(stated(challenge, true))
	f.Add(stated(openAPI, true))
	f.Fuzz(func(t *testing.T, text string) {
		host := map[string]string{file: text, "/openapi.json": text, agent: text, card: text, "/mcp": text}
		for _, found := range replay(t, at(t), host).Findings {
			if found.Line < 1 || found.Line > 1+strings.Count(text, "\n") {
				t.Errorf("%+v", found)
			}
		}
	})
}
