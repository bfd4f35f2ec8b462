package connections

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestAConfigurationHasTheEscapesOfOtherTexts(t *testing.T) {
	for _, text := range []string{"", "Tea", "<b>&\u2028\"\\/\n\t\x00\x7f", "é🍵\ufffd", `\u003c`, "\xff"} {
		fields := map[string]any{"host" + text: text, "port": json.Number("12345678901234567890"), "ssh": false}
		row, err := json.Marshal(fields)
		require.NoError(t, err)
		previous := string(row)
		var got, want bytes.Buffer
		require.NoError(t, errors.Join(server.Encode(&got, toConfig(row)), server.Encode(&want, fields)))
		if got.String() != want.String() || string(row) != previous {
			t.Errorf("%s is encoded as %s, want %s", previous, &got, &want)
		}
	}
}
