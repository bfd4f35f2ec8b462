package contract

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// published is a template with a value in every field that visitors see.
func published(t testing.TB, a Adapter, by identity.Actor) *chat.Template {
	t.Helper()
	return fixture.Chat(t, a.Stores, by, wholeChat())
}

func embedVisits(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	template := published(t, a, team.Member)
	token := mustEmbed(t, a.Stores, team.Member, template.ID, wholeEmbed())
	ways := map[string]func(org identity.OrgID, token *embed.Token) (*embed.Embedding, error){
		"BySecret": func(org identity.OrgID, token *embed.Token) (*embed.Embedding, error) {
			return a.Embeds.BySecret(ctx, org, token.Hash)
		},
		"ByIDs": func(org identity.OrgID, token *embed.Token) (*embed.Embedding, error) {
			return byID(ctx, a, org, token.ID)
		},
	}
	isGone := func(t *testing.T, token *embed.Token) {
		t.Helper()
		for name, find := range ways {
			if _, err := find(team.Org, token); !errors.Is(err, embed.ErrTokenInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for name, find := range ways {
		t.Run(name+" returns the token and what visitors see, even if it is disabled", func(t *testing.T) {
			e, err := find(team.Org, token)
			must(t, err)
			same(t, "token", &e.Token, token)
			same(t, "template", e.Template, embed.Template{
				ID: template.ID, Workspace: template.Workspace, Status: chat.StatusPublished,
				Name: template.Name, AvatarURL: template.AvatarURL, Greeting: template.Greeting,
				Starters: template.Starters, Languages: template.Translations, Tools: []string{"search", "tickets"},
				Reply: template.Reply, Theme: token.Theme.WithDefaults(template.Theme),
			})
		})
		t.Run(name+" tells that a webhook gets the turns", func(t *testing.T) {
			by := team.Member
			by.Role = identity.Admin
			for _, hook := range []webhook.ID{"whk_1", ""} {
				fixture.ChangeChat(t, a.Stores, by, template.ID, func(c *chat.Template) error {
					return c.Change(by, nil, chat.Changes{Transcripts: &hook},
						chat.Facts{Registry: fixture.Registry(t), WebhookExists: true})
				})
				e, err := find(team.Org, token)
				must(t, err)
				same(t, "Forwarded", e.Template.Forwarded, hook != "")
			}
		})
		t.Run(name+" finds nothing in another org", func(t *testing.T) {
			_, err := find(a.Orgs[1], token)
			wantErr(t, err, embed.ErrTokenInvalid)
		})
	}
	t.Run("an unknown or empty secret finds no token", func(t *testing.T) {
		for _, h := range []secret.Hash{{}, secret.NewToken(embed.SecretPrefix).Hash()} {
			_, err := a.Embeds.BySecret(ctx, team.Org, h)
			wantErr(t, err, embed.ErrTokenInvalid)
		}
	})
	t.Run("the secret before the last rotation is found, the one before that is not", func(t *testing.T) {
		rotation := mustEmbed(t, a.Stores, team.Member, template.ID, embed.Changes{})
		hashes := []secret.Hash{rotation.Hash}
		for range 2 {
			changeEmbed(t, a.Stores, team.Member, rotation, func(template *chat.Template, found *embed.Token) error {
				_, err := embed.Rotate(template, team.Member, nil, found, time.Hour)
				hashes = append(hashes, found.Hash)
				return err
			})
		}
		latest := hashes[len(hashes)-1]
		e, err := a.Embeds.BySecret(ctx, team.Org, latest)
		must(t, err)
		previous, err := a.Embeds.BySecret(ctx, team.Org, e.Token.Previous)
		must(t, err)
		same(t, "token", previous, e)
		_, err = a.Embeds.BySecret(ctx, team.Org, hashes[0])
		wantErr(t, err, embed.ErrTokenInvalid)
	})
	t.Run("the tokens of a deleted template are not found until it is restored", func(t *testing.T) {
		doomedTemplate := published(t, a, team.Member)
		token := mustEmbed(t, a.Stores, team.Member, doomedTemplate.ID, embed.Changes{})
		fixture.ChangeChat(t, a.Stores, team.Member, doomedTemplate.ID,
			func(c *chat.Template) error { return c.Delete(team.Member, nil) })
		isGone(t, token)
		fixture.ChangeChat(t, a.Stores, team.Member, doomedTemplate.ID,
			func(c *chat.Template) error { return c.Restore(team.Member) })
		_, err := byID(ctx, a, team.Org, token.ID)
		must(t, err)
	})
	t.Run("the tokens of a deleted workspace are not found", func(t *testing.T) {
		doomedTeam := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		token := mustEmbed(t, a.Stores, doomedTeam.Member, published(t, a, doomedTeam.Member).ID, embed.Changes{})
		_, err := a.Workspaces.Update(ctx, doomedTeam.Owner, doomedTeam.Workspace.ID, nil,
			func(w *account.Workspace) error { return w.Delete(doomedTeam.Owner, nil) })
		must(t, err)
		isGone(t, token)
		if exists, err := a.Embeds.Expected(ctx, team.Org, "https://www.example.com"); err != nil || !exists {
			t.Error("another workspace's token went with it", err)
		}
	})
	t.Run("another process sees a change at once", func(t *testing.T) {
		second, token := a.Second(), mustEmbed(t, a.Stores, team.Member, template.ID, embed.Changes{})
		_, err := second.Embeds.BySecret(ctx, team.Org, token.Hash)
		must(t, err)
		changeEmbed(t, a.Stores, team.Member, token, func(template *chat.Template, found *embed.Token) error {
			return embed.Change(template, team.Member, nil, found, embed.Changes{Enabled: new(false)})
		})
		e, err := second.Embeds.BySecret(ctx, team.Org, token.Hash)
		must(t, err)
		if e.Token.Enabled {
			t.Error("it is enabled there")
		}
	})
}

func embedExpected(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[1])
	template := published(t, a, team.Member)
	token := mustEmbed(t, a.Stores, team.Member, template.ID, embed.Changes{
		Origins:   &[]string{"https://expected.example", "https://*.shop.example", "http://localhost:*"},
		ExpiresAt: new(fixture.At.Add(time.Hour)),
	})
	expectation := func() (choices []embed.Origin) {
		t.Helper()
		for _, origin := range []embed.Origin{"https://expected.example", "https://a.shop.example",
			"http://localhost:3000", "https://evil.example", "https://a.b.shop.example", "https://shop.example",
			embed.NoOrigin, embed.OpaqueOrigin, embed.ForeignOrigin} {
			ok, err := a.Embeds.Expected(ctx, team.Org, origin)
			must(t, err)
			if ok {
				choices = append(choices, origin)
			}
		}
		return choices
	}
	check := func(name string, got []embed.Origin, want ...embed.Origin) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	check("at first", expectation(), "https://expected.example", "https://a.shop.example",
		"http://localhost:3000")
	if ok, err := a.Embeds.Expected(ctx, a.Orgs[0], "https://expected.example"); ok || err != nil {
		t.Errorf("in another org: %v, %v", ok, err)
	}
	change := func(c embed.Changes) {
		t.Helper()
		changeEmbed(t, a.Stores, team.Member, token, func(template *chat.Template, found *embed.Token) error {
			return embed.Change(template, team.Member, nil, found, c)
		})
	}
	change(embed.Changes{Origins: &[]string{"https://evil.example"}, AllowNoOrigin: new(true)})
	check("with other origins", expectation(), "https://evil.example", embed.OpaqueOrigin)
	change(embed.Changes{Enabled: new(false)})
	check("disabled", expectation(), "https://evil.example", embed.OpaqueOrigin)
	changeEmbed(t, a.Stores, team.Member, token, func(template *chat.Template, found *embed.Token) error {
		return embed.Delete(template, team.Member, nil, found)
	})
	check("deleted", expectation())
}

func embedUsed(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	token := mustEmbed(t, a.Stores, team.Member, published(t, a, team.Member).ID, embed.Changes{})
	usageOf := func(org identity.OrgID, origin embed.Origin, delay time.Duration) embed.Token {
		t.Helper()
		must(t, a.Embeds.Used(ctx, org, token.ID, origin, false, fixture.At.Add(delay)))
		e, err := byID(ctx, a, team.Org, token.ID)
		must(t, err)
		return e.Token
	}
	for _, tt := range []struct {
		what   string
		org    identity.OrgID
		origin embed.Origin
		after  time.Duration
		noted  time.Duration
		from   embed.Origin
	}{
		{"the first time", team.Org, "https://a.example", time.Hour, time.Hour, "https://a.example"},
		{"again within a minute", team.Org, "https://b.example", time.Hour + time.Minute, time.Hour,
			"https://a.example"},
		{"by another org", a.Orgs[1], "https://b.example", 2 * time.Hour, time.Hour, "https://a.example"},
		{"a minute later", team.Org, "https://b.example", time.Hour + time.Minute + time.Microsecond,
			time.Hour + time.Minute + time.Microsecond, "https://b.example"},
		{"without an origin", team.Org, embed.NoOrigin, 3 * time.Hour, 3 * time.Hour, embed.NoOrigin},
	} {
		if got := usageOf(tt.org, tt.origin, tt.after); !got.LastUsedAt.Equal(fixture.At.Add(tt.noted)) ||
			got.LastUsedOrigin != tt.from || got.Revision != 1 {
			t.Errorf("%s: %s from %q, revision %d", tt.what, got.LastUsedAt, got.LastUsedOrigin, got.Revision)
		}
	}
	start := 10 * time.Hour
	for _, tt := range []struct {
		what         string
		after        time.Duration
		isSigned     bool
		used, signed time.Duration
	}{
		{"a signed visitor", start, true, start, start},
		{"a signed visitor within an hour", start + time.Hour, true, start + time.Hour, start + time.Hour},
		{"an unsigned one later", start + 3*time.Hour, false, start + 3*time.Hour, start + time.Hour},
		{"a signed one within the minute", start + 3*time.Hour + time.Second, true, start + 3*time.Hour + time.Second,
			start + 3*time.Hour + time.Second},
		{"and another", start + 3*time.Hour + 2*time.Second, true, start + 3*time.Hour + time.Second,
			start + 3*time.Hour + time.Second},
	} {
		must(t, a.Embeds.Used(ctx, team.Org, token.ID, "https://a.example", tt.isSigned, fixture.At.Add(tt.after)))
		e, err := byID(ctx, a, team.Org, token.ID)
		must(t, err)
		same(t, tt.what, []time.Time{e.Token.LastUsedAt, e.Token.LastSignedAt}, []time.Time{fixture.At.Add(tt.used),
			fixture.At.Add(tt.signed)})
	}
	same(t, "events", kinds(eventsOn(t, a.Stores, team.Workspace.ID, string(token.ID))),
		[]string{"embed_token.created"})
}

func embedReplies(t *testing.T, a Adapter) {
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	template := published(t, a, team.Member)
	token := mustEmbed(t, a.Stores, team.Member, template.ID, embed.Changes{})
	other := mustEmbed(t, a.Stores, team.Member, template.ID, embed.Changes{})
	midnight := fixture.At.UTC().Truncate(24 * time.Hour)
	count := func(id embed.TokenID, origin embed.Origin, moment time.Time) bool {
		t.Helper()
		countedCount, err := a.Replies.Count(t.Context(), team.Org, id, origin, embed.DayOf(moment), 1, 2)
		must(t, err)
		return countedCount == 1
	}
	for _, tt := range []struct {
		what   string
		id     embed.TokenID
		origin embed.Origin
		at     time.Time
		want   bool
	}{
		{"the first of a day", token.ID, "https://a.example", midnight, true},
		{"the last of a day, of another origin", token.ID, embed.NoOrigin, midnight.Add(time.Hour), true},
		{"one more", token.ID, "https://a.example", midnight.Add(24*time.Hour - time.Microsecond), false},
		{"another token", other.ID, "https://a.example", midnight, true},
		{"the next day", token.ID, "https://a.example", midnight.Add(24 * time.Hour), true},
		{"a token that does not exist", noEmbedToken, "https://a.example", midnight, false},
	} {
		if got := count(tt.id, tt.origin, tt.at); got != tt.want {
			t.Errorf("%s: %v", tt.what, got)
		}
	}
	t.Run("several are counted at once, up to the limit, and can be returned", func(t *testing.T) {
		day, site := embed.DayOf(midnight)+3, embed.Origin("https://a.example")
		counts := func(n, want int) {
			t.Helper()
			got, err := a.Replies.Count(t.Context(), team.Org, token.ID, site, day, n, 10)
			if err != nil || got != want {
				t.Errorf("%d of %d are counted, %v", got, n, err)
			}
		}
		counts(8, 8)
		counts(8, 2)
		counts(1, 0)
		must(t, a.Replies.Return(t.Context(), team.Org, token.ID, site, day, 3))
		must(t, a.Replies.Return(t.Context(), "another", token.ID, site, day, 3))
		must(t, a.Replies.Return(t.Context(), team.Org, token.ID, site, day, 11)) // more than there are
		counts(5, 3)
	})
	t.Run("concurrent calls count no more", func(t *testing.T) {
		var all sync.WaitGroup
		var countedCount atomic.Int32
		for i := range 8 {
			all.Go(func() {
				origin := embed.Origin("https://" + string(rune('a'+i)) + ".example")
				n, err := a.Replies.Count(t.Context(), team.Org, token.ID, origin, embed.DayOf(midnight)+2, 1, 3)
				assert.NoError(t, err)
				countedCount.Add(int32(n))
			})
		}
		all.Wait()
		assert.Equal(t, "were counted", countedCount.Load(), 3)
	})
}

// byID returns a token that is read together with another one, which does not exist.
func byID(ctx context.Context, a Adapter, org identity.OrgID, id embed.TokenID) (*embed.Embedding, error) {
	found, err := a.Embeds.ByIDs(ctx, org, []embed.TokenID{"etok_other", id})
	if err == nil && len(found) == 0 {
		err = embed.ErrTokenInvalid
	}
	return found[id], err
}
