package contract

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// got returns the number of nil errors, and fails t if another error is not limit.
func got(t testing.TB, errs []error, limit error) (n int) {
	t.Helper()
	for _, err := range errs {
		if err == nil {
			n++
			continue
		}
		wantErr(t, err, limit)
	}
	return n
}

func invitedWithinBounds(t *testing.T, a Adapter) {
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	ws := team.Workspace.ID
	finish := func(d time.Duration) identity.Actor { return fixture.Later(team.Admin, d) }
	mails := func(by identity.Actor, ws identity.WorkspaceID, email string) bool {
		t.Helper()
		i, _ := invite(t, a.Stores, by, ws, email, identity.Viewer)
		return i.Mailed()
	}
	t.Run("the last mail to an address is known even if its invitation has ended", func(t *testing.T) {
		first, _ := invite(t, a.Stores, finish(0), ws, "Mailed@example.com", identity.Viewer)
		same(t, "mailed", []bool{first.Mailed(), mails(finish(time.Minute), ws, "mailed@example.com")},
			[]bool{true, false})
		must(t, withdraw(t, a.Stores, finish(2*time.Minute), ws, first.ID))
		same(t, "mailed", mails(finish(3*time.Minute), ws, "mailed@EXAMPLE.com"), false)
		same(t, "mailed", mails(finish(10*time.Minute), ws, "mailed@example.com"), true)
		same(t, "mailed", mails(finish(11*time.Minute), ws, "mailed@example.com"), false)
		same(t, "mailed, another address", mails(finish(11*time.Minute), ws, "other@example.com"), true)
		same(t, "mailed, by another workspace", mails(fixture.Later(other.Admin, 11*time.Minute), other.Workspace.ID,
			"mailed@example.com"), true)
	})
	t.Run("of many concurrent invitations of an address one is mailed", func(t *testing.T) {
		for round := range 3 {
			messages := make([]bool, 8)
			must(t, errors.Join(atOnce(len(messages), func(i int) error {
				by := finish(time.Duration(round)*time.Hour + time.Duration(i)*time.Microsecond)
				invitation, _, err := tryInvite(t, a.Stores, by, ws, "often@example.com", identity.Viewer)
				if err == nil {
					messages[i] = invitation.Mailed()
				}
				return err
			})...))
			same(t, "mails", count(messages), 1)
		}
	})
	t.Run("mails are counted per workspace, including those of ended invitations", func(t *testing.T) {
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		sentCount := 0
		for i := range 2 * mailLimits.WorkspacePerDay {
			by := team.Admin // varies, because each user has a limit too
			by.User, by.At = []identity.UserID{team.Admin.User, team.Owner.User}[i%2],
				fixture.At.Add(time.Duration(i)*6*time.Minute)
			by.Role = identity.Admin
			invitation, _ := invite(t, a.Stores, by, team.Workspace.ID, fmt.Sprint("day-", i, "@mails.example"),
				identity.Viewer)
			if invitation.Mailed() {
				sentCount++
			}
			must(t, withdraw(t, a.Stores, by, team.Workspace.ID, invitation.ID))
		}
		same(t, "mails in ten hours", sentCount, mailLimits.WorkspacePerDay)
		newInvitation, _ := invite(t, a.Stores, fixture.Later(team.Admin, 24*time.Hour), team.Workspace.ID,
			"next-day@mails.example", identity.Viewer)
		same(t, "mailed a day later", newInvitation.Mailed(), true)
	})
	t.Run("mails are counted per user over all workspaces, even concurrent ones", func(t *testing.T) {
		maker := newcomer(t, a.Stores, a.Orgs[0], "cannon@example.com")
		first, second := ownSpace(t, a.Stores, maker, "cannon-1"), ownSpace(t, a.Stores, maker, "cannon-2")
		messages := make([]bool, mailLimits.UserPerHour+12)
		must(t, errors.Join(atOnce(len(messages), func(i int) error {
			ws := []identity.WorkspaceID{first.ID, second.ID}[i%2]
			item, _, err := tryInvite(t, a.Stores, maker, ws, fmt.Sprint("user-", i, "@mails.example"), identity.Viewer)
			if err == nil {
				messages[i] = item.Mailed()
			}
			return err
		})...))
		same(t, "mails within an hour", count(messages), mailLimits.UserPerHour)
		invitation, _ := invite(t, a.Stores, fixture.Later(maker, time.Hour), first.ID, "an-hour-later@mails.example",
			identity.Viewer)
		same(t, "mailed an hour later", invitation.Mailed(), true)
	})
	t.Run("mails are counted per mailbox over the org, even concurrent ones", func(t *testing.T) {
		messages := make([]bool, mailLimits.AddressPerDay+4)
		makers := make([]identity.Actor, len(messages))
		spaces := make([]identity.WorkspaceID, len(messages))
		for i := range messages {
			team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
			makers[i], spaces[i] = team.Admin, team.Workspace.ID
		}
		must(t, errors.Join(atOnce(len(messages), func(i int) error {
			invitation, _, err := tryInvite(t, a.Stores, makers[i], spaces[i], fmt.Sprint("Victim+", i, "@example.com"),
				identity.Viewer)
			if err == nil {
				messages[i] = invitation.Mailed()
			}
			return err
		})...))
		same(t, "mails within a day", count(messages), mailLimits.AddressPerDay)
		elsewhere := fixture.NewTeam(t, a.Stores, a.Orgs[1])
		item, _ := invite(t, a.Stores, elsewhere.Admin, elsewhere.Workspace.ID, "victim@example.com", identity.Viewer)
		same(t, "mailed by another org", item.Mailed(), true)
	})
	t.Run("concurrent calls cannot exceed the limit of open invitations", func(t *testing.T) {
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		ws := team.Workspace.ID
		address := func(i int) string { return fmt.Sprint("many-", i, "@example.com") }
		invite(t, a.Stores, fixture.Later(team.Admin, -account.InvitationLasts), ws, "expired@example.com",
			identity.Viewer)
		withdrawn, _ := invite(t, a.Stores, team.Admin, ws, "withdrawn@example.com", identity.Viewer)
		must(t, withdraw(t, a.Stores, team.Admin, ws, withdrawn.ID))
		for i := range account.MaxInvitations - 3 {
			invite(t, a.Stores, team.Admin, ws, address(i), identity.Viewer)
		}
		same(t, "made", got(t, atOnce(8, func(i int) error {
			_, _, err := tryInvite(t, a.Stores, team.Admin, ws, address(-1-i), identity.Viewer)
			return err
		}), account.ErrTooManyInvitations), 3)
		invite(t, a.Stores, team.Admin, ws, address(0), identity.Member) // renewing adds no open invitation
		invite(t, a.Stores, other.Admin, other.Workspace.ID, "elsewhere@example.com", identity.Viewer)
	})
}

// count returns how many of all are true.
func count(all []bool) (n int) {
	for _, one := range all {
		if one {
			n++
		}
	}
	return n
}

func workspacesRaceQuota(t *testing.T, a Adapter) {
	maker, another := newcomer(t, a.Stores, a.Orgs[0], "maker@example.com"),
		newcomer(t, a.Stores, a.Orgs[0], "another-maker@example.com")
	for i := range account.MaxWorkspaces - 3 {
		w := ownSpace(t, a.Stores, maker, fmt.Sprint("made-", i))
		if i == 0 { // a deleted one counts until it is purged
			must(t, changeWorkspace(t, a.Stores, maker, w.ID, nil,
				func(w *account.Workspace) error { return w.Delete(maker, nil) }))
		}
		got, err := a.Workspaces.Get(t.Context(), maker, w.ID)
		must(t, err)
		same(t, "made by", got.CreatedBy, maker.User)
	}
	same(t, "made", got(t, atOnce(8, func(i int) error {
		w, err := account.NewWorkspace(maker, nil, fmt.Sprint("raced-", i), "")
		if err == nil {
			err = a.Workspaces.Add(t.Context(), w)
		}
		return err
	}), account.ErrTooManyWorkspaces), 3)
	ownSpace(t, a.Stores, another, "made-by-another")
	fixture.Workspace(t, a.Stores, a.Orgs[0], "made-by-the-system")
}
