package desk

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"net/http"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/stockclient"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
)

// maxClients is how many clients one question may name.
const maxClients = 8

// BuyerRequest names a door and describes the client that would pay.
type BuyerRequest struct {
	URL string `json:"url" jsonschema:"https URL of the door, at most 2048 characters"`
	// Profile is read by hand: one that cannot be read counts as none, and the answer says so.
	Profile jsontext.Value `json:"client_profile,omitempty" jsonschema:"object with max_amount_per_payment_usd (number, or false for no ceiling) and spend_controls_disabled (boolean); left out: a client configured with nothing"`
	Clients []string       `json:"clients,omitempty" jsonschema:"names of clients to replay besides the default one; every answer lists those that can be named"`
}

// ClientProfile is what a client_profile may say. Members that are not known are passed over.
type ClientProfile struct {
	Max      jsontext.Value `json:"max_amount_per_payment_usd,omitzero" jsonschema:"the client's ceiling in dollars; left out: the client's default (over HTTP false is none; so is spend_controls_disabled)"`
	Disabled bool           `json:"spend_controls_disabled,omitzero" jsonschema:"true if the client's spend controls are off"`
}

// Buyer is what a stock client would do at a door, and the door itself.
type Buyer struct {
	Version    string               `json:"version"` // v1
	URL        string               `json:"url"`
	WillPay    string               `json:"will_your_client_pay"` // would_sign, would_throw or cannot_simulate
	YourClient stockclient.Answer   `json:"your_client"`
	Others     []stockclient.Answer `json:"other_clients"` // those that were named
	Known      []string             `json:"clients_that_can_be_named"`
	Door       Preflight            `json:"the_door"`
	Different  string               `json:"these_are_different_questions"`
	IsNot      []string             `json:"what_this_is_not"`
	RateLimit  *RateLimit           `json:"rate_limit,omitzero"`
	NextSteps  []string             `json:"next_steps"`
}

func (d *Desk) beforeYouPay(w http.ResponseWriter, r *http.Request) error {
	in, err := readBody[BuyerRequest](r)
	if err != nil {
		return err
	}
	profile := readProfile(in.Profile)
	if len(in.Clients) > maxClients {
		return route.Invalid(problem.Field{Field: "clients", Problem: "names more than 8 clients"})
	}
	for _, name := range in.Clients {
		if _, known := stockclient.ClientByName(name); !known || name == "" {
			return route.Invalid(problem.Field{Field: "clients",
				Problem: "names a client that cannot be replayed; those that can are " +
					strings.Join(knownClients(), ", ")})
		}
	}
	url, rl, err := d.admit(w, r, in.URL, BudgetPreflight)
	if err != nil {
		return err
	}
	l, shared, err := d.walk(r.Context(), probe.Current(), url)
	if err != nil {
		return d.unread(w, r, rl, err)
	}
	out := Buyer{
		Version: "v1", URL: url, Others: []stockclient.Answer{}, Known: knownClients(), Door: d.served(l, shared, rl),
		RateLimit: rl, Different: "the_door says whether the terms can be paid at all, and in clients what each " +
			"client known here would sign; your_client says which of them yours would. A door may be ready and a " +
			"client still throw, and the other way round.",
		IsNot: []string{"advice to pay", "a look at your wallet: your balance was not asked",
			"a promise that the seller delivers"},
		NextSteps: []string{"A refusal at the amount-cap stage is your own client's ceiling: raise it only if you " +
			"mean to.", "GET " + d.cfg.BaseURL + "/api/practice/dust-correct is a door to practise refusing at."},
	}
	met := stockclient.Read(judged(l))
	for i, name := range append([]string{""}, in.Clients...) {
		profile.Client = name
		rep, err := met.Judge(profile)
		if err != nil {
			return err
		}
		warned(&rep.YourClient, l.report)
		if i == 0 {
			out.YourClient, out.WillPay = rep.YourClient, rep.YourClient.Outcome
			continue
		}
		out.Others = append(out.Others, rep.YourClient)
	}
	return route.JSON(w, out)
}

// knownClients are the names of the clients that can be replayed.
func knownClients() []string {
	var names []string
	for _, c := range stockclient.Clients() {
		names = append(names, c.Name)
	}
	return names
}

// buyerBody describes the body of a question. A profile is described as it should be; one that is
// something else is taken too, and counts as none.
func buyerBody() *api.Body {
	b := urlBody[BuyerRequest]("url, client_profile and clients")
	profile := api.SchemaFor[ClientProfile]()
	profile.Description = b.Schema.Properties["client_profile"].Description
	profile.Properties["max_amount_per_payment_usd"].Type = "number" // one type: clients of models refuse two
	b.Schema.Properties["client_profile"] = profile
	return b
}

// judged is the exchange that the report is about: the one made with the method that was used, and
// after a redirect the answer of the place where that leads. Files of the host are only read.
func judged(l look) exchange.Exchange {
	all := l.recording.Exchanges
	first, last := all[0], all[len(all)-1]
	if last.Request.Method == l.report.ProbeMethod.Used && last.Response.Status != 0 &&
		(last.Request.Method != first.Request.Method || first.Response.Status/100 == 3) {
		return last
	}
	return first
}

// warned says of an answer whose client would sign at a door that is not ready what stands against
// it, so that neither half can be read without the other.
func warned(a *stockclient.Answer, door probe.Report) {
	if a.Outcome != stockclient.WouldSign || door.Verdict == probe.Ready {
		return
	}
	for _, c := range door.Checks {
		if !c.OK {
			a.Hazards = append(a.Hazards, stockclient.Hazard{Name: "door-not-ready", Detail: c.Name + ": " + c.Detail})
		}
	}
}

// readProfile reads what is known of a client. What cannot be read counts as a client configured
// with nothing.
func readProfile(raw jsontext.Value) stockclient.Profile {
	if len(raw) == 0 || string(raw) == "null" {
		return stockclient.Profile{}
	}
	var p ClientProfile
	unreadable := stockclient.Profile{UnreadableCountedAsEmpty: true}
	if err := json.Unmarshal(raw, &p); err != nil {
		return unreadable
	}
	out := stockclient.Profile{SpendControlsDisabled: p.Disabled}
	switch p.Max.Kind() {
	case 'n', 0:
	case 'f':
		out.NoMax = true
	case '0':
		var f float64
		if err := json.Unmarshal(p.Max, &f); err != nil || f < 0 {
			return unreadable
		}
		out.MaxAmountPerPaymentUSD = &f
	default:
		return unreadable
	}
	return out
}
