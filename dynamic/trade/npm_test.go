package trade_test

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"store.example/agentstore/cmd/devnet/oracles"
	"store.example/agentstore/dynamic/trade"
)

// program is a question to the official library for JavaScript.
type program struct {
	Program string            `json:"program"`
	Now     int64             `json:"now"`
	Secret  string            `json:"secret"`
	ID      string            `json:"id"`
	Body    string            `json:"body"`
	Headers map[string]string `json:"headers"`
}

// ask has programs run.
func ask(t *testing.T, all ...program) (answers []struct {
	Value any
	Error string
}) {
	t.Helper()
	oracles.Ask(t, "webhooks.mjs", all, &answers)
	return answers
}

// What the official library for JavaScript signs is taken, and nothing beside it.
func TestOfficialWebhooksOfJavaScript(t *testing.T) {
	s := open(t, mem(), options{})
	const body = `{"account":"bazaar","item_id":"hello","agent_name":"Zoë"}`
	now := time.Now()
	signed := ask(t, program{Program: "new Webhook(secret).sign(id, new Date(Date.now()), body)", Now: now.Unix(),
		Secret: "whsec_" + base64.StdEncoding.EncodeToString(secretBytes), ID: "msg_js", Body: body})[0]
	signature, _ := signed.Value.(string)
	for _, c := range []struct {
		body string
		want int
	}{{strings.Replace(body, "Zoë", "Zoe", 1), 401}, {body, 200}} {
		r := httptest.NewRequest(http.MethodPost, base+"/api/trade/bazaar/hello", strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("webhook-id", "msg_js")
		r.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
		r.Header.Set("webhook-signature", signature)
		if code, v, _ := s.send(r); code != c.want {
			t.Errorf("%s: %d %v, by %s", c.body, code, v, signed.Error)
		}
	}
}

// What the check desk says that a signature should be, the official libraries of both languages
// take for one by the published secret; of another body, another secret or another time they do
// not.
func TestOfficialWebhooksTakeWhatTheCheckDeskExpects(t *testing.T) {
	s := open(t, mem(), options{})
	now := time.Now()
	body := order("sandbox", "hello", "msg_desk")
	r := httptest.NewRequest(http.MethodPost, base+"/api/trade/sandbox/check", strings.NewReader(body))
	headers := map[string]string{"webhook-id": "msg_desk", "webhook-timestamp": strconv.FormatInt(now.Unix(), 10),
		"webhook-signature": "v1,none"}
	for name, v := range headers {
		r.Header.Set(name, v)
	}
	r.Header.Set("Content-Type", "application/json")
	_, v, _ := s.send(r)
	headers["webhook-signature"] = text(v, "expected_signature")
	r.Header.Set("webhook-signature", headers["webhook-signature"])
	good := program{Program: "new Webhook(secret).verify(body, headers); true", Now: now.Unix(),
		Secret: trade.SandboxSecret, Body: body, Headers: headers}
	other, late, forged := good, good, good
	other.Body += " "
	late.Now += 301
	forged.Secret = "whsec_" + base64.StdEncoding.EncodeToString(secretBytes)
	const none = "No matching signature found"
	for i, a := range ask(t, good, other, late, forged) {
		want := []string{"", none, "Message timestamp too old", none}[i]
		if a.Error != want || (a.Value == true) != (want == "") {
			t.Errorf("JavaScript says %v, %q, want %q", a.Value, a.Error, want)
		}
	}
	for secret, good := range map[string]bool{good.Secret: true, forged.Secret: false} {
		wh, err := standardwebhooks.NewWebhook(secret)
		check(t, err)
		if err := wh.Verify([]byte(body), r.Header); (err == nil) != good {
			t.Errorf("Go says %v", err)
		}
		if wh.Verify([]byte(other.Body), r.Header) == nil {
			t.Error("Go takes another body")
		}
	}
}
