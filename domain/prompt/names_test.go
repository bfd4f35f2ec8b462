package prompt_test

import (
	"slices"
	"testing"

	"github.com/atrium-hq/atrium/domain/prompt"
)

func TestNames(t *testing.T) {
	const name = "invoices/invoice\u202efdp.exe"
	t.Run("one that deceives is refused", func(t *testing.T) {
		_, err := prompt.New(owner, prompt.Draft{Name: name})
		if got := wrongFields(t, err); !slices.Equal(got, []string{"/name invalid_format"}) {
			t.Errorf("wrong = %q", got)
		}
	})
	t.Run("it refuses no other change where it is stored", func(t *testing.T) {
		tmpl, _ := sharedTemplate()
		tmpl.Name = name
		wantErr(t, apply(tmpl, owner, nil, prompt.Changes{Name: new(name), Description: new("d")}), nil)
		if tmpl.Name != name || tmpl.Description != "d" {
			t.Errorf("template %+v", tmpl)
		}
	})
	t.Run("the same name is found however its letters are put together", func(t *testing.T) {
		tmpl, err := prompt.New(owner, prompt.Draft{Name: "A\u0308rger"})
		wantErr(t, err, nil)
		if tmpl.Name != "Ärger" || prompt.NameKey("A\u0308RGER") != prompt.NameKey("ärger") {
			t.Errorf("name = %q", tmpl.Name)
		}
	})
}
