package connection_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestAConnectionsTimeLimitIsWithinTheOrganisations(t *testing.T) {
	for seconds, want := range map[string]time.Duration{"": time.Minute, `, "statement_seconds": 5`: 5 * time.Second,
		`, "statement_seconds": 3600`: time.Minute} {
		c, err := connection.ParseCredential(connection.Postgres,
			fmt.Appendf(nil, `{"host": "h", "database": "d", "username": "u"%s}`, seconds))
		require.NoError(t, err)
		assert.Equal(t, "limit with"+seconds, c.StatementLimit(time.Minute), want)
	}
	for _, seconds := range []string{"0", "-1", "1.5", "86401", `"5"`} {
		_, err := connection.ParseCredential(connection.Postgres,
			fmt.Appendf(nil, `{"host": "h", "database": "d", "username": "u", "statement_seconds": %s}`, seconds))
		assert.That(t, err != nil, "%s is accepted", seconds)
	}
}

func TestKindsWithTablesHaveATimeLimit(t *testing.T) {
	for _, d := range connection.Kinds() {
		_, err := connection.ParseCredential(d.Kind, []byte(`{"statement_seconds": 5}`))
		refusal, ok := errors.AsType[*fault.Error](err)
		isRefused := ok && slices.ContainsFunc(refusal.Fields, func(f fault.Field) bool {
			return strings.HasPrefix(f.Pointer, "/credential/statement_seconds")
		})
		assert.Equal(t, string(d.Kind)+" has no time limit", isRefused, !slices.Contains(d.Capabilities, "tables"))
	}
}

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
