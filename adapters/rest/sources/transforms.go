package sources

import (
	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
)

// decimalSigns are the signs by their names in the contract.
var decimalSigns = map[openapi.SourceTransformDecimal]string{"point": ".", "comma": ","}

func fromTransform(in openapi.SourceTransform) column.Transform {
	t := column.Transform{
		Trim:    in.Trim,
		Values:  in.Values,
		Case:    column.Case(in.Case),
		Dates:   column.DateOrder(in.DateOrder),
		Decimal: decimalSigns[in.Decimal],
	}
	if in.Join.Columns != nil {
		t.Join = &column.Join{Columns: in.Join.Columns, Separator: " "}
		if in.Join.Separator != nil {
			t.Join.Separator = *in.Join.Separator
		}
	}
	if in.Split.Part != "" {
		t.Split = &column.Split{Part: column.Part(in.Split.Part), Separator: in.Split.Separator}
	}
	return t
}

func toTransform(t column.Transform) openapi.SourceTransform {
	out := openapi.SourceTransform{
		Trim:      t.Trim,
		Values:    t.Values,
		Case:      openapi.SourceTransformCase(t.Case),
		DateOrder: openapi.SourceTransformDateOrder(t.Dates),
	}
	for name, sign := range decimalSigns {
		if sign == t.Decimal {
			out.Decimal = name
		}
	}
	if t.Join != nil {
		out.Join = openapi.SourceJoin{Columns: t.Join.Columns, Separator: &t.Join.Separator}
	}
	if t.Split != nil {
		out.Split = openapi.SourceSplit{Part: openapi.SourceSplitPart(t.Split.Part), Separator: t.Split.Separator}
	}
	return out
}

// previewTransforms applies transformations to rows of the request.
func previewTransforms(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.SourceTransformPreview](r)
	if err != nil {
		return server.Reply{}, err
	}
	columns := convert.Slice(in.Columns, func(name *string) column.Header { return column.Header{Name: *name} })
	rows := convert.Slice(in.Rows, func(row *[]nullable.Nullable[string]) []*string {
		return convert.Slice(*row, func(cell *nullable.Nullable[string]) *string {
			text, err := cell.Get()
			if err != nil {
				return nil
			}
			return &text
		})
	})
	found, err := r.Sources.PreviewTransforms(
		r.By, source.TypeKey(in.Type), source.Backend(in.Backend), columns, fromPairs(in.Mapping), rows,
	)
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(openapi.SourceTransformedRows{
		Rows: convert.Slice(found, func(row *[]source.Transformed) []openapi.SourceTransformedValue {
			return convert.Slice(*row, toTransformed)
		}),
	}), nil
}

func toTransformed(v *source.Transformed) openapi.SourceTransformedValue {
	out := openapi.SourceTransformedValue{
		Field:  v.Field,
		Before: toRows([][]*string{v.Before})[0],
		After:  nullable.NewNullNullable[string](),
		Code:   openapi.OrNull(string(v.Code)),
	}
	if !v.After.IsNull() {
		out.After = nullable.NewNullableWithValue(v.After.Text)
	}
	return out
}
