package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"backslide/lab"
)

// clientsFlag is a list of numbers of clients, with commas or blanks between them.
type clientsFlag struct {
	numbers []int
	given   bool // numbers are the user's: a repeated flag adds to them
}

func (c *clientsFlag) String() string { return join(c.numbers) }
func (c *clientsFlag) Type() string   { return "numbers" }

// Set adds to the numbers, at first in place of the default.
func (c *clientsFlag) Set(text string) error {
	if !c.given {
		c.numbers, c.given = nil, true
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return fmt.Errorf("%q is no number of clients; write them as 1,4,32", word)
		}
		c.numbers = append(c.numbers, n)
	}
	if len(c.numbers) == 0 {
		return errors.New("no number of clients; write them as 1,4,32")
	}
	return nil
}

// flagError says what is wrong with a flag in a user's words, not those of the packages
// that read it, and which flag may have been meant.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		name := unknown.GetSpecifiedName()
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				known = append(known, "--"+f.Name)
			}
		})
		if near := lab.Nearest("--"+name, known); len(near) > 0 {
			return fmt.Errorf("%s has no flag --%s; did you mean %s?", cmd.CommandPath(), name, strings.Join(near, " or "))
		}
		return fmt.Errorf("%s has no flag --%s; %s --help lists them", cmd.CommandPath(), name, cmd.CommandPath())
	case errors.As(err, &invalid):
		flag := invalid.GetFlag()
		want := map[string]string{
			"int": "a whole number", "int64": "a whole number", "uint64": "a whole number from 0", "duration": "a time such as 200ms, 90s or 10m",
		}[flag.Value.Type()]
		if want == "" {
			return fmt.Errorf("--%s %q: %w", flag.Name, invalid.GetValue(), invalid.Unwrap())
		}
		return fmt.Errorf("--%s %q is not %s", flag.Name, invalid.GetValue(), want)
	}
	return err
}

// atLeastOne asks for arguments, and says which.
func atLeastOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return fmt.Errorf("%s needs %s; %s --help has examples", cmd.CommandPath(), what, cmd.CommandPath())
	}
}
