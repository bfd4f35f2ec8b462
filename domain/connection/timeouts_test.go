package connection_test

import (
	"errors"
	"testing"

	"github.com/atrium-hq/atrium/domain/connection"
)

func TestATableWhoseRowsCannotBeReadInTimeIsPreviewedByItsColumns(t *testing.T) {
	existing := connection.Preview{Columns: []connection.Column{{Name: "id"}}, Total: 1}
	other := errors.New("other")
	for name, tt := range map[string]struct {
		p        connection.Preview
		err      error
		want     error
		unsample connection.Code
	}{
		"no error":                         {existing, nil, nil, ""},
		"rows that take too long":          {existing, connection.QueryTimeout, nil, connection.QueryTimeout},
		"rows that are too large":          {existing, connection.ResponseTooLarge, nil, connection.ResponseTooLarge},
		"a catalogue that takes too long":  {connection.Preview{}, connection.QueryTimeout, connection.QueryTimeout, ""},
		"a table with an error of its own": {existing, connection.TableUnreadable, connection.TableUnreadable, ""},
		"a server that hangs up":           {existing, connection.HostUnreachable, connection.HostUnreachable, ""},
		"an error that is no code of ours": {existing, other, other, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tt.p.Sampled(tt.err)
			if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) || got.SampleError != tt.unsample ||
				len(got.Columns) != len(tt.p.Columns) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}
