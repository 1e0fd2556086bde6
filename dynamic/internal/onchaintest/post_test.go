package onchaintest_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/internal/tilltest"
)

// talkative is the specimen with a greeting that takes a long text, a number and a truth value.
func talkative(t *testing.T) *content.Site {
	t.Helper()
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(site.Goods, func(g content.Good) bool { return g.ID == "hello" })
	site.Goods[i].Inputs = []content.Input{
		{Name: "summary", Required: true, Max: 4000, Type: "string", Multiline: true, Help: "A text."},
		{Name: "max_usd", Max: 20, Type: "number", Help: "A number."},
		{Name: "no_spend_controls", Max: 5, Type: "boolean", Help: "Yes or no."},
	}
	return site
}

// posted asks for terms with a body, and pays them if from is given.
func (s *shop) posted(path, body string, headers ...string) tilltest.Reply {
	s.t.Helper()
	h := map[string]string{}
	for i := 0; i+1 < len(headers); i += 2 {
		h[headers[i]] = headers[i+1]
	}
	return s.do("POST", path, h, body)
}

func object(t *testing.T, members map[string]any) string {
	t.Helper()
	b, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Four thousand characters of a long script are bought in the query and in a body, and are one
// order.
func TestInputsOfAnyLengthInEitherForm(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{site: talkative(t)})
	const door = "/api/buy/hello"
	buyer := s.net.Buyers[0]
	summary := strings.Repeat("漢字\n𠀀", 1000) // four bytes of the last, twelve when escaped
	path := door + "?" + url.Values{"summary": {summary}, "max_usd": {"0.50"}, "no_spend_controls": {"true"}}.Encode()
	body := object(t, map[string]any{"summary": summary, "max_usd": json.Number("5e-1"), "no_spend_controls": true})

	unpaid := s.posted(door, body)
	s.want("an unpaid POST", unpaid, 402, "payment_required")
	ch := tilltest.DecodeChallenge(t, unpaid.Header.Get("PAYMENT-REQUIRED"))
	order := len("store-") + 26 // behind it the minute, which may end between the two
	got, want := suggested(ch), suggested(s.challenge(path))
	if got[:order] != want[:order] || !suggestedForm.MatchString(got) {
		t.Errorf("a POST has key %s, the same GET %s", got, want)
	}
	first := s.posted(door, body, "PAYMENT-SIGNATURE", s.echoed(ch, buyer).header(t))
	s.new("a paid POST", first)
	s.sameAnswer("the same by GET", first, s.again(path, buyer))
	s.sameAnswer("the same by POST", first, s.posted(door, body, "PAYMENT-SIGNATURE", s.echoed(ch, buyer).header(t)))

	short := object(t, map[string]any{"summary": summary})
	s.new("a POST without its number", s.posted(door, short, "PAYMENT-SIGNATURE",
		s.echoed(tilltest.DecodeChallenge(t, s.posted(door, short).Header.Get("PAYMENT-REQUIRED")), buyer).header(t)))
	longer := object(t, map[string]any{"summary": summary + "字"})
	s.want("one character more", s.posted(door, longer), 400, "invalid_input")

	s.new("a POST paid on a GET's terms", s.posted(door, body, "PAYMENT-SIGNATURE",
		s.echoed(s.challenge(path), s.net.Buyers[1]).header(t)))
	s.new("a GET paid on a POST's terms", s.present(path, s.echoed(ch, s.net.Buyers[2])))
	s.audit()
}

// The 402 of a POST says what a POST needs.
func TestPostDeclaresItsBody(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{site: talkative(t)})
	for _, item := range []string{"hello", "small_blessing", "the_confession", "retired_word"} {
		body := map[string]any{}
		switch item {
		case "hello":
			body["summary"] = "x"
		case "the_confession", "retired_word":
			body["detail"] = "word"
		}
		r := s.posted("/api/buy/"+item, object(t, body))
		s.want(item, r, 402, "payment_required")
		var got struct {
			Info struct {
				Input struct {
					Type, Method, BodyType string
					Body, QueryParams      map[string]any
				}
			}
			Schema struct {
				Properties struct {
					Input struct {
						Required   []string
						Properties struct {
							Method struct{ Enum []string }
							Body   struct {
								Type       string
								Properties map[string]any
								Required   []string
							}
							QueryParams any
						}
					}
				}
			}
		}
		extensions := tilltest.DecodeChallenge(t, r.Header.Get("PAYMENT-REQUIRED"))["extensions"]
		raw, err := json.Marshal(extensions.(map[string]any)["bazaar"])
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		in, schema := got.Info.Input, got.Schema.Properties.Input
		g, _ := s.site.Good(item)
		if in.Type != "http" || in.Method != "POST" || in.BodyType != "json" || in.Body == nil ||
			in.QueryParams != nil || schema.Properties.QueryParams != nil ||
			!slices.Equal(schema.Properties.Method.Enum, []string{"POST"}) ||
			!slices.Equal(schema.Required, []string{"type", "method", "bodyType", "body"}) ||
			schema.Properties.Body.Type != "object" ||
			len(schema.Properties.Body.Properties) != len(g.AllInputs())-1 { // without source
			t.Errorf("%s declares %s", item, raw)
		}
		if len(raw) > 600 && item != "hello" {
			t.Errorf("%s declares %d bytes, want at most 600", item, len(raw))
		}
	}
}

func TestBodiesThatBuyNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{site: talkative(t)})
	const door = "/api/buy/hello"
	pay := s.pay(tilltest.DecodeChallenge(t, s.posted(door, `{"summary":"x"}`).Header.Get("PAYMENT-REQUIRED")), 0,
		s.net.Buyers[0])
	for what, c := range map[string]struct{ query, body, says string }{
		"nothing":           {"", "", "summary is required"},
		"an empty object":   {"", "{}", "summary is required"},
		"null":              {"", "null", "body must be one JSON object"},
		"a list":            {"", `["summary"]`, "body must be one JSON object"},
		"a text":            {"", `summary=x`, "body must be one JSON object"},
		"two objects":       {"", `{"summary":"x"}{}`, "body must be one JSON object"},
		"a member twice":    {"", `{"summary":"x","summary":"y"}`, "body must be one JSON object"},
		"broken UTF-8":      {"", "{\"summary\":\"\xff\"}", "body must be one JSON object"},
		"an unknown member": {"", `{"summary":"x","sumary":"y"}`, "sumary is not an input"},
		"a number as text":  {"", `{"summary":1}`, "summary must be a string"},
		"an object as text": {"", `{"summary":{}}`, "summary must be a string"},
		"a text as number":  {"", `{"summary":"x","max_usd":"0.5"}`, "max_usd must be a number"},
		"a truth value as text": {"", `{"summary":"x","no_spend_controls":"true"}`,
			"no_spend_controls must be a boolean"},
		"a number without end":   {"", `{"summary":"x","max_usd":1e999}`, "max_usd must be a number"},
		"a number that is long":  {"", `{"summary":"x","max_usd":1e30}`, "max_usd is longer"},
		"a null where needed":    {"", `{"summary":null}`, "summary is required"},
		"a control character":    {"", `{"summary":"\u0007"}`, "summary holds control characters"},
		"query and body":         {"?summary=x", `{"summary":"x"}`, "body has inputs, and so has the query"},
		"a source beside a body": {"?source=x", `{"summary":"x"}`, "body has inputs, and so has the query"},
		"too many bytes": {"", `{"summary":"` + strings.Repeat("x", 65<<10) + `"}`,
			"body is longer than 65536 bytes"},
		"a hexadecimal number":    {"?summary=x&max_usd=0x10", "", "max_usd must be a number"},
		"a number that is none":   {"?summary=x&max_usd=NaN", "", "max_usd must be a number"},
		"a truth value like yes":  {"?summary=x&no_spend_controls=yes", "", "no_spend_controls must be a boolean"},
		"an input of another one": {"?summary=x&detail=y", "", "detail is not an input"},
	} {
		r := s.posted(door+c.query, c.body)
		if bare := c.query == "" && (c.body == "" || c.body == "{}"); bare {
			s.want(what, r, 402, "payment_required")
		} else if s.want(what, r, 400, "invalid_input"); !strings.Contains(r.Str("detail"), c.says) {
			t.Errorf("%s: %s, want %q", what, r.Str("detail"), c.says)
		}
		paid := s.posted(door+c.query, c.body, "PAYMENT-SIGNATURE", pay)
		s.want(what+", paid", paid, 400, "invalid_input")
		if paid.Str("billed") != "no" {
			t.Errorf("%s, paid: %s", what, paid.Raw)
		}
	}
	for what, body := range map[string]string{"a query alone": "", "a query and an empty object": "{}"} {
		s.want(what, s.posted(door+"?summary=x", body), 402, "payment_required")
	}
	s.want("the same payment, corrected", s.posted(door, `{"summary":"x","max_usd":null}`, "PAYMENT-SIGNATURE", pay),
		200, "")
	s.audit()
}
