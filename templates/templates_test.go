package templates_test

import (
	"crypto/sha256"
	"encoding/base64"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rsc.io/qr"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/templates"
)

// tokens reads the colours of a :root block.
func tokens(t *testing.T, block string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, m := range regexp.MustCompile(`--([a-z]+):(#[0-9a-f]{6});`).FindAllStringSubmatch(block, -1) {
		found[m[1]] = m[2]
	}
	if len(found) != 8 {
		t.Fatalf("found %d colours, want 8: %v", len(found), found)
	}
	return found
}

// TestContrast computes WCAG 2.2 contrast of every ink on paper in both
// schemes.
func TestContrast(t *testing.T) {
	css := string(templates.Asset("style.css"))
	light, rest, _ := strings.Cut(css, "@media (prefers-color-scheme:dark)")
	dark, _, _ := strings.Cut(rest, "*{")
	for scheme, block := range map[string]string{"light": light, "dark": dark} {
		colours := tokens(t, block)
		for _, ink := range []string{"ink", "faint", "accent", "good", "bad", "unknown"} {
			if got := contrast(t, colours[ink], colours["paper"]); got < 4.5 {
				t.Errorf("%s: %s on paper has contrast %.2f, want at least 4.5", scheme, ink, got)
			}
		}
	}
	if got := contrast(t, "#767676", "#ffffff"); math.Abs(got-4.54) > 0.01 {
		t.Errorf("contrast of #767676 on white is %.3f, want 4.54", got)
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	luminance := func(hex string) float64 {
		var sum float64
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			n, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			c := float64(n) / 255
			if c <= 0.04045 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			sum += weight * c
		}
		return sum
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func chrome(t testing.TB) *templates.Chrome {
	t.Helper()
	c, err := templates.NewChrome(templates.Chrome{Title: "A Shop", BaseURL: "https://store.example", Keeper: "K",
		PublicKey: strings.Repeat("ab", 32)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func signedCertificate(t *testing.T, name string) attest.Signed {
	t.Helper()
	s, err := attest.Certificate{CertID: "cert_aaaaaaaaaaaaaaaaaaaa", Item: "hello", PatronNumber: 7,
		Date: "2026-11-20", Name: name, PaidUSDC: "0.5"}.Sign(attest.SpecimenKey())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCertificateShowsItsState(t *testing.T) {
	signed := signedCertificate(t, "Ada")
	paper := templates.CertificatePaper(signed, "A Shop", "https://store.example/api/verify/cert_aaaaaaaaaaaaaaaaaaaa")
	tests := []struct {
		state, want, not string
		paper            *templates.Paper
	}{
		{templates.StateValid, `<span class="stamp good">valid</span>`, "reversed", &paper},
		{templates.StateReversed, `<span class="stamp bad">reversed</span>`, ">valid<", &paper},
		{templates.StateInvalid, `<span class="stamp bad">invalid</span>`, ">valid<", &paper},
		{templates.StateUnknownID, "Nothing was issued under this id", "<article", nil},
	}
	for _, test := range tests {
		b, err := templates.RenderCertificate(templates.CertificateView{
			Chrome: chrome(t), State: test.state, ID: "cert_aaaaaaaaaaaaaaaaaaaa", Paper: test.paper,
			SignatureJCS: signed.SignatureJCS.String(),
		})
		if err != nil {
			t.Fatal(err)
		}
		page := string(b)
		if !strings.Contains(page, test.want) || strings.Contains(page, test.not) {
			t.Errorf("%s: page lacks %q or has %q", test.state, test.want, test.not)
		}
		if test.paper != nil && !strings.Contains(page, signed.Signature.String()) {
			t.Errorf("%s: page lacks the signature", test.state)
		}
	}
	if paper.Word != "" {
		t.Error("RenderCertificate changed the caller's paper")
	}
}

// TestBuyersTextIsEscaped puts markup into every place that a buyer fills.
func TestBuyersTextIsEscaped(t *testing.T) {
	const evil = `<script>alert(1)</script>"'&`
	paper := templates.CertificatePaper(signedCertificate(t, evil), "A Shop", "")
	b, err := templates.RenderCertificate(templates.CertificateView{
		Chrome: chrome(t), State: templates.StateValid, ID: evil, Paper: &paper, Says: []string{evil},
		NotCovered: []string{evil},
	})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(b), "<script") != 2 { // our own
		t.Errorf("markup of a buyer reached the page:\n%s", b)
	}
	if got := strings.Count(string(b), "&lt;script&gt;"); got < 6 {
		t.Errorf("the text stands %d times in the page, want it in title, heading, sentences, fact and payload", got)
	}
}

// TestPolicyAllowsTheInlineStyles compares the digests in the policy with the
// styles that the pages hold.
func TestPolicyAllowsTheInlineStyles(t *testing.T) {
	b, err := templates.RenderCertificate(templates.CertificateView{Chrome: chrome(t), State: templates.StateUnknownID,
		ID: "x"})
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindSubmatch(b)
	if m == nil {
		t.Fatal("the certificate page has no style inside")
	}
	sum := sha256.Sum256(m[1])
	if want := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'"; !strings.Contains(templates.ContentSecurityPolicy(), want) {
		t.Errorf("the policy lacks %s: %s", want, templates.ContentSecurityPolicy())
	}
}

// TestQRHoldsTheCode reads the path back into modules.
func TestQRHoldsTheCode(t *testing.T) {
	const text = "https://store.example/api/verify/cert_aaaaaaaaaaaaaaaaaaaa"
	svg, err := templates.QR(text, "a <title>")
	if err != nil {
		t.Fatal(err)
	}
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		t.Fatal(err)
	}
	black := map[[2]int]bool{}
	for _, m := range regexp.MustCompile(`M(\d+) (\d+)h(\d+)v1`).FindAllStringSubmatch(string(svg), -1) {
		x, _ := strconv.Atoi(m[1])
		y, _ := strconv.Atoi(m[2])
		run, _ := strconv.Atoi(m[3])
		for i := range run {
			black[[2]int{x + i - 4, y - 4}] = true
		}
	}
	for y := -4; y < code.Size+4; y++ {
		for x := -4; x < code.Size+4; x++ {
			if black[[2]int{x, y}] != code.Black(x, y) {
				t.Fatalf("module %d,%d is %v", x, y, black[[2]int{x, y}])
			}
		}
	}
	if !strings.Contains(string(svg), "a &lt;title&gt;") {
		t.Error("the title is not escaped")
	}
}

func TestShort(t *testing.T) {
	for in, want := range map[string]string{"": "", "12345678901234567890": "12345678901234567890",
		strings.Repeat("a", 32) + strings.Repeat("b", 32): "aaaaaaaa…bbbbbbbb"} {
		if got := templates.Short(in); got != want {
			t.Errorf("Short(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestHeaderMarksThePage looks for the one link of the header that leads to where a reader is.
func TestHeaderMarksThePage(t *testing.T) {
	chrome, err := templates.NewChrome(templates.Chrome{Title: "Store", Nav: []templates.Link{
		{Text: "shop", Href: "/"}, {Text: "shelves", Href: "/#shelves", Also: []string{"/menu"}},
		{Text: "record", Href: "/corpus", Also: []string{"/fresh-set"}}}})
	if err != nil {
		t.Fatal(err)
	}
	for page, want := range map[string]string{
		"/":                         `<a href="/" aria-current="page">shop</a>`,
		"/menu/hello":               `<a href="/#shelves" aria-current="true">shelves</a>`,
		"/corpus":                   `<a href="/corpus" aria-current="page">record</a>`,
		"/corpus/host/door.example": `<a href="/corpus" aria-current="true">record</a>`,
		"/fresh-set":                `<a href="/corpus" aria-current="true">record</a>`,
		"/corpuscle":                "",
		"":                          "",
	} {
		html := string(chrome.HeaderOn(page))
		if n := strings.Count(html, "aria-current"); !strings.Contains(html, want) || n != min(len(want), 1) {
			t.Errorf("on %q %d links are marked, want %q: %s", page, n, want, html)
		}
	}
}

// The page of a good that time completes says when, and no word of at once.
func TestTheLaunchCheckDoesNotComeAtOnce(t *testing.T) {
	for kind, want := range map[string]string{content.KindLaunch: "Within half an hour",
		content.KindPhantom: "six hours", content.KindSpot: "At once"} {
		good := content.Good{Kind: kind, Fulfilment: content.Instant}
		says := templates.ItemView{Good: good}.Fulfilment()
		if !strings.Contains(says, want) || kind == content.KindLaunch && strings.Contains(says, "t once") {
			t.Errorf("%s: %s", kind, says)
		}
	}
}

func TestAPaperNamesItselfOnce(t *testing.T) {
	p := templates.RecordPaper(templates.RecordView{ID: "order_1", Class: "order",
		Order:  []string{"order_id", "item", "answer"},
		Report: map[string]any{"order_id": "order_1", "item": "audit", "answer": ""}, Shown: strings.ToUpper})
	want := []templates.Fact{{Name: "Id", Value: "order_1", Mono: true},
		{Name: "Item", Value: "AUDIT", Mono: true}}
	if !slices.Equal(p.Facts, want) {
		t.Errorf("%+v, want %+v", p.Facts, want)
	}
}
