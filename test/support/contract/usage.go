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
	usageOf := func(t *testing.T) quota.Amounts {
		t.Helper()
		got, err := a.Usage.Amounts(ctx, ws, fixture.At)
		must(t, err)
		got.Members = 0 // usageOfThings tests it
		return got
	}
	same(t, "usage of a new workspace", usageOf(t), quota.Amounts{})
	item, err := service.Create(ctx, by, prompt.Draft{Name: "counted", Description: "é", Type: prompt.Text}, nil)
	must(t, err)
	template := quota.Amounts{PromptTemplates: 1, StorageBytes: 1024 + 7 + 2 + 2} // tags are []
	same(t, "usage with a template", usageOf(t), template)
	var drafts []*prompt.Version
	for _, text := range []string{"one", "three"} {
		_, v, err := service.AddVersion(ctx, by, item.ID,
			prompt.VersionDraft{Content: prompt.Content{Text: text, Format: prompt.Mustache}})
		must(t, err)
		drafts = append(drafts, v)
	}
	full := usageOf(t)
	same(t, "versions", full.PromptVersions, int64(2))
	same(t, "bytes", full.StorageBytes, template.StorageBytes+2*1024+3+5)

	t.Run("a draft that grows adds its bytes", func(t *testing.T) {
		longer := strings.Repeat("x", 1000)
		_, _, err := service.ChangeVersion(ctx, by, item.ID, prompt.Ref{ID: drafts[0].ID}, nil, prompt.VersionChanges{
			Content: func(c prompt.Content) prompt.Content { c.Text = longer; return c },
		})
		must(t, err)
		same(t, "bytes", usageOf(t).StorageBytes, full.StorageBytes+997)
	})
	t.Run("an activation adds no usage", func(t *testing.T) {
		previous := usageOf(t)
		_, _, err := service.ActivateVersion(ctx, by, item.ID, prompt.Ref{ID: drafts[0].ID}, nil,
			prompt.Activating{})
		must(t, err)
		same(t, "usage", usageOf(t), previous)
	})
	t.Run("a deleted version is not counted", func(t *testing.T) {
		previous := usageOf(t)
		must(t, service.DeleteVersion(ctx, by, item.ID, prompt.Ref{ID: drafts[1].ID}, nil))
		previous.PromptVersions, previous.StorageBytes = 1, previous.StorageBytes-1024-5
		same(t, "usage", usageOf(t), previous)
	})
	t.Run("a deleted template counts with its versions and bytes until it is purged", func(t *testing.T) {
		previous := usageOf(t)
		must(t, service.Delete(ctx, by, item.ID, nil, false))
		deletedAmounts := previous
		deletedAmounts.PromptTemplates = 0
		same(t, "usage", usageOf(t), deletedAmounts)
		_, err := service.Restore(ctx, by, item.ID)
		must(t, err)
		same(t, "usage", usageOf(t), previous)
	})
	t.Run("chat templates are counted likewise", func(t *testing.T) {
		previous := usageOf(t)
		c, err := chat.New(by, chat.Draft{Content: chat.Content{Name: "chat", Instructions: "do"}},
			chat.Facts{Registry: fixture.Registry(t)})
		must(t, err)
		must(t, a.Chats.Add(ctx, c))
		extra := previous
		extra.ChatTemplates, extra.StorageBytes = 1, previous.StorageBytes+1024+6
		same(t, "usage", usageOf(t), extra)
		translate := func(list ...chat.Translation) int64 {
			_, err := a.Chats.Update(ctx, by, c.ID, func(c *chat.Template) error {
				return c.Change(by, nil, chat.Changes{Translations: &list}, chat.Facts{Registry: fixture.Registry(t)})
			})
			must(t, err)
			return usageOf(t).StorageBytes
		}
		bytes := translate(chat.Translation{Language: "de", Greeting: "Guten Tag!"})
		if bytes < extra.StorageBytes+12 {
			t.Errorf("a greeting in another language takes %d bytes", bytes-extra.StorageBytes)
		}
		same(t, "bytes", translate(chat.Translation{Language: "de", Greeting: "Guten Tag!!!"}), bytes+2)
		same(t, "bytes", translate(), extra.StorageBytes)
		same(t, "bytes", translate(chat.Translation{Language: "de", Greeting: "Guten Tag!"}), bytes)
		_, err = a.Chats.Update(ctx, by, c.ID, func(c *chat.Template) error {
			return c.Publish(by, nil, chat.Release{})
		})
		must(t, err)
		same(t, "bytes of a version", usageOf(t).StorageBytes, bytes+bytes-previous.StorageBytes)
		same(t, "bytes", translate(), bytes+bytes-previous.StorageBytes-(bytes-extra.StorageBytes))
		extra.StorageBytes = usageOf(t).StorageBytes
		_, err = a.Chats.Update(ctx, by, c.ID, func(c *chat.Template) error { return c.Delete(by, nil) })
		must(t, err)
		extra.ChatTemplates = 0
		same(t, "usage", usageOf(t), extra)
	})
	t.Run("a rolled back transaction is not counted", func(t *testing.T) {
		previous := usageOf(t)
		wantErr(t, a.Atomic.Atomically(ctx, func(tx ports.Stores) error {
			p, err := prompt.New(by, prompt.Draft{Name: "undone"})
			must(t, err)
			must(t, tx.Prompts.Add(ctx, p))
			inner, err := tx.Usage.Amounts(ctx, ws, fixture.At)
			must(t, err)
			same(t, "templates within", inner.PromptTemplates, previous.PromptTemplates+1)
			return errBoom
		}), errBoom)
		same(t, "usage", usageOf(t), previous)
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
	usedAmounts, err := a.Usage.Amounts(ctx, by.Workspace, by.At)
	must(t, err)
	same(t, "used", []int64{usedAmounts.PromptTemplates, usedAmounts.PromptVersions}, []int64{room, room - 1})
}

// usageRacesForBytes has concurrent writers make texts longer in a workspace that has room for three of them.
func usageRacesForBytes(t *testing.T, a Adapter, by identity.Actor) {
	const room, writers, added = 3, 12, 100
	ctx := t.Context()
	var templates []*chat.Template
	for range writers {
		templates = append(templates, fixture.Chat(t, a.Stores, by, chat.Draft{}))
	}
	previous, err := a.Usage.Amounts(ctx, by.Workspace, by.At)
	must(t, err)
	limits := quota.Limits{Amounts: quota.Default()}
	limits.StorageBytes = previous.StorageBytes + room*added
	same(t, "texts made longer", got(t, atOnce(writers, func(i int) error {
		return a.Atomic.Atomically(ctx, func(tx ports.Stores) error {
			_, err := tx.Chats.Update(ctx, by, templates[i].ID, func(c *chat.Template) error {
				longer := c.Greeting + strings.Repeat("x", added)
				return c.Change(by, nil, chat.Changes{Greeting: &longer}, chat.Facts{Registry: fixture.Registry(t)})
			})
			if err != nil {
				return err
			}
			return tx.CheckUsage(ctx, by, limits, quota.StorageBytes)
		})
	}), quota.ErrExceeded), room)
	current, err := a.Usage.Amounts(ctx, by.Workspace, by.At)
	must(t, err)
	same(t, "bytes", current.StorageBytes, limits.StorageBytes)
}
