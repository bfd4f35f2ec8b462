package contract

import (
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// Embeds is the suite for ports.Embeds.
func Embeds(t *testing.T, open Opener) {
	a := open(t)
	t.Run("Add, Get and List", func(t *testing.T) { embedReads(t, a) })
	t.Run("Update", func(t *testing.T) { embedUpdates(t, a) })
	t.Run("BySecret and ByID", func(t *testing.T) { embedVisits(t, a) })
	t.Run("Expected", func(t *testing.T) { embedExpected(t, a) })
	t.Run("Used", func(t *testing.T) { embedUsed(t, a) })
	t.Run("CountReply", func(t *testing.T) { embedReplies(t, a) })
	t.Run("uses", func(t *testing.T) { embedUses(t, a) })
}

const noEmbedToken = embed.TokenID("etok_00000000000000000000000000")

// addEmbed adds an embed token to a template.
func addEmbed(
	t testing.TB, s ports.Stores, by identity.Actor, template chat.ID, c embed.Changes,
) (token *embed.Token, err error) {
	t.Helper()
	if c.Name == nil {
		c.Name = new("site")
	}
	if c.Origins == nil {
		c.Origins = &[]string{"https://www.example.com"}
	}
	err = s.Embeds.Add(t.Context(), by, template, func(template *chat.Template, existing int) (*embed.Token, error) {
		token, _, err = embed.NewToken(template, by, existing, c)
		return token, err
	})
	return token, err
}

func mustEmbed(t testing.TB, s ports.Stores, by identity.Actor, template chat.ID, c embed.Changes) *embed.Token {
	t.Helper()
	token, err := addEmbed(t, s, by, template, c)
	must(t, err)
	return token
}

func changeEmbed(t testing.TB, s ports.Stores, by identity.Actor, token *embed.Token,
	change func(*chat.Template, *embed.Token) error) {
	t.Helper()
	must(t, s.Embeds.Update(t.Context(), by, token.Template, token.ID, change))
}

func wholeEmbed() embed.Changes {
	return embed.Changes{
		Name: new("Ärger 50%"), Origins: &[]string{"https://www.example.com", "https://*.shop.example:8443",
			"http://localhost:*"}, AllowNoOrigin: new(true),
		Enabled: new(false), ExpiresAt: new(fixture.At.Add(time.Hour)), SessionTTL: new(time.Hour), PerMinute: new(600),
		RepliesPerDay: new(7), RequireSigned: new(true),
		Theme: &chat.Theme{Light: chat.Palette{Primary: "#123456"}, Position: "left"},
	}
}

func embedReads(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by := team.Member
	template, second := fixture.Chat(t, a.Stores, by, chat.Draft{}), fixture.Chat(t, a.Stores, by, chat.Draft{})
	full, plain := mustEmbed(t, a.Stores, by, template.ID, wholeEmbed()),
		mustEmbed(t, a.Stores, by, template.ID, embed.Changes{})
	list := func(ws identity.WorkspaceID, template chat.ID, limit int) []embed.Token {
		t.Helper()
		return fixture.Pages(t, limit,
			func(q page.Query) (embed.TokenPage, error) { return a.Embeds.List(ctx, ws, template, q) })
	}
	t.Run("Get returns what Add was given, with its template", func(t *testing.T) {
		for _, want := range []*embed.Token{full, plain} {
			owner, got, err := a.Embeds.Get(ctx, by, template.ID, want.ID)
			must(t, err)
			same(t, "token", got, want)
			same(t, "template", owner, template)
		}
	})
	t.Run("List returns the tokens of one template, newest first", func(t *testing.T) {
		for _, limit := range []int{1, 2, 100} {
			same(t, "tokens", list(by.Workspace, template.ID, limit), []embed.Token{*plain, *full})
		}
		if got := list(by.Workspace, second.ID, 100); len(got) != 0 {
			t.Errorf("the other template has %v", got)
		}
		if got := list(other.Workspace.ID, template.ID, 100); len(got) != 0 {
			t.Errorf("another workspace sees %v", got)
		}
	})
	t.Run("a token is not found by another template or workspace", func(t *testing.T) {
		for parent, id := range map[chat.ID]embed.TokenID{template.ID: noEmbedToken, second.ID: full.ID} {
			found, token, err := a.Embeds.Get(ctx, by, parent, id)
			must(t, err)
			if found == nil || token != nil {
				t.Errorf("template %v, token %v", found, token)
			}
		}
		_, _, err := a.Embeds.Get(ctx, other.Owner, template.ID, full.ID)
		wantErr(t, err, chat.ErrNotFound)
		_, err = addEmbed(t, a.Stores, other.Owner, template.ID, embed.Changes{})
		wantErr(t, err, chat.ErrNotFound)
	})
	t.Run("nothing is saved if change fails", func(t *testing.T) {
		var createdToken *embed.Token
		wantErr(t, a.Embeds.Add(ctx, by, second.ID, func(template *chat.Template, existing int) (token *embed.Token,
			err error) {
			createdToken, _, err = embed.NewToken(template, by, existing,
				embed.Changes{Name: new("n"), Origins: &[]string{"https://a.example"}})
			return createdToken, errors.Join(err, errBoom)
		}), errBoom)
		_, err := byID(ctx, a, team.Org, createdToken.ID)
		wantErr(t, err, embed.ErrTokenInvalid)
	})
	t.Run("Add stores the recorded events", func(t *testing.T) {
		same(t, "events", kinds(eventsOn(t, a.Stores, by.Workspace, string(full.ID))), []string{"embed_token.created"})
	})
	t.Run("Add locks the template against concurrent changes", func(t *testing.T) {
		lockedValue := fixture.Chat(t, a.Stores, by, chat.Draft{})
		inner := make(chan struct{})
		errs := atOnce(2, func(int) error {
			return a.Embeds.Add(ctx, by, lockedValue.ID, func(template *chat.Template, have int) (*embed.Token, error) {
				select {
				case inner <- struct{}{}:
				case <-inner:
					t.Error("two calls decided at once")
				case <-time.After(100 * time.Millisecond): // without the lock, the other would be here by now
				}
				token, _, err := embed.NewToken(template, by, have,
					embed.Changes{Name: new("n"), Origins: &[]string{"https://a.example"}})
				return token, err
			})
		})
		must(t, errors.Join(errs...))
	})
	t.Run("concurrent calls cannot exceed the quota", func(t *testing.T) {
		crowdedTemplate := fixture.Chat(t, a.Stores, by, chat.Draft{})
		for range embed.MaxTokens - 1 {
			mustEmbed(t, a.Stores, by, crowdedTemplate.ID, embed.Changes{})
		}
		oneWon(t, atOnce(16, func(int) error {
			_, err := addEmbed(t, a.Stores, by, crowdedTemplate.ID, embed.Changes{})
			return err
		}), embed.ErrTokenQuota)
		assert.Equal(t, "it has", len(list(by.Workspace, crowdedTemplate.ID, 100)), embed.MaxTokens)
	})
}

func embedUpdates(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by := fixture.Later(team.Member, time.Minute)
	template := fixture.Chat(t, a.Stores, team.Member, chat.Draft{})
	get := func(id embed.TokenID) *embed.Token {
		t.Helper()
		_, token, err := a.Embeds.Get(ctx, by, template.ID, id)
		must(t, err)
		return token
	}
	t.Run("Update stores the change and its events", func(t *testing.T) {
		token := mustEmbed(t, a.Stores, team.Member, template.ID, embed.Changes{})
		var want *embed.Token
		changeEmbed(t, a.Stores, by, token, func(template *chat.Template, found *embed.Token) error {
			want = found
			return errors.Join(embed.Change(template, by, nil, found, wholeEmbed()), // which disables it
				func() error { _, err := embed.Rotate(template, by, nil, found, time.Hour); return err }())
		})
		same(t, "token", get(token.ID), want)
		same(t, "events", kinds(eventsOn(t, a.Stores, by.Workspace, string(token.ID))),
			[]string{"embed_token.rotated", "embed_token.updated", "embed_token.created"})
	})
	t.Run("a deleted token is not found", func(t *testing.T) {
		token, keptToken := mustEmbed(t, a.Stores, team.Member, template.ID, embed.Changes{}),
			mustEmbed(t, a.Stores, team.Member, template.ID, embed.Changes{})
		changeEmbed(t, a.Stores, by, token,
			func(template *chat.Template, found *embed.Token) error { return embed.Delete(template, by, nil, found) })
		if got := get(token.ID); got != nil {
			t.Errorf("there is %+v", got)
		}
		same(t, "the other one", get(keptToken.ID), keptToken)
		same(t, "events", kinds(eventsOn(t, a.Stores, by.Workspace, string(token.ID))),
			[]string{"embed_token.deleted", "embed_token.created"})
	})
	t.Run("change gets nil for a token that does not exist", func(t *testing.T) {
		isCalled := false
		must(t, a.Embeds.Update(ctx, by, template.ID, noEmbedToken,
			func(template *chat.Template, found *embed.Token) error {
				isCalled = template != nil && found == nil
				return nil
			}))
		if !isCalled {
			t.Error("change got something else")
		}
	})
	t.Run("nothing is saved if change fails", func(t *testing.T) {
		token := mustEmbed(t, a.Stores, team.Member, template.ID, embed.Changes{})
		wantErr(t, a.Embeds.Update(ctx, by, template.ID, token.ID,
			func(template *chat.Template, found *embed.Token) error {
				return errors.Join(embed.Change(template, by, nil, found, wholeEmbed()), errBoom)
			}), errBoom)
		same(t, "token", get(token.ID), token)
	})
	t.Run("stored responses with a secret are erased with it", func(t *testing.T) {
		for name, tt := range map[string]struct {
			change func(*chat.Template, *embed.Token) error
			erased bool
		}{
			"rotated": {func(template *chat.Template, found *embed.Token) error {
				_, err := embed.Rotate(template, by, nil, found, time.Hour)
				return err
			}, true},
			"deleted": {func(template *chat.Template, found *embed.Token) error {
				return embed.Delete(template, by, nil, found)
			}, true},
			"renamed": {func(template *chat.Template, found *embed.Token) error {
				return embed.Change(template, by, nil, found, embed.Changes{Name: new("other")})
			}, false},
		} {
			var token *embed.Token
			key := ports.IdempotencyKey{Org: team.Org, Scope: sha256.Sum256([]byte(name + team.Workspace.Slug)),
				At: fixture.At}
			runOnce := func(fn func(ports.Stores) (ports.Answer, error)) error {
				_, _, err := a.Idempotency.Once(ctx, key, nil, fn, nil)
				return err
			}
			must(t, runOnce(func(s ports.Stores) (ports.Answer, error) {
				token = mustEmbed(t, s, team.Member, template.ID, embed.Changes{})
				return ports.Answer{Status: 201, Body: []byte("secret"), Reveals: string(token.ID)}, nil
			}))
			changeEmbed(t, a.Stores, by, token, tt.change)
			err := runOnce(func(ports.Stores) (ports.Answer, error) {
				t.Error("it ran again")
				return ports.Answer{}, errBoom
			})
			if errors.Is(err, ports.ErrAnswerErased) != tt.erased {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
