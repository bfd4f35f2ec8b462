package sheet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"

	"github.com/atrium-hq/atrium/adapters/sheet/csv"
	"github.com/atrium-hq/atrium/adapters/sheet/ods"
	"github.com/atrium-hq/atrium/adapters/sheet/selection"
	"github.com/atrium-hq/atrium/adapters/sheet/xlsx"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

// part is the last part of the answer to Rows if it failed. All other parts are packed batches.
type part struct {
	Failed *fault.Error
}

// Rows implements ports.Sheets.
func (c *Confined) Rows(
	ctx context.Context, workspace identity.WorkspaceID, target ports.SheetTarget, q source.RowsQuery,
	handle func(column.Batch) error,
) error {
	r, err := requestFor(target)
	if err != nil {
		return err
	}
	r.Rows = q
	var handlerErr error
	err = c.stream(ctx, workspace, JobName, target.Within, r, func(text json.RawMessage) error {
		var p part
		if batch, err := column.Unpack(text); err == nil {
			handlerErr = handle(batch)
		} else if err := json.Unmarshal(text, &p); err != nil || p.Failed == nil {
			handlerErr = source.ErrSheetFailed // without err, which may quote a cell
		} else {
			handlerErr = p.Failed
		}
		return handlerErr
	})
	if err == nil || handlerErr != nil {
		return handlerErr
	}
	return failed(ctx, err)
}

// RowsJob is the child's side of Confined.Rows.
func RowsJob(d *Documents) func(ctx context.Context, input json.RawMessage, emit func(any) error) error {
	return func(ctx context.Context, input json.RawMessage, emit func(any) error) error {
		var r request
		if err := json.Unmarshal(input, &r); err != nil {
			return errors.New("a request that cannot be read") // without err, which may quote it
		}
		target, err := r.target()
		if err != nil {
			return err
		}
		err = d.Rows(ctx, "", target, r.Rows, func(b column.Batch) error {
			message, err := b.Pack()
			if err != nil {
				return err
			}
			return emit(message)
		})
		if err != nil {
			failure, ok := errors.AsType[*fault.Error](err)
			if !ok {
				failure = source.ErrSheetFailed
			}
			return emit(part{Failed: failure})
		}
		return nil
	}
}

// Rows implements ports.Sheets.
func (d *Documents) Rows(
	ctx context.Context, _ identity.WorkspaceID, target ports.SheetTarget, q source.RowsQuery,
	handle func(column.Batch) error,
) error {
	ctx, cancel := context.WithTimeoutCause(ctx, target.Within, source.ErrSheetTimeout)
	defer cancel()
	var handlerErr error
	err := d.read(ctx, target, func(doc document) error {
		return doc.rows(ctx, target.Location, q, func(b column.Batch) error {
			handlerErr = handle(b)
			return handlerErr
		})
	})
	if err == nil || handlerErr != nil {
		return handlerErr
	}
	return known(ctx, err)
}

// version returns a document hash.
func (d document) version() (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(d, 0, d.size)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// rows reads a tab's rows, from its header on.
func (d document) rows(
	ctx context.Context, location source.SheetLocation, q source.RowsQuery, handle func(column.Batch) error,
) error {
	version, err := d.version()
	if err != nil {
		return err
	}
	if q.Version != "" && q.Version != version {
		return source.ErrSourceChanged
	}
	kind, err := d.format()
	if err != nil {
		return err
	}
	s := selection.New(ctx, location.HeaderRow, version, q, handle)
	switch kind {
	case openDocument:
		err = ods.Rows(d, d.size, location, s.Add)
	case workbook:
		err = xlsx.Rows(d.ReaderAt, d.size, location, s.Add)
	case plainText:
		err = csv.Rows(d, d.size, location, s.Add)
	}
	if err != nil && !errors.Is(err, selection.ErrEnough) {
		return err
	}
	return s.End()
}
