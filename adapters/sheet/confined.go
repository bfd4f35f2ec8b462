package sheet

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

// JobName is the name by which a child process knows Job.
const JobName = "sheet"

// ChildMemory is what a child needs for Job, in bytes: a file that was fetched, whole, and again as
// much for what parses it and for Go, which takes memory in pieces of 64 MiB.
const ChildMemory = 192 << 20

// ChildCPU is the processor time of a child for Job, in seconds.
const ChildCPU = 3

// Confined implements ports.Sheets for files. It reads each file in a child process.
type Confined struct {
	run    ports.Confined
	within time.Duration
}

// NewConfined returns a Sheets whose files are read by Job wherever run runs it, within a time that
// is to be that of Job's own limits.
func NewConfined(run ports.Confined, within time.Duration) *Confined {
	return &Confined{run: run, within: within}
}

// request is a call on its way to the child. It holds no credential: files need none.
type request struct {
	Location source.SheetLocation
	Egress   identity.Egress
	Files    bool
}

// answer is the result of a request.
type answer struct {
	Sheet  source.Sheet
	Failed *fault.Error
}

// Preview implements ports.Sheets.
func (c *Confined) Preview(
	ctx context.Context, workspace identity.WorkspaceID, of ports.SheetTarget,
) (source.Sheet, error) {
	// JSON would replace invalid UTF-8, and the result may be a name that exists.
	if !utf8.ValidString(of.Location.URL) {
		return source.Sheet{}, source.ErrURLNotAllowed
	}
	if !utf8.ValidString(of.Location.Tab) {
		return source.Sheet{}, source.ErrTabNotFound
	}
	var a answer
	err := c.run(ctx, workspace, JobName, c.within,
		request{Location: of.Location, Egress: of.Egress, Files: of.Offer.Files}, &a)
	switch {
	case err == nil && a.Failed == nil:
		return a.Sheet, nil
	case err == nil:
		return source.Sheet{}, a.Failed
	case ctx.Err() != nil:
		return source.Sheet{}, ctx.Err()
	case errors.Is(err, ports.ErrJobRefused):
		return source.Sheet{}, connection.ErrTooManyReads
	case errors.Is(err, ports.ErrJobTooLarge):
		return source.Sheet{}, source.ErrFileTooLarge
	case errors.Is(err, ports.ErrJobTimeout):
		return source.Sheet{}, source.ErrSheetTimeout
	case errors.Is(err, ports.ErrJobCrashed):
		return source.Sheet{}, source.ErrUnsupportedFormat // a parser gave up on it
	}
	return source.Sheet{}, err
}

// Needs returns what Job needs: a file of folder, or the port of the host that serves one.
func Needs(folder string) func(input json.RawMessage) ports.JobNeeds {
	return func(input json.RawMessage) ports.JobNeeds {
		var r request
		if err := json.Unmarshal(input, &r); err != nil {
			return ports.JobNeeds{}
		}
		if strings.HasPrefix(r.Location.URL, source.FileScheme) {
			return ports.JobNeeds{Folders: []string{folder}}
		}
		u, err := url.Parse(r.Location.URL)
		if err != nil {
			return ports.JobNeeds{}
		}
		return ports.JobNeeds{Network: true, Ports: slices.Compact([]uint16{httpsPort, portOf(u)})}
	}
}

// Job is the child's side of Confined.
func Job(d *Documents) func(ctx context.Context, input json.RawMessage) (any, error) {
	return func(ctx context.Context, input json.RawMessage) (any, error) {
		var r request
		if err := json.Unmarshal(input, &r); err != nil {
			return nil, errors.New("a request that cannot be read") // without err, which may quote it
		}
		s, err := d.Preview(ctx, "", ports.SheetTarget{Location: r.Location, Egress: r.Egress,
			Offer: ports.SheetOffer{Files: r.Files}})
		if err != nil {
			failed, ok := errors.AsType[*fault.Error](err)
			if !ok {
				failed = source.ErrSheetFailed
			}
			return answer{Failed: failed}, nil
		}
		return answer{Sheet: s}, nil
	}
}
