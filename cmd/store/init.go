package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/generator"
)

// question is one thing that a new store has to know, by flag or by asking.
type question struct {
	flag, ask, otherwise string
	site                 string // the key of site.toml it is for; "" is none
}

var questions = []question{
	{"name", "What is the store called?", "", "title"},
	{"base-url", "Where will it be reached? (https://…, or " + shop.LocalURL + " for this machine alone)",
		shop.LocalURL, "base_url"},
	{"keeper", "Who keeps it? (a name that buyers read)", "", "keeper"},
	{"contact", "Where does one write to? (mailto:… or https://…)", "", "contact"},
	{"networks", "On which networks is it paid? (base, polygon, arbitrum-one, avalanche-c-chain, solana; by comma)",
		"base", ""},
	{"pay-to", "At which address? (a cold wallet of yours; on Solana and the others by comma)",
		"0x0000000000000000000000000000000000000001", ""},
	{"rpc", "By which nodes? (one address for each network, by comma; empty: files in var/keys name them)", "", ""},
}

// runInit makes a keeper's site: sources copied from the specimen as a start, a private stock, and
// a configuration of what flags, or a person who is asked, said.
func runInit(ctx context.Context, c *call) error {
	said := make(map[string]*string)
	for _, q := range questions {
		said[q.flag] = c.flags.String(q.flag, "", q.ask)
	}
	if err := c.parse(1, 1); err != nil {
		return err
	}
	if err := c.answers(said); err != nil {
		return err
	}
	begin, err := shop.Begin(shop.Beginning{BaseURL: *said["base-url"], Networks: words(*said["networks"]),
		PayTo: words(*said["pay-to"]), RPC: words(*said["rpc"])})
	if err != nil {
		return because(errUsage, "%w", err)
	}
	dir := c.flags.Arg(0)
	if err := generator.Init(dir); err != nil {
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
	if err := generator.InitTrees(filepath.Join(dir, "public")); err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, `%s is a site. Next:
  1. cd %s && store key init
  2. see store.toml (address, networks, pay_to, coin_price) and content/site.toml
  3. write your own texts into var/stock: the ones there are the specimen's and public, and a store that is not on
     loopback refuses to sell them
  4. store build -config store.toml && store serve -config store.toml
  5. store doctor says what is still missing
`, dir, dir)
	return nil
}

// words are the parts of a list by comma.
func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// answers asks for what no flag said, where somebody is there to be asked.
func (c *call) answers(said map[string]*string) error {
	asked := bufio.NewReader(os.Stdin)
	person := isTerminal(os.Stdin) && isTerminal(c.stdout)
	for _, q := range questions {
		if *said[q.flag] != "" {
			continue
		}
		*said[q.flag] = q.otherwise
		if !person {
			continue
		}
		fmt.Fprint(c.stdout, q.ask)
		if q.otherwise != "" {
			fmt.Fprintf(c.stdout, " [%s]", q.otherwise)
		}
		fmt.Fprint(c.stdout, "\n> ")
		line, err := asked.ReadString('\n')
		if err != nil {
			return err
		}
		if line = strings.TrimSpace(line); line != "" {
			*said[q.flag] = line
		}
	}
	return nil
}

// settleSite writes what was said into the lines of site.toml. The others stay as they are.
func settleSite(file string, said map[string]*string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(string(b), "\n")
	for i, line := range lines {
		key, _, _ := strings.Cut(line, " = ")
		for _, q := range questions {
			if q.site == "" || q.site != key || *said[q.flag] == "" {
				continue
			}
			value, err := json.Marshal(*said[q.flag]) // a string of JSON is one of TOML
			if err != nil {
				return err
			}
			lines[i] = key + " = " + string(value) + "\n"
		}
	}
	return os.WriteFile(file, []byte(strings.Join(lines, "")), 0o644)
}
