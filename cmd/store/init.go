package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/content"
	"store.example/agentstore/generator"
	"store.example/agentstore/generator/tree"
)

// question is one thing that a new store has to know, by flag or by asking.
type question struct {
	flag, ask, otherwise string
	site                 string // the key of site.toml it is for; "" is none
	check                func(a answers) error
}

// answers are what was said, by the flag of the question.
type answers map[string]*string

func (a answers) list(flag string) []string {
	return strings.FieldsFunc(*a[flag], func(r rune) bool { return r == ',' || r == ' ' })
}

// begin is the configuration that the answers up to here make.
func (a answers) begin() error {
	_, err := a.config(nil)
	return err
}

func (a answers) config(demo *shop.Config) (shop.Config, error) {
	return shop.Begin(shop.Beginning{BaseURL: *a["base-url"], Networks: a.list("networks"), PayTo: a.list("pay-to"),
		RPC: a.list("rpc"), CoinPrices: a.list("coin-price"), Demo: demo})
}

var questions = []question{
	{"name", "What is the store called?", "My shop", "title", func(a answers) error {
		return content.CheckConfig("title", *a["name"])
	}},
	{"base-url", "Where will it be reached? (https://…, or " + shop.LocalURL + " for this machine alone)",
		shop.LocalURL, "base_url", func(a answers) error { return content.CheckConfig("base_url", *a["base-url"]) }},
	{"keeper", "Who keeps it? (a name that buyers read)", "the keeper", "keeper", func(a answers) error {
		return content.CheckConfig("keeper", *a["keeper"])
	}},
	{"contact", "Where does one write to? (mailto:… or https://…)", "mailto:keeper@example.com", "contact",
		func(a answers) error { return content.CheckConfig("contact", *a["contact"]) }},
	{"networks", "On which networks is it paid? (base, polygon, arbitrum-one, avalanche-c-chain, solana; by comma)",
		"base", "", func(a answers) error { return shop.CheckNetworks(a.list("networks")) }},
	{"pay-to", "At which address? (a cold wallet of yours; on Solana and the others by comma)",
		"0x0000000000000000000000000000000000000001", "", answers.begin},
	{"rpc", "By which nodes? (one address for each network, by comma; empty: files in var/keys name them)", "", "",
		answers.begin},
	{"coin-price", "What is one coin of each network worth in USDC, which says what settling costs? (such as 3000, " +
		"by comma; empty: nothing is offered until coin_price stands in store.toml)", "", "", answers.begin},
}

// runInit makes a keeper's site: an empty shop, or a copy of the specimen, and a configuration of
// what flags, or a person who is asked, said. With -demo it is wired to the chains of store demo.
func runInit(ctx context.Context, c *call) error {
	said := make(answers)
	for _, q := range questions {
		said[q.flag] = c.flags.String(q.flag, "", q.ask)
	}
	specimen := c.flags.Bool("specimen", false, "begin with a copy of the specimen, its goods, texts and "+
		"publications, in place of an empty shop; they are public, and a store that others reach refuses to sell them")
	demo := c.flags.String("demo", "", "folder of a running store demo -dir: the shop is on its chains, with its "+
		"relayer, keys and TLS of its own, at "+demoURL)
	if err := c.parse(1, 1); err != nil {
		return err
	}
	var chains *shop.Config
	if *demo != "" {
		var err error
		if chains, err = demoConfig(*demo, said); err != nil {
			return err
		}
	}
	if err := c.answer(said, chains != nil); err != nil {
		return err
	}
	begin, err := said.config(chains)
	if err != nil {
		return because(errUsage, "%w", err)
	}
	dir, start := c.flags.Arg(0), generator.Empty
	if *specimen {
		start = generator.LikeSpecimen
	}
	if err := generator.Init(dir, start); err != nil {
		return err
	}
	if err := settleSite(filepath.Join(dir, "content", "site.toml"), said); err != nil {
		return err
	}
	config := "# The configuration of this store. What is not in force stands behind a #, with what it may be.\n" +
		"# Relative paths are relative to this file. Secrets are paths to files of mode 0600.\n\n" + shop.Used(begin)
	if err := shop.WriteNew(filepath.Join(dir, "store.toml"), []byte(config), 0o644); err != nil {
		return err
	}
	for _, d := range []string{"corpus/rounds", "corpus/observations", "corpus/proofs"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	if err := tree.InitTrees(filepath.Join(dir, "public")); err != nil {
		return err
	}
	if chains != nil {
		return c.wire(dir, chains)
	}
	fmt.Fprintf(c.stdout, `%s is a site. Next:
  1. cd %s && store key init
  2. see store.toml (address, networks, pay_to, coin_price) and content/site.toml
  3. write your own goods: store new good ID makes a file. What is there now is public, and a store that is not on
     loopback refuses to sell it
  4. store build && store serve
  5. store doctor says what is still missing
`, dir, dir)
	return nil
}

// answer asks for what no flag said, where somebody is there to be asked, and judges each answer
// when it is given: a person is asked again, and of flags all faults are told at once, before
// anything is written. On a demo's chains what is about chains is not asked.
func (c *call) answer(said answers, demo bool) error {
	asked := bufio.NewReader(os.Stdin)
	person := isTerminal(os.Stdin) && isTerminal(c.stdout)
	var faults []error
	for _, q := range questions {
		wires := q.site == "" || q.flag == "base-url"
		if demo && wires && q.flag != "base-url" {
			continue
		}
		given := *said[q.flag] != ""
		for ask := person && !given && !(demo && wires); ; {
			if !given {
				*said[q.flag] = q.otherwise
			}
			if ask {
				if err := c.read(asked, q, said); err != nil {
					return err
				}
			}
			err := q.check(said)
			if err == nil {
				err = demanded(q, said, given || demo)
			}
			if err == nil {
				break
			}
			if !ask {
				faults = append(faults, fmt.Errorf("-%s: %w", q.flag, err))
				break
			}
			fmt.Fprintf(c.stdout, "That cannot be: %v\n", err)
		}
		if len(faults) > 0 && q.flag == "networks" {
			break // what follows is judged together with these
		}
	}
	if len(faults) > 0 {
		return because(errUsage, "%w", errors.Join(faults...))
	}
	return nil
}

// demanded refuses the address of nobody for a store that others reach.
func demanded(q question, said answers, given bool) error {
	if q.flag == "pay-to" && !given && *said["pay-to"] == q.otherwise && !shop.OnLoopback(*said["base-url"]) {
		return fmt.Errorf("a store at %s needs an address of yours to be paid at", *said["base-url"])
	}
	return nil
}

func (c *call) read(from *bufio.Reader, q question, said answers) error {
	fmt.Fprint(c.stdout, q.ask)
	if q.otherwise != "" {
		fmt.Fprintf(c.stdout, " [%s]", q.otherwise)
	}
	fmt.Fprint(c.stdout, "\n> ")
	line, err := from.ReadString('\n')
	if err != nil {
		return err
	}
	if line = strings.TrimSpace(line); line != "" {
		*said[q.flag] = line
	}
	return nil
}

// settleSite writes what was said into the lines of site.toml, and the days of today. The others
// stay as they are.
func settleSite(file string, said answers) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	today := time.Now().UTC()
	values := map[string]string{"date": today.Format(time.DateOnly),
		"security_expires": today.AddDate(0, 6, 0).Format(time.DateOnly)}
	for _, q := range questions {
		if q.site != "" {
			values[q.site] = *said[q.flag]
		}
	}
	lines := strings.SplitAfter(string(b), "\n")
	for i, line := range lines {
		key, _, _ := strings.Cut(line, " = ")
		if values[key] == "" {
			continue
		}
		value, err := json.Marshal(values[key]) // a string of JSON is one of TOML
		if err != nil {
			return err
		}
		lines[i] = key + " = " + string(value) + "\n"
	}
	return os.WriteFile(file, []byte(strings.Join(lines, "")), 0o644)
}
