package prompts

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/prompts"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// BenchmarkResolveResult compares joining encoded versions with encoding all of them at once, by the memory of one
// response.
func BenchmarkResolveResult(b *testing.B) {
	for _, size := range []int{1 << 10, 400 << 10} {
		var refs []openapi.ResolveRef
		var found []prompts.Resolved
		for i := range 20 {
			t := &prompt.Reading{ID: prompt.ID(fmt.Sprint("ptm_", i)), Name: "one", Type: prompt.Text}
			v := &prompt.Version{}
			v.Content = prompt.Content{Text: strings.Repeat("Hello! ", size/7), Format: prompt.Mustache}
			v.ID, v.Number = prompt.VersionID(fmt.Sprint("ver_", i)), 1
			refs = append(refs, openapi.ResolveRef{PromptTemplateID: string(t.ID)})
			found = append(found, prompts.Resolved{Template: t, Version: v})
		}
		b.Run(fmt.Sprintf("20 versions of %d bytes, joined", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := resolveResult(refs, found); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("20 versions of %d bytes, at once", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := encodedAtOnce(refs, found); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func encodedAtOnce(refs []openapi.ResolveRef, found []prompts.Resolved) ([]byte, error) {
	all := openapi.ResolveResult{Data: make([]openapi.ResolvedPrompt, len(found))}
	var version, body bytes.Buffer
	for i, f := range found {
		shown := toVersion(f.Template, f.Version)
		version.Reset()
		if err := server.Encode(&version, shown); err != nil {
			return nil, err
		}
		all.Data[i] = openapi.ResolvedPrompt{PromptTemplateID: string(f.Template.ID), Name: f.Template.Name,
			Ref: convert.OrDefault(refs[i].Ref, "active"), ETag: server.ETag(
				f.Version.Revision, version.Bytes(),
			), Version: &shown}
	}
	err := server.Encode(&body, all)
	return body.Bytes(), err
}
