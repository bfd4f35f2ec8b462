package sqlstore_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/application/chats"
	"github.com/atrium-hq/atrium/application/prompts"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/statements"
)

// watchedTeam is a team in a database whose statements are logged.
type watchedTeam struct {
	*fixture.Team
	db   *sqlstore.Store
	sent *statements.Log
	s    ports.Stores
}

func newWatchedTeam(t *testing.T, url string) *watchedTeam {
	t.Helper()
	db, message := databases.Watched(t, url)
	orgs, err := db.EnsureOrgs(t.Context(), []string{"one"})
	require.NoError(t, err)
	w := &watchedTeam{db: db, sent: message, s: db.Stores()}
	w.Team = fixture.NewTeam(t, w.s, orgs["one"])
	return w
}

// takes returns the statements of a call, and fails t if there are more than most, BEGIN and COMMIT included.
func (w *watchedTeam) takes(t *testing.T, limit int, call func() error) (all []string) {
	t.Helper()
	w.sent.Take()
	require.NoError(t, call())
	for _, s := range w.sent.Take() {
		all = append(all, s.Query)
	}
	if len(all) == 0 || len(all) > limit {
		t.Errorf("%d statements, at most %d are allowed:\n%s", len(all), limit, strings.Join(all, "\n"))
	}
	return all
}

func unlimited(context.Context, identity.Actor) (quota.Limits, error) {
	return quota.Limits{Amounts: quota.Default()}, nil
}

// TestCallsTakeFewStatements holds calls to numbers that do not depend on how much there is, and to writes of what has
// changed alone.
func TestCallsTakeFewStatements(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		w := newWatchedTeam(t, url)
		t.Run("an activation", func(t *testing.T) { activationTakes(t, w) })
		t.Run("a change of a chat", func(t *testing.T) {
			registry := fixture.Registry(t)
			service := chats.NewService(w.s.Atomic, w.s.ChatStores, chats.Deps{Users: w.s.Users, Prompts: w.s.Prompts,
				Quotas:     unlimited,
				Registries: func(identity.OrgID) *chat.Registry { return registry }})
			template := fixture.Chat(t, w.s, w.Member, chat.Draft{})
			for _, greeting := range []string{"Good day! How can we help?", "Hello!"} {
				w.takes(t, 6, func() error {
					_, err := service.Change(t.Context(), w.Member, template.ID, nil, chat.Changes{Greeting: &greeting})
					return err
				})
			}
		})
		t.Run("a rename of a person", func(t *testing.T) {
			name := "Ann Mary Louise Lee of the Long Names"
			// The person, their memberships, the new values, words that go, words that come, and the event.
			w.takes(t, 8, func() error {
				_, err := w.s.Users.Update(t.Context(), w.Org, w.Member.User,
					func(u *account.User, in []account.Membership) error {
						return u.Change(w.Member, nil, in, account.UserChanges{Name: &name})
					})
				return err
			})
		})
		t.Run("the check of the callers of all streams", func(t *testing.T) {
			var proofs []session.Proof
			for range 10 {
				key, _ := fixture.Key(t, w.s, w.Member, account.KeyDraft{Name: "k"})
				proofs = append(proofs, session.Proof{Key: key.Hash})
			}
			for _, n := range []int{1, len(proofs)} {
				w.takes(t, 1, func() error {
					found, err := w.s.Tickets.Proven(t.Context(), w.Org, proofs[:n])
					if err == nil && found[n-1] == nil {
						t.Errorf("%v", found)
					}
					return err
				})
			}
		})
		t.Run("a request with an idempotency key sends two more", func(t *testing.T) {
			create := func(tx ports.Stores, name string) error {
				template, err := prompt.New(w.Member, prompt.Draft{Name: name})
				if err != nil {
					return err
				}
				return tx.Prompts.Add(t.Context(), template)
			}
			plain := w.takes(t, 20, func() error {
				return w.s.Atomic.Atomically(t.Context(), func(tx ports.Stores) error { return create(tx, "plain") })
			})
			// The key is reserved and its answer is recorded in the transaction of the effect.
			key := ports.IdempotencyKey{Org: w.Org, Scope: sha256.Sum256([]byte("scope")), At: fixture.At}
			w.takes(t, len(plain)+2, func() error {
				_, _, err := sqlstore.NewIdempotency(w.db).Once(t.Context(), key, nil,
					func(tx ports.Stores) (ports.Answer, error) {
						return ports.Answer{Status: 201}, create(tx, "with a key")
					}, nil)
				return err
			})
		})
		t.Run("a change of a workspace writes the memberships that changed", func(t *testing.T) {
			for writes, change := range []func(*account.Workspace) error{
				func(ws *account.Workspace) error {
					return ws.Change(w.Owner, nil, nil, account.WorkspaceChanges{Name: new("renamed")})
				},
				func(ws *account.Workspace) error {
					_, err := ws.ChangeRole(w.Owner, nil, w.Member.User, identity.Viewer, false)
					return err
				},
			} {
				all := w.takes(t, 20, func() error {
					_, err := w.s.Workspaces.Update(t.Context(), w.Owner, w.Workspace.ID,
						[]identity.UserID{w.Member.User, w.Peer.User}, change)
					return err
				})
				assert.Equal(t, "memberships are written", strings.Count(strings.Join(all, "\n"), "INTO memberships"),
					writes)
			}
		})
		t.Run("80 events are linked", func(t *testing.T) {
			if w.db.Engine() != "postgres" { // where a statement takes as long as the way to the server and back
				return
			}
			w.db.SignEvents(databases.Digester("key"))
			link := func() error { return w.db.Events().Link(t.Context(), time.Now()) }
			w.takes(t, 1000, link)
			for i := range 80 {
				fixture.Chat(t, w.s, w.Peer, chat.Draft{Content: chat.Content{Name: fmt.Sprint("linked ", i)}})
			}
			w.takes(t, 12, link)
		})
	})
}

func activationTakes(t *testing.T, w *watchedTeam) {
	t.Helper()
	by := w.Member
	service := prompts.NewService(w.s.Atomic, w.s.PromptStores, w.s.Users, unlimited)
	template := fixture.Template(t, w.s, by, prompt.Draft{})
	one := fixture.Version(t, w.s, by, template.ID, "one", "live", "stable")
	fixture.Version(t, w.s, by, template.ID, "two")
	fixture.Share(t, w.s, by, template.ID, prompt.Grant{User: w.Peer.User, Role: access.Editor})
	for _, tt := range []struct {
		name string
		by   identity.Actor
		ref  prompt.Ref
	}{
		{"a labelled version", by, prompt.Ref{Label: "live"}},
		{"a draft, for the first time", by, prompt.Ref{Number: 2}},
		{"an earlier version again, by its id", by, prompt.Ref{ID: one.ID}},
		{"the active version, which changes nothing", by, prompt.Ref{Active: true}},
		{"a version, through a share", w.Peer, prompt.Ref{Number: 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, query := range w.takes(t, 7, func() error {
				_, _, err := service.ActivateVersion(t.Context(), tt.by, template.ID, tt.ref, nil,
					prompt.Activating{Reason: "why"})
				return err
			}) {
				if strings.Contains(query, "text = ?") || strings.Contains(query, "text = $") ||
					strings.Contains(query, "description = ") {
					t.Errorf("writes what did not change: %s", query)
				}
			}
		})
	}
}
