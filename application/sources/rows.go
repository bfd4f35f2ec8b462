package sources

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

// OnInvalid determines what happens with values that are not valid for their field.
type OnInvalid string

// The choices.
const (
	NullInvalid   OnInvalid = "null"   // they are null
	SkipInvalid   OnInvalid = "skip"   // their rows are left out
	ReportInvalid OnInvalid = "report" // they are null, and Row.Invalid names them

	// OnlyInvalid leaves out all rows without such a value. Values are strings as the source has them.
	OnlyInvalid OnInvalid = "only"
)

// RowsQuery asks for a source's mapped rows.
type RowsQuery struct {
	Limit     int    // the most rows; 0: as many as the org allows
	Pages     bool   // whether another part may follow, for which a table's rows need an order
	After     string // RowsEnd.Next of the part before; empty: from the beginning
	Fields    []string
	Filters   []RowFilter // that rows must satisfy
	Sort      string      // the field that rows are in the order of, with "-" before it in the reverse; empty: none
	OnInvalid OnInvalid
	Raw       bool   // values are strings as the source has them
	Since     string // Changes.Cursor: only rows that were added or changed then and later; empty: all
	Removed   bool   // RowsStart.Removed, too, unless After is given; requires Since
	IDs       bool   // each row has its id as the last value, null without a key; not with Raw
	Count     Count  // of the rows of all pages
	Distinct  bool   // a value of a unique field that a row before has is invalid, too
}

// IDField is the key of the field with the ids of rows. No type's field can have it.
const IDField = "$id"

// RowsStart is what is known before the first row.
type RowsStart struct {
	Fields  []column.Field // of the values, with IDField
	Removed []string       // ids of rows that the comparisons since then no longer found
}

// Row is a source row: a value for each field that was asked for, as column.Field.Value returns it. Values are valid
// until the next row.
type Row struct {
	Number  int // in the file, from 1; of a table: in the response
	Values  []column.Value
	Invalid []InvalidValue
}

// InvalidValue names a field in a row whose value is invalid.
type InvalidValue struct {
	Field string
	Code  column.Invalid
	text  *string // nil if it is empty
}

// RowsEnd describes how a read ended.
type RowsEnd struct {
	Next    string         // where the next part begins; empty at the end, or if rows have no order to continue by
	More    bool           // whether there are more rows
	Cut     *fault.Error   // the org's limit that ended the read, with More; nil if it was RowsQuery.Limit, or none
	Last    int            // the Number of the last row that was read, even if the read failed; 0 for none
	Skipped map[string]int // values by unique field that were not compared: RowsQuery.Distinct, source.MaxDistinct

	Count *int64 // RowsQuery.Count; nil if it was not asked for, or is unknown

	FilteredBy FilteredBy // empty without filters
	SortedBy   SortedBy   // empty without an order
}

// errEnough ends a read when no more rows are wanted.
var errEnough = errors.New("enough rows")

// ReadRows reads a source's mapped rows now, and stores none of them. It calls begin once, before the first row and
// only if the source can be read, then each for each row. The context of begin ends with the read, even when its
// connection is revoked. An error of each ends the read. Requires the member role. Rows come from one snapshot, within
// the limits of the org.
func (s *Service) ReadRows(
	ctx context.Context, by identity.Actor, id source.ID, q RowsQuery,
	begin func(context.Context, RowsStart) error,
	handle func(Row) error,
) (RowsEnd, error) {
	src, err := s.get(ctx, by, id, source.Use)
	if err != nil {
		return RowsEnd{}, err
	}
	r, err := newRowReader(src, s.typeOf(by.Org, src.Type), q, s.shapeOf(src))
	if err != nil {
		return RowsEnd{}, err
	}
	var removals []string
	if q.Since != "" {
		if r.since, err = s.newSince(ctx, by, src, q.Since); err != nil {
			return RowsEnd{}, err
		}
		if q.Removed && q.After == "" {
			if removals, err = r.since.removed(); err != nil {
				return RowsEnd{}, err
			}
		}
	}
	r.keyHash = func(key column.Value) (source.KeyHash, bool) { return s.keyHash(src.ID, key) }
	offer := s.deps.Offers(by.Org)
	r.ctx = ctx
	r.maxRows, r.bytes, r.each = offer.Rows.Rows, offer.Rows.Bytes, handle
	r.begin = func() error {
		if !by.IsSystem() {
			s.deps.Notes.Note(ctx, src.Read(by))
		}
		return begin(r.ctx, RowsStart{r.selected(), removals})
	}
	if err := s.readInto(ctx, by, src, offer, r); err != nil {
		return RowsEnd{Last: r.last.Number}, r.fault(err)
	}
	end, err := r.end()
	if err == nil {
		end.Count, err = s.count(ctx, by, src, offer, r)
	}
	return end, err
}

// readInto reads a source's rows into r.
func (s *Service) readInto(
	ctx context.Context, by identity.Actor, src *source.Source, offer Offer, r *rowReader,
) (err error) {
	if src.Location.Backend() == source.SheetBackend {
		err = s.readSheetRows(ctx, by, src, offer, r)
	} else {
		err = s.readTableRows(ctx, by, src, offer, r)
	}
	if err == nil {
		err = r.emitSorted()
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// readSheetRows reads the next rows of a sheet into r.
func (s *Service) readSheetRows(
	ctx context.Context, by identity.Actor, src *source.Source, offer Offer, r *rowReader,
) error {
	if !r.isAdmitted {
		if err := s.admit(ctx, by, connection.HostTarget(by.Org, src.Location.Sheet.Host())); err != nil {
			return err
		}
	}
	q := source.RowsQuery{Columns: r.names, Exact: r.exact(), After: r.from.Number, Version: r.from.Version,
		Limit: r.readLimit()}
	target := ports.SheetTarget{Location: src.Location.Sheet, Egress: offer.Egress, Offer: offer.Sheets,
		Within: offer.Rows.Seconds}
	var err error
	if target.Stored, err = s.stored(ctx, by.Workspace, src.Location.Sheet); err != nil {
		return err
	}
	_, err = s.withAccount(ctx, by, src.Location, func(ctx context.Context, credential connection.Credential) error {
		target.Account, r.ctx = credential, ctx
		return s.deps.Sheets.Rows(ctx, by.Workspace, target, q, r.addBatch)
	})
	return err
}

// readTableRows reads the next rows of a warehouse table into r.
func (s *Service) readTableRows(
	ctx context.Context, by identity.Actor, src *source.Source, offer Offer, r *rowReader,
) error {
	r.style = column.Warehouse
	conditions, _ := r.where()
	q := connection.RowsQuery{Table: src.Location.Table, Columns: r.names, Where: conditions, Key: r.key,
		After: r.from.Place, Limit: r.readLimit(), Sort: r.order(), Count: r.isCount}
	return s.deps.WithCredential(ctx, by, src.Location.Connection, func(ctx context.Context, w ports.Warehouse,
		target ports.Target) error {
		if !r.isAdmitted {
			if err := s.admit(ctx, by, target.Credential.Target(by.Org)); err != nil {
				return err
			}
		}
		target.Limits.Statement = target.Credential.StatementLimit(offer.Rows.Seconds)
		target.Limits.Total = offer.Rows.Seconds
		target.Limits.Bytes = int64(offer.Rows.Bytes)
		r.ctx = ctx
		return w.Rows(ctx, target, q, r.addBatch)
	})
}
