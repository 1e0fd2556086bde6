package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/npmtest"
	"store.example/agentstore/corpus/attest"
)

// The vectors of /spec/delivery-receipt/v1 are what the program and the npm package say of them,
// and the specimen's log shows the key that signed them.
func TestDeliveryVectors(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../content/pages/spec/delivery-receipt-v1.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```\\w+\n(.*?)\n```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 3 {
		t.Fatalf("%d blocks", len(blocks))
	}
	answer, payload, text := blocks[0][1], blocks[1][1], blocks[2][1]
	d, _, err := attest.SpecimenRing().OpenDelivery(text)
	if err != nil {
		t.Fatal(err)
	}
	if how, err := d.Binds([]byte("# A page\n\nMind the step.\n")); err != nil || how != attest.BodyRaw {
		t.Errorf("the text is bound as %q, %v", how, err)
	}
	if d, err = attest.ParseDelivery([]byte(payload)); err != nil || !bytes.Contains(page,
		[]byte("`"+d.Hash+"`, and in the form of RFC 8785 `"+d.Canonical.Hash+"`")) {
		t.Errorf("the payload is %+v, %v", d, err)
	}
	dir := t.TempDir()
	published, err := attest.SigningKeyDocument("store.example", attest.SpecimenRing())
	if err != nil {
		t.Fatal(err)
	}
	file := func(name, body string) string {
		name = filepath.Join(dir, name+".json")
		if err := os.WriteFile(name, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	keys := file("keys", string(published))
	ring, err := os.ReadFile("../../corpus/keys/ring.json")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(npmtest.Own(t, "../../templates/npm/testdata", "artifact.mjs"), "artifact.mjs")
	inRecord := []string{"-record", "../../corpus", "-ring", file("ring", string(ring))}
	for what, c := range map[string]struct {
		answer string
		args   []string
		says   string // of the program; "" for a refusal
		npm    string
	}{
		"as it is":  {answer, nil, "the answer itself (raw), given for 500000", "bound as raw"},
		"in record": {answer, inRecord, "leaf 0 of the log store.example/corpus shows that key", "bound as raw"},
		"repeated": {strings.Replace(answer, "false}", `true,"charged_now":false}`, 1), nil, "itself (raw)",
			"bound as raw"},
		"anew":     {strings.ReplaceAll(answer, ",\"", ", \""), nil, "itself (jcs)", "bound as jcs"},
		"changed":  {strings.Replace(answer, "Mind", "Mend", 1), nil, "", ""},
		"behind":   {strings.Replace(answer, "false}", `false,"gift":1}`, 1), nil, "", ""},
		"unsigned": {strings.Replace(answer, `"delivery_receipt":"e`, `"delivery_receipt":"f`, 1), nil, "", ""},
	} {
		name := file(what, c.answer)
		args := append([]string{"-artifact"}, c.args...)
		if c.args == nil {
			args = append(args, "-ring", keys)
		}
		var out bytes.Buffer
		code := judging(append(args, name), &out, &out)
		if (code == 0) != (c.says != "") || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: exit %d, want %q:\n%s", what, code, c.says, &out)
		}
		said, _ := exec.CommandContext(t.Context(), npmtest.Node(t), script, keys, name).Output()
		if (c.npm == "") == strings.Contains(string(said), ": verified: ") || !strings.Contains(string(said), c.npm) {
			t.Errorf("%s: npm says %s", what, said)
		}
	}
}
