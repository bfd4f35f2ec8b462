package arch

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestTheExamplesOfWebhooksFitTogether compares the payload that docs/webhooks.md shows with the contract, and with
// what its messages for Slack and its CloudEvents are made of.
func TestTheExamplesOfWebhooksFitTogether(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "webhooks.md"))
	require.NoError(t, err)
	examples := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllSubmatch(text, -1)
	require.Equal(t, "examples of JSON", len(examples), 2)
	payload, forSlack := examples[0][1], examples[1][1]
	var typedPayload openapi.WebhookPayload
	strict := json.NewDecoder(bytes.NewReader(payload))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&typedPayload); err != nil {
		t.Error("the payload is not that of the contract: ", err)
	}
	var messages map[string]any
	require.NoError(t, json.Unmarshal(payload, &messages))
	valueAt := func(path string) (value any) {
		value = messages
		for name := range strings.SplitSeq(path, ".") {
			members, _ := value.(map[string]any)
			value = members[name]
		}
		return value
	}
	var slack struct{ Text string }
	assert.NoError(t, json.Unmarshal(forSlack, &slack))
	for _, path := range []string{"type", "data.subject.id", "data.actor"} {
		if part, _ := valueAt(path).(string); part == "" || !strings.Contains(slack.Text, part) {
			t.Errorf("the message for Slack lacks %s", path)
		}
	}
	_, table, _ := strings.Cut(string(text), "| CloudEvents |")
	uses := 0
	fromPayload := regexp.MustCompile("`((?:data|type|timestamp)[a-z_.]*)`[^|]*\\|\n")
	for _, path := range fromPayload.FindAllStringSubmatch(table, -1) {
		if uses++; valueAt(path[1]) == nil {
			t.Errorf("a CloudEvent is made of %s, which the payload lacks", path[1])
		}
	}
	if uses < 6 {
		t.Errorf("only %d attributes of a CloudEvent come from the payload", uses)
	}
}
