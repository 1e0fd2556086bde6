// Package args parses a command line whose flags may stand behind its arguments, as people type
// them and as package flag does not take them.
package args

import "flag"

// Parse parses flags that stand before, between and behind arguments, until a "--". What is no flag
// is flags.Args afterwards. Errors are those of flags.Parse.
func Parse(flags *flag.FlagSet, words []string) error {
	arguments := []string{"--"}
	for len(words) > 0 {
		if err := flags.Parse(words); err != nil {
			return err
		}
		rest := flags.Args()
		if read := len(words) - len(rest); read > 0 && words[read-1] == "--" {
			arguments, rest = append(arguments, rest...), nil
		} else if len(rest) > 0 {
			arguments, rest = append(arguments, rest[0]), rest[1:]
		}
		words = rest
	}
	return flags.Parse(arguments)
}
