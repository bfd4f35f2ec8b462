package sources

import (
	"cmp"
	"context"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

// SheetPreview holds a sheet's first rows, and suggestions of which type fields its columns belong to.
type SheetPreview struct {
	source.Sheet
	Suggestions []column.Suggestion
}

// PreviewSheet reads a sheet's first rows: at a location, or of a source that by may use, whose tab, header row,
// charset, delimiter and locale at may replace. Suggestions are for the type with key; if key is empty, for the
// source's own type; if there is neither, there are none. rows is the most rows below the header: 1 to
// column.MaxShownRows.
func (s *Service) PreviewSheet(
	ctx context.Context, by identity.Actor, id source.ID, sheetLocation source.SheetLocation, rows int,
	key source.TypeKey,
) (SheetPreview, error) {
	if err := source.MayCreate(by); err != nil {
		return SheetPreview{}, err
	}
	location := source.Location{Sheet: sheetLocation}
	if id != "" {
		src, err := s.get(ctx, by, id, source.Use)
		if err != nil {
			return SheetPreview{}, err
		}
		if src.Location.Backend() != source.SheetBackend {
			return SheetPreview{}, source.ErrNotASheet
		}
		if location = src.Location; sheetLocation.Tab != "" {
			// the old header row belongs to the old tab
			location.Sheet.Tab, location.Sheet.HeaderRow = sheetLocation.Tab, 0
		}
		if sheetLocation.HeaderRow != 0 {
			location.Sheet.HeaderRow = sheetLocation.HeaderRow
		}
		location.Sheet.Charset = cmp.Or(sheetLocation.Charset, location.Sheet.Charset)
		location.Sheet.Delimiter = cmp.Or(sheetLocation.Delimiter, location.Sheet.Delimiter)
		location.Sheet.Locale = cmp.Or(sheetLocation.Locale, location.Sheet.Locale)
		if key == "" && s.typeOf(by.Org, src.Type) != nil {
			key = src.Type
		}
	}
	t, err := s.suggested(by, key)
	if err != nil {
		return SheetPreview{}, err
	}
	sheet, connection, err := s.showSheet(ctx, by, location)
	if err != nil {
		return SheetPreview{}, toFault(err)
	}
	sheet.Preview.Rows = sheet.Preview.Rows[:min(len(sheet.Preview.Rows), rows)]
	location.Connection = connection
	s.previewed(ctx, by, id, location)
	suggestions, err := s.suggest(ctx, by, t, sheet.Preview.Headers)
	return SheetPreview{Sheet: sheet, Suggestions: suggestions}, err
}

// TablePreview holds a table's first rows, and suggestions of which type fields its columns belong to.
type TablePreview struct {
	connection.Preview
	Headers     []column.Header // of its columns
	Suggestions []column.Suggestion
}

// PreviewTable reads a table through a connection. Suggestions are for a type, among the columns that q chooses;
// without a type there are none.
func (s *Service) PreviewTable(
	ctx context.Context, by identity.Actor, account connection.ID, q connection.PreviewQuery, key source.TypeKey,
) (out TablePreview, err error) {
	if err := source.MayCreate(by); err != nil {
		return TablePreview{}, err
	}
	t, err := s.suggested(by, key)
	if err != nil {
		return TablePreview{}, err
	}
	err = s.deps.WithCredential(ctx, by, account, func(
		ctx context.Context, w ports.Warehouse, target ports.Target,
	) (err error) {
		if err := s.admit(ctx, by, target.Credential.Target(by.Org)); err != nil {
			return err
		}
		out.Preview, err = w.Preview(ctx, target, q)
		return err
	})
	if err != nil {
		return TablePreview{}, toFault(err)
	}
	s.previewed(ctx, by, "", source.Location{Connection: account, Table: q.Table})
	out.Headers = headers(out.Preview)
	out.Suggestions, err = s.suggest(ctx, by, t, out.Headers)
	return out, err
}

// PreviewTransforms applies the transformations of pairs to rows that a caller sends, and returns a value of each pair
// for each row. The rows have the given columns. Requires the member role.
func (s *Service) PreviewTransforms(
	by identity.Actor, key source.TypeKey, from source.Backend, columns []column.Header, pairs []source.Pair,
	rows [][]*string,
) ([][]source.Transformed, error) {
	if err := source.MayCreate(by); err != nil {
		return nil, err
	}
	t, err := s.offeredType(by, key)
	if err != nil {
		return nil, err
	}
	return t.Transform(from, columns, pairs, rows)
}

// previewed notes in the audit trail that by was shown a customer's rows.
func (s *Service) previewed(ctx context.Context, by identity.Actor, id source.ID, location source.Location) {
	s.deps.Notes.Note(ctx, source.Previewed(by, id, location, s.deps.Digester.Digest))
}

// Tables lists the tables that a connection's user can read.
func (s *Service) Tables(
	ctx context.Context, by identity.Actor, account connection.ID, q connection.TableQuery,
) (tables []connection.Table, err error) {
	if err := source.MayCreate(by); err != nil {
		return nil, err
	}
	err = s.deps.WithCredential(ctx, by, account, func(
		ctx context.Context, w ports.Warehouse, target ports.Target,
	) (err error) {
		if err := s.admit(ctx, by, target.Credential.Target(by.Org)); err != nil {
			return err
		}
		tables, err = w.Tables(ctx, target, q)
		return err
	})
	if err != nil {
		return nil, toFault(err)
	}
	return tables, nil
}

// suggested returns the type for which suggestions are made; nil without a key.
func (s *Service) suggested(by identity.Actor, key source.TypeKey) (*source.Type, error) {
	if key == "" {
		return nil, nil //nolint:nilnil // no type is wanted, which is not an error
	}
	t, err := s.offeredType(by, key)
	return &t, err
}

func (s *Service) suggest(
	ctx context.Context, by identity.Actor, t *source.Type, columns []column.Header,
) ([]column.Suggestion, error) {
	if t == nil {
		return nil, nil
	}
	memory, err := s.sources.Memory(ctx, by.Workspace, t.Key)
	if err != nil {
		return nil, err
	}
	return column.Suggest(t.Schema(), columns, memory), nil
}
