package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"store.example/agentstore/cmd/shop"
)

// keeperWords is the table of the help, with the flags of each verb.
func keeperWords() []word {
	all := []word{{name: "help", short: "list these verbs"}}
	for _, v := range shop.Verbs() {
		w, flags := word{name: v.Name, about: v.About(), short: v.Short}, flag.NewFlagSet("", flag.ContinueOnError)
		v.Call().Declare(flags)
		flags.String("config", "store.toml", "configuration file")
		flags.VisitAll(func(f *flag.Flag) { w.own = append(w.own, f) })
		all = append(all, w)
	}
	return all
}

// runKeeper is the keeper's desk.
func runKeeper(ctx context.Context, c *call) error {
	if slices.Equal(c.args, []string{"help"}) {
		tabulate(c.stdout, keeperWords())
		return nil
	}
	if len(c.args) == 0 || c.args[0] == "help" {
		c.flags.Usage()
		return errUsage
	}
	v, ok := shop.VerbNamed(c.args[0])
	if !ok {
		var all []string
		for _, v := range shop.Verbs() {
			all = append(all, v.Name)
		}
		if meant := shop.Nearest(c.args[0], all); meant != "" {
			fmt.Fprintf(c.stderr, "store keeper: there is no verb %q\nDo you mean: store keeper %s\n", c.args[0], meant)
			return errUsage
		}
		if err := c.parse(0, 0); err != nil {
			return err
		}
		c.flags.Usage()
		return errUsage
	}
	c.flags.Usage = func() {
		fmt.Fprintf(c.stderr, "usage: store keeper %s [flags]\n  %s\n",
			strings.TrimSpace(v.Name+" "+v.About()), v.Short)
		c.flags.PrintDefaults()
		v.Tells(c.stderr)
	}
	k, file := v.Call(), c.flags.String("config", "store.toml", "configuration file")
	switch err := k.Read(c.flags, c.args[1:]); {
	case err == shop.ErrCall:
		return errUsage
	case errors.Is(err, shop.ErrCall):
		fmt.Fprintf(c.stderr, "store keeper %s: %v\n", v.Name, err)
		return errUsage
	case err != nil:
		return err
	}
	cfg, err := shop.Load(*file)
	if err != nil {
		return err
	}
	return k.Do(ctx, cfg, c.logger, c.stdout)
}
