package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	atrium "github.com/atrium-hq/atrium/clients/go"
)

type eventsTailCommand struct {
	remoteFlags
	After *int64 `help:"Begin after the event with this seq; 0 prints every event that is kept. Default: the next event." placeholder:"SEQ"`
	Types string `help:"Only events of these types, with commas between them." placeholder:"TYPES"`
	JSON  bool   `name:"json" help:"Print JSON, one event a line."`
}

// Help implements kong.HelpProvider.
func (eventsTailCommand) Help() string {
	return `Prints the events of a workspace of a server as they happen, until it is stopped. It needs a key with the admin
role: run atrium login first.

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

func placeOf(after *int64) *int {
	if after == nil {
		return nil
	}
	return new(int(*after))
}

func orNone(text *string) string {
	if text == nil {
		return "-"
	}
	return *text
}

// follow gives each event of a stream to do, until the program is stopped.
func (p *process) follow(client *atrium.Client, from atrium.EventsStreamQuery, do func(*atrium.Event) error) error {
	for got, err := range client.Events.Stream(p.ctx, from) {
		switch {
		case p.ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case got.Name == "reset":
			if _, err := fmt.Fprintln(p.stderr, "Events before this one may be missing here."); err != nil {
				return err
			}
			continue
		}
		if err := do(&got.Data); err != nil {
			return err
		}
	}
	return nil
}

type eventsExportCommand struct {
	remoteFlags
	To    string `arg:"" help:"File to write, one event as JSON a line. If it exists, only later events are added." type:"path"`
	Types string `help:"Only events of these types, with commas between them." placeholder:"TYPES"`
}

// Help implements kong.HelpProvider.
func (eventsExportCommand) Help() string {
	return `Writes the events of a workspace of a server to a file, oldest first. It needs a key with the admin role: run
atrium login first.
If it is interrupted, or run again later, it goes on after the last complete line of the file.

Example:
  atrium events export events.ndjson`
}

// Run implements the command.
func (c *eventsExportCommand) Run(p *process) (err error) {
	client, err := p.connect(c.remoteFlags)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(c.To, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	after, err := resume(file)
	if err != nil {
		return err
	}
	count := 0
	out := bufio.NewWriter(file)
	encoder := json.NewEncoder(out)
	query := atrium.EventsListQuery{Order: "asc", After: new(int(after)), Types: c.Types, Limit: 100}
	for {
		part, err := client.Events.ListPage(p.ctx, query)
		if err != nil {
			return errors.Join(err, out.Flush())
		}
		if after > 0 && part.FirstSeq != nil && *part.FirstSeq > after+1 && count == 0 {
			if _, err := fmt.Fprintf(p.stderr, "Retention has removed the events from %d to %d.\n", after+1,
				*part.FirstSeq-1); err != nil {
				return err
			}
		}
		for i := range part.Data {
			if err := encoder.Encode(&part.Data[i]); err != nil {
				return err
			}
			count++
		}
		if err := out.Flush(); err != nil {
			return err
		}
		if part.NextCursor == nil {
			return p.print(false, nil, "%d events written.\n", count)
		}
		query.Cursor = *part.NextCursor
	}
}

// resume cuts off an incomplete last line of an export, goes to its end, and returns the seq of its last event; 0 if it
// has none.
func resume(file *os.File) (after int64, err error) {
	lines, size := bufio.NewReader(file), int64(0)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
		var e struct {
			Seq int64 `json:"seq"`
		}
		if err := json.Unmarshal(line, &e); err != nil || e.Seq <= after {
			return 0, fmt.Errorf("%s is not an export of events: name another file", file.Name())
		}
		after, size = e.Seq, size+int64(len(line))
	}
	if err := file.Truncate(size); err != nil {
		return 0, err
	}
	_, err = file.Seek(size, io.SeekStart)
	return after, err
}
