package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/signer/core/apitypes"

	"store.example/agentstore/cmd/devnet/browser"
	"store.example/agentstore/cmd/devnet/chaintest"
)

// doorPage is the page of a paid door, in a browser whose wallet a test holds.
type doorPage struct {
	*browser.Page
	t       *testing.T
	s       *stall
	screens []browser.Screen // on which it is looked at
}

// hold announces a wallet, late and by EIP-6963, that is on another chain and waits for every
// signature.
func (p doorPage) hold(key chaintest.Key) {
	p.Eval(fmt.Sprintf(`(() => {
		window.chain = "0x1";
		window.methods = [];
		const provider = { request: ({ method, params }) => (window.methods.push(method), {
			eth_requestAccounts: async () => [%q], eth_chainId: async () => window.chain,
			wallet_switchEthereumChain: async () => { window.chain = params[0].chainId; return null; },
			eth_signTypedData_v4: () => new Promise((sign, refuse) => { window.toSign = { text: params[1], sign, refuse }; }),
		})[method]() };
		dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail: { info: { name: "a wallet" }, provider } }));
	})()`, key.Address.Hex()), nil)
}

// press presses the button with an id once it can be pressed.
func (p doorPage) press(id string) {
	p.Until(`!document.getElementById("` + id + `").disabled && !document.getElementById("` + id + `").hidden`)
	p.Eval(`(document.getElementById("`+id+`").click(), 0)`, nil)
}

// sign presses the button that pays, and has the wallet sign what it is asked to.
func (p doorPage) sign(key chaintest.Key) {
	p.press("door-pay")
	p.Until(`window.toSign`)
	var text string
	p.Eval(`window.toSign.text`, &text)
	var typed apitypes.TypedData
	if err := json.Unmarshal([]byte(text), &typed); err != nil {
		p.t.Fatalf("the wallet is asked to sign %q: %v", text, err)
	}
	p.Eval(fmt.Sprintf(`(window.toSign.sign(%q), 0)`, hexutil.Encode(signTyped(p.t, typed, key))), nil)
}

// says is what stands in the page.
func (p doorPage) says() (text string) {
	p.Eval(`document.body.textContent`, &text)
	return text
}

// want demands that the page says all of some words.
func (p doorPage) want(words ...string) {
	p.t.Helper()
	for _, w := range words {
		if said := p.says(); !strings.Contains(said, w) {
			p.t.Errorf("the page does not say %q:\n%.3000s", w, said)
		}
	}
}

// A person with a browser buys at the page of a door with the wallet in it: a good, a good with
// inputs, a page that is paid for. What was signed and not answered is asked for again and charged
// once.
func TestAPersonBuysAtTheDoor(t *testing.T) { personBuys(t, quick[1:]) }

// TestLongAPersonBuysAtTheDoor is the same, looked at on every screen.
func TestLongAPersonBuysAtTheDoor(t *testing.T) { personBuys(t, thorough) }

func personBuys(t *testing.T, screens []browser.Screen) {
	s := openStall(t)
	b := browser.Start(t)
	buyer := s.net.Buyers[0]
	open := func(t *testing.T, path string) doorPage {
		p := doorPage{b.Open(s.url+path, browser.Screen{Width: 390}), t, s, screens}
		p.hold(buyer)
		return p
	}
	charged := func(t *testing.T, want int64, f func()) {
		t.Helper()
		if got := s.earned(f); got != want {
			t.Errorf("earned %d, want %d", got, want)
		}
	}
	const certified = `location.pathname.startsWith("/api/verify/cert_") && document.getElementById("bought")`

	t.Run("a good", func(t *testing.T) {
		p := open(t, "/menu/pet_rock") // the page of the good opens its door in itself
		p.want("5 USDC", "store buy -max 5 "+s.url+"/api/buy/pet_rock", "ethereum.org", s.url+"/mcp")
		p.shoot("good")
		p.Eval(`(document.getElementById("in-agent_name").value = "Ada", document.querySelector("#order button").click(), 0)`, nil)
		p.Until(`document.getElementById("door")?.hidden === false && location.pathname === "/menu/pet_rock"`)
		p.want("No wallet was found")
		p.hold(buyer)
		p.want("5 USDC", "Base", "store buy -max 5 '"+s.url+"/api/buy/pet_rock?agent_name=Ada'")
		p.shoot("open")
		charged(t, 5_000_000, func() {
			p.sign(buyer)
			p.Until(certified)
		})
		p.want("The signature fits these bytes", "Paid 5 USDC", "status token")
		var first []string
		if p.Eval(`[...document.querySelectorAll("main :is(h1, .goods img, .keeps a, .keeps button, .paper)")].map((e) => e.textContent || e.alt || e.className)`, &first); len(first) < 5 || !strings.HasSuffix(first[0], " is yours") || !slices.Equal(first[1:5], []string{
			"What was drawn for you", "Keep the picture", "Copy the link to its certificate", "Print"}) {
			t.Errorf("after the sale the page has %.80q", first)
		}
		p.shoot("certificate")
		p.Go(s.url + "/api/buy/pet_rock") // what is paid for is not asked for again
		p.Until(`document.getElementById("door-again").hidden && !document.getElementById("door").hidden`)
		p.Close()
	})

	t.Run("a good with inputs", func(t *testing.T) {
		const hostile = `<img src=x onerror="window.pwned = 1">'"&`
		p := open(t, "/api/buy/dibs?agent_name=%3Cscript%3Ewindow.pwned%3D1%3C%2Fscript%3E")
		p.want("for sale", "detail (required)", "At most 600 characters.")
		p.press("door-pay") // the browser itself asks for what is required
		p.Eval(fmt.Sprintf(`(document.getElementById("in-detail").value = %q, 0)`, hostile), nil)
		charged(t, 2_000_000, func() {
			p.sign(buyer)
			p.Until(certified)
		})
		p.want(hostile, "<script>window.pwned=1</script>")
		var pwned, switched bool
		if p.Eval(`"pwned" in window`, &pwned); pwned {
			t.Error("an input ran")
		}
		p.Go(s.url + "/api/buy/dibs?detail=x")
		p.Until(`document.getElementById("in-detail").value === "x"`)
		p.hold(buyer)
		p.press("door-pay")
		p.Until(`window.toSign`)
		if p.Eval(`window.chain === "0x2105" && window.methods.includes("wallet_switchEthereumChain")`, &switched); !switched {
			t.Error("the wallet was not brought to Base")
		}
		p.Close()
	})

	t.Run("a page", func(t *testing.T) {
		p := open(t, "/almanac/the-till-at-night")
		charged(t, 10_000, func() {
			p.sign(buyer)
			p.Until(`document.getElementById("bought")`)
		})
		p.want("notebook with a drawer attached", "Paid 0.01 USDC")
		p.shoot("page")
		p.Close()
	})

	t.Run("what the keeper does by hand", func(t *testing.T) {
		p := open(t, "/api/buy/quick_judgment?detail=Shall+I")
		charged(t, 3_000_000, func() {
			p.sign(buyer)
			p.Until(`location.pathname.startsWith("/api/verify/order_") && document.getElementById("bought")`)
		})
		p.Close()
	})

	t.Run("an answer that was lost", func(t *testing.T) {
		p := open(t, "/api/buy/small_blessing")
		charged(t, 5_000, func() {
			p.Eval(`(() => {
				const asked = window.fetch;
				window.fetch = async (at, init) => {
					const answer = await asked(at, init);
					if (init.headers["PAYMENT-SIGNATURE"]) throw new TypeError("lost");
					return answer;
				};
			})()`, nil)
			p.sign(buyer)
			p.Until(`document.getElementById("door-said").textContent.includes("not known here")`)
			p.shoot("lost")
			p.Go(s.url + "/api/buy/small_blessing")
			p.hold(buyer)
			p.Until(`document.getElementById("door-pay").hidden`)
			p.press("door-again")
			p.Until(certified)
		})
		var methods []string
		if p.Eval(`window.methods ?? []`, &methods); slices.Contains(methods, "eth_signTypedData_v4") {
			t.Error("a second payment was signed")
		}
		p.Close()
	})

	t.Run("its looks", func(t *testing.T) {
		for name, path := range map[string]string{"lacks": "/api/buy/good_buyer", "tiers": "/api/buy/pet_rock",
			"gone":   "/api/buy/sympathy_card",
			"faulty": "/api/buy/good_buyer?url=x&max_usd=much&callback_url=y&colour=red"} {
			p := open(t, path)
			p.shoot(name)
			p.Close()
		}
	})

	t.Run("without money", func(t *testing.T) {
		p := doorPage{b.Open(s.url+"/api/buy/small_blessing?agent_name=poor", browser.Screen{Width: 390}), t, s,
			screens}
		p.hold(s.net.Poor)
		charged(t, 0, func() {
			p.sign(s.net.Poor)
			p.Until(`document.getElementById("door-said").textContent.includes("less than the price")`)
		})
		p.press("door-pay") // another may be signed: this one was not taken
		p.Close()
	})
}

// shoot keeps a picture of the page in the folder that STORE_PICTURES names, on each screen.
func (p doorPage) shoot(name string) {
	p.t.Helper()
	for _, screen := range p.screens {
		p.Show(screen)
		if found := p.Axe(); len(found) > 0 {
			p.t.Errorf("%s at %+v: %q", name, screen, found)
		}
		var wide bool
		if p.Eval(`document.documentElement.scrollWidth > innerWidth`, &wide); wide {
			p.t.Errorf("%s at %+v is wider than its screen", name, screen)
		}
		if folder := os.Getenv("STORE_PICTURES"); folder != "" {
			file := fmt.Sprintf("%s/%s-%d-%v.png", folder, name, screen.Width, screen.Dark)
			if err := os.WriteFile(file, p.Screenshot(), 0o600); err != nil {
				p.t.Error(err)
			}
		}
	}
}
