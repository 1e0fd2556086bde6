package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/browser"
	"store.example/agentstore/cmd/devnet/clients"
	"store.example/agentstore/corpus/attest"
)

// verifyPage is /verify in a browser.
type verifyPage struct{ *browser.Page }

// hand hands a text in and returns what the page says of it.
func (p verifyPage) hand(text string) (says string) {
	raw, err := json.Marshal(text)
	if err != nil {
		return err.Error()
	}
	return p.handScript(string(raw))
}

// handScript is hand with the value of an expression.
func (p verifyPage) handScript(text string) (says string) {
	p.Eval(`(() => { found.replaceChildren(); said.textContent = "";
		const form = document.getElementById("paper"); form.elements.id.value = `+text+`; form.requestSubmit(); return 0; })()`, nil)
	p.Until(`document.getElementById("outcome") || /^Nothing was checked/.test(said.textContent)`)
	p.Eval(`found.innerText + said.textContent`, &says)
	return says
}

// byABrowser has everything that was saved checked in a browser, by the page of the store, and with
// one byte of what was signed changed.
func (p *papers) byABrowser(t *testing.T) {
	t.Helper()
	page := verifyPage{browser.Start(t).Open(p.url+"/verify", browser.Screen{Width: 390})}
	for _, name := range p.names {
		raw, err := os.ReadFile(filepath.Join(p.dir, name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		says := page.hand(string(raw))
		for _, want := range append(p.ids[name], "Holds: its ed25519 signature", "VERIFIED") {
			if !strings.Contains(says, want) {
				t.Errorf("%s: the page does not say %q: %s", name, want, says)
			}
		}
		changed := strings.Replace(string(raw), `2026`, `2027`, 1) // a date is in everything
		if says := page.hand(changed); strings.Contains(says, "Fails: ") != strings.Contains(says, "NOT VERIFIED") {
			t.Errorf("%s with another date: %s", name, says)
		}
	}
}

// A paper is checked at /verify in the browser, by its id or as it was given, and nothing that is
// wrong with one passes.
func TestPapersInABrowser(t *testing.T) {
	s := openStall(t)
	const name = `<img src=x onerror="document.title='taken'">`
	bought := clients.Buy(t, clients.Options{Key: s.net.Buyers[0].Hex(), Network: s.nodes[0].Network.ID()},
		s.url+"/api/buy/hello?agent_name="+strings.NewReplacer("<", "%3C", ">", "%3E", `"`, "%22", " ", "%20").Replace(name))[0]
	var answer struct {
		CertID        string `json:"cert_id"`
		SignedPayload string `json:"signed_payload"`
		Signature     string `json:"signature"`
		JCS           string `json:"signature_jcs"`
	}
	if err := json.Unmarshal([]byte(bought.Body), &answer); err != nil || answer.Signature == "" {
		t.Fatalf("%d %s %v", bought.Status, bought.Body, err)
	}
	_, shown := s.get(t, "/api/verify/"+answer.CertID, false)
	b := browser.Start(t)
	p := verifyPage{b.Open(s.url+"/verify", browser.Screen{Width: 390})}

	good := p.hand(shown)
	proved, said := strings.Index(good, "Holds: its ed25519 signature"), strings.Index(good, "VERIFIED")
	if proved < 0 || said < proved || strings.Contains(good, "Fails") || !strings.Contains(good, name) {
		t.Errorf("a good paper: %s", good)
	}
	for _, found := range p.Axe() {
		t.Errorf("the page of a good paper: %s", found)
	}
	for what, text := range map[string]string{"the answer to the purchase": bought.Body,
		"its id": " " + answer.CertID + "\n", "its address": s.url + "/api/verify/" + answer.CertID} {
		if says := p.hand(text); !strings.Contains(says, "VERIFIED") || strings.Contains(says, "Fails") {
			t.Errorf("%s: %s", what, says)
		}
	}
	t.Run("wrong", func(t *testing.T) {
		testWrongPapers(t, p, shown, answer.SignedPayload, answer.Signature, answer.JCS)
	})
	t.Run("nothing is sent", func(t *testing.T) {
		var before, after int
		const requests = `performance.getEntriesByType("resource").length`
		p.Eval(requests, &before)
		p.hand(shown)
		if p.Eval(requests, &after); after != before || before == 0 {
			t.Errorf("%d requests became %d", before, after)
		}
	})
	t.Run("a store that answers with another paper", func(t *testing.T) {
		p.Eval(`(window.really = fetch, window.fetch = () => really("/api/verify/`+answer.CertID+`", {headers: {Accept: "application/json"}}), 0)`, nil)
		says := p.hand("cert_aaaaaaaaaaaaaaaaaaaa")
		if !strings.Contains(says, "Fails: it is the one that was asked for") {
			t.Errorf("the page says %s", says)
		}
		p.Eval(`(window.fetch = () => Promise.reject(new TypeError("Failed to fetch")), 0)`, nil)
		if says := p.hand(answer.CertID); !strings.Contains(says, "Nothing was checked: Failed to fetch") {
			t.Errorf("without an answer the page says %s", says)
		}
		if says := p.hand(shown); !strings.Contains(says, "VERIFIED") { // the keys are there
			t.Errorf("without a network the page says %s", says)
		}
	})
	var title string
	if p.Eval("document.title", &title); title == "taken" {
		t.Error("a name ran")
	}
	t.Run("without scripts", func(t *testing.T) {
		for id, want := range map[string]string{answer.CertID: "The signature fits these bytes",
			"cert_<script>": "Nothing was issued under this id"} {
			p := b.Open(s.url+"/verify", browser.Screen{Width: 390})
			p.WithoutScripts()
			p.Go(s.url + "/verify?fresh")
			p.Read(fmt.Sprintf(`(() => { const f = document.getElementById("paper"); f.elements.id.value = %q;
				f.querySelector("button").click(); return ""; })()`, id))
			for said := ""; !strings.Contains(said, want); {
				said = p.Read(`location.pathname + document.body?.innerText`)
				there := strings.HasPrefix(said, "/api/verify/") && strings.Contains(said, "Kept by")
				if there && !strings.Contains(said, want) {
					t.Fatalf("%s: %s", id, said)
				}
			}
			p.Close()
		}
	})
}

// testWrongPapers hands in what must not pass.
func testWrongPapers(t *testing.T, p verifyPage, good, payload, signature, jcs string) {
	with := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("no %q in %s", old, good)
		}
		return strings.Replace(good, old, new, 1)
	}
	inJSON, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	for at := range signature { // of both signatures each digit, which are the bytes that could be malleable
		for _, hex := range []string{signature, jcs}[at%2 : at%2+1] {
			digit := map[bool]string{true: "1", false: "0"}[hex[at] == '0']
			if says := p.hand(with(hex, hex[:at]+digit+hex[at+1:])); !strings.Contains(says, "NOT VERIFIED") {
				t.Fatalf("digit %d of a signature changed: %s", at, says)
			}
		}
	}
	for at := 0; at < len(inJSON); at += 17 { // one character of what was signed
		changed := slices.Clone(inJSON)
		changed[at] ^= 1
		if says := p.hand(with(string(inJSON), string(changed))); strings.Contains(says, "VERIFIED") &&
			!strings.Contains(says, "NOT VERIFIED") {
			t.Errorf("character %d changed: %s", at, says)
		}
	}
	specimen, err := attest.Certificate{CertID: "cert_aaaaaaaaaaaaaaaaaaaa", Item: "hello",
		Date: "2026-11-20"}.Sign(attest.SpecimenKey())
	if err != nil {
		t.Fatal(err)
	}
	paper, err := json.Marshal(specimen)
	if err != nil {
		t.Fatal(err)
	}
	const nothing = "Nothing was checked: "
	for what, c := range map[string]struct{ text, says string }{
		"another shown":          {with(`"item":"hello","patron`, `"item":"moon","patron`), "Fails: the certificate on display"},
		"upper case":             {with(signature, strings.ToUpper(signature)), "Fails: its ed25519 signature"},
		"signature_covers":       {with(`"signature_covers":["cert_id"`, `"signature_covers":["cert_ix"`), "Fails: the list of what"},
		"a blank in it":          {with(string(inJSON), `" `+string(inJSON)[1:]), "NOT VERIFIED"},
		"a name twice":           {with(`"signed_payload"`, `"signed_payload":"{}","signed_payload"`), nothing + "a name stands twice"},
		"of the specimen key":    {string(paper), "SPECIMEN"},
		"something behind":       {good + "x", nothing + "something follows"},
		"half of it":             {good[:len(good)/2], nothing},
		"another object":         {`{"signed":"<b>x</b>"}`, nothing + "nothing in it is signed"},
		"no object":              {`<script>document.title="taken"</script>`, nothing + "it is neither an id"},
		"an id of nothing":       {"cert_aaaaaaaaaaaaaaaaaaaa", "UNKNOWN ID"},
		"deep":                   {`{"a":` + strings.Repeat("[", 200_000), nothing + "it is nested too deep"},
		"a payload of no object": {`{"signed_payload":"[[]]","signature":7,"public_key":{}}`, "NOT VERIFIED"},
		"a payload of a number":  {`{"signed_payload":1e9}`, "NOT VERIFIED"},
	} {
		says := p.hand(c.text)
		passes := strings.Contains(strings.ReplaceAll(says, "NOT VERIFIED", ""), "VERIFIED")
		if passes || !strings.Contains(says, c.says) {
			t.Errorf("%s: %.600s", what, says)
		}
	}
	if says := p.handScript(`"{" + "x".repeat(5 << 20)`); !strings.Contains(says, "larger than 4 MiB") {
		t.Errorf("a huge paste: %.600s", says)
	}
}
