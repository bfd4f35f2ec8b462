package sqlstore_test

import (
	"context"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/application/prompts"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// maxActivation is how many statements one activation may send to the database, BEGIN and COMMIT included.
const maxActivation = 7

func TestAnActivationTakesFewStatements(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		db, sent := databases.Watched(t, url)
		orgs, err := db.EnsureOrgs(t.Context(), []string{"one"})
		if err != nil {
			t.Fatal(err)
		}
		s := db.Stores()
		team := fixture.NewTeam(t, s, orgs["one"])
		by := team.Member
		service := prompts.NewService(s.Atomic, s.PromptStores, s.Users,
			func(context.Context, identity.Actor) (quota.Limits, error) {
				return quota.Limits{Amounts: quota.Default()}, nil
			})
		made := fixture.Template(t, s, by, prompt.Draft{})
		one := fixture.Version(t, s, by, made.ID, "one", "live", "stable")
		fixture.Version(t, s, by, made.ID, "two")
		fixture.Share(t, s, by, made.ID, prompt.Grant{User: team.Peer.User, Role: access.Editor})
		for _, tt := range []struct {
			name string
			by   identity.Actor
			ref  prompt.Ref
		}{
			{"a labelled version", by, prompt.Ref{Label: "live"}},
			{"a draft, for the first time", by, prompt.Ref{Number: 2}},
			{"an earlier version again, by its id", by, prompt.Ref{ID: one.ID}},
			{"the active version, which changes nothing", by, prompt.Ref{Active: true}},
			{"a version, through a share", team.Peer, prompt.Ref{Number: 2}},
		} {
			t.Run(tt.name, func(t *testing.T) {
				sent.Take()
				if _, _, err := service.ActivateVersion(t.Context(), tt.by, made.ID, tt.ref, nil,
					prompt.Activating{Reason: "why"}); err != nil {
					t.Fatal(err)
				}
				all := atMost(t, sent, maxActivation)
				for _, query := range all {
					if strings.Contains(query, "text = ?") || strings.Contains(query, "text = $") ||
						strings.Contains(query, "description = ") {
						t.Errorf("writes what did not change: %s", query)
					}
				}
			})
		}
	})
}
