package sources

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

// Errors for callers about a warehouse that does not respond properly.
var (
	ErrTableNotFound = &fault.Error{
		Kind:   fault.NotFound,
		Code:   "table_not_found",
		Detail: "There is no such table, or the user of the connection cannot see it.",
	}
	ErrPermissionDenied = &fault.Error{
		Kind:   fault.Invalid,
		Code:   "permission_denied",
		Detail: "The user of the connection may not read this. Run the grants for this kind of connection.",
	}
	ErrTableUnreadable = &fault.Error{
		Kind: fault.Invalid,
		Code: string(connection.TableUnreadable),
		Detail: "The server reports an error in the data or the definition of this table. Select from it with " +
			"another client to see the error, and correct the table or view.",
	}
	ErrReadFailed = &fault.Error{
		Kind:   fault.Upstream,
		Code:   "upstream_failed",
		Detail: "The warehouse could not be read.",
	}
	ErrReadTimeout = &fault.Error{
		Kind:   fault.UpstreamTimeout,
		Code:   "upstream_timeout",
		Detail: "The warehouse did not respond in time.",
	}
)

// toFault converts an error of reading into one for the caller. Errors that callers know stay as they
// are.
func toFault(err error) error {
	code, ok := errors.AsType[connection.Code](err)
	if !ok {
		return err
	}
	switch code {
	case connection.TableNotFound:
		return ErrTableNotFound
	case connection.PermissionDenied:
		return ErrPermissionDenied
	case connection.TableUnreadable:
		if unreadable, ok := errors.AsType[*connection.UnreadableError](err); ok {
			return fmt.Errorf("%w (%w)", ErrTableUnreadable.Because(unreadable.Hint()), unreadable)
		}
		return ErrTableUnreadable
	case connection.OutOfMemory:
		return source.ErrOutOfMemory
	case connection.RowsUnsupported:
		return source.ErrRowsUnsupported
	case connection.KeyUnsupported:
		return source.ErrKeyUnsupported
	case connection.QueryTimeout, connection.ConnectTimeout:
		return ErrReadTimeout
	}
	return ErrReadFailed.Because("The warehouse could not be read: " + string(code) +
		". Verify its connection, which says what to do.")
}

// admit counts a read of target by by, if the limits of previews permit it. Refreshes, which the system
// makes, are not counted: job.PerWorkspace and Limits.Refresh bound them.
func (s *Service) admit(ctx context.Context, by identity.Actor, target connection.Target) error {
	if by.IsSystem() {
		return nil
	}
	target = s.deps.Digester.Digest("preview target", target[:]) // stored targets must not be guessable
	return s.deps.Connections.Attempt(ctx, by, connection.Previewing, target, func(c *connection.Counts) error {
		return s.deps.Limits.Previews.Admit(c, by.At)
	})
}

// read reads a table's first rows. For a warehouse, q names what else: a row estimate, and columns beyond the first
// ones. Its error may be a connection.Code.
func (s *Service) read(
	ctx context.Context, by identity.Actor, location source.Location, q connection.PreviewQuery,
) (r source.Reading, err error) {
	if location.Backend() == source.SheetBackend {
		return s.readSheet(ctx, by, location)
	}
	err = s.deps.WithCredential(ctx, by, location.Connection, func(
		ctx context.Context, w ports.Warehouse, target ports.Target,
	) error {
		if err := s.admit(ctx, by, target.Credential.Target(by.Org)); err != nil {
			return err
		}
		q.Table, q.Rows = location.Table, connection.MaxSampleRows
		p, err := w.Preview(ctx, target, q)
		r = ofTable(location, p)
		return err
	})
	if err != nil {
		return source.Reading{}, err
	}
	return r, nil
}

// columnsQuery returns a query for a mapping's columns.
func columnsQuery(pairs []source.Pair) connection.PreviewQuery {
	var q connection.PreviewQuery
	for _, p := range pairs {
		q.Columns = append(q.Columns, p.Columns()...)
	}
	return q
}

// readSheet reads a sheet's first rows as a reading.
func (s *Service) readSheet(ctx context.Context, by identity.Actor, location source.Location) (source.Reading, error) {
	sheet, connection, err := s.showSheet(ctx, by, location)
	if err != nil {
		return source.Reading{}, err
	}
	location.Connection = connection
	return ofSheet(location, sheet), nil
}

// showSheet reads a sheet's first rows. For sheets of Google and Microsoft it uses the workspace's own credential, if
// there is one, and returns its connection; otherwise "".
func (s *Service) showSheet(
	ctx context.Context, by identity.Actor, location source.Location,
) (sheet source.Sheet, accountID connection.ID, err error) {
	if err := s.admit(ctx, by, connection.HostTarget(by.Org, location.Sheet.Host())); err != nil {
		return source.Sheet{}, "", err
	}
	offer := s.deps.Offers(by.Org)
	target := ports.SheetTarget{Location: location.Sheet, Egress: offer.Egress, Offer: offer.Sheets}
	if target.Stored, err = s.stored(ctx, by.Workspace, location.Sheet); err != nil {
		return source.Sheet{}, "", err
	}
	accountID, err = s.withAccount(ctx, by, location, func(ctx context.Context,
		credential connection.Credential) (err error) {
		target.Account = credential
		sheet, err = s.deps.Sheets.Preview(ctx, by.Workspace, target)
		return err
	})
	if err != nil {
		return source.Sheet{}, "", err
	}
	return sheet, accountID, nil
}

// withAccount calls read with the credential of the connection that reads a sheet, and returns the connection; with
// none if the sheet or the workspace has none. The context of read ends when the connection is revoked.
func (s *Service) withAccount(
	ctx context.Context, by identity.Actor, location source.Location,
	read func(context.Context, connection.Credential) error,
) (connection.ID, error) {
	accountID, err := s.account(ctx, by, location)
	switch {
	case err != nil:
		return "", err
	case accountID == "":
		return "", read(ctx, connection.Credential{})
	}
	return accountID, s.deps.WithCredential(ctx, by, accountID,
		func(ctx context.Context, _ ports.Warehouse, target ports.Target) error {
			return read(ctx, target.Credential)
		})
}

// account returns the connection that reads a sheet: the one that read it last, else the workspace's newest one for
// the sheet's host; "" if not found, and for sheets that need no account.
func (s *Service) account(ctx context.Context, by identity.Actor, location source.Location) (connection.ID, error) {
	kind := location.Sheet.AccountKind()
	if location.Connection != "" || kind == "" {
		return location.Connection, nil
	}
	all, _, err := s.deps.Connections.List(ctx, by.Workspace)
	if err != nil {
		return "", err
	}
	for _, c := range all {
		if c.Kind == kind && c.Status != connection.Revoked {
			return c.ID, nil
		}
	}
	return "", nil
}

// ofSheet returns what was read from a sheet, with the location of the tab and the header that were found.
func ofSheet(location source.Location, sheet source.Sheet) source.Reading {
	location.Sheet.Tab, location.Sheet.HeaderRow = sheet.Tab.ID, sheet.Preview.HeaderRow
	r := source.Reading{
		Location:    location,
		Title:       sheet.Title,
		Columns:     sheet.Preview.Headers,
		Total:       sheet.Tab.Columns,
		Rows:        sheet.Preview.Rows,
		RowEstimate: -1,
		Candidates:  sheet.Preview.Candidates,
	}
	if sheet.Tab.Rows >= 0 {
		r.RowEstimate = int64(max(sheet.Tab.Rows-max(sheet.Preview.HeaderRow, 0), 0))
	}
	return r
}

func ofTable(location source.Location, p connection.Preview) source.Reading {
	return source.Reading{
		Location:    location,
		Title:       location.Table.Name,
		Columns:     headers(p),
		Total:       p.Total,
		SampleError: string(p.SampleError),
		Rows:        p.Rows,
		RowEstimate: p.RowEstimate,
	}
}

// headers returns the headers of a table's columns. A text column of the database may contain values of another type,
// so its values decide.
func headers(p connection.Preview) []column.Header {
	out := make([]column.Header, len(p.Columns))
	for i, c := range p.Columns {
		out[i] = column.Header{Name: c.Name, Type: column.Type(c.Type), Unordered: c.Unordered,
			Empty: len(p.Rows) > 0 && !slices.ContainsFunc(p.Rows,
				func(row []*string) bool { return i < len(row) && row[i] != nil })}
		values := make([]*string, 0, len(p.Rows))
		for _, row := range p.Rows {
			if i < len(row) {
				values = append(values, row[i])
			}
		}
		out[i].Constant = column.IsConstant(values)
		if c.Type == connection.Text {
			// A text that looks like a number, such as a postal code, stays a text.
			switch t := column.Infer(values); t {
			case column.Email, column.URL, column.Text:
				out[i].Type = t
			default:
				out[i].Type = column.String
			}
		}
	}
	return out
}
