package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"store.example/agentstore/cmd/shop"
)

// runVersion says what the program was built from.
func runVersion(_ context.Context, c *call) error {
	if err := c.parse(0, 0); err != nil {
		return err
	}
	version, revision := shop.Built()
	_, err := fmt.Fprintf(c.stdout, "store %s %s %s %s/%s\n", version, revision, runtime.Version(), runtime.GOOS,
		runtime.GOARCH)
	return err
}

// shells are what completions are written for.
var shells = map[string]func(io.Writer, []described) error{"bash": bash, "zsh": zsh, "fish": fish}

// runCompletion writes what a shell completes the verbs and their flags by.
func runCompletion(_ context.Context, c *call) error {
	if err := c.parse(1, 1); err != nil {
		return err
	}
	write := shells[c.flags.Arg(0)]
	if write == nil {
		return because(errUsage, "completions are for bash, zsh and fish")
	}
	return write(c.stdout, describe())
}

// runMan writes the manual page, store(1).
func runMan(_ context.Context, c *call) error {
	if err := c.parse(0, 0); err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(".TH STORE 1\n.SH NAME\nstore \\- a store for agents, and a record of doors\n.SH SYNOPSIS\n" +
		".B store\n.I verb\n[flags] [arguments]\n.SH VERBS\n")
	for _, v := range describe() {
		fmt.Fprintf(&b, ".SS store %s\n%s\n", roff(v.line()), roff(v.short))
		for _, w := range v.words {
			if w.short != "" {
				fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(w.name+" "+w.about)), roff(w.short))
			}
			for _, f := range w.own {
				fmt.Fprintf(&b, ".br\n.B \\-%s\n%s\n", roff(f.Name), roff(f.Usage))
			}
		}
		for _, f := range v.flags {
			if slices.ContainsFunc(v.words, func(w word) bool { return len(w.own) > 0 }) {
				continue // each word has its own
			}
			fmt.Fprintf(&b, ".TP\n.B \\-%s\n%s\n", roff(f.Name), roff(f.Usage))
		}
	}
	b.WriteString(".SH EXIT STATUS\n0 done, 1 failed, 2 called wrongly, 3 the answer is no, 4 what was verified does " +
		"not show all that it has to.\n")
	_, err := io.WriteString(c.stdout, b.String())
	return err
}

// roff is a text as the manual's format has it: nothing in it is a request.
func roff(s string) string {
	s = strings.ReplaceAll(s, `\`, `\e`)
	s = strings.ReplaceAll(s, "-", `\-`)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return strings.ReplaceAll(s, "\n", " ")
}

// described is a verb with the flags that it declares.
type described struct {
	verb
	words []word // that may follow it
	flags []*flag.Flag
}

var wordForm = regexp.MustCompile(`^[a-z][a-z-]*`)

// describe has each verb declare its flags, which it does before it does anything else, and stop at
// -h.
func describe() (all []described) {
	for _, v := range verbs() {
		c := &call{flags: flag.NewFlagSet("store "+v.name, flag.ContinueOnError), stdout: io.Discard,
			stderr: io.Discard, args: []string{"-h"}}
		d := described{verb: v}
		if v.sub {
			if table := tables[v.name]; table != nil {
				d.words = table()
			} else {
				for part := range strings.SplitSeq(v.args, " | ") {
					d.words = append(d.words, word{name: wordForm.FindString(part)})
				}
			}
			c.args = []string{d.words[len(d.words)-1].name, "-h"}
		}
		c.flags.SetOutput(io.Discard)
		c.logger = newLogger(new(bytes.Buffer), &c.level, true)
		_ = v.run(context.Background(), c) // it says that help was asked for
		c.flags.VisitAll(func(f *flag.Flag) { d.flags = append(d.flags, f) })
		for _, w := range d.words {
			for _, f := range w.own {
				if c.flags.Lookup(f.Name) == nil {
					c.flags.Var(f.Value, f.Name, f.Usage)
					d.flags = append(d.flags, f)
				}
			}
		}
		all = append(all, d)
	}
	return all
}

func names(all []described) (list []string) {
	for _, v := range all {
		list = append(list, v.name)
	}
	return list
}

// follow are the words and flags that may stand after a verb.
func (d described) follow() []string {
	var list []string
	for _, w := range d.words {
		list = append(list, w.name)
	}
	for _, f := range d.flags {
		list = append(list, "-"+f.Name)
	}
	return list
}

func bash(w io.Writer, all []described) error {
	var b strings.Builder
	b.WriteString("_store() {\n\tlocal word=${COMP_WORDS[COMP_CWORD]}\n\tif [ \"$COMP_CWORD\" = 1 ]; then\n" +
		"\t\tmapfile -t COMPREPLY < <(compgen -W '" + strings.Join(names(all), " ") + "' -- \"$word\")\n\t\treturn\n" +
		"\tfi\n\tcase ${COMP_WORDS[1]} in\n")
	for _, d := range all {
		fmt.Fprintf(&b, "\t%s) mapfile -t COMPREPLY < <(compgen -f -W '%s' -- \"$word\") ;;\n", d.name,
			strings.Join(d.follow(), " "))
	}
	b.WriteString("\tesac\n}\ncomplete -o filenames -F _store store\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func zsh(w io.Writer, all []described) error {
	if _, err := io.WriteString(w, "#compdef store\nautoload -U +X bashcompinit && bashcompinit\n"); err != nil {
		return err
	}
	var b strings.Builder
	if err := bash(&b, all); err != nil {
		return err
	}
	// zsh has no mapfile.
	_, err := io.WriteString(w, mapfiles.ReplaceAllString(b.String(), "COMPREPLY=($$($1))"))
	return err
}

var mapfiles = regexp.MustCompile(`mapfile -t COMPREPLY < <\((.*)\)`)

func fish(w io.Writer, all []described) error {
	var b strings.Builder
	for _, d := range all {
		fmt.Fprintf(&b, "complete -c store -n __fish_use_subcommand -f -a %s -d %s\n", d.name, quoted(d.short))
		for _, w := range d.words {
			fmt.Fprintf(&b, "complete -c store -n '__fish_seen_subcommand_from %s' -f -a %s -d %s\n", d.name, w.name,
				quoted(w.short))
		}
		for _, f := range d.flags {
			fmt.Fprintf(&b, "complete -c store -n '__fish_seen_subcommand_from %s' -o %s -d %s\n", d.name, f.Name,
				quoted(f.Usage))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// quoted is a text as fish reads it.
func quoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", " ").Replace(s) + "'"
}
