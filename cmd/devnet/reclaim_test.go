package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"store.example/agentstore/cmd/devnet/browser"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/templates"
)

// agreed is what the payer of the tests agreed to, and its spelling in an order.
var agreed = token.PaymentInfo{Operator: common.HexToAddress("0x01"),
	Payer: common.HexToAddress(strings.Repeat("aa", 20)), Receiver: common.HexToAddress("0x03"),
	Token: common.HexToAddress("0x04"), MaxAmount: big.NewInt(5_250_000), PreApproval: 1_700_000_000,
	Capture: 1_700_000_600, Refund: 1_700_700_000, MinFeeBps: 1, MaxFeeBps: 2,
	FeeReceiver: common.HexToAddress("0x05"), Salt: common.HexToHash("0xfe" + strings.Repeat("01", 31)).Big()}

func heldOrder(change ...string) string {
	return strings.NewReplacer(change...).Replace(fmt.Sprintf(`{"order_id": "ord_1", "held": {"state": "held",
		"where": "<img src=x onerror='window.pwned=1'>", "network": "eip155:8453",
		"reclaim": {"to": "0xbad", "data": "0xbad"}, "payment_info": {"operator": %q, "payer": %q, "receiver": %q,
		"token": %q, "maxAmount": "5250000", "preApprovalExpiry": 1700000000, "authorizationExpiry": 1700000600,
		"refundExpiry": 1700700000, "minFeeBps": 1, "maxFeeBps": 2, "feeReceiver": %q, "salt": %q}}}`,
		agreed.Operator, agreed.Payer, agreed.Receiver, agreed.Token, agreed.FeeReceiver,
		common.BigToHash(agreed.Salt)))
}

// reclaimCases are what may be typed, and what a wallet does then: what the page says, whether it
// has a button to press, and how often a wallet is asked to send something.
var reclaimCases = []struct {
	name   string
	typed  string
	wallet string // members of the wallet, beside those that work
	says   string
	takes  bool
	sent   int
}{
	{"an order by its id", "ord_1", "", "The money is back in your wallet", false, 1},
	{"the answer to a purchase", `{"deliverable": ` + heldOrder() + `}`, "",
		"The money is back in your wallet", false, 1},
	{"an order of another store", "ord_2", "", "nothing by that id", false, 0},
	{"no id", "cert_1", "", "neither the id of an order nor JSON", false, 0},
	{"paid at once", `{"order_id": "ord_1"}`, "", "nothing is held for it", false, 0},
	{"null", "null", "", "nothing is held for it", false, 0},
	{"no network", heldOrder("eip155:8453", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"), "",
		"does not name its network", false, 0},
	{"a member that is none", heldOrder(`"maxFeeBps": 2`, `"maxFeeBps": "2"`), "",
		"no maxFeeBps that can be read", false, 0},
	{"a member in another spelling", heldOrder(`"5250000"`, `"0x501bd0"`), "",
		"no maxAmount that can be read", false, 0},
	{"captured", heldOrder(`"state": "held"`, `"state": "captured"`), "", "Nothing is held any more", false, 0},
	{"before its deadline", heldOrder("1700000600", "4102444800"),
		`eth_call: async () => { throw { code: 3, data: "0xaa5674ad00" }; }`, "not past the deadline yet", true, 0},
	{"over meanwhile", heldOrder(),
		`eth_call: async () => { throw { data: { originalError: { data: "0x93bb7a1200" } } }; }`,
		"Nothing is held there any more", true, 0},
	{"another account", heldOrder(), `eth_requestAccounts: async () => ["0x` + strings.Repeat("b", 40) + `"]`,
		"Choose that account in the wallet", true, 0},
	{"stays elsewhere", heldOrder(), `eth_chainId: async () => "0x1"`, "stayed on another network", true, 0},
	{"refused by its owner", heldOrder(),
		`eth_sendTransaction: async () => { throw { code: 4001 }; }`, "You refused it", true, 1},
	{"reverted", heldOrder(),
		`eth_getTransactionReceipt: async () => ({ status: "0x0", logs: [] })`, "took nothing back", true, 1},
	{"mined by another contract", heldOrder(),
		`eth_getTransactionReceipt: async () => ({ status: "0x1", logs: [{ address: "0x01", topics: [] }] })`,
		"took nothing back", true, 1},
	{"a node that is away", heldOrder(), `eth_getTransactionReceipt: async () => { throw new Error("away"); }`,
		"what became of it the wallet did not say", true, 1},
}

// Whatever is typed and whatever a wallet does, the page asks it to send nothing but the reclaim of
// what the payer agreed to, to the escrow, and tells what came of it.
func TestReclaimInABrowser(t *testing.T) {
	site := http.FileServer(http.Dir("../../public"))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", templates.ContentSecurityPolicy())
		switch r.URL.Path {
		case "/api/order/ord_1":
			io.WriteString(w, heldOrder())
		case "/api/order/ord_2":
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"detail": "there is nothing by that id"}`)
		default:
			site.ServeHTTP(w, r)
		}
	}))
	defer server.Close()
	b := browser.Start(t)
	for _, c := range reclaimCases {
		t.Run(c.name, func(t *testing.T) {
			p := b.Open(server.URL+"/holds/", browser.Screen{Width: 390})
			defer p.Close()
			p.Until(`!document.getElementById("hold-form").hidden`)
			p.Eval(fmt.Sprintf(`(() => {
				window.sent = [];
				const works = {
					eth_requestAccounts: async () => ["0x" + "a".repeat(40)], eth_chainId: async () => "0x2105",
					eth_call: async () => "0x",
					wallet_switchEthereumChain: async () => null,
					eth_sendTransaction: async () => "0x" + "c".repeat(64),
					eth_getTransactionReceipt: async () => ({ status: "0x1", logs: [{ address: %q, topics: ["0x78e1d723d17e13b7f40eeab9bf6dd9148a630bafde4203ab7bb5fca983516d17"] }] }),
					%s
				};
				const provider = { request: ({ method, params }) => {
					if (method === "eth_sendTransaction") window.sent.push(params[0]);
					return works[method](params);
				} };
				for (const name of ["one", "two"]) {
					const detail = { info: { name }, provider: { ...provider } };
					dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
				}
				document.getElementById("id").value = %q;
				document.querySelector("#hold button").click();
			})()`, strings.ToLower(token.CaptureAddress.Hex()), c.wallet, c.typed), nil)
			p.Until(`!document.getElementById("hold-take").hidden || document.getElementById("hold-said").textContent`)
			p.Eval(`(document.getElementById("hold-take").hidden || document.getElementById("hold-take").click(), 0)`, nil)
			p.Until(fmt.Sprintf(`document.getElementById("hold-said").textContent.includes(%q)`, c.says))
			p.Until(`!document.getElementById("hold-take").disabled`)
			var got struct {
				Takes, Pwned bool
				Sent         []struct{ From, To, Data string }
				Facts        string
			}
			p.Eval(`({ takes: !document.getElementById("hold-take").hidden, sent: window.sent, pwned: "pwned" in window,
				facts: document.getElementById("hold-facts").textContent })`, &got)
			if got.Takes != c.takes || len(got.Sent) != c.sent || got.Pwned {
				t.Errorf("the page is at %+v, want %d calls and a button: %v", got, c.sent, c.takes)
			}
			if (c.takes || c.sent > 0) && !strings.Contains(got.Facts, "5.25 USDC on Base") {
				t.Errorf("of what is held it says %q", got.Facts)
			}
			for _, call := range got.Sent {
				if call.From != "0x"+strings.Repeat("a", 40) || call.To != token.CaptureAddress.Hex() ||
					call.Data != "0x"+hex.EncodeToString(token.ReclaimCall(agreed)) {
					t.Errorf("the wallet is asked to send %+v", call)
				}
			}
		})
	}
}
