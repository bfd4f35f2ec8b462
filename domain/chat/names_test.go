package chat_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/chat"
)

func TestNamesThatAreStoredRefuseNoOtherChange(t *testing.T) {
	name := "invoice\u202efdp.exe"
	t.Run("of a template", func(t *testing.T) {
		c, err := chat.New(owner, chat.Draft{Content: chat.Content{Name: "A\u0308rger"}}, facts(t))
		wantErr(t, err, nil)
		if c.Name != "Ärger" {
			t.Errorf("name = %q", c.Name)
		}
		c.Name = name
		wantErr(t, c.Change(owner, nil, chat.Changes{Name: &name, Greeting: new("Hello")}, facts(t)), nil)
		if c.Name != name || c.Greeting != "Hello" {
			t.Errorf("template %+v", c)
		}
	})
}
