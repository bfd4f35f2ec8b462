package chat_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestNamesThatAreStoredRefuseNoOtherChange(t *testing.T) {
	name := "invoice\u202efdp.exe"
	t.Run("of a template", func(t *testing.T) {
		c, err := chat.New(owner, chat.Draft{Content: chat.Content{Name: "A\u0308rger"}}, facts(t))
		require.NoError(t, err)
		assert.Equal(t, "name", c.Name, "Ärger")
		c.Name = name
		require.NoError(t, c.Change(owner, nil, chat.Changes{Name: &name, Greeting: new("Hello")}, facts(t)))
		if c.Name != name || c.Greeting != "Hello" {
			t.Errorf("template %+v", c)
		}
	})
}
