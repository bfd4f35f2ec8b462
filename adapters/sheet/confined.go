package sheet

import (
	"cmp"
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

// ChildMemory is the memory that a child needs for Job, in bytes: 64 MiB for a fetched file, which is forgotten while
// its rows are read, or up to 88 MiB for the texts that its cells share, and the rest for its parser.
const ChildMemory = 160 << 20

// ChildCPU is a child's processor time for Job, in seconds.
const ChildCPU = 3

// Confined implements ports.Sheets for files. It reads each file in a child process.
type Confined struct {
	run    ports.Confined
	stream ports.ConfinedStream
	within time.Duration
}

// NewConfined returns a Sheets that reads files with Job through run, within the time of Job's own limits, and their
// rows with RowsJob through stream.
func NewConfined(run ports.Confined, stream ports.ConfinedStream, limit time.Duration) *Confined {
	return &Confined{run: run, stream: stream, within: limit}
}

// request is a call on its way to the child. It contains an account's secrets and a file's key in plain text.
type request struct {
	Location source.SheetLocation
	Kind     connection.Kind // of the account; "" without one
	Account  json.RawMessage
	Egress   identity.Egress
	Files    bool
	Stored   *ports.StoredFile
	Rows     source.RowsQuery
	Within   time.Duration
}

// requestFor returns the request for a target.
func requestFor(target ports.SheetTarget) (request, error) {
	if err := check(target.Location); err != nil {
		return request{}, err
	}
	r := request{Location: located(target), Kind: target.Account.Kind(), Egress: target.Egress,
		Files: target.Offer.Files, Stored: target.Stored, Within: target.Within}
	if r.Kind == "" {
		return r, nil
	}
	var err error
	if r.Account, err = target.Account.Reveal(); err != nil {
		return request{}, source.ErrSheetFailed
	}
	return r, nil
}

// target is the inverse of requestFor.
func (r request) target() (ports.SheetTarget, error) {
	target := ports.SheetTarget{Location: r.Location, Egress: r.Egress, Within: r.Within, Stored: r.Stored,
		Offer: ports.SheetOffer{Files: r.Files}}
	if r.Kind == "" {
		return target, nil
	}
	var err error
	if target.Account, err = connection.RestoreCredential(r.Kind, r.Account); err != nil {
		return ports.SheetTarget{}, errors.New("a credential that cannot be read") // without err, which may quote it
	}
	return target, nil
}

// answer is a request's result.
type answer struct {
	Sheet  source.Sheet
	Failed *fault.Error
}

// Preview implements ports.Sheets.
func (c *Confined) Preview(
	ctx context.Context, workspace identity.WorkspaceID, target ports.SheetTarget,
) (source.Sheet, error) {
	r, err := requestFor(target)
	if err != nil {
		return source.Sheet{}, err
	}
	var a answer
	err = c.run(ctx, workspace, JobName, c.within, r, &a)
	switch {
	case err == nil && a.Failed == nil:
		return a.Sheet, nil
	case err == nil:
		return source.Sheet{}, a.Failed
	}
	return source.Sheet{}, failed(ctx, err)
}

// located returns a target's location with the locale of its org if it has none.
func located(target ports.SheetTarget) source.SheetLocation {
	location := target.Location
	location.Locale = cmp.Or(location.Locale, target.Offer.Locale)
	return location
}

// check returns an error for a location that JSON would change: it replaces invalid UTF-8, and the result could be an
// existing name.
func check(location source.SheetLocation) error {
	if !utf8.ValidString(location.URL) {
		return source.ErrURLNotAllowed
	}
	if !utf8.ValidString(location.Tab) {
		return source.ErrTabNotFound
	}
	return nil
}

// failed returns the error for a call that the child did not complete.
func failed(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ports.ErrJobRefused):
		return connection.ErrTooManyReads
	case errors.Is(err, ports.ErrJobTooLarge):
		return source.ErrFileTooLarge
	case errors.Is(err, ports.ErrJobOutOfMemory):
		return source.ErrOutOfMemory
	case errors.Is(err, ports.ErrJobTimeout):
		return source.ErrSheetTimeout
	case errors.Is(err, ports.ErrJobCrashed):
		return source.ErrUnsupportedFormat // a parser failed
	}
	return err
}

// Needs returns what Job needs: a file of folder, the parts of one uploaded file, or the port of the host that serves
// a file. stored returns the folder with an uploaded file's parts.
func Needs(folder string, stored func(*ports.StoredFile) string) func(input json.RawMessage) ports.JobNeeds {
	return func(input json.RawMessage) ports.JobNeeds {
		var r request
		if err := json.Unmarshal(input, &r); err != nil {
			return ports.JobNeeds{}
		}
		if r.Stored != nil {
			return ports.JobNeeds{Folders: []string{stored(r.Stored)}}
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
		target, err := r.target()
		if err != nil {
			return nil, err
		}
		s, err := d.Preview(ctx, "", target)
		if err != nil {
			failure, ok := errors.AsType[*fault.Error](err)
			if !ok {
				failure = source.ErrSheetFailed
			}
			return answer{Failed: failure}, nil
		}
		return answer{Sheet: s}, nil
	}
}
