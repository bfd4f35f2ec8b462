package db_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	core "github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/adapters/sqlstore/payments"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// without changes a table by a transaction that records no event.
func without(db *sqlstore.Store, statement string) func() error {
	return func() error { return core.Exec(context.Background(), db.DB, statement) }
}

func TestEveryChangeOfAWorkspaceStartsAGeneration(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		db, _ := databases.Watched(t, url)
		orgs, err := db.EnsureOrgs(t.Context(), []string{"one"})
		require.NoError(t, err)
		s := db.Stores()
		team := fixture.NewTeam(t, s, orgs["one"])
		by := team.Member
		template := fixture.Template(t, s, by, prompt.Draft{})
		one := fixture.Version(t, s, by, template.ID, "one", "live")
		talk, link := fixture.Chat(t, s, by, chat.Draft{}), fixture.Connection(t, s, by)
		table := fixture.Source(t, s, by, fixture.SheetReading())
		for _, tt := range []struct {
			name   string
			change func() error
		}{
			{"a template", func() error { fixture.Template(t, s, by, prompt.Draft{Name: "Another"}); return nil }},
			{"a version", func() error { fixture.Version(t, s, by, template.ID, "two"); return nil }},
			{"an activation", func() error {
				_, err := s.Prompts.UpdateVersion(t.Context(), by, template.ID, prompt.Ref{ID: one.ID},
					func(t *prompt.Template, v *prompt.VersionInfo) error { return t.Activate(by, nil, v, nil, "") })
				return err
			}},
			{"a share", func() error {
				fixture.Share(t, s, by, template.ID, prompt.Grant{User: team.Peer.User, Role: access.Viewer})
				return nil
			}},
			{"an update of a template that finds nothing to change", func() error {
				_, err := s.Prompts.Update(t.Context(), by, template.ID, func(*prompt.Template) error { return nil })
				return err
			}},
			{"an update of a chat that finds nothing to change", func() error {
				_, err := s.Chats.Update(t.Context(), by, talk.ID, func(*chat.Template) error { return nil })
				return err
			}},
			{"an update of a connection that finds nothing to change", func() error {
				_, err := s.Connections.Update(t.Context(), by.Workspace, link.ID,
					func(*connection.Connection, int) error { return nil })
				return err
			}},
			{"an update of a data source that finds nothing to change", func() error {
				_, err := s.Sources.Update(t.Context(), by.Workspace, table.ID,
					func(*source.Source) error { return nil })
				return err
			}},
			{"a webhook", func() error {
				return s.Webhooks.Add(t.Context(), team.Admin, func(count int, place int64) (*webhook.Endpoint, error) {
					return webhook.New(team.Admin, count, place, webhook.Draft{URL: "https://example.com/x",
						Events: []string{"*"}, Sealed: []byte{1}})
				})
			}},
			{"what the gateway of payments says", func() error {
				c, err := payment.NewCustomer(team.Owner, payment.Sandbox, "sandbox", "key",
					payment.Details{Name: "Ann"})
				if err == nil {
					_, err = s.Payments.Reserve(t.Context(), by, c)
				}
				if err == nil {
					_, err = s.Payments.Update(t.Context(), by, "sandbox", func(*payment.Customer) error { return nil })
				}
				return err
			}},
			{"a report of usage", func() error {
				_, err := s.Meters.Add(t.Context(), by, payment.UsageReport{Feature: "messages", Quantity: 1,
					Period: payment.Period{Start: fixture.At, End: fixture.At.AddDate(0, 1, 0)}})
				return err
			}},
			{"the clock of a sandbox", func() error {
				return payments.NewSandboxObjects(db.DB).Change(t.Context(), by.Org, "settings",
					func([]ports.SandboxObject) ([]ports.SandboxObject, error) {
						return []ports.SandboxObject{{ID: "settings", Body: []byte("{}")}}, nil
					})
			}},
			{"a statement without an event", func() error {
				return core.Exec(t.Context(), db.DB, `DELETE FROM prompt_shares WHERE template_id = ?`, template.ID)
			}},
			{"the places of events", func() error {
				db.SignEvents(databases.Digester("key"))
				fixture.Template(t, s, by, prompt.Draft{Name: "Signed"})
				generation, _ := db.Generation(by.Workspace)
				err := db.Events().Link(t.Context(), time.Now())
				if linkedCount, _ := db.Generation(by.Workspace); linkedCount == generation {
					t.Error("linking events is no change")
				}
				return err
			}},
			{"a chat template without an event", without(db, `UPDATE chat_templates SET name = 'Other'`)},
			{"a member of a chat template without an event", without(db, `DELETE FROM chat_members`)},
			{"a connection without an event", without(db, `UPDATE connections SET failures = 1`)},
			{"a data source without an event", without(db, `UPDATE sources SET failures = 1`)},
			{"a person", func() error {
				return core.Exec(t.Context(), db.DB, `UPDATE users SET name = 'Other' WHERE id = ?`, by.User)
			}},
		} {
			t.Run(tt.name, func(t *testing.T) {
				previous, isSettled := db.Generation(by.Workspace)
				if !isSettled {
					t.Fatal("a change is pending before")
				}
				require.NoError(t, tt.change())
				if current, isSettled := db.Generation(by.Workspace); current <= previous || !isSettled {
					t.Errorf("generation %d, then %d, settled: %v", previous, current, isSettled)
				}
			})
		}
		t.Run("while it is being stored, and also if that fails", func(t *testing.T) {
			previous, _ := db.Generation(by.Workspace)
			failure := errors.New("no")
			err := s.Atomic.Atomically(t.Context(), func(tx ports.Stores) error {
				fixture.Version(t, tx, by, template.ID, "three")
				if _, isSettled := db.Generation(by.Workspace); isSettled {
					t.Error("settled before the commit")
				}
				return failure
			})
			if current, isSettled := db.Generation(by.Workspace); !errors.Is(err, failure) || current <= previous ||
				!isSettled {
				t.Errorf("%v, generation %d, then %d, settled: %v", err, previous, current, isSettled)
			}
		})
		t.Run("but reads, and changes elsewhere, do not", func(t *testing.T) {
			generation := func() (all []uint64) {
				for i := range 20 { // two workspaces can share a counter
					n, _ := db.Generation(identity.WorkspaceID([]byte{'w', byte(i)}))
					all = append(all, n)
				}
				return all
			}
			local, _ := db.Generation(by.Workspace)
			if _, _, err := s.Prompts.GetVersion(t.Context(), by, template.ID, prompt.Ref{Latest: true}); err != nil {
				t.Fatal(err)
			}
			if current, _ := db.Generation(by.Workspace); current != local {
				t.Errorf("a read started generation %d", current)
			}
			previous := generation()
			fixture.Version(t, s, by, template.ID, "four")
			fixture.Template(t, s, by, prompt.Draft{Name: "Elsewhere"})
			same := 0
			for i, n := range generation() {
				if n == previous[i] {
					same++
				}
			}
			if same < 15 {
				t.Errorf("%d of 20 other workspaces stayed in their generation", same)
			}
		})
	})
}
