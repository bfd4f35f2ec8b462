package prompts

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// BenchmarkListBody shows what the body of a list of 20 prompt templates takes to build and to encode.
func BenchmarkListBody(b *testing.B) {
	by := identity.Actor{User: "usr_1", Workspace: "wsp_1", Role: identity.Owner, Ceiling: identity.Owner}
	found := make([]prompt.Template, 20)
	for i := range found {
		t := &found[i]
		t.ID, t.Name, t.Type = prompt.ID(fmt.Sprint("ptpl_", i)), fmt.Sprint("sales/prompt-", i), prompt.Text
		t.Workspace, t.Owner, t.Visibility = "wsp_1", "usr_1", access.Workspace
		t.CreatedAt, t.UpdatedAt = time.Now(), time.Now()
		t.Tags = []string{"sales"}
		t.Active = prompt.Active{Version: "pver_1", Number: 3, At: time.Now(), By: "usr_1"}
	}
	b.ReportAllocs()
	for b.Loop() {
		items := convert.Slice(found, func(t *prompt.Template) openapi.PromptTemplate { return templateFor(by, t) })
		var buf bytes.Buffer
		if err := server.Encode(
			&buf, openapi.PromptTemplateList{Data: items, NextCursor: openapi.OrNull("next")},
		); err != nil {
			b.Fatal(err)
		}
	}
}
