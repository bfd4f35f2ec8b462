package main

import (
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/atrium-hq/atrium/cmd/atrium/internal/reference"
)

// printHelp prints a command's help without those flags of the program that mean nothing to it.
func printHelp(options kong.HelpOptions, parse *kong.Context) error {
	if command := parse.Selected(); command != nil {
		for _, f := range parse.Model.Flags {
			f.Hidden = f.Hidden || !reference.Inherits(command, f)
		}
	}
	return kong.DefaultHelpPrinter(options, parse)
}

// refuseFlags returns an error if a flag of the program is given to a command to which it means nothing. Otherwise
// atrium api --data JSON would send no body: --data is the body only with curl.
func refuseFlags(parse *kong.Context) error {
	command := parse.Selected()
	for _, part := range parse.Path {
		if part.Flag == nil || reference.Inherits(command, part.Flag) {
			continue
		}
		hint := ""
		if command.Name == "api" && part.Flag.Name == "data" {
			hint = "; the body of a request is --body"
		}
		return usageError{fmt.Errorf("%s uses no data of this machine, so it has no --%s%s", command.FullPath(),
			part.Flag.Name, hint)}
	}
	return nil
}
