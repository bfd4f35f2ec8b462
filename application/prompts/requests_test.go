package prompts_test

import (
	"context"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/require"
)

var editor = actor("eve")

// guarded returns the template, protected, with one approval for editors and version 1 active.
func guarded() *prompt.Template {
	t := template()
	t.Protected, t.Approvals, t.Active = true, 1, prompt.Active{Version: "ver1", Number: 1}
	t.Grants.Set(access.Grant{User: "eve", Role: access.Editor})
	return t
}

// open returns eve's request for version 2.
func open() prompt.ActivationRequest {
	return guarded().Plan(editor, &version(2).VersionInfo, prompt.Activating{}, nil)
}

func TestAnActivationThatHasToWaitBecomesARequest(t *testing.T) {
	s, v := newMocked(t), version(2)
	ref := prompt.Ref{Number: 2}
	s.prompts.EXPECT().UpdateVersion(s.ctx, editor, prompt.ID("tpl"), ref, gomock.Any()).DoAndReturn(
		func(_ context.Context, _ identity.Actor, _ prompt.ID, _ prompt.Ref,
			change func(*prompt.Template, *prompt.VersionInfo) error) (*prompt.Template, error) {
			t := guarded()
			return t, change(t, &v.VersionInfo)
		})
	s.lists.EXPECT().Checks(s.ctx, identity.WorkspaceID("acme"), prompt.ID("tpl"), v.ID)
	s.lists.EXPECT().OpenRequests(s.ctx, identity.WorkspaceID("acme"), prompt.ID("tpl"))
	s.prompts.EXPECT().Update(s.ctx, editor, prompt.ID("tpl"), gomock.Any()).DoAndReturn(s.updated(guarded))
	var queuedJob job.Job
	s.jobs.EXPECT().Enqueue(s.ctx, gomock.Any()).Do(func(_ context.Context, j job.Job) { queuedJob = j })
	got, request, err := s.ActivateVersion(s.ctx, editor, "tpl", ref, nil, prompt.Activating{Reason: "why"})
	require.NoError(t, err)
	if request == nil || request.State != prompt.Waiting || got.Active.Version != "ver1" || v.Frozen {
		t.Fatalf("asked for %+v, active %s", request, got.Active.Version)
	}
	if queuedJob.Kind != prompt.RequestJob || queuedJob.Subject != string(request.ID) || !queuedJob.Due.After(now) {
		t.Errorf("queued %+v", queuedJob)
	}
}

// updated returns a Prompts.Update that changes what of returns.
func (s *mockedService) updated(templateOf func() *prompt.Template) func(context.Context, identity.Actor, prompt.ID,
	func(*prompt.Template) error) (*prompt.Template, error) {
	return func(
		_ context.Context, _ identity.Actor, _ prompt.ID, change func(*prompt.Template) error,
	) (t *prompt.Template, err error) {
		for range 2 {
			t = templateOf()
			if err := change(t); err != nil {
				return nil, err
			}
		}
		return t, nil
	}
}

func TestWhatARequestActsWith(t *testing.T) {
	member := []account.Membership{{Workspace: account.Workspace{ID: "acme"}, Role: identity.Member}}
	disabledUser := &account.User{DisabledAt: now}
	for name, tt := range map[string]struct {
		user      *account.User
		found     error
		member    []account.Membership
		key       *account.Key
		activated bool
	}{
		"the author's membership":            {&account.User{}, nil, member, nil, true},
		"a key that is live":                 {&account.User{}, nil, member, &account.Key{}, true},
		"no key that was revoked":            {&account.User{}, nil, member, &account.Key{RevokedAt: now}, false},
		"no key that has expired":            {&account.User{}, nil, member, &account.Key{ExpiresAt: now}, false},
		"no membership that has ended":       {&account.User{}, nil, nil, nil, false},
		"no account that is disabled":        {disabledUser, nil, member, nil, false},
		"no account that does not exist now": {nil, account.ErrUserNotFound, nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, r, v := newMocked(t), open(), version(2)
			waiting := func() *prompt.Template {
				t := guarded()
				t.OpenRequests = 1
				return t
			}
			if tt.key != nil {
				r.Key = "key"
				if tt.found == nil && tt.user.DisabledAt.IsZero() {
					s.keys.EXPECT().Get(s.ctx, identity.WorkspaceID("acme"), identity.KeyID("key")).Return(tt.key, nil)
				}
			}
			s.prompts.EXPECT().Lock(s.ctx, manager, prompt.ID("tpl"), prompt.Ref{}).Return(waiting(), nil, nil)
			s.lists.EXPECT().Request(s.ctx, identity.WorkspaceID("acme"), prompt.ID("tpl"), r.ID).AnyTimes().
				Return(&r, nil)
			s.prompts.EXPECT().Update(s.ctx, manager, prompt.ID("tpl"), gomock.Any()).DoAndReturn(s.updated(waiting))
			approvedRequest := r
			approvedRequest.Decisions = []prompt.Decision{{By: "max", Approves: true, At: now}}
			s.lists.EXPECT().OpenRequests(s.ctx, identity.WorkspaceID("acme"), prompt.ID("tpl")).Return(
				[]prompt.ActivationRequest{approvedRequest}, nil)
			s.users.EXPECT().Get(s.ctx, identity.OrgID("org"), identity.UserID("eve")).
				Return(tt.user, tt.member, tt.found)
			s.prompts.EXPECT().Lock(s.ctx, by("eve"), prompt.ID("tpl"), prompt.Ref{ID: v.ID}).Return(waiting(),
				&v.VersionInfo, nil)
			s.lists.EXPECT().Checks(s.ctx, identity.WorkspaceID("acme"), prompt.ID("tpl"), v.ID)
			var cause prompt.Cause
			if tt.activated {
				s.prompts.EXPECT().UpdateVersion(s.ctx, by("eve"), prompt.ID("tpl"), prompt.Ref{ID: v.ID},
					gomock.Any()).DoAndReturn(
					func(_ context.Context, _ identity.Actor, _ prompt.ID, _ prompt.Ref,
						change func(*prompt.Template, *prompt.VersionInfo) error) (*prompt.Template, error) {
						t := waiting()
						return t, change(t, &v.VersionInfo)
					})
			} else {
				s.prompts.EXPECT().Update(s.ctx, manager, prompt.ID("tpl"), gomock.Any()).DoAndReturn(
					func(
						_ context.Context, _ identity.Actor, _ prompt.ID, change func(*prompt.Template) error,
					) (*prompt.Template, error) {
						t := waiting()
						err := change(t)
						cause = t.ChangedRequests[0].Cause
						return t, err
					})
			}
			_, err := s.Decide(s.ctx, manager, "tpl", r.ID, prompt.Decision{Approves: true})
			require.NoError(t, err)
			if v.Frozen != tt.activated || (!tt.activated && cause != prompt.AccessLost) {
				t.Errorf("activated: %v, cause %q", v.Frozen, cause)
			}
		})
	}
}

// by matches the actor of a user.
type by identity.UserID

func (b by) Matches(x any) bool {
	a, ok := x.(identity.Actor)
	return ok && a.User == identity.UserID(b)
}

func (b by) String() string { return "is " + string(b) }

func TestTheNextLookAtASchedule(t *testing.T) {
	for patience, want := range map[time.Duration]time.Duration{time.Hour: 5 * time.Minute, time.Minute: time.Minute} {
		s, r := newMocked(t), open()
		r.NotBefore = now.Add(patience)
		system := identity.System("org", "acme", "job", now)
		s.lists.EXPECT().Request(s.ctx, identity.WorkspaceID("acme"), prompt.ID(""), r.ID).Times(2).Return(&r, nil)
		s.prompts.EXPECT().Lock(s.ctx, system, prompt.ID("tpl"), prompt.Ref{}).Return(guarded(), nil, nil)
		var due time.Time
		s.jobs.EXPECT().Enqueue(s.ctx, gomock.Any()).Do(func(_ context.Context, j job.Job) { due = j.Due })
		require.NoError(t, s.LookAt(s.ctx, system, r.ID))
		if got := due.Sub(now); got != want {
			t.Errorf("%s before its time, the next look is after %s", patience, got)
		}
	}
	t.Run("a request that is gone is left alone", func(t *testing.T) {
		s := newMocked(t)
		s.lists.EXPECT().Request(s.ctx, identity.WorkspaceID("acme"), prompt.ID(""), gomock.Any()).Return(nil,
			prompt.ErrRequestNotFound)
		require.NoError(t, s.LookAt(s.ctx, identity.System("org", "acme", "job", now), "areq"))
	})
}

func TestWhoReadsRequests(t *testing.T) {
	for user, want := range map[identity.UserID]error{"ann": nil, "max": nil, "vic": prompt.ErrForbidden,
		"sam": prompt.ErrNotFound} {
		s, caller := newMocked(t), actor(user)
		s.prompts.EXPECT().Get(s.ctx, caller, prompt.ID("tpl")).Return(guarded(), nil)
		if want == nil {
			r := open()
			s.lists.EXPECT().Request(s.ctx, identity.WorkspaceID("acme"), prompt.ID("tpl"), r.ID).Return(&r, nil)
			_, err := s.Request(s.ctx, caller, "tpl", r.ID)
			require.NoError(t, err)
			continue
		}
		_, err := s.Request(s.ctx, caller, "tpl", "areq")
		require.ErrorIs(t, err, want)
	}
}
