package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	atrium "github.com/atrium-hq/atrium/clients/go"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
)

type eventsExportCommand struct {
	remoteFlags
	To       string `arg:"" help:"File to write, or s3://bucket/prefix: JSON, one event per line. Existing events stay."`
	Types    string `help:"Only events of these types, with commas between them." placeholder:"TYPES"`
	Endpoint string `help:"URL of the S3-compatible server. Default: Amazon." placeholder:"URL" env:"AWS_ENDPOINT_URL_S3"`
	Region   string `help:"Region of the bucket. Default: the server is asked." placeholder:"REGION" env:"AWS_REGION"`
}

// Help implements kong.HelpProvider.
func (eventsExportCommand) Help() string {
	return `Writes the events of a workspace of a server to a file or to a bucket of an S3-compatible server, oldest first:
those that your key can read (with the admin role, all of them). Run atrium login first.
If it is interrupted, or run again later, it continues after the last event that was written.

In a bucket it writes objects of up to 10,000 events, named by the first and the last seq. The credentials are
AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or those of ~/.aws/credentials. They need permission to list
and put objects, but not to get or delete them.

Examples:
  atrium events export events.ndjson
  atrium events export s3://audit/atrium --endpoint https://minio.example.com`
}

// exported is an export's destination.
type exported interface {
	// resume returns the seq of the last exported event, or 0.
	resume(ctx context.Context) (cursor int64, err error)

	// write adds events, and returns when they are stored, or buffered until there are more.
	write(ctx context.Context, events []atrium.Event) error

	// close keeps what was written.
	close(ctx context.Context) error
}

func (c *eventsExportCommand) open(workspace string) (exported, error) {
	if location, ok := strings.CutPrefix(c.To, "s3://"); ok {
		return c.bucket(location, workspace)
	}
	file, err := os.OpenFile(c.To, os.O_RDWR|os.O_CREATE, 0o600)
	return &exportFile{file: file, out: bufio.NewWriter(file)}, err
}

// Run implements the command.
func (c *eventsExportCommand) Run(p *process) (err error) {
	client, err := p.connect(c.remoteFlags)
	if err != nil {
		return err
	}
	me, err := client.Me.Get(p.ctx)
	if err != nil {
		return err
	}
	if me.Workspace == nil {
		return usageError{errors.New("the key gives access to several workspaces: name one with --workspace")}
	}
	target, err := c.open(me.Workspace.ID)
	if err != nil {
		return err
	}
	cursor, err := target.resume(p.ctx)
	if err != nil {
		return errors.Join(err, target.close(p.ctx))
	}
	count, err := c.copy(p, client, target, cursor)
	if err := errors.Join(err, target.close(p.ctx)); err != nil {
		return err
	}
	return p.print(false, nil, "%s written.\n", node.Count(count, "event"))
}

// copy writes the events after a place, and returns how many there were.
func (c *eventsExportCommand) copy(p *process, client *atrium.Client, target exported, cursor int64) (count int,
	err error) {
	query := atrium.EventsListQuery{Order: "asc", After: new(int(cursor)), Types: c.Types, Limit: 100}
	for {
		part, err := client.Events.ListPage(p.ctx, query)
		if err != nil {
			return count, err
		}
		if cursor > 0 && part.FirstSeq != nil && *part.FirstSeq > cursor+1 && count == 0 {
			if _, err := fmt.Fprintf(p.stderr, "Retention has removed the events from %d to %d.\n", cursor+1,
				*part.FirstSeq-1); err != nil {
				return count, err
			}
		}
		if err := target.write(p.ctx, part.Data); err != nil {
			return count, err
		}
		if count += len(part.Data); part.NextCursor == nil {
			return count, nil
		}
		query.Cursor = *part.NextCursor
	}
}

// exportFile is an export to a file.
type exportFile struct {
	file *os.File
	out  *bufio.Writer
}

func (f *exportFile) close(context.Context) error { return errors.Join(f.out.Flush(), f.file.Close()) }

func (f *exportFile) write(_ context.Context, events []atrium.Event) error {
	encoder := json.NewEncoder(f.out)
	for i := range events {
		if err := encoder.Encode(&events[i]); err != nil {
			return err
		}
	}
	return f.out.Flush()
}

// resume cuts off an incomplete last line, and goes to the end.
func (f *exportFile) resume(context.Context) (cursor int64, err error) {
	lines, size := bufio.NewReader(f.file), int64(0)
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
		if err := json.Unmarshal(line, &e); err != nil || e.Seq <= cursor {
			return 0, fmt.Errorf("%s is not an export of events: name another file", f.file.Name())
		}
		cursor, size = e.Seq, size+int64(len(line))
	}
	if err := f.file.Truncate(size); err != nil {
		return 0, err
	}
	_, err = f.file.Seek(size, io.SeekStart)
	return cursor, err
}
