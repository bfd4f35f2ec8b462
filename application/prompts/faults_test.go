package prompts_test

import (
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/prompts"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// TestStoreFaults makes each call of each use case fail. The error is returned unchanged, and nothing
// else is called.
func TestStoreFaults(t *testing.T) {
	var (
		anything = gomock.Any()
		ref      = prompt.Ref{Number: 1}
		q        = page.Query{Limit: 1}
		get      = func(s *stage) { s.prompts.EXPECT().Get(s.ctx, owner, anything).Return(nil, errOutage) }

		getVersion = func(s *stage) {
			s.prompts.EXPECT().GetVersion(s.ctx, owner, anything, anything).Return(nil, nil, errOutage)
		}
		update = func(s *stage) {
			s.prompts.EXPECT().Update(s.ctx, owner, anything, anything).Return(nil, errOutage)
		}
		updateFor = func(s *stage) {
			s.prompts.EXPECT().UpdateFor(s.ctx, owner, anything, anything, anything).Return(nil, errOutage)
		}
		updateVersion = func(s *stage) {
			s.prompts.EXPECT().UpdateVersion(s.ctx, owner, anything, anything, anything).Return(nil, errOutage)
		}
		editVersion = func(s *stage) {
			s.prompts.EXPECT().EditVersion(s.ctx, owner, anything, anything, anything).Return(nil, errOutage)
		}
		member = func(s *stage) {
			s.users.EXPECT().Member(s.ctx, anything, anything, anything).Return(identity.UserID(""), errOutage)
		}
		transfer = prompt.Changes{Owner: new(identity.UserID("vic"))}
	)
	for name, tt := range map[string]struct {
		fail func(*stage)
		call func(*stage) error
	}{
		"List": {
			func(s *stage) {
				s.lists.EXPECT().Visible(s.ctx, anything, anything, anything).Return(prompt.Page{}, errOutage)
			},
			func(s *stage) error { _, err := s.List(s.ctx, owner, prompt.Filter{}, q); return err },
		},
		"Create": {
			func(s *stage) { s.prompts.EXPECT().Add(s.ctx, anything).Return(errOutage) },
			func(s *stage) error { _, err := s.Create(s.ctx, owner, prompt.Draft{Name: "x"}); return err },
		},
		"Get":                       {get, func(s *stage) error { _, err := s.Get(s.ctx, owner, "tpl"); return err }},
		"Change":                    {update, func(s *stage) error { _, err := s.Change(s.ctx, owner, "tpl", nil, prompt.Changes{}); return err }},
		"Delete":                    {update, func(s *stage) error { return s.Delete(s.ctx, owner, "tpl", nil) }},
		"Restore":                   {update, func(s *stage) error { _, err := s.Restore(s.ctx, owner, "tpl"); return err }},
		"Versions, the template":    {get, func(s *stage) error { _, _, err := s.Versions(s.ctx, owner, "tpl", q); return err }},
		"Version":                   {getVersion, func(s *stage) error { _, _, err := s.Version(s.ctx, owner, "tpl", ref); return err }},
		"DeleteVersion":             {updateVersion, func(s *stage) error { return s.DeleteVersion(s.ctx, owner, "tpl", ref, nil) }},
		"Activations, the template": {get, func(s *stage) error { _, err := s.Activations(s.ctx, owner, "tpl", q); return err }},
		"Shares, the template":      {get, func(s *stage) error { _, err := s.Shares(s.ctx, owner, "tpl", q); return err }},
		"Render": {getVersion, func(s *stage) error {
			_, _, _, err := s.Render(s.ctx, owner, "tpl", ref, nil, prompt.Strict)
			return err
		}},
		"Diff":    {getVersion, func(s *stage) error { _, _, _, err := s.Diff(s.ctx, owner, "tpl", ref, ref); return err }},
		"Unshare": {updateFor, func(s *stage) error { return s.Unshare(s.ctx, owner, "tpl", "vic", nil) }},
		"Share, asking who": {member, func(s *stage) error {
			_, err := s.Share(s.ctx, owner, "tpl", prompt.Grant{Email: "vic@example.com"})
			return err
		}},
		"AddVersion, looking for its base": {
			func(s *stage) {
				s.prompts.EXPECT().Get(s.ctx, owner, anything).Return(nil, errOutage)
			},
			func(s *stage) error {
				_, _, err := s.AddVersion(s.ctx, owner, "tpl", prompt.VersionDraft{Base: "base"})
				return err
			},
		},
		"AddVersion": {
			func(s *stage) { s.prompts.EXPECT().AddVersion(s.ctx, owner, anything, anything).Return(errOutage) },
			func(s *stage) error {
				_, _, err := s.AddVersion(s.ctx, owner, "tpl", prompt.VersionDraft{})
				return err
			},
		},
		"ChangeVersion": {editVersion, func(s *stage) error {
			_, _, err := s.ChangeVersion(s.ctx, owner, "tpl", ref, nil, prompt.VersionChanges{})
			return err
		}},
		"ActivateVersion": {updateVersion, func(s *stage) error {
			_, err := s.ActivateVersion(s.ctx, owner, "tpl", ref, nil, nil, "")
			return err
		}},
		"ChangeShare": {updateFor, func(s *stage) error {
			_, err := s.ChangeShare(s.ctx, owner, "tpl", "vic", nil, prompt.ShareChanges{})
			return err
		}},
		"Change, with a new owner": {
			updateFor,
			func(s *stage) error { _, err := s.Change(s.ctx, owner, "tpl", nil, transfer); return err },
		},
		"Share": {
			updateFor,
			func(s *stage) error { _, err := s.Share(s.ctx, owner, "tpl", prompt.Grant{User: "vic"}); return err },
		},
		"Versions": {
			func(s *stage) {
				s.expectGet(owner)
				s.lists.EXPECT().Versions(s.ctx, anything, anything, anything, anything).Return(prompt.VersionPage{}, errOutage)
			},
			func(s *stage) error { _, _, err := s.Versions(s.ctx, owner, "tpl", q); return err },
		},
		"Activations": {
			func(s *stage) {
				s.expectGet(owner)
				s.lists.EXPECT().Activations(s.ctx, anything, anything, anything).Return(page.Of[prompt.Activation]{}, errOutage)
			},
			func(s *stage) error { _, err := s.Activations(s.ctx, owner, "tpl", q); return err },
		},
		"Shares": {
			func(s *stage) {
				s.expectGet(owner)
				s.lists.EXPECT().Shares(s.ctx, anything, anything, anything).Return(prompt.SharePage{}, errOutage)
			},
			func(s *stage) error { _, err := s.Shares(s.ctx, owner, "tpl", q); return err },
		},
		"Diff, the other version": {
			func(s *stage) { s.expectGetVersion(owner, ref, version(1)); getVersion(s) },
			func(s *stage) error {
				_, _, _, err := s.Diff(s.ctx, owner, "tpl", prompt.Ref{Number: 2}, ref)
				return err
			},
		},
		"Resolve": {getVersion, func(s *stage) error {
			_, err := s.Resolve(s.ctx, owner, []prompts.Wanted{{ID: "tpl", Ref: ref}, {ID: "never asked for", Ref: ref}})
			return err
		}},
		"Resolve, by name": {
			func(s *stage) {
				s.prompts.EXPECT().GetVersionByName(s.ctx, owner, "x", ref).Return(nil, nil, errOutage)
			},
			func(s *stage) error {
				_, err := s.Resolve(s.ctx, owner, []prompts.Wanted{{Name: "x", Ref: ref}, {Name: "never asked for", Ref: ref}})
				return err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			tt.fail(s)
			if err := tt.call(s); err != errOutage {
				t.Errorf("error = %v, want the store's own", err)
			}
		})
	}
}
