package prompt_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestNames(t *testing.T) {
	const name = "invoices/invoice\u202efdp.exe"
	t.Run("one that deceives is refused", func(t *testing.T) {
		_, err := prompt.New(owner, prompt.Draft{Name: name})
		assert.EqualSlice(t, "wrongFields", wrongFields(t, err), []string{"/name invalid_format"})
	})
	t.Run("one that is no path below a folder is refused", func(t *testing.T) {
		for _, name := range []string{"a/../b", "../../x", "..", ".", "a/.", `a\b`, `..\x`} {
			_, err := prompt.New(owner, prompt.Draft{Name: name})
			assert.EqualSlice(t, name, wrongFields(t, err), []string{"/name invalid_format"})
		}
		for _, name := range []string{"...", ".env/a", "v1.2", "a..b"} {
			_, err := prompt.New(owner, prompt.Draft{Name: name})
			assert.NoError(t, err)
		}
	})
	t.Run("it refuses no other change where it is stored", func(t *testing.T) {
		tmpl, _ := sharedTemplate()
		tmpl.Name = name
		require.NoError(t, apply(tmpl, owner, nil, prompt.Changes{Name: new(name), Description: new("d")}))
		if tmpl.Name != name || tmpl.Description != "d" {
			t.Errorf("template %+v", tmpl)
		}
	})
	t.Run("the same name is found however its letters are put together", func(t *testing.T) {
		tmpl, err := prompt.New(owner, prompt.Draft{Name: "A\u0308rger"})
		require.NoError(t, err)
		if tmpl.Name != "Ärger" || prompt.NameKey("A\u0308RGER") != prompt.NameKey("ärger") {
			t.Errorf("name = %q", tmpl.Name)
		}
	})
}
