package main

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/laboratory"
	"store.example/agentstore/cmd/devnet/street"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/criteria/lab"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/stockclient"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
)

type exception struct {
	name, reason string
	is           func(d street.Door, r probe.Report) bool
}

// exceptions are the kinds of doors at which a reading and the stock client may differ, each with
// the upstream reason, and whether the client pays there. There are five at most.
var exceptions = []exception{
	{"spelling", "stock code forgives what its specification forbids: a payTo against ERC-55, an amount that is not " +
		"digits (x402 v2, PaymentRequirements), JSON that is not strict (RFC 8259, section 4)",
		func(_ street.Door, r probe.Report) bool {
			return failsOnly(r, "payto-payable", "amount-atomic", "payment-required-header", "accepts")
		}},
	{"testnet", "the stock client's table lists test tokens, which buy nothing (x402 issue on default assets; CAIP-2)",
		func(_ street.Door, r probe.Report) bool { return failsOnly(r, "network-mainnet") }},
	{"extension", "the stock client reads neither bazaar nor offer-receipt before it pays; catalogues and verifiers do",
		func(_ street.Door, r probe.Report) bool { return failsOnly(r, "bazaar-extension", "signed-offers") }},
	{"caller", "the door serves by user agent or address; one look has one of each",
		func(d street.Door, r probe.Report) bool {
			return r.Evidence.Status == 403 || r.Reason == probe.ReasonChallenged
		}},
	{"other host", "fetch follows a redirect to another host with the payment in hand (WHATWG fetch, section 4.4); " +
		"that door is read at its own address",
		func(_ street.Door, r probe.Report) bool { return r.Evidence.Status/100 == 3 }},
}

func failsOnly(r probe.Report, names ...string) bool {
	failed := r.Reading().Failed
	return len(failed) > 0 && !slices.ContainsFunc(failed, func(f string) bool { return !slices.Contains(names, f) })
}

// notJudged reports whether the reading itself says that it cannot tell.
func notJudged(r probe.Report) bool {
	return r.Verdict == probe.NotProbed || r.Verdict == probe.MethodUnresolved ||
		slices.ContainsFunc(r.Advisories, func(n probe.Note) bool { return strings.Contains(n.Detail, "not judged") })
}

// openLaboratory starts the chains on which what is signed settles: those of the networks that have
// one, and Base Sepolia; on Base there is EURC as well.
func openLaboratory(t *testing.T) laboratory.World {
	t.Helper()
	buyer, relayer, minter := chaintest.NewKey(t), chaintest.NewKey(t), chaintest.NewKey(t)
	opening := chain.Opening{Minter: minter.Address, Gas: []common.Address{relayer.Address},
		Dollars: map[common.Address]int64{buyer.Address: 1_000_000_000}}
	w := laboratory.World{Buyer: buyer.Hex(), Relayer: relayer.Hex(), Chains: map[string]string{}}
	for _, n := range append(slices.Clone(chain.Networks), chain.Network{Name: "Base Sepolia", ChainID: 84532,
		Asset: common.HexToAddress("0x036CbD53842c5426634e7929541eC2318f3dCF7e")}) {
		alloc := n.Alloc(opening)
		// As the token itself does, it takes nothing for its own.
		dollar := token.Dollar{Name: chain.TokenName, Version: chain.TokenVersion, Symbol: chain.TokenSymbol,
			Minter: minter.Address, Balances: opening.Dollars, Blacklist: []common.Address{n.Asset}}
		if n.ChainID == 84532 {
			dollar.Name = "USDC"
		}
		alloc[n.Asset] = dollar.Account()
		if n.ChainID == 8453 {
			alloc[common.HexToAddress("0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42")] = token.Dollar{Name: "EURC",
				Version: "2", Symbol: "EURC", Minter: minter.Address, Balances: opening.Dollars}.Account()
		}
		c, err := chain.Start(chain.Config{ChainID: n.ChainID, Alloc: alloc, Automine: true, Lead: chain.DefaultLead})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Stop(); err != nil {
				t.Error(err)
			}
		})
		w.Chains[n.ID()] = c.RPCURL()
	}
	return w
}

// TestLongReadingsAreTrue reads every door of the street and has the stock client ask it, with its
// own limits and without: a door is ready if and only if the client without limits signs something
// that settles, and the row of each client says what it does. What differs is not judged, or an
// exception of those above. No door that the client pays has a fault.
func TestLongReadingsAreTrue(t *testing.T) {
	w := openLaboratory(t)
	s, err := street.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	w.CA = filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(w.CA, s.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := fetch.New(s.Config(fetch.Config{UserAgent: "walker/1 (+https://store.test/bot)",
		Key: attest.SpecimenKey(), Agent: "https://store.test", OwnHosts: []string{"store.test"}}))
	if err != nil {
		t.Fatal(err)
	}
	doors := laboratoryDoors(s)
	if len(doors) < 150 {
		t.Fatalf("%d doors, want 150", len(doors))
	}
	reports := make([]probe.Report, len(doors))
	var g errgroup.Group
	g.SetLimit(16)
	for i, d := range doors {
		g.Go(func() error {
			checker, err := probe.NewPreflight(probe.Current(), d.URL(), probe.Declaration{})
			if err != nil {
				return err
			}
			reports[i], _, err = fetch.Walk(t.Context(), client, checker, fetch.WalkStart{URL: d.URL()})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	var questions []laboratory.Question
	for i, d := range doors {
		_, port, err := net.SplitHostPort(s.Listen(d))
		if err != nil {
			t.Fatal(err)
		}
		url := strings.Replace(d.URL(), d.Host, d.Host+":"+port, 1)
		for _, unlimited := range []bool{false, true} {
			questions = append(questions, laboratory.Question{Name: d.Name, URL: url,
				Method: reports[i].ProbeMethod.Used, Unlimited: unlimited})
		}
		questions = append(questions, laboratory.Question{Name: d.Name, URL: url,
			Method: reports[i].ProbeMethod.Used, Unlimited: true, Axios: true})
	}
	answers := w.Ask(t, questions)
	used, settled := map[string]int{}, 0
	table := lab.Table{Format: lab.Format, Battery: probe.Current(),
		Client: stockclient.Models()[0].Package, Networks: networks.Version, Doors: int64(len(doors)),
		Table: []lab.Door{}}
	for i, d := range doors {
		limited, free, axios := answers[3*i], answers[3*i+1], answers[3*i+2]
		if free.Settles {
			settled++
		}
		by, why := untrue(d, reports[i], free)
		if table.Table = append(table.Table, labDoor(d, reports[i], limited, free, by)); by != "" {
			used[by]++
		}
		if why != "" {
			t.Errorf("%s (%s): read as %s %s %v, the client: %+v: %s", d.Name, d.Doc, reports[i].Verdict,
				reports[i].Fault, reports[i].Reading().Failed, free, why)
		}
		if d.Name == "body-long" {
			axios = free // Node's parser refuses what follows a body; fetch and Go let it lie
		}
		if why := mistaken(reports[i], limited, free, axios); why != "" {
			t.Errorf("%s: %s", d.Name, why)
		}
	}
	published(t, table, used)
	t.Logf("%d doors, %d of them paid; differences: %v", len(doors), settled, used)
	if settled < 40 || len(exceptions) > 5 {
		t.Errorf("%d doors settled, %d exceptions", settled, len(exceptions))
	}
}

// laboratoryDoors are those that a client can be sent to at once.
func laboratoryDoors(s *street.Street) (doors []street.Door) {
	for _, d := range s.Doors() {
		if s.Listen(d) != "" && d.Want.Refused == "" && !d.Slow && !d.Plain && d.Spelled == "" {
			doors = append(doors, d)
		}
	}
	return doors
}

// labDoor is a line of the table that is published.
func labDoor(d street.Door, r probe.Report, limited, free laboratory.Answer, by string) lab.Door {
	return lab.Door{Door: d.Name, Does: d.Doc, Verdict: string(r.Verdict), Reason: r.Reason,
		Fault: string(r.Fault), Failed: r.Reading().Failed, SignsLimited: limited.Signed, Signs: free.Signed,
		Settles: free.Settles, Difference: by}
}

// published demands that the table on /criteria/laboratory is that of this run. UPDATE=1 writes it.
func published(t *testing.T, table lab.Table, used map[string]int) {
	t.Helper()
	reasons := append(slices.Clone(exceptions), exception{name: notJudgedWord,
		reason: "the battery itself says that it cannot tell"})
	for _, e := range reasons {
		table.Differ = append(table.Differ, lab.Difference{Name: e.name, Reason: e.reason,
			Doors: int64(used[e.name])})
	}
	slices.SortFunc(table.Table, func(a, b lab.Door) int { return strings.Compare(a.Door, b.Door) })
	for _, d := range table.Table {
		if d.Settles {
			table.Paid++
		}
		if d.Difference == "" {
			table.Alike++
		}
	}
	got, err := json.Marshal(table, jsontext.WithIndent(" "))
	if err != nil {
		t.Fatal(err)
	}
	const file = "../../corpus/criteria/lab/laboratory.json"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got)+"\n", "\n")); diff != "" {
		t.Errorf("%s is not of this run (UPDATE=1 writes it):\n%s", file, diff)
	}
}

// untrue says why a reading may differ from what the client did, "" where it does not, and how it
// is wrong, "" where it is not.
func untrue(d street.Door, r probe.Report, free laboratory.Answer) (by, why string) {
	if free.Settles && r.Fault == probe.FaultDoor {
		return "", "it is paid, and the fault is called the door's"
	}
	if (r.Verdict == probe.Ready) == free.Settles {
		return "", ""
	}
	if notJudged(r) {
		return notJudgedWord, ""
	}
	if free.Settles {
		for _, e := range exceptions {
			if e.is(d, r) {
				return e.name, ""
			}
		}
	}
	return "", "the reading is not true"
}

const notJudgedWord = "not_judged"

// mistaken says where the rows of the modelled clients differ from the clients.
func mistaken(r probe.Report, limited, free, axios laboratory.Answer) string {
	for _, row := range r.Clients {
		a := limited
		switch {
		case row.Client == "x402-axios/2.11.0":
			a = axios
		case row.Client != "x402-fetch/2.27.0":
			continue
		case row.Configured == "unlimited":
			a = free
		}
		if row.Outcome == "cannot_simulate" ||
			strings.HasPrefix(row.Network, "solana:") {
			continue
		}
		if (row.Outcome == "would_sign") != a.Signed {
			return fmt.Sprintf("the row says %+v, and the client did %+v", row, a)
		}
	}
	return ""
}
