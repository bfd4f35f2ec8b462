package main

import (
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/atrium-hq/atrium/cmd/atrium/internal/reference"
)

// printHelp prints the help of a command without those flags of the program that mean nothing to it.
func printHelp(options kong.HelpOptions, parsed *kong.Context) error {
	if selected := parsed.Selected(); selected != nil {
		for _, f := range parsed.Model.Flags {
			f.Hidden = f.Hidden || !reference.Inherits(selected, f)
		}
	}
	return kong.DefaultHelpPrinter(options, parsed)
}

// refuseFlags returns an error if a flag of the program is given to a command to which it means nothing. Otherwise
// atrium api --data JSON would send no body: --data is the body only with curl.
func refuseFlags(parsed *kong.Context) error {
	selected := parsed.Selected()
	for _, part := range parsed.Path {
		if part.Flag == nil || reference.Inherits(selected, part.Flag) {
			continue
		}
		instead := ""
		if selected.Name == "api" && part.Flag.Name == "data" {
			instead = "; the body of a request is --body"
		}
		return usageError{fmt.Errorf("%s uses no data of this machine, so it has no --%s%s", selected.FullPath(),
			part.Flag.Name, instead)}
	}
	return nil
}
