package contract

import (
	"crypto/sha256"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
)

func memberRemoved(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	local, other := team.Workspace.ID, ownSpace(t, a.Stores, team.Owner, "kept-"+team.Workspace.Slug).ID
	for _, person := range []identity.Actor{team.Member, team.Peer} {
		join(t, a.Stores, team.Owner, other, person, identity.Member)
	}
	in := func(by identity.Actor, ws identity.WorkspaceID) identity.Actor { by.Workspace = ws; return by }
	templates, keys := map[identity.WorkspaceID]prompt.ID{}, map[identity.WorkspaceID]*account.Key{}
	for _, ws := range []identity.WorkspaceID{local, other} {
		templates[ws] = fixture.Template(t, a.Stores, in(team.Owner, ws), prompt.Draft{}).ID
		for _, person := range []identity.Actor{team.Member, team.Peer} {
			fixture.Share(t, a.Stores, in(team.Owner, ws), templates[ws],
				prompt.Grant{User: person.User, Role: access.Viewer})
		}
		keys[ws] = addKey(t, a.Stores, in(team.Member, ws), account.KeyDraft{Name: "k"})
	}
	ownTemplate := fixture.Template(t, a.Stores, team.Member, prompt.Draft{Name: "own"})
	peers := addKey(t, a.Stores, team.Peer, account.KeyDraft{Name: "peer's"})
	long := fixture.Later(team.Member, -time.Hour)
	goneKey := addKey(t, a.Stores, long, account.KeyDraft{Name: "revoked before"})
	revoke(t, a.Stores, long, goneKey.ID)

	var view *account.Key
	runOnce := func(n byte, by identity.Actor, fn func(ports.Stores) (ports.Answer, error)) (ports.Answer, error) {
		got, _, err := a.Idempotency.Once(ctx,
			ports.IdempotencyKey{Org: team.Org, Scope: sha256.Sum256([]byte(team.Workspace.Slug + string(n))),
				At: by.At}, nil, fn, nil)
		return got, err
	}
	reveal := func(by identity.Actor) func(ports.Stores) (ports.Answer, error) {
		return func(s ports.Stores) (ports.Answer, error) {
			k, token, err := fixture.TryKey(t, s, by, account.KeyDraft{Name: "shown"})
			if err != nil {
				return ports.Answer{}, err
			}
			view = k
			return ports.Answer{Status: 201, Body: []byte(token.Reveal()), Reveals: string(k.ID)}, nil
		}
	}
	for n, by := range []identity.Actor{team.Member, in(team.Member, other), team.Peer} {
		_, err := runOnce(byte(n), by, reveal(by))
		must(t, err)
	}
	prove := func(s ports.Stores, k *account.Key) *account.Principal {
		t.Helper()
		person, err := s.Keys.Principal(ctx, team.Org, k.Hash)
		must(t, err)
		return person
	}
	far := a.Second()
	prove(a.Stores, keys[local]) // fills both caches
	prove(far, keys[local])
	item := addKey(t, a.Stores, team.Member, account.KeyDraft{Name: "expired", ExpiresAt: fixture.At.Add(time.Minute)})
	by := fixture.Later(team.Admin, time.Hour)
	must(t, removeMember(t, a.Stores, by, local, team.Member.User))

	t.Run("a removed member is no member of that workspace, but stays in others", func(t *testing.T) {
		if _, in := roles(t, a.Stores, team.Org, local)[team.Member.User]; in {
			t.Error("still a member")
		}
		same(t, "role elsewhere", roles(t, a.Stores, team.Org, other)[team.Member.User], identity.Member)
		_, memberships, err := a.Users.Get(ctx, team.Org, team.Member.User)
		must(t, err)
		if len(memberships) != 1 || memberships[0].Workspace.ID != other {
			t.Errorf("memberships = %+v", memberships)
		}
		same(t, "events", kinds(eventsOn(t, a.Stores, local, string(local))), []string{"member.removed"})
	})
	t.Run("the keys of a removed member end in that workspace only", func(t *testing.T) {
		if person := prove(a.Stores, keys[local]); person.Key.RevokedAt != by.At || person.Key.Revision != 2 ||
			person.Key.UpdatedAt != by.At || person.Membership.Role != identity.NoRole {
			t.Errorf("principal = %+v", person)
		}
		for _, k := range []*account.Key{keys[other], peers} {
			if person := prove(a.Stores, k); !person.Key.RevokedAt.IsZero() || person.Key.Revision != 1 ||
				person.Membership.Role != identity.Member {
				t.Errorf("principal = %+v", person)
			}
		}
		if previous := prove(a.Stores, goneKey).Key; previous.RevokedAt != long.At || previous.Revision != 2 {
			t.Errorf("a key that was revoked before: %+v", previous)
		}
		if previous := prove(a.Stores, item).Key; !previous.RevokedAt.IsZero() || previous.Revision != 1 {
			t.Errorf("a key that had expired: %+v", previous)
		}
	})
	t.Run("the trail records each key that ended, and no other", func(t *testing.T) {
		for k, want := range map[*account.Key][]string{
			keys[local]: {"api_key.revoked", "api_key.created"}, item: {"api_key.created"}, peers: {"api_key.created"},
		} {
			events := eventsOn(t, a.Stores, local, string(k.ID))
			same(t, "events of "+k.Name, kinds(events), want)
			if e := events[0]; len(want) == 2 && (e.Actor != by.User || e.At != by.At || e.Data["name"] != k.Name) {
				t.Errorf("event %+v", e)
			}
		}
		same(t, "events there", kinds(eventsOn(t, a.Stores, other, string(keys[other].ID))),
			[]string{"api_key.created"})
	})
	t.Run("another process sees the removal within a second", func(t *testing.T) {
		proof.EventuallyWithin(t, "the removal", time.Second, func() bool {
			holder := prove(far, keys[local])
			return !holder.Key.RevokedAt.IsZero() && holder.Membership.Role == identity.NoRole
		})
	})
	t.Run("stored responses with the ended keys are erased, and no others", func(t *testing.T) {
		refuse := func(ports.Stores) (ports.Answer, error) { t.Error("it ran again"); return ports.Answer{}, errBoom }
		_, err := runOnce(0, team.Member, refuse)
		wantErr(t, err, ports.ErrAnswerErased)
		for n, by := range map[byte]identity.Actor{1: team.Member, 2: team.Peer} {
			if got, err := runOnce(n, by, refuse); err != nil || len(got.Body) == 0 ||
				(n == 2 && got.Reveals != string(view.ID)) {
				t.Errorf("answer %d: %v, %d bytes", n, err, len(got.Body))
			}
		}
	})
	t.Run("shares with a removed member end in that workspace only", func(t *testing.T) {
		for ws, want := range map[identity.WorkspaceID][]identity.UserID{local: {team.Peer.User},
			other: {team.Member.User, team.Peer.User}} {
			var got []identity.UserID
			for _, s := range fixture.Pages(t, 100,
				func(q page.Query) (prompt.SharePage,
					error) {
					return a.PromptLists.Shares(ctx, ws, templates[ws], q)
				}) {
				got = append(got, s.User)
			}
			slices.Sort(got)
			same(t, "shared with", got, want)
		}
	})
	t.Run("templates that a removed member owns stay", func(t *testing.T) {
		got, err := a.Prompts.Get(ctx, team.Owner, ownTemplate.ID)
		must(t, err)
		same(t, "owner", got.Owner, team.Member.User)
	})
	t.Run("a member who returns has neither keys nor shares", func(t *testing.T) {
		join(t, a.Stores, team.Owner, local, team.Member, identity.Viewer)
		if who := prove(a.Stores, keys[local]); who.Key.RevokedAt.IsZero() || who.Membership.Role != identity.Viewer {
			t.Errorf("principal = %+v", who)
		}
		same(t, "shares", len(fixture.Pages(t, 100, func(q page.Query) (prompt.SharePage, error) {
			return a.PromptLists.Shares(ctx, local, templates[local], q)
		})), 1)
		w, err := a.Workspaces.Get(ctx, team.Member, local)
		must(t, err)
		same(t, "revision", w.Members[team.Member.User].Revision, int64(1))
	})
}

func workspaceDeleted(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	ws, by := team.Workspace.ID, fixture.Later(team.Owner, time.Hour)
	k := addKey(t, a.Stores, team.Member, account.KeyDraft{Name: "k"})
	elsewhere := addKey(t, a.Stores, func() identity.Actor {
		by := team.Owner
		by.Workspace = ownSpace(t, a.Stores, by, "stays-"+team.Workspace.Slug).ID
		return by
	}(), account.KeyDraft{Name: "k"})
	claims := claimsOf(team, "member")
	signIn(t, a.Stores, team.Org, claims, nil)
	_, token := invite(t, a.Stores, team.Owner, ws, "new@example.com", identity.Member)
	far := a.Second()
	for _, s := range []ports.Stores{a.Stores, far} { // fills both caches
		_, err := s.Keys.Principal(ctx, team.Org, k.Hash)
		must(t, err)
		_, err = s.Users.SignedIn(ctx, team.Org, issuer, claims.Subject)
		must(t, err)
	}
	previous, err := a.Workspaces.Get(ctx, team.Member, ws)
	must(t, err)
	must(t, changeWorkspace(t, a.Stores, by, ws, nil, func(w *account.Workspace) error { return w.Delete(by, nil) }))

	isGone := func(t *testing.T, s ports.Stores) {
		t.Helper()
		_, err := s.Keys.Principal(ctx, team.Org, k.Hash)
		wantErr(t, err, identity.ErrUnauthenticated)
		p, err := s.Users.SignedIn(ctx, team.Org, issuer, claims.Subject)
		must(t, err)
		same(t, "memberships", len(p.Memberships), 0)
	}
	t.Run("credentials for a deleted workspace are refused at once", func(t *testing.T) { isGone(t, a.Stores) })
	t.Run("credentials for a deleted workspace are refused by another process within a second", func(t *testing.T) {
		proof.EventuallyWithin(t, "the refusal", time.Second, func() bool {
			_, err := far.Keys.Principal(ctx, team.Org, k.Hash)
			return errors.Is(err, identity.ErrUnauthenticated)
		})
		proof.EventuallyWithin(t, "the end of the memberships", time.Second, func() bool {
			p, err := far.Users.SignedIn(ctx, team.Org, issuer, claims.Subject)
			must(t, err)
			return len(p.Memberships) == 0
		})
	})
	t.Run("a deleted workspace is in no user's list", func(t *testing.T) {
		_, m, err := a.Users.Get(ctx, team.Org, team.Member.User)
		must(t, err)
		same(t, "memberships", len(m), 0)
		_, m, err = a.Users.FindByEmail(ctx, team.Org, claims.Email)
		must(t, err)
		same(t, "memberships", len(m), 0)
	})
	t.Run("an invitation to a deleted workspace is not found", func(t *testing.T) {
		wantErr(t, accept(t, a.Stores, newcomer(t, a.Stores, team.Org, "new@example.com"), token),
			account.ErrInvitationNotFound)
	})
	t.Run("keys of other workspaces are not affected", func(t *testing.T) {
		if person, err := a.Keys.Principal(ctx, team.Org, elsewhere.Hash); err != nil ||
			person.Membership.Role != identity.Owner {
			t.Fatalf("principal = %+v, %v", person, err)
		}
	})
	t.Run("a deleted workspace is found, with its members", func(t *testing.T) {
		got, err := a.Workspaces.Get(ctx, team.Member, ws)
		must(t, err)
		previous.DeletedAt, previous.UpdatedAt, previous.Revision = by.At, by.At, previous.Revision+1
		same(t, "workspace", got, previous)
	})
	t.Run("a restored workspace is as it was before its deletion", func(t *testing.T) {
		system := identity.System(team.Org, "", "contract", by.At.Add(time.Hour))
		must(t, changeWorkspace(t, a.Stores, system, ws, nil,
			func(w *account.Workspace) error { return w.Restore(system) }))
		person, err := a.Keys.Principal(ctx, team.Org, k.Hash)
		must(t, err)
		if person.Membership.Role != identity.Member || !person.Key.Live(system.At) {
			t.Errorf("principal = %+v", person)
		}
		got, err := a.Workspaces.Get(ctx, team.Member, ws)
		must(t, err)
		previous.DeletedAt, previous.UpdatedAt, previous.Revision = time.Time{}, system.At, previous.Revision+1
		same(t, "workspace", got, previous)
		same(t, "events", kinds(eventsOn(t, a.Stores, ws, string(ws))),
			[]string{"workspace.restored", "workspace.deleted"})
		must(t, accept(t, a.Stores, func() identity.Actor {
			u, _, err := a.Users.FindByEmail(ctx, team.Org, "new@example.com")
			must(t, err)
			return identity.Actor{Org: team.Org, User: u.ID, Ceiling: identity.Owner, At: fixture.At}
		}(), token))
	})
}
