package main

import (
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
)

type openAPICommand struct{}

// Help implements kong.HelpProvider.
func (openAPICommand) Help() string { return "Example:\n  atrium openapi > atrium.openapi.json" }

// Run implements the command.
func (openAPICommand) Run(p *process) error {
	contract, err := openapi.Load()
	if err != nil {
		return err
	}
	_, err = p.stdout.Write(contract.JSON())
	return err
}
