package connections

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/atrium-hq/atrium/adapters/rest/server"
)

func TestAConfigurationHasTheEscapesOfOtherTexts(t *testing.T) {
	for _, text := range []string{"", "Tea", "<b>&\u2028\"\\/\n\t\x00\x7f", "é🍵\ufffd", `\u003c`, "\xff"} {
		fields := map[string]any{"host" + text: text, "port": json.Number("12345678901234567890"), "ssh": false}
		stored, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		before := string(stored)
		var got, want bytes.Buffer
		if err := errors.Join(server.Encode(&got, toConfig(stored)), server.Encode(&want, fields)); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() || string(stored) != before {
			t.Errorf("%s is encoded as %s, want %s", before, &got, &want)
		}
	}
}
