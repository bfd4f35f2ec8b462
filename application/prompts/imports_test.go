package prompts_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/require"
)

func imported(name, text string) prompt.Imported {
	return prompt.Imported{Pointer: "/files/" + name, Source: name + ".md",
		Draft: prompt.Draft{Name: name, Type: prompt.Text,
			Visibility: access.Private}, Versions: []prompt.VersionDraft{{Content: prompt.Content{Text: text}}}}
}

func TestImport(t *testing.T) {
	latest := prompt.Ref{Latest: true}
	t.Run("a template that does not exist is created", func(t *testing.T) {
		s := newMocked(t)
		s.prompts.EXPECT().GetVersionByName(s.ctx, owner, "new", latest).Return(nil, nil, prompt.ErrNotFound)
		s.prompts.EXPECT().Add(s.ctx, gomock.Any())
		s.expectAddFirst()
		got, err := s.Import(s.ctx, owner, []prompt.Imported{imported("new", "text")}, prompt.Importing{})
		if err != nil || len(got.Results) != 1 || got.Results[0].Outcome != prompt.Created {
			t.Fatalf("Import = %+v, %v", got, err)
		}
	})
	t.Run("one that has the content stays, and another content is a new version", func(t *testing.T) {
		for text, want := range map[string]prompt.Outcome{"Hello {{name}}": prompt.Unchanged, "other": prompt.Updated} {
			s := newMocked(t)
			v := version(2)
			v.Content.Variables[0].Type = "any"
			v.ContentHash = v.Content.Hash()
			s.prompts.EXPECT().GetVersionByName(s.ctx, owner, "Greeting", latest).Return(template().Reading(), v, nil)
			s.expectUpdate(owner)
			if want == prompt.Updated {
				s.expectAddVersion(owner)
			}
			got, err := s.Import(s.ctx, owner, []prompt.Imported{imported("Greeting", text)}, prompt.Importing{})
			if err != nil || got.Results[0].Outcome != want || got.Results[0].ID != "tpl" {
				t.Errorf("Import of %q = %+v, %v", text, got, err)
			}
		}
	})
	t.Run("a template that the caller cannot see keeps its name", func(t *testing.T) {
		s := newMocked(t)
		s.prompts.EXPECT().GetVersionByName(s.ctx, stranger, "Greeting", latest).Return(template().Reading(), nil, nil)
		_, err := s.Import(s.ctx, stranger, []prompt.Imported{imported("Greeting", "text")}, prompt.Importing{})
		require.ErrorIs(t, err, prompt.ErrNameTaken)
		if f, ok := errors.AsType[*fault.Error](err); !ok || !strings.HasPrefix(f.Detail, "Greeting.md: ") {
			t.Errorf("error = %+v", err)
		}
	})
	t.Run("a viewer adds no version", func(t *testing.T) {
		s := newMocked(t)
		s.prompts.EXPECT().GetVersionByName(s.ctx, viewer, "Greeting", latest).Return(template().Reading(),
			version(1), nil)
		s.expectUpdate(viewer)
		_, err := s.Import(s.ctx, viewer, []prompt.Imported{imported("Greeting", "text")}, prompt.Importing{})
		require.ErrorIs(t, err, prompt.ErrForbidden)
	})
	t.Run("all that is wrong is said at once, with the names of the files", func(t *testing.T) {
		s := newMocked(t)
		s.prompts.EXPECT().GetVersionByName(s.ctx, owner, gomock.Any(), latest).AnyTimes().
			Return(template().Reading(), version(1), nil)
		s.prompts.EXPECT().Update(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().
			Return(nil, prompt.ErrForbidden)
		all := func() []prompt.Imported {
			return []prompt.Imported{imported("a", "{{#x}}"), imported("b", "good"), imported("c", "{{/x}}")}
		}
		_, err := s.Import(s.ctx, owner, all(), prompt.Importing{})
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || len(f.Fields) != 3 {
			t.Fatalf("error = %+v", err)
		}
		for i, want := range []string{"/files/a/text a.md: Line 1", "/files/b b.md: ", "/files/c/text c.md: Line 1"} {
			if got := f.Fields[i].Pointer + " " + f.Fields[i].Detail; !strings.HasPrefix(got, want) {
				t.Errorf("error %d is %q", i, got)
			}
		}
		report, err := s.Import(s.ctx, owner, all(), prompt.Importing{Skip: true})
		if err != nil || len(report.Refused) != 3 || len(report.Results) != 0 {
			t.Errorf("report %+v, %v", report, err)
		}
	})
	t.Run("a text that is not valid in its format is imported as it is, if the import says so", func(t *testing.T) {
		s := newMocked(t)
		s.prompts.EXPECT().GetVersionByName(s.ctx, owner, "new", latest).Return(nil, nil, prompt.ErrNotFound)
		s.prompts.EXPECT().Add(s.ctx, gomock.Any())
		s.expectAddFirst()
		p := imported("new", "{{#if x}}")
		report, err := s.Import(s.ctx, owner, []prompt.Imported{p}, prompt.Importing{Raw: true})
		if err != nil || len(report.Results) != 1 || p.Versions[0].Content.Format != prompt.Verbatim {
			t.Errorf("report %+v, %v; format %s", report, err, p.Versions[0].Content.Format)
		}
	})
	t.Run("a template of the other type is refused", func(t *testing.T) {
		s := newMocked(t)
		s.prompts.EXPECT().GetVersionByName(s.ctx, owner, "Greeting", latest).Return(template().Reading(),
			version(1), nil)
		p := imported("Greeting", "text")
		p.Draft.Type = prompt.Chat
		p.Versions[0].Content = prompt.Content{Messages: []prompt.Message{{Role: "user", Content: "Hi"}}}
		_, err := s.Import(s.ctx, owner, []prompt.Imported{p}, prompt.Importing{})
		require.ErrorIs(t, err, fault.ErrInvalid)
	})
}

func TestExport(t *testing.T) {
	s := newMocked(t)
	filter := prompt.Filter{Folder: "support", ByName: true}
	s.lists.EXPECT().Visible(s.ctx, viewer, filter, page.Query{Limit: 100}).Return(prompt.Page{
		Items: []prompt.Template{*template()}, Next: "more"}, nil)
	s.lists.EXPECT().Visible(s.ctx, viewer, filter, page.Query{Limit: 100, After: "more"}).Return(prompt.Page{
		Items: []prompt.Template{*template(), *template()}}, nil)
	requests := 0
	s.prompts.EXPECT().GetVersion(s.ctx, viewer, prompt.ID("tpl"), prompt.Ref{Latest: true}).Times(3).DoAndReturn(
		func(context.Context, identity.Actor, prompt.ID, prompt.Ref) (*prompt.Reading, *prompt.Version, error) {
			if requests++; requests == 2 {
				return template().Reading(), nil, nil // it has no version
			}
			return template().Reading(), version(1), nil
		})
	emittedCount := 0
	if err := s.Export(s.ctx, viewer, "support", prompt.Ref{Latest: true},
		func(*prompt.Template, *prompt.Reading, *prompt.Version) error {
			emittedCount++
			return nil
		}); err != nil || emittedCount != 2 {
		t.Errorf("%d were emitted, %v", emittedCount, err)
	}
}
