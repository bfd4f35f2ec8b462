package sqlstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/application/chats"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/migrated"
	"github.com/atrium-hq/atrium/test/support/statements"
)

// atMost returns the statements that were sent, and fails t if they are more than most, BEGIN and COMMIT included.
func atMost(t *testing.T, sent *statements.Log, most int) (all []string) {
	t.Helper()
	for _, s := range sent.Take() {
		all = append(all, s.Query)
	}
	if len(all) == 0 || len(all) > most {
		t.Errorf("%d statements, at most %d are allowed:\n%s", len(all), most, strings.Join(all, "\n"))
	}
	return all
}

func TestAChangeOfAChatTakesFewStatements(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		db, sent := databases.Watched(t, url)
		orgs, err := db.EnsureOrgs(t.Context(), []string{"one"})
		if err != nil {
			t.Fatal(err)
		}
		s := db.Stores()
		by := fixture.NewTeam(t, s, orgs["one"]).Member
		registry := fixture.Registry(t)
		service := chats.NewService(s.Atomic, s.ChatStores, chats.Deps{
			Users: s.Users, Prompts: s.Prompts,
			Registries: func(identity.OrgID) *chat.Registry { return registry },
			Quotas: func(context.Context, identity.Actor) (quota.Limits, error) {
				return quota.Limits{Amounts: quota.Default()}, nil
			},
		})
		made := fixture.Chat(t, s, by, chat.Draft{})
		for _, greeting := range []string{"Good day! How can we help?", "Hello!"} {
			sent.Take()
			if _, err := service.Change(t.Context(), by, made.ID, nil, chat.Changes{Greeting: &greeting}); err != nil {
				t.Fatal(err)
			}
			atMost(t, sent, 6)
		}
	})
}

func TestEventsAreLinkedInFewStatementsOnPostgres(t *testing.T) {
	db, sent := databases.Watched(t, migrated.Postgres(t))
	db.SignEvents(databases.Digester("key"))
	orgs, err := db.EnsureOrgs(t.Context(), []string{"one"})
	if err != nil {
		t.Fatal(err)
	}
	s := db.Stores()
	by := fixture.NewTeam(t, s, orgs["one"]).Member
	if err := db.Events().Link(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	for i := range 80 {
		fixture.Chat(t, s, by, chat.Draft{Content: chat.Content{Name: fmt.Sprint("linked ", i)}})
	}
	sent.Take()
	if err := db.Events().Link(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	atMost(t, sent, 12)
}
