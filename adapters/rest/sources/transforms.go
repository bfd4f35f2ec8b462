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
