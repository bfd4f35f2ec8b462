package main

import (
	"fmt"
	"time"

	atrium "github.com/atrium-hq/atrium/clients/go"
)

type eventsTailCommand struct {
	remoteFlags
	After *int64 `help:"Begin after the event with this seq; 0: with the oldest. Default: the next one." placeholder:"SEQ"`
	Types string `help:"Only events of these types, with commas between them." placeholder:"TYPES"`
	JSON  bool   `name:"json" help:"Print JSON, one line for each event, as they happen."`
}

// Help implements kong.HelpProvider.
func (eventsTailCommand) Help() string {
	return `Prints the events of a workspace of a server as they happen, until it is stopped: those that your key can read
(with the admin role, all of them). Run atrium login first.

Examples:
  atrium events tail
  atrium events tail --after 0 --types prompt_template.activated --json`
}

// Run implements the command.
func (c *eventsTailCommand) Run(p *process) error {
	client, err := p.connect(c.remoteFlags)
	if err != nil {
		return err
	}
	return p.follow(client, atrium.EventsStreamQuery{After: placeOf(c.After), Types: c.Types},
		func(e *atrium.Event) error {
			if c.JSON {
				return p.json(e)
			}
			return p.print(false, nil, "%d\t%s\t%s\t%s\t%s\n", *e.Seq, e.CreatedAt.Format(time.RFC3339), e.Type,
				e.Subject, orNone(e.Actor))
		})
}

func placeOf(cursor *int64) *int {
	if cursor == nil {
		return nil
	}
	return new(int(*cursor))
}

func orNone(text *string) string {
	if text == nil {
		return "-"
	}
	return *text
}

// follow gives each stream event to do, until the program is stopped.
func (p *process) follow(client *atrium.Client, from atrium.EventsStreamQuery, handle func(*atrium.Event) error) error {
	for event, err := range client.Events.Stream(p.ctx, from) {
		switch {
		case p.ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case event.Name == "reset":
			if _, err := fmt.Fprintln(p.stderr, "Events before this one may be missing here."); err != nil {
				return err
			}
			continue
		}
		if err := handle(&event.Data); err != nil {
			return err
		}
	}
	return nil
}
