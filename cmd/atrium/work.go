package main

import (
	"context"

	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/configs"
)

type workCommand struct{}

// Help implements kong.HelpProvider.
func (workCommand) Help() string {
	return `Runs queued background jobs, and removes expired data. serve does both too: use this command for
nodes that only run jobs, together with servers that are started with --no-work. SIGTERM and Ctrl-C finish running jobs.

Examples:
  atrium work --config /etc/atrium.yaml
  ATRIUM_METRICS_ADDR=127.0.0.1:9090 atrium work --data /var/lib/atrium`
}

// Run implements the command.
func (workCommand) Run(p *process) error {
	c, err := p.config(nil)
	if err == nil {
		err = p.requireData(c)
	}
	if err != nil {
		return err
	}
	load := func() (configs.Config, error) { return p.config(nil) }
	return p.runNode(load, false, func(ctx context.Context, n *node.Node) error {
		n.Log.Info("working", "version", version)
		n.Work(ctx)
		return nil
	})
}

// runNode runs f on opened data as a long-running process. load is called again when the configuration is reloaded.
func (p *process) runNode(load func() (configs.Config, error), serving bool,
	f func(context.Context, *node.Node) error) error {
	program := node.Program{Version: version, Load: load, Open: buildCore, Stderr: p.stderr}
	return program.Run(p.ctx, serving, f)
}
