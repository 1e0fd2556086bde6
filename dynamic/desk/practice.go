package desk

import (
	"bytes"
	"crypto/sha256"
	"encoding/json/jsontext"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
)

// practicePath is what the addresses of practice doors begin with.
const practicePath = "/api/practice/"

// practice answers as a door that is wrong on purpose. It sells nothing, settles nothing, and is
// not counted.
func (d *Desk) practice(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("scenario")
	p, ok := practice.Find(id)
	if !ok {
		return &problem.Error{Code: "not_found", Detail: "There is no practice door of this name."}
	}
	a := p.Answer(d.cfg.BaseURL + practicePath + id)
	if a.Status == http.StatusPaymentRequired {
		a.Body = withSuggestion(a.Body, id, time.Now())
	}
	h := w.Header()
	maps.Copy(h, a.Header)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Practice", "nothing is sold here")
	h.Set("Link", "<"+d.cfg.BaseURL+"/conformance#practice>; rel=\"help\"")
	return route.Send(w, a.Status, h.Get("Content-Type"), a.Body)
}

// withSuggestion adds to the body of a challenge the key that every 402 of this store suggests.
// Nothing is sold here, so that it opens nothing.
func withSuggestion(body []byte, scenario string, now time.Time) []byte {
	inner, ok := bytes.CutSuffix(bytes.TrimSpace(body), []byte("}"))
	if !ok || !jsontext.Value(body).IsValid() {
		return body // a fault of the door's own
	}
	sum := sha256.Sum256([]byte("practice\n" + scenario))
	key := "store-" + attest.Base32.EncodeToString(sum[:])[:26] + "-" +
		now.UTC().Format("200601021504")
	member := fmt.Appendf(nil, `"idempotency":{"suggested_key":%q,"header":"Idempotency-Key","window_hours":24}}`, key)
	if inner = bytes.TrimSpace(inner); !bytes.HasSuffix(inner, []byte("{")) {
		member = append([]byte(","), member...)
	}
	return append(bytes.Clone(inner), member...)
}

func (d *Desk) practiceRow() route.Row {
	var ids []string
	var text strings.Builder
	text.WriteString("Doors that are wrong on purpose, to practise on. None sells anything, none settles, and what " +
		"happens here is counted nowhere.\n")
	for _, p := range practice.All() {
		ids = append(ids, p.ID)
		text.WriteString("\n- `" + p.ID + "`: " + p.Teaches + ". A right buyer: " + p.RightBuyer)
	}
	return instrument(api.Route{
		Name: "practice", Method: http.MethodGet, Pattern: practicePath + "{scenario}", Serve: api.Clock,
		Uncounted: true, Summary: "A door that is wrong on purpose", Description: text.String(),
		Params: []api.Param{{Name: "scenario", In: api.Path, Type: "string", Required: true, Enum: ids,
			Description: "which fault"}},
		Responses: []api.Response{
			{Status: http.StatusOK, ContentType: api.JSON, Headers: []string{"PAYMENT-RESPONSE"},
				Description: "fake-delivery alone: a receipt that nobody paid for"},
			{Status: http.StatusTemporaryRedirect, ContentType: api.JSON, Headers: []string{"Location"},
				Description: "redirect alone: terms that lie on another host"},
			{Status: http.StatusPaymentRequired, ContentType: problem.ContentType,
				Headers: []string{"PAYMENT-REQUIRED"}, Description: "A challenge with one fault"},
			{Status: http.StatusPaymentRequired, ContentType: api.JSON, Headers: []string{"PAYMENT-REQUIRED"},
				Description: "A challenge whose fault is that the body holds other terms"},
			{Status: http.StatusNotFound, ContentType: problem.ContentType,
				Description: http.StatusText(http.StatusNotFound)},
		},
	}, d.practice)
}
