package connections

import (
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestChecksAreReadAsByEncodingJSON(t *testing.T) {
	for _, text := range []string{"a", "", `"`, `\`, "é🍵", "<&>\u2028\n", `{"step":`, `},{"step":"x`, `]`} {
		want := []connection.Check{{Step: connection.TLS, Result: connection.OK},
			{Step: connection.Step(text), Result: connection.Result(text), Took: 1234567 * time.Microsecond,
				Code: connection.Code(text), Answered: connection.Service(text)},
			{Step: connection.Read, Took: -time.Microsecond, Answered: connection.ServiceSSH}}
		array, err := storedChecks(want)
		require.NoError(t, err)
		if got, err := checks(array); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %+v, %v", array, got, err)
		}
	}
	if got, err := checks(` [ {"us":7, "step":"tls"} ] `); err != nil || len(got) != 1 ||
		got[0] != (connection.Check{Step: connection.TLS, Took: 7 * time.Microsecond}) {
		t.Errorf("JSON that is written in another way: %+v, %v", got, err)
	}
	if got, err := checks("[]"); got != nil || err != nil {
		t.Errorf("no checks: %+v, %v", got, err)
	}
	for _, array := range []string{
		"", "x", `[{"step":"a","result":"ok","us":}]`, `[{"step":"a","result":"ok","us":"1"}]`,
		`[{"step":"a","result":"ok","us":1-2}]`, `[{"step":"a","result":"ok","us":1}`,
		`[{"step":"a","result":"ok","us":99999999999999999999}]`,
	} {
		if got, err := checks(array); err == nil {
			t.Errorf("%s: %+v", array, got)
		}
	}
}
