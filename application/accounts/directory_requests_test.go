package accounts_test

import (
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestOperatorsSeeWhatTheDirectorySent(t *testing.T) {
	c := gomock.NewController(t)
	store, workspaces, notes := mocks.NewMockDirectoryRequests(c), mocks.NewMockWorkspaces(c), mocks.NewMockNotes(c)
	s := accounts.NewDirectory(nil, ports.DirectoryStores{DirectoryRequests: store}, workspaces, notes, nil, nil)
	org := &identity.Org{ID: "org", ClaimRules: []identity.ClaimRule{
		{Issuer: identity.SCIMIssuer, Workspace: "acme", Role: identity.Member},
		{Issuer: identity.SCIMIssuer, Workspace: "absent", Role: identity.Member},
		{Issuer: "https://issuer", Workspace: "other", Role: identity.Member},
	}}
	operator := identity.Actor{Org: "org", User: "op", Operator: true, Ceiling: identity.Owner, At: now}
	t.Run("a refusal is recorded beside a thousand others, and noted where the rules lead", func(t *testing.T) {
		workspaces.EXPECT().Find(t.Context(), identity.OrgID("org"), "absent").
			Return(nil, identity.ErrWorkspaceNotFound)
		workspaces.EXPECT().Find(t.Context(), identity.OrgID("org"), "acme").
			Return(&account.Workspace{ID: "wsp_1"}, nil)
		var note event.Note
		notes.EXPECT().Note(t.Context(), gomock.Any()).Do(func(_ any, n event.Note) { note = n })
		var got *account.DirectoryRequest
		store.EXPECT().Add(t.Context(), gomock.Any(), gomock.Any(), 1000).Do(
			func(_, _ any, r *account.DirectoryRequest, _ int) { got = r })
		by := identity.System("org", "", "req_1", now)
		require.NoError(t, s.Record(t.Context(), by, org, account.DirectoryRequest{Token: 1, Status: 409}))
		assert.Equal(t, "noted", note.Type+" "+note.Subject, "directory.refused wsp_1")
		assert.Equal(t, "org", got.Org, "org")
		assert.Equal(t, "outcome", got.Outcome, account.DirectoryRefused)
	})
	t.Run("what was accepted is not noted", func(t *testing.T) {
		store.EXPECT().Add(t.Context(), gomock.Any(), gomock.Any(), 1000)
		by := identity.System("org", "", "req_2", now)
		require.NoError(t, s.Record(t.Context(), by, org, account.DirectoryRequest{Token: 1, Status: 200}))
	})
	t.Run("an operator lists those of seven days", func(t *testing.T) {
		want := account.DirectoryRequestPage{Items: []account.DirectoryRequest{{ID: "drq_1"}}}
		q := page.Query{Limit: 5}
		store.EXPECT().List(t.Context(), identity.OrgID("org"), account.DirectoryRefused,
			now.Add(-7*24*time.Hour), q).Return(want, nil)
		got, err := s.Requests(t.Context(), operator, account.DirectoryRefused, q)
		require.NoError(t, err)
		assert.Equal(t, "requests", len(got.Items), 1)
	})
	t.Run("no one else does", func(t *testing.T) {
		person, small := operator, operator
		person.Operator, small.Ceiling = false, identity.Admin
		for _, by := range []identity.Actor{person, small} {
			_, err := s.Requests(t.Context(), by, "", page.Query{Limit: 5})
			require.ErrorIs(t, err, identity.ErrForbidden)
		}
	})
}
