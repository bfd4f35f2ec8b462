package sqlstore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/migrated"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// SQLite has one writer at a time.
func TestWritersOfAWorkspaceDoNotWaitForEachOtherOnPostgres(t *testing.T) {
	db := open(t, migrated.Postgres(t), databases.Keyring(t))
	orgs, err := db.EnsureOrgs(t.Context(), []string{"one"})
	require.NoError(t, err)
	s := db.Stores()
	by := fixture.NewTeam(t, s, orgs["one"]).Member
	first, second := fixture.Chat(t, s, by, chat.Draft{}), fixture.Chat(t, s, by, chat.Draft{})
	one := fixture.Template(t, s, by, prompt.Draft{Name: "one"})
	two := fixture.Template(t, s, by, prompt.Draft{Name: "two"})
	ctx, cancel := context.WithTimeout(t.Context(), proof.Patience)
	defer cancel()
	longer := func(s ports.Stores, c *chat.Template, limits quota.Limits) error {
		greeting := c.Greeting + strings.Repeat("x", 100)
		if _, err := s.Chats.Update(ctx, by, c.ID, func(c *chat.Template) error {
			return c.Change(by, nil, chat.Changes{Greeting: &greeting}, chat.Facts{Registry: fixture.Registry(t)})
		}); err != nil {
			return err
		}
		return s.CheckUsage(ctx, by, limits, quota.StorageBytes)
	}
	far := quota.Limits{Amounts: quota.Default()}
	if err := s.Atomic.Atomically(ctx, func(tx ports.Stores) error {
		if err := longer(tx, first, far); err != nil {
			return err
		}
		fixture.Version(t, tx, by, one.ID, "held")
		// The transaction is still open.
		err := s.Atomic.Atomically(ctx, func(other ports.Stores) error { return longer(other, second, far) })
		if err != nil {
			return err
		}
		fixture.Version(t, s, by, two.ID, "not held")
		return nil
	}); err != nil {
		t.Fatalf("writers waited for each other: %v", err)
	}

	t.Run("near a limit they do", func(t *testing.T) {
		usedAmounts, err := s.Usage.Amounts(ctx, by.Workspace, by.At)
		require.NoError(t, err)
		limits := quota.Limits{Amounts: quota.Default()}
		limits.StorageBytes = usedAmounts.StorageBytes + 1000
		if err := s.Atomic.Atomically(ctx, func(tx ports.Stores) error {
			if err := longer(tx, first, limits); err != nil {
				return err
			}
			next, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			err := s.Atomic.Atomically(next, func(other ports.Stores) error { return longer(other, second, limits) })
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
}
