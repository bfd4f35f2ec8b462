package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/atrium-hq/atrium/configs"
)

type configCommand struct {
	Check configCheckCommand `cmd:"" help:"Check the configuration, without starting anything."`
	Show  configShowCommand  `cmd:"" help:"List the effective settings and where each comes from."`
}

// Help implements kong.HelpProvider.
func (configCommand) Help() string {
	return "Examples:\n  atrium config check --config /etc/atrium.yaml\n  atrium config show"
}

type configCheckCommand struct {
	JSON bool `name:"json" help:"Print JSON: valid, problems."`
}

// Help implements kong.HelpProvider.
func (configCheckCommand) Help() string {
	return `Reads the file, the variables and the flags as serve does, and lists all problems and where they
are. It reads no data and connects to nothing: atrium doctor does. Exits with 2 if there is a problem.

Example:
  atrium config check --config /etc/atrium.yaml`
}

// Run implements the command.
func (c *configCheckCommand) Run(p *process) error {
	_, err := p.config(nil)
	if !c.JSON {
		if err != nil {
			return err
		}
		return p.print(false, nil, "The configuration is valid.\n")
	}
	problems := []string{}
	if err != nil {
		problems = strings.Split(errors.Unwrap(errors.Unwrap(err)).Error(), "\n")
	}
	return errors.Join(p.print(true, map[string]any{"valid": err == nil, "problems": problems}, ""), err)
}

type configShowCommand struct {
	JSON bool `name:"json" help:"Print a JSON array of settings: key, value, from."`
}

// Help implements kong.HelpProvider.
func (configShowCommand) Help() string {
	return `Lists all settings with the values that serve would use, and the line, variable or flag that sets
each. Secrets are redacted; of URLs with a password it shows only the host and the path.

Example:
  atrium config show --config /etc/atrium.yaml`
}

// Run implements the command.
func (c *configShowCommand) Run(p *process) error {
	all, err := configs.Explain(p.source(nil))
	if err != nil {
		return usageError{fmt.Errorf("the configuration is wrong:\n%w", err)}
	}
	if c.JSON {
		return p.json(all)
	}
	rows := make([][]string, len(all))
	for i, s := range all {
		value, ok := s.Value.(string)
		if !ok || value == "" {
			text, err := json.Marshal(s.Value)
			if err != nil {
				return err
			}
			value = string(text)
		}
		rows[i] = []string{s.Key, value, s.From}
	}
	return p.table([]string{"KEY", "VALUE", "FROM"}, rows)
}
