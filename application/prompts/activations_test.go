package prompts_test

import (
	"context"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/require"
)

// checked returns the template with version 1 active, which is checked against breaks.
func checked() *prompt.Template {
	t := template()
	t.Compatibility, t.Active = prompt.Backward, prompt.Active{Version: "ver1", Number: 1}
	return t
}

// breaking returns version 2 with a variable that version 1 does not have.
func breaking() *prompt.Version {
	v := version(2)
	v.Content.Variables = append(v.Content.Variables, prompt.Variable{Name: "new", Type: "any", Required: true})
	return v
}

func TestActivationsKeepTheContract(t *testing.T) {
	ref := prompt.Ref{Number: 2}
	for name, tt := range map[string]struct {
		to           *prompt.Version
		acknowledged bool
		want         error
	}{
		"a version that breaks it is refused":      {breaking(), false, prompt.ErrContractBreak},
		"unless the caller acknowledges the break": {breaking(), true, nil},
		"a version that keeps it is activated":     {version(2), false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			s.prompts.EXPECT().UpdateVersion(s.ctx, owner, prompt.ID("tpl"), ref, gomock.Any()).DoAndReturn(
				func(_ context.Context, _ identity.Actor, _ prompt.ID, _ prompt.Ref,
					change func(*prompt.Template, *prompt.VersionInfo) error) (*prompt.Template, error) {
					t := checked()
					return t, change(t, &tt.to.VersionInfo)
				})
			s.expectRead(tt.to, tt.acknowledged)
			_, _, err := s.ActivateVersion(s.ctx, owner, "tpl", ref, nil,
				prompt.Activating{Acknowledged: tt.acknowledged})
			require.ErrorIs(t, err, tt.want)
		})
		t.Run(name+", also at once with a new version", func(t *testing.T) {
			s := newMocked(t)
			newVersion := *tt.to
			s.prompts.EXPECT().AddVersion(s.ctx, owner, prompt.ID("tpl"), gomock.Any()).DoAndReturn(
				func(_ context.Context, _ identity.Actor, _ prompt.ID,
					change func(*prompt.Template, prompt.Labels) (*prompt.Version, error)) error {
					v, err := change(checked(), nil)
					if err == nil {
						newVersion.VersionInfo = v.VersionInfo
					}
					return err
				})
			if !tt.acknowledged {
				s.expectGetVersion(owner, prompt.Ref{ID: "ver1"}, version(1))
				s.prompts.EXPECT().GetVersion(s.ctx, owner, prompt.ID("tpl"), gomock.Any()).Return(
					checked().Reading(), &newVersion, nil)
			}
			_, _, err := s.AddVersion(s.ctx, owner, "tpl", prompt.VersionDraft{Content: tt.to.Content,
				VariablesDeclared: true, Activate: true, Acknowledged: tt.acknowledged})
			require.ErrorIs(t, err, tt.want)
		})
	}
}

// expectRead expects that both versions are read, unless the caller acknowledged a break.
func (s *mockedService) expectRead(target *prompt.Version, isAcknowledged bool) {
	if !isAcknowledged {
		s.expectGetVersion(owner, prompt.Ref{ID: "ver1"}, version(1))
		s.expectGetVersion(owner, prompt.Ref{ID: "ver2"}, target)
	}
}
