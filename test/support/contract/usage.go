package contract

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/application/prompts"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// noQuotas returns the default quotas, which are larger than any test needs.
func noQuotas(context.Context, identity.Actor) (quota.Limits, error) {
	return quota.Limits{Amounts: quota.Default()}, nil
}

// Usage is the suite for ports.Usage.
func Usage(t *testing.T, open Opener) {
	a := open(t)
	t.Run("usage counts everything that is stored", func(t *testing.T) { usageCounts(t, a) })
	t.Run("concurrent calls cannot exceed a quota", func(t *testing.T) { usageRaces(t, a) })
	t.Run("members, connections and sources are counted", func(t *testing.T) { usageOfThings(t, a) })
	t.Run("concurrent invitations cannot exceed the limit of members", func(t *testing.T) { membersRace(t, a) })
}

func usageCounts(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	ws, by := team.Workspace.ID, team.Member
	service := prompts.NewService(a.Atomic, a.PromptStores, a.Users, noQuotas)
	used := func(t *testing.T) quota.Amounts {
		t.Helper()
		got, err := a.Usage.Amounts(ctx, ws, fixture.At)
		must(t, err)
		got.Members = 0 // usageOfThings tests it
		return got
	}
	same(t, "usage of a new workspace", used(t), quota.Amounts{})
	made, err := service.Create(ctx, by, prompt.Draft{Name: "counted", Description: "é", Type: prompt.Text}, nil)
	must(t, err)
	template := quota.Amounts{PromptTemplates: 1, StorageBytes: 1024 + 7 + 2 + 2} // tags are []
	same(t, "usage with a template", used(t), template)
	var drafts []*prompt.Version
	for _, text := range []string{"one", "three"} {
		_, v, err := service.AddVersion(ctx, by, made.ID,
			prompt.VersionDraft{Content: prompt.Content{Text: text, Format: prompt.Mustache}})
		must(t, err)
		drafts = append(drafts, v)
	}
	full := used(t)
	same(t, "versions", full.PromptVersions, int64(2))
	same(t, "bytes", full.StorageBytes, template.StorageBytes+2*1024+3+5)

	t.Run("a draft that grows adds its bytes", func(t *testing.T) {
		longer := strings.Repeat("x", 1000)
		_, _, err := service.ChangeVersion(ctx, by, made.ID, prompt.Ref{ID: drafts[0].ID}, nil, prompt.VersionChanges{
			Content: func(c prompt.Content) prompt.Content { c.Text = longer; return c },
		})
		must(t, err)
		same(t, "bytes", used(t).StorageBytes, full.StorageBytes+997)
	})
	t.Run("an activation adds no usage", func(t *testing.T) {
		before := used(t)
		_, _, err := service.ActivateVersion(ctx, by, made.ID, prompt.Ref{ID: drafts[0].ID}, nil,
			prompt.Activating{})
		must(t, err)
		same(t, "usage", used(t), before)
	})
	t.Run("a deleted version is not counted", func(t *testing.T) {
		before := used(t)
		must(t, service.DeleteVersion(ctx, by, made.ID, prompt.Ref{ID: drafts[1].ID}, nil))
		before.PromptVersions, before.StorageBytes = 1, before.StorageBytes-1024-5
		same(t, "usage", used(t), before)
	})
	t.Run("a deleted template counts with its versions and bytes until it is purged", func(t *testing.T) {
		before := used(t)
		must(t, service.Delete(ctx, by, made.ID, nil, false))
		deleted := before
		deleted.PromptTemplates = 0
		same(t, "usage", used(t), deleted)
		_, err := service.Restore(ctx, by, made.ID)
		must(t, err)
		same(t, "usage", used(t), before)
	})
	t.Run("chat templates are counted likewise", func(t *testing.T) {
		before := used(t)
		c, err := chat.New(by, chat.Draft{Content: chat.Content{Name: "chat", Instructions: "do"}},
			chat.Facts{Registry: fixture.Registry(t)})
		must(t, err)
		must(t, a.Chats.Add(ctx, c))
		with := before
		with.ChatTemplates, with.StorageBytes = 1, before.StorageBytes+1024+6
		same(t, "usage", used(t), with)
		_, err = a.Chats.Update(ctx, by, c.ID, func(c *chat.Template) error { return c.Delete(by, nil) })
		must(t, err)
		with.ChatTemplates = 0
		same(t, "usage", used(t), with)
	})
	t.Run("a rolled back transaction is not counted", func(t *testing.T) {
		before := used(t)
		wantErr(t, a.Atomic.Atomically(ctx, func(tx ports.Stores) error {
			p, err := prompt.New(by, prompt.Draft{Name: "undone"})
			must(t, err)
			must(t, tx.Prompts.Add(ctx, p))
			inside, err := tx.Usage.Amounts(ctx, ws, fixture.At)
			must(t, err)
			same(t, "templates within", inside.PromptTemplates, before.PromptTemplates+1)
			return errBoom
		}), errBoom)
		same(t, "usage", used(t), before)
	})
}

// usageRaces has concurrent writers add to a workspace that has room for one more.
func usageRaces(t *testing.T, a Adapter) {
	const room, writers = 5, 20
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by := team.Member
	limits := quota.Limits{Amounts: quota.Default()}
	service := prompts.NewService(a.Atomic, a.PromptStores, a.Users,
		func(context.Context, identity.Actor) (quota.Limits, error) { return limits, nil })
	var ids []prompt.ID
	for i := range room - 1 {
		p, err := service.Create(ctx, by, prompt.Draft{Name: fmt.Sprint("before ", i), Type: prompt.Text}, nil)
		must(t, err)
		ids = append(ids, p.ID)
		if i > 0 {
			_, _, err = service.AddVersion(ctx, by, p.ID,
				prompt.VersionDraft{Content: prompt.Content{Text: "x", Format: prompt.Mustache}})
			must(t, err)
		}
	}
	limits.PromptTemplates, limits.PromptVersions = room, room-1
	same(t, "templates made", got(t, atOnce(writers, func(i int) error {
		_, err := service.Create(ctx, by, prompt.Draft{Name: fmt.Sprint("raced ", i), Type: prompt.Text}, nil)
		return err
	}), quota.ErrExceeded), 1)
	same(t, "versions made", got(t, atOnce(writers, func(int) error {
		_, _, err := service.AddVersion(ctx, by, ids[rand.N(len(ids))],
			prompt.VersionDraft{Content: prompt.Content{Text: "x", Format: prompt.Mustache}})
		return err
	}), quota.ErrExceeded), 1)
	usageRacesForBytes(t, a, by)
	used, err := a.Usage.Amounts(ctx, by.Workspace, by.At)
	must(t, err)
	same(t, "used", []int64{used.PromptTemplates, used.PromptVersions}, []int64{room, room - 1})
}

// usageRacesForBytes has concurrent writers make texts longer in a workspace that has room for three of them.
func usageRacesForBytes(t *testing.T, a Adapter, by identity.Actor) {
	const room, writers, added = 3, 12, 100
	ctx := t.Context()
	var made []*chat.Template
	for range writers {
		made = append(made, fixture.Chat(t, a.Stores, by, chat.Draft{}))
	}
	before, err := a.Usage.Amounts(ctx, by.Workspace, by.At)
	must(t, err)
	limits := quota.Limits{Amounts: quota.Default()}
	limits.StorageBytes = before.StorageBytes + room*added
	same(t, "texts made longer", got(t, atOnce(writers, func(i int) error {
		return a.Atomic.Atomically(ctx, func(tx ports.Stores) error {
			_, err := tx.Chats.Update(ctx, by, made[i].ID, func(c *chat.Template) error {
				longer := c.Greeting + strings.Repeat("x", added)
				return c.Change(by, nil, chat.Changes{Greeting: &longer}, chat.Facts{Registry: fixture.Registry(t)})
			})
			if err != nil {
				return err
			}
			return tx.CheckUsage(ctx, by, limits, quota.StorageBytes)
		})
	}), quota.ErrExceeded), room)
	after, err := a.Usage.Amounts(ctx, by.Workspace, by.At)
	must(t, err)
	same(t, "bytes", after.StorageBytes, limits.StorageBytes)
}
