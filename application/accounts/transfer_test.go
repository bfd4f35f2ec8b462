package accounts_test

import (
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestTransferWorkspace(t *testing.T) {
	for name, tt := range map[string]struct {
		to   account.User
		want error
	}{
		"to a member":                          {account.User{ID: "ann", Org: "org"}, nil},
		"not to a member who is disabled":      {account.User{ID: "ann", Org: "org", DisabledAt: now}, account.ErrTransferRefused},
		"not to the owner, who has it already": {account.User{ID: "bob", Org: "org"}, account.ErrTransferRefused},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			tx := s.expectAtomically(t, 1)
			var current *account.Workspace
			tx.expectUpdateWorkspace(owner, []identity.UserID{tt.to.ID, owner.User}, acme, &current)
			tx.users.EXPECT().Get(s.ctx, owner.Org, tt.to.ID).Return(&tt.to, nil, nil).AnyTimes()
			tx.jobs.EXPECT().Enqueue(gomock.Any(), gomock.Any()).Return(nil).AnyTimes()
			m, _, err := s.TransferWorkspace(s.ctx, owner, "acme", nil, tt.to.ID, false)
			require.ErrorIs(t, err, tt.want)
			if err == nil && (m.User != "ann" || m.Role != identity.Owner || current.Owners != 1 ||
				current.Members["bob"].Role != identity.Admin) {
				t.Errorf("%+v, %+v", m, current.Members)
			}
		})
	}
}
