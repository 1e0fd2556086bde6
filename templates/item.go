package templates

import (
	"fmt"
	"net/url"
	"strings"

	"store.example/agentstore/content"
)

// ItemView is the page of one good, /menu/{id}.
type ItemView struct {
	Chrome *Chrome
	Page   Page
	Good   content.Good
	Body   Prose
	// Drawing is a specimen of what the good draws, nil for none.
	Drawing *Drawing
}

// Drawing is an inline SVG that carries its own title and description.
type Drawing struct {
	SVG     Markup
	Caption string
}

// Step is a thing to do, with the command that does it.
type Step struct {
	Text, Code string
}

func (*ItemView) template() string { return "item" }

// BuyURL is the door of the good, without inputs.
func (v ItemView) BuyURL() string { return BuyURL(v.Chrome.BaseURL, v.Good.ID) }

// Steps says how the good is bought, cheapest step first.
func (v ItemView) Steps() []Step { return steps(v.Good.Price, example(&v.Good, v.BuyURL())) }

// Fulfilment says in words when the goods come.
func (v ItemView) Fulfilment() string { return fulfilment(&v.Good) }

// Money says what happens to the money, a sentence each.
func (v ItemView) Money() []string { return money(&v.Good) }

// Tiers lists the amounts, lowest first, with what each is called.
func (v ItemView) Tiers() []content.Tier { return tiers(&v.Good) }

// Inputs lists what a buyer may send.
func (v ItemView) Inputs() []content.Input { return v.Good.AllInputs() }

// At is the path of its door.
func (v ItemView) At() string { return BuyURL("", v.Good.ID) }

// Own are the inputs of this good, as its form has them.
func (v ItemView) Own() []DoorInput { return v.inputs(false) }

// Common are those that every good takes.
func (v ItemView) Common() []DoorInput { return v.inputs(true) }

func (v ItemView) inputs(common bool) []DoorInput {
	var out []DoorInput
	for _, in := range v.Inputs() {
		if content.IsCommon(in.Name) == common {
			out = append(out, DoorInput{Input: in})
		}
	}
	return out
}

// Given says that a common input came along: none does here.
func (v ItemView) Given() bool { return false }

// Submit is what stands on the button of its form.
func (v ItemView) Submit() string { return "Buy it" }

// Submits says what the button does.
func (v ItemView) Submits() string {
	return "Shows what is asked on which network. Nothing is charged before your wallet signs."
}

// Signed is what its buyer gets signed, in words.
func (v ItemView) Signed() string { return strings.ReplaceAll(v.Good.Artifact, "_", " ") }

// Certified says that something is signed for its buyer.
func (v ItemView) Certified() bool { return v.Good.Artifact != content.ArtifactNone }

// BuyURL is the address at which a good is bought.
func BuyURL(baseURL, id string) string { return baseURL + "/api/buy/" + id }

// example is the door with a value for each input that is required.
func example(g *content.Good, door string) string {
	q := url.Values{}
	for i := range g.Inputs {
		if g.Inputs[i].Required {
			q.Set(g.Inputs[i].Name, "…")
		}
	}
	if len(q) == 0 {
		return door
	}
	return door + "?" + strings.ReplaceAll(q.Encode(), "%E2%80%A6", "YOUR-TEXT")
}

// stockCeiling is what a stock x402 client pays at most unless told otherwise.
const stockCeiling = 1 * content.USDC

// steps says how what has a price is bought at an address, with its inputs in it.
func steps(price int64, at string) []Step {
	quoted := shellQuote(at)
	text, most, ceiling := "Or buy with the stock client, @x402/fetch with @x402/evm. The price is within the 1 USD a "+
		"payment that it allows as it comes.", "", ""
	if price > stockCeiling {
		price := content.FormatUSDC(price)
		text = "Or buy with the stock client, @x402/fetch with @x402/evm. Left as it comes it refuses more than 1 " +
			"USD a payment and throws before it signs, so its ceiling is raised here to " + price +
			" USD; spendControls: false would remove it."
		most = "-max " + price + " "
		ceiling = `client.setSpendControls({ maxAmountPerPayment: "$` + price + "\" });\n"
	}
	return []Step{{
		"Ask for the terms. It costs nothing and reserves nothing: the answer is 402 with every amount and network " +
			"on offer.",
		"curl -i " + quoted,
	}, {
		"Buy with the store's own client. It shows the terms and asks, writes down what it is about to sign, and " +
			"after a lost answer presents the same payment again instead of a second one.",
		"store buy " + most + quoted,
	}, {text, `import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { privateKeyToAccount } from "viem/accounts";

const account = privateKeyToAccount(process.env.KEY);
const client = new x402Client().register("eip155:*", new ExactEvmScheme(account));
` + ceiling + `const pay = wrapFetchWithPayment(fetch, client);
const answer = await pay("` + at + `");
console.log(await answer.json());`}}
}

func fulfilment(g *content.Good) string {
	if says := g.Arrives(); says != "" {
		return says
	}
	switch g.Fulfilment {
	case content.Human:
		return fmt.Sprintf("By the keeper, within %d hours. The answer carries an order id to ask after; %d are "+
			"taken in an ISO week.", g.WindowHours, g.WeeklyInventory)
	case content.Term:
		return "Begun at once and kept up for the term. The answer says where to read along."
	default:
		return "At once, in the answer to the paid request."
	}
}

func money(g *content.Good) []string {
	says := append(make([]string, 0, 6),
		"The goods are made first and the payment is settled afterwards. If making them fails, nothing is taken.",
		"If the answer is lost on the way, send the same request with the same payment again: you get the same "+
			"answer and are not charged a second time.",
		"If the outcome is unknown the answer says so, never asks for a second payment, and names the address where "+
			"the outcome can be read.",
	)
	if g.PayWhatItDeserves {
		says = append(says, "What you pay above "+g.PriceUSDC()+
			" USDC is a tip. It is written on the certificate and buys nothing more.")
	}
	if g.Stock {
		says = append(says, "Each is sold once. When there are none left the answer is 409 before it is ever 402, so "+
			"nobody signs for an empty shelf.")
	}
	if g.Fulfilment == content.Human {
		return append(says, "If the window passes, the order says what is owed, and that is everything you paid.")
	}
	return append(says, "What was delivered is not taken back. What was taken without delivery is owed, and is paid "+
		"to the wallet it came from.")
}

func tiers(g *content.Good) []content.Tier { return called(g.Tiers()) }

// called are amounts with what each is called.
func called(tiers []content.Tier) []content.Tier {
	if len(tiers) == 1 {
		return []content.Tier{{Name: "the price, for everyone", Amount: tiers[0].Amount}}
	}
	return tiers
}
