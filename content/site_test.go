package content

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLookups(t *testing.T) {
	s := load(t)
	if g, ok := s.Good("pet_rock"); !ok || g.Name != "Pet rock" {
		t.Errorf("Good(pet_rock) = %q, %v", g.Name, ok)
	}
	if _, ok := s.Good("sympathy_card"); ok {
		t.Error("a retired good is on the shelf")
	}
	if r, ok := s.RetiredGood("sympathy_card"); !ok || r.FoldedInto != "small_blessing" {
		t.Errorf("RetiredGood(sympathy_card) = %+v, %v", r, ok)
	}
	if p, ok := s.Problem("sold_out"); !ok || p.Status != 409 || p.Code() != "sold_out" {
		t.Errorf("Problem(sold_out) = %d %q, %v", p.Status, p.Code(), ok)
	}
	if p, ok := s.Page("spec/store-attestation-v1"); !ok || p.Code() != "" {
		t.Errorf("Page(spec/store-attestation-v1) has code %q, %v", p.Code(), ok)
	}
	if _, ok := s.Page("problems/lost"); ok {
		t.Error("a page that does not exist was found")
	}
}

func TestTiers(t *testing.T) {
	fixed, free := Good{Price: 500_000}, Good{Price: 3 * USDC, PayWhatItDeserves: true}
	if diff := cmp.Diff([]Tier{{"minimum", 500_000}}, fixed.Tiers()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Tier{{"minimum", 3 * USDC}, {"generous", 6 * USDC}, {"patron", 15 * USDC}},
		free.Tiers()); diff != "" {
		t.Error(diff)
	}
}

func TestAllInputs(t *testing.T) {
	names := func(g Good) (n []string) {
		for _, in := range g.AllInputs() {
			n = append(n, in.Name)
		}
		return n
	}
	own := []Input{{Name: "detail"}}
	if diff := cmp.Diff([]string{"detail", "agent_name", "source"},
		names(Good{Fulfilment: Instant, Inputs: own})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"agent_name", "callback_url", "source"}, names(Good{Fulfilment: Human})); diff != "" {
		t.Error(diff)
	}
	if len(own) != 1 {
		t.Error("AllInputs changed the good")
	}
}

func TestExpand(t *testing.T) {
	s := *load(t)
	s.Config.BaseURL = "http://127.0.0.1:8402"
	got := s.Expand("{keeper} at {base_url}, did:web:{base_host}, {unknown} {title}")
	want := "Hanne Pellworth at http://127.0.0.1:8402, did:web:127.0.0.1:8402, {unknown} The General Store"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBaseURL(t *testing.T) {
	for _, good := range []string{"https://shop.example", "https://shop.example:8443", "http://localhost:1",
		"http://[::1]:80", "http://127.0.0.9"} {
		if why := checkBaseURL(good); why != "" {
			t.Errorf("%q: %s", good, why)
		}
	}
	for _, bad := range []string{"", "shop.example", "https://", "https://shop.example/", "https://a@shop.example",
		"https://shop.example?x", "http://shop.example", "http://10.0.0.1", "ftp://shop.example",
		"https://shop.example#x", "HTTPS://shop.example"} {
		if checkBaseURL(bad) == "" {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestParseUSDC(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "0.5": 500_000, "0.005": 5_000, "0.000001": 1, "3": 3 * USDC, "20.10": 20_100_000, "0.990000": 990_000,
		"9223372036853": 9223372036853 * USDC,
	} {
		if got, err := ParseUSDC(in); err != nil || got != want {
			t.Errorf("ParseUSDC(%q) = %d, %v, want %d", in, got, err, want)
		}
	}
	for _, bad := range []string{"", ".", ".5", "5.", "05", "00", "-1", "+1", "1e3", "1,5", "0.0000001", " 1", "1 ",
		"0x1", "١", "9223372036855", "99999999999999999999", "1.2.3", "NaN"} {
		if got, err := ParseUSDC(bad); err == nil {
			t.Errorf("ParseUSDC(%q) = %d, want an error", bad, got)
		}
	}
}

func TestFormatUSDC(t *testing.T) {
	for in, want := range map[int64]string{
		0: "0", 1: "0.000001", 5_000: "0.005", 500_000: "0.5", 3 * USDC: "3", 20_100_000: "20.1", -500_000: "-0.5",
		math.MaxInt64: "9223372036854.775807", math.MinInt64: "-9223372036854.775808",
	} {
		if got := FormatUSDC(in); got != want {
			t.Errorf("FormatUSDC(%d) = %q, want %q", in, got, want)
		}
	}
}

func FuzzUSDC(f *testing.F) {
	f.Add("0.5")
	f.Add("12345.678901")
	f.Add("00.1")
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseUSDC(s)
		if err != nil {
			return
		}
		again, err := ParseUSDC(FormatUSDC(n))
		if err != nil || again != n {
			t.Errorf("ParseUSDC(%q) = %d, which formats to %q and parses to %d, %v", s, n, FormatUSDC(n), again, err)
		}
	})
}

func TestIsID(t *testing.T) {
	for _, good := range []string{"hello", "a", "jar_of_tuesday", "x402"} {
		if !IsID(good) {
			t.Errorf("IsID(%q) = false", good)
		}
	}
	for _, bad := range []string{"", "Hello", "_a", "a_", "a__b", "a-b", "a b", "ä", "a/b",
		"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghi"} {
		if IsID(bad) {
			t.Errorf("IsID(%q) = true", bad)
		}
	}
}

// A port is part of the host in a URL and another part of the name in a did:web, so it is escaped
// there.
func TestExpandEscapesThePortOfTheDID(t *testing.T) {
	site, err := Load(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	for base, want := range map[string]string{"http://127.0.0.1:4020": "did:web:127.0.0.1%3A4020",
		"https://Store.example": "did:web:store.example"} {
		mine := *site
		mine.Config.BaseURL = base
		if got := mine.Expand("{did}"); got != want {
			t.Errorf("the DID of %s is %s, want %s", base, got, want)
		}
		for _, p := range mine.Pages {
			if strings.Contains(mine.Expand(p.Body), "did:web:127.0.0.1:") {
				t.Errorf("%s names a DID with a bare port", p.Name)
			}
		}
	}
}
