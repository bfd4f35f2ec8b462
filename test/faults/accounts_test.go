package faults

import (
	"time"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// plain prepares a call that needs nothing but the team.
func plain(call func(e *env) error) func(*env) func() error {
	return func(e *env) func() error { return func() error { return call(e) } }
}

// onKey prepares a call about an API key of the member.
func onKey(call func(e *env, k *account.Key, token account.Token) error) func(*env) func() error {
	return func(e *env) func() error {
		k, token, err := e.accounts.CreateKey(e.ctx, e.team.Member, e.org, account.KeyDraft{Name: "k"})
		require.NoError(e.t, err)
		return func() error { return call(e, k, token) }
	}
}

// onInvitation prepares a call about an invitation to the workspace, and to a chat.
func onInvitation(call func(e *env, id account.InvitationID, token account.Token) error) func(*env) func() error {
	return func(e *env) func() error {
		invitedInvited, err := e.accounts.Invite(e.ctx, e.team.Admin, e.org, e.team.Workspace.ID, address(e, "gone"),
			identity.Member)
		require.NoError(e.t, err)
		return func() error { return call(e, invitedInvited.Invitation.ID, invitedInvited.Token) }
	}
}

func address(e *env, name string) string { return name + "@" + e.team.Workspace.Slug + ".example" }

func claims(e *env, subject string) account.Claims {
	return account.Claims{Issuer: e.org.Issuers[0].URL, Subject: subject, Email: address(e, subject),
		EmailVerified: true, IssuedAt: fixture.At}
}

var accountCases = []useCase{
	{name: "Authenticate", prepare: onKey(func(e *env, _ *account.Key, token account.Token) error {
		_, err := e.accounts.Authenticate(e.ctx, e.org, token.Reveal(), fixture.At)
		return err
	})},
	{name: "Find", prepare: plain(func(e *env) error { _, _, err := e.accounts.Find(e.ctx, e.system, address(e, "peer")); return err })},
	{name: "UserByEmail", prepare: plain(func(e *env) error {
		_, _, err := e.accounts.UserByEmail(e.ctx, e.system, address(e, "peer"))
		return err
	})},
	{name: "ChangeMe", prepare: plain(func(e *env) error {
		_, _, err := e.accounts.ChangeMe(e.ctx, e.team.Member, nil, account.UserChanges{Name: new("Other")})
		return err
	})},
	{name: "Workspace", prepare: plain(func(e *env) error {
		_, err := e.accounts.Workspace(e.ctx, e.team.Member, e.team.Workspace.ID)
		return err
	})},
	{name: "Keys", prepare: plain(func(e *env) error {
		_, err := e.accounts.Keys(e.ctx, e.team.Member, ten)
		return err
	})},
	{name: "Key", prepare: onKey(func(e *env, k *account.Key, _ account.Token) error {
		_, err := e.accounts.Key(e.ctx, e.team.Member, k.ID)
		return err
	})},
	{name: "CreateKey", prepare: plain(func(e *env) error {
		_, _, err := e.accounts.CreateKey(e.ctx, e.team.Member, e.org, account.KeyDraft{Name: "k"})
		return err
	})},
	{name: "CreateServiceKey", prepare: plain(func(e *env) error {
		_, _, err := e.accounts.CreateServiceKey(e.ctx, e.team.Admin, e.org,
			account.KeyDraft{Name: "k", Ceiling: identity.Viewer})
		return err
	})},
	{name: "RotateKey", prepare: onKey(func(e *env, k *account.Key, _ account.Token) error {
		_, _, err := e.accounts.RotateKey(e.ctx, e.team.Member, e.org, k.ID, nil, 0)
		return err
	})},
	{name: "RevokeKey", prepare: onKey(func(e *env, k *account.Key, _ account.Token) error {
		return e.accounts.RevokeKey(e.ctx, e.team.Member, k.ID, nil)
	})},
	{name: "RevokeKeyOf", prepare: onKey(func(e *env, k *account.Key, _ account.Token) error {
		return e.accounts.RevokeKeyOf(e.ctx, e.system, e.team.Workspace.Slug, k.ID)
	})},
	{name: "KeyFor", prepare: plain(func(e *env) error {
		_, _, err := e.accounts.KeyFor(e.ctx, e.system, e.org, address(e, "peer"), e.team.Workspace.Slug,
			account.KeyDraft{Name: "k"})
		return err
	})},
	{name: "Events", prepare: plain(func(e *env) error {
		_, err := e.accounts.Events(e.ctx, e.team.Admin, event.Filter{}, ten)
		return err
	})},
	{name: "Provision, of a new person and workspace", prepare: plain(func(e *env) error {
		_, err := e.accounts.Provision(e.ctx, e.system, e.org, accounts.Provision{
			Email: address(e, "new"), Role: identity.Owner, Workspace: e.team.Workspace.Slug + "-new", KeyName: "k",
		})
		return err
	})},
	{name: "Provision, of a new person", prepare: plain(func(e *env) error {
		_, err := e.accounts.Provision(e.ctx, e.system, e.org, accounts.Provision{
			Email: address(e, "new"), Role: identity.Member, Workspace: e.team.Workspace.Slug, KeyName: "k",
		})
		return err
	})},
	{name: "Provision, of a person who is known", prepare: plain(func(e *env) error {
		_, err := e.accounts.Provision(e.ctx, e.system, e.org, accounts.Provision{
			Email: address(e, "gone"), Role: identity.Member, Workspace: e.team.Workspace.Slug, KeyName: "k",
		})
		return err
	})},
	{name: "CreateWorkspace", prepare: plain(func(e *env) error {
		_, err := e.accounts.CreateWorkspace(e.ctx, e.team.Owner, e.org, e.team.Workspace.Slug+"-second", "")
		return err
	})},
	{name: "ChangeWorkspace", prepare: plain(func(e *env) error {
		_, err := e.accounts.ChangeWorkspace(e.ctx, e.team.Owner, e.org, e.team.Workspace.ID, nil,
			account.WorkspaceChanges{Name: new("Other")})
		return err
	})},
	{name: "DeleteWorkspace", prepare: plain(func(e *env) error {
		return e.accounts.DeleteWorkspace(e.ctx, e.team.Owner, e.team.Workspace.ID, nil)
	})},
	{name: "RestoreWorkspace", prepare: func(e *env) func() error {
		require.NoError(e.t, e.accounts.DeleteWorkspace(e.ctx, e.team.Owner, e.team.Workspace.ID, nil))
		return func() error {
			_, err := e.accounts.RestoreWorkspace(e.ctx, e.system, e.team.Workspace.Slug)
			return err
		}
	}},
	{name: "Members", prepare: plain(func(e *env) error {
		_, err := e.accounts.Members(e.ctx, e.team.Member, e.team.Workspace.ID, ten)
		return err
	})},
	{name: "Member", prepare: plain(func(e *env) error {
		_, err := e.accounts.Member(e.ctx, e.team.Member, e.team.Workspace.ID, e.team.Peer.User)
		return err
	})},
	{name: "ChangeMember", prepare: plain(func(e *env) error {
		_, _, err := e.accounts.ChangeMember(e.ctx, e.team.Admin, e.team.Workspace.ID, e.team.Peer.User, nil,
			identity.Viewer, false)
		return err
	})},
	{name: "RemoveMember", prepare: plain(func(e *env) error {
		_, err := e.accounts.RemoveMember(e.ctx, e.team.Admin, e.team.Workspace.ID, e.team.Peer.User, nil, false)
		return err
	})},
	{name: "Invitations", prepare: plain(func(e *env) error {
		_, err := e.accounts.Invitations(e.ctx, e.team.Admin, e.team.Workspace.ID, ten)
		return err
	})},
	{name: "Invitation", prepare: onInvitation(func(e *env, id account.InvitationID, _ account.Token) error {
		_, err := e.accounts.Invitation(e.ctx, e.team.Admin, e.team.Workspace.ID, id)
		return err
	})},
	{name: "Invite", prepare: plain(func(e *env) error {
		_, err := e.accounts.Invite(e.ctx, e.team.Admin, e.org, e.team.Workspace.ID, address(e, "guest"),
			identity.Viewer)
		return err
	})},
	{name: "Withdraw", prepare: onInvitation(func(e *env, id account.InvitationID, _ account.Token) error {
		return e.accounts.Withdraw(e.ctx, e.team.Admin, e.team.Workspace.ID, id, nil)
	})},
	{name: "AcceptInvitation, to a chat", prepare: func(e *env) func() error {
		joins, err := e.accounts.Provision(e.ctx, e.system, e.org, accounts.Provision{
			Email: address(e, "guest"), Verified: true, Role: identity.Owner, Workspace: e.team.Workspace.Slug + "-own",
			KeyName: "k",
		})
		require.NoError(e.t, err)
		template := fixture.Chat(e.t, e.stores, e.team.Admin, chat.Draft{})
		addedAdded, err := e.chats.AddMember(e.ctx, e.team.Admin, e.org, template.ID, guest(e))
		require.NoError(e.t, err)
		by := identity.Actor{Org: e.org.ID, User: joins.User, Role: identity.Owner, Ceiling: identity.Owner,
			At: fixture.At}
		return func() error { _, err := e.accounts.AcceptInvitation(e.ctx, by, addedAdded.Token.Reveal()); return err }
	}},
	{name: "SignIn, for the first time", prepare: plain(func(e *env) error {
		_, _, err := e.accounts.SignIn(e.ctx, e.system, e.org, claims(e, "new"))
		return err
	})},
	{name: "SignIn, by a person who is known", prepare: func(e *env) func() error {
		if _, _, err := e.accounts.SignIn(e.ctx, e.system, e.org, claims(e, "known")); err != nil {
			e.t.Fatal(err)
		}
		laterClaims := claims(e, "known")
		laterClaims.Name, laterClaims.IssuedAt = "Another", fixture.At.Add(time.Minute)
		return func() error { _, _, err := e.accounts.SignIn(e.ctx, e.system, e.org, laterClaims); return err }
	}},
	{name: "LinkSignIn", prepare: plain(func(e *env) error {
		_, err := e.accounts.LinkSignIn(e.ctx, e.system, e.org, address(e, "peer"), e.org.Issuers[0].URL,
			"sub-"+e.team.Workspace.Slug)
		return err
	})},
	{name: "DisablePerson", prepare: plain(func(e *env) error {
		_, err := e.accounts.DisablePerson(e.ctx, e.system, e.team.Peer.User, "why", false)
		return err
	})},
	{name: "EnablePerson", prepare: func(e *env) func() error {
		if _, err := e.accounts.DisablePerson(e.ctx, e.system, e.team.Peer.User, "why", false); err != nil {
			e.t.Fatal(err)
		}
		return func() error { return e.accounts.EnablePerson(e.ctx, e.system, e.team.Peer.User, "why") }
	}},
}
