package services

import (
	"maps"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"store.example/agentstore/cmd/devnet/oracles"
)

// receiver is what somebody knows who has read the page of receivers and nothing else.
type receiver struct {
	programs []string          // in JavaScript
	vector   map[string]string // by name
	body     string
}

// readPage reads the page as a receiver does.
func readPage(t *testing.T) receiver {
	t.Helper()
	page, err := os.ReadFile("../../content/pages/spec/store-callback-v1.md")
	if err != nil {
		t.Fatal(err)
	}
	r := receiver{vector: make(map[string]string)}
	for _, m := range regexp.MustCompile("(?s)\n```\n(.*?)\n```\n").FindAllStringSubmatch(string(page), -1) {
		switch {
		case strings.HasPrefix(m[1], "{"):
			r.body = m[1]
		case strings.Contains(m[1], ";\n") || strings.HasSuffix(m[1], ";"):
			r.programs = append(r.programs, m[1])
		}
	}
	_, vector, _ := strings.Cut(string(page), "\n## A vector\n")
	for _, m := range regexp.MustCompile("(?m)^\\| `?(.*?)`? \\| `(.*)` \\|$").FindAllStringSubmatch(vector, -1) {
		r.vector[m[1]] = m[2]
	}
	if len(r.programs) != 2 || len(r.vector) != 6 || r.body == "" {
		t.Fatalf("the page has %q, %q, %s", r.programs, r.vector, r.body)
	}
	return r
}

// question has one of the page's programs run, with the page's vector but for what is changed.
func (r receiver) question(t *testing.T, program int, change func(q map[string]any, headers map[string]string)) any {
	t.Helper()
	at, err := strconv.ParseInt(r.vector["webhook-timestamp"], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	headers := map[string]string{"webhook-id": r.vector["webhook-id"],
		"webhook-timestamp": r.vector["webhook-timestamp"],
		"webhook-signature": r.vector["v1a"] + " " + r.vector["v1"]}
	q := map[string]any{"program": r.programs[program], "now": at, "statusToken": r.vector["status token"],
		"body": r.body, "headers": headers, "whpk": r.vector["public key"], "id": r.vector["webhook-id"],
		"timestamp": r.vector["webhook-timestamp"], "v1a": strings.TrimPrefix(r.vector["v1a"], "v1a,")}
	change(q, headers)
	return q
}

// The page's programs, run with the official library for JavaScript as it is, take the page's
// vector and refuse it when anything in it is another. The library for Go says the same.
func TestOfficialLibrariesTakeThePagesVector(t *testing.T) {
	r := readPage(t)
	type change = func(q map[string]any, headers map[string]string)
	later := func(seconds int64) change {
		return func(q map[string]any, _ map[string]string) { q["now"] = q["now"].(int64) + seconds }
	}
	rows := []struct {
		name    string
		program int
		change  change
		says    string // of an error, "" for none
	}{
		{"as it is", 0, func(map[string]any, map[string]string) {}, ""},
		{"the other order", 0, func(_ map[string]any, h map[string]string) {
			h["webhook-signature"] = r.vector["v1"] + " " + r.vector["v1a"]
		}, ""},
		{"five minutes later", 0, later(300), ""},
		{"and a second", 0, later(301), "too old"},
		{"before its time", 0, later(-301), "too new"},
		{"another body", 0, func(q map[string]any, _ map[string]string) { q["body"] = r.body + " " }, "No matching"},
		{"another token", 0, func(q map[string]any, _ map[string]string) { q["statusToken"] = "st_another" },
			"No matching"},
		{"another id", 0, func(_ map[string]any, h map[string]string) { h["webhook-id"] += "2" }, "No matching"},
		{"without the shared one", 0, func(_ map[string]any, h map[string]string) {
			h["webhook-signature"] = r.vector["v1a"]
		}, "No matching"},
		{"by the public key", 1, func(map[string]any, map[string]string) {}, ""},
		{"another body by the public key", 1, func(q map[string]any, _ map[string]string) {
			q["body"] = "{}"
		}, "false"},
		{"another time by the public key", 1, func(q map[string]any, _ map[string]string) {
			q["timestamp"] = "1795413601"
		}, "false"},
	}
	var questions []any
	for _, row := range rows {
		questions = append(questions, r.question(t, row.program, row.change))
	}
	var answers []struct {
		Value any
		Error string
	}
	oracles.Ask(t, "webhooks.mjs", questions, &answers)
	for i, row := range rows {
		a := answers[i]
		if a.Value == false {
			a.Error = "false"
		}
		if (row.says == "") != (a.Error == "") || !strings.Contains(a.Error, row.says) ||
			row.says == "" && a.Value == nil {
			t.Errorf("%s: %v, %q, want %q", row.name, a.Value, a.Error, row.says)
		}
	}
	wh, err := standardwebhooks.NewWebhookRaw([]byte(r.vector["status token"]))
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{"Webhook-Id": {r.vector["webhook-id"]}, "Webhook-Timestamp": {r.vector["webhook-timestamp"]},
		"Webhook-Signature": {r.vector["v1a"] + " " + r.vector["v1"]}}
	if err := wh.VerifyIgnoringTimestamp([]byte(r.body), header); err != nil {
		t.Errorf("Go says %v", err)
	}
	spoilt := maps.Clone(header)
	spoilt.Set("Webhook-Id", "msg_another")
	if wh.VerifyIgnoringTimestamp([]byte(r.body+" "), header) == nil ||
		wh.VerifyIgnoringTimestamp([]byte(r.body), spoilt) == nil {
		t.Error("Go takes what was changed")
	}
}
