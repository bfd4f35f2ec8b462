package embed_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

var visitAt = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

// embedder returns the manager of embeddable.
func embedder() identity.Actor {
	return identity.Actor{Org: "org", User: "max", Workspace: "acme", Role: identity.Member, Ceiling: identity.Owner,
		At: visitAt}
}

func embeddable() *chat.Template {
	return &chat.Template{
		ID: "ctpl", Status: chat.StatusPublished,
		Resource: access.Resource{Subject: access.Subject{
			Workspace: "acme", Owner: "ann", Visibility: access.Workspace,
			Grants: access.Grants{{User: "max", Role: access.Manager}, {User: "eve", Role: access.Editor}},
		}},
	}
}

func settings(name string, origins ...string) embed.Changes {
	return embed.Changes{Name: &name, Origins: &origins}
}

func newEmbedToken(t *testing.T, c embed.Changes) (*embed.Token, secret.Token) {
	t.Helper()
	token, secretToken, err := embed.NewToken(embeddable(), embedder(), 0, c)
	require.NoError(t, err)
	return token, secretToken
}

func ptr[T any](v T) *T { return &v }

func TestAnEmbedTokenIsMadeWithDefaults(t *testing.T) {
	token, newToken := newEmbedToken(t, settings("Shop", "HTTPS://Shop.Example:443", "https://*.Shop.example"))
	want := embed.Settings{
		Name: "Shop", Origins: []embed.OriginPattern{"https://shop.example", "https://*.shop.example"},
		Enabled: true, SessionTTL: 10 * time.Minute, PerMinute: 10, RepliesPerDay: 1000,
	}
	if d := cmp.Diff(want, token.Settings); d != "" {
		t.Error(d)
	}
	if !id.Valid("etok", string(token.ID)) || token.Org != "org" || token.Workspace != "acme" ||
		token.Template != "ctpl" || token.CreatedBy != "max" || token.Revision != 1 {
		t.Errorf("%+v", token)
	}
	text := newToken.Reveal()
	if !strings.HasPrefix(text, "ate_") || token.Hash != newToken.Hash() || token.Hint != text[len(text)-4:] ||
		token.Previous != (secret.Hash{}) {
		t.Errorf("the secret and what is kept of it differ: %+v", token)
	}
	if parsedToken, ok := secret.ParseToken(embed.SecretPrefix, text); !ok || parsedToken.Hash() != newToken.Hash() {
		t.Error("the secret is not accepted")
	}
	if _, ok := secret.ParseToken("atk_", text); ok {
		t.Error("the secret passes for an API key")
	}
}

func TestSettingsOfAnEmbedTokenAreRefusedAllAtOnce(t *testing.T) {
	multiple := make([]string, 51)
	for i := range multiple {
		multiple[i] = "https://h" + strings.Repeat("x", i) + ".example"
	}
	for name, tt := range map[string]struct {
		change embed.Changes
		want   []string
	}{
		"nothing at all":     {embed.Changes{}, []string{"/name too_short", "/allowed_origins required"}},
		"no origins":         {settings("n"), []string{"/allowed_origins too_few_items"}},
		"51 origins":         {settings("n", multiple...), []string{"/allowed_origins too_many_items"}},
		"a name of 81":       {settings(strings.Repeat("é", 81), "https://a.example"), []string{"/name too_long"}},
		"a hidden character": {settings("a\u200bb", "https://a.example"), []string{"/name invalid_characters"}},
		"a NUL in the name":  {settings("a\x00", "https://a.example"), []string{"/name invalid_characters"}},
		"each kind of origin": {settings("n", "https://a.example/x", "https://a.*.example", "http://a.example",
			"https://*.co.uk", "https://b.example"),
			[]string{"/allowed_origins/0 invalid_origin", "/allowed_origins/1 invalid_wildcard",
				"/allowed_origins/2 insecure_origin", "/allowed_origins/3 public_suffix"}},
		"the same twice": {settings("n", "https://a.example", "HTTPS://A.example.:443"),
			[]string{"/allowed_origins/1 duplicate_item"}},
		"an end in the past": {embed.Changes{Name: ptr("n"), Origins: ptr([]string{"https://a.example"}),
			ExpiresAt: ptr(visitAt)}, []string{"/expires_at in_the_past"}},
		"too short a session": {embed.Changes{Name: ptr("n"), Origins: ptr([]string{"https://a.example"}),
			SessionTTL: ptr(59 * time.Second)}, []string{"/session_ttl_seconds out_of_range"}},
		"too long a session": {embed.Changes{Name: ptr("n"), Origins: ptr([]string{"https://a.example"}),
			SessionTTL: ptr(25 * time.Hour)}, []string{"/session_ttl_seconds out_of_range"}},
		"no call a minute": {embed.Changes{Name: ptr("n"), Origins: ptr([]string{"https://a.example"}),
			PerMinute: ptr(0)}, []string{"/rate_limit/per_minute out_of_range"}},
		"too many calls": {embed.Changes{Name: ptr("n"), Origins: ptr([]string{"https://a.example"}),
			PerMinute: ptr(601)}, []string{"/rate_limit/per_minute out_of_range"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := embed.NewToken(embeddable(), embedder(), 0, tt.change)
			assert.EqualSlice(t, "made", wrongFields(t, err), tt.want)
			token, _ := newEmbedToken(t, settings("before", "https://before.example"))
			previous := token.Settings
			err = embed.Change(embeddable(), embedder(), nil, token, tt.change)
			if name == "nothing at all" {
				if err != nil {
					t.Errorf("a change of nothing: %v", err)
				}
			} else if got := wrongFields(t, err); !slices.Equal(got, tt.want) {
				t.Errorf("changed: %v, want %v", got, tt.want)
			}
			if d := cmp.Diff(previous, token.Settings); d != "" || len(token.Recorded()) != 1 {
				t.Errorf("a refused change left a trace: %s", d)
			}
		})
	}
}

func wrongFields(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Code != "invalid_fields" {
		t.Fatalf("error = %v", err)
	}
	var out []string
	for _, field := range f.Fields {
		out = append(out, field.Pointer+" "+field.Code)
	}
	return out
}

func TestOnlyManagersSeeToEmbedTokens(t *testing.T) {
	stranger, viewing, deletedTemplate := embedder(), embedder(), embeddable()
	stranger.Workspace, viewing.Ceiling, deletedTemplate.DeletedAt = "other", identity.Viewer, visitAt
	actorAs := func(user identity.UserID) identity.Actor { by := embedder(); by.User = user; return by }
	for name, tt := range map[string]struct {
		by   identity.Actor
		of   *chat.Template
		want error
	}{
		"a manager":                      {embedder(), embeddable(), nil},
		"the owner":                      {actorAs("ann"), embeddable(), nil},
		"an editor":                      {actorAs("eve"), embeddable(), chat.ErrForbidden},
		"a viewer":                       {actorAs("joe"), embeddable(), chat.ErrForbidden},
		"a manager by a key for viewing": {viewing, embeddable(), chat.ErrForbidden},
		"a stranger":                     {stranger, embeddable(), chat.ErrNotFound},
		"of a deleted template":          {embedder(), deletedTemplate, chat.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			token, _ := newEmbedToken(t, settings("n", "https://a.example"))
			_, _, failure := embed.NewToken(tt.of, tt.by, 0, settings("n", "https://a.example"))
			_, rotation := embed.Rotate(tt.of, tt.by, nil, token, 0)
			for label, err := range map[string]error{
				"see": embed.MayManage(tt.of, tt.by, token), "create": failure, "rotate": rotation,
				"change": embed.Change(tt.of, tt.by, nil, token, embed.Changes{Enabled: ptr(false)}),
				"delete": embed.Delete(tt.of, tt.by, nil, token),
			} {
				if !errors.Is(err, tt.want) {
					t.Errorf("%s: %v, want %v", label, err, tt.want)
				}
			}
			if tt.want != nil && (len(token.Recorded()) != 1 || token.Deleted || !token.Enabled) {
				t.Error("who may not has changed it")
			}
		})
	}
	t.Run("what is not there is told to managers alone", func(t *testing.T) {
		if err := embed.Change(embeddable(), embedder(), nil, nil, embed.Changes{}); !errors.Is(err,
			embed.ErrTokenNotFound) {
			t.Error(err)
		}
		if err := embed.Delete(embeddable(), actorAs("eve"), nil, nil); !errors.Is(err, chat.ErrForbidden) {
			t.Error(err)
		}
	})
	t.Run("a change may be meant for one revision", func(t *testing.T) {
		token, _ := newEmbedToken(t, settings("n", "https://a.example"))
		if err := embed.Change(embeddable(), embedder(), revision.Match{2}, token,
			embed.Changes{Enabled: ptr(false)}); !errors.Is(err, revision.ErrMismatch) {
			t.Error(err)
		}
	})
}

func TestATemplateHasTwentyEmbedTokens(t *testing.T) {
	if _, _, err := embed.NewToken(embeddable(), embedder(), 19, settings("n", "https://a.example")); err != nil {
		t.Error(err)
	}
	if _, _, err := embed.NewToken(embeddable(), embedder(), 20, settings("n", "https://a.example")); !errors.Is(err,
		embed.ErrTokenQuota) {
		t.Error(err)
	}
}

func TestChangesOfAnEmbedTokenAreRecordedWithoutSecrets(t *testing.T) {
	token, first := newEmbedToken(t, settings("n", "https://a.example"))
	all := embed.Changes{
		Name: ptr("m"), Origins: ptr([]string{"https://b.example"}), AllowNoOrigin: ptr(true), Enabled: ptr(false),
		ExpiresAt: ptr(visitAt.Add(time.Hour)), SessionTTL: ptr(time.Hour), PerMinute: ptr(20),
	}
	for range 2 { // the second time it changes nothing
		require.NoError(t, embed.Change(embeddable(), embedder(), nil, token, all))
	}
	second, err := embed.Rotate(embeddable(), embedder(), nil, token, time.Minute)
	require.NoError(t, err)
	if err := embed.Change(embeddable(), embedder(), nil, token,
		embed.Changes{ExpiresAt: &time.Time{}}); err != nil || !token.ExpiresAt.IsZero() {
		t.Errorf("%v; it ends at %s", err, token.ExpiresAt)
	}
	if err := embed.Delete(embeddable(), embedder(), nil, token); err != nil || !token.Deleted {
		t.Error(err)
	}
	assert.Equal(t, "revision", token.Revision, 4)
	var kinds []string
	for _, e := range token.Recorded() {
		kinds = append(kinds, e.Type)
		data, err := json.Marshal(e)
		require.NoError(t, err)
		for _, s := range []secret.Token{first, second} {
			hash, _ := s.Hash().MarshalText()
			if strings.Contains(string(data), s.Reveal()) || strings.Contains(string(data), string(hash)) {
				t.Errorf("%s holds a secret", e.Type)
			}
		}
		if e.Subject != string(token.ID) || e.Data["chat_template_id"] != chat.ID("ctpl") {
			t.Errorf("%+v", e)
		}
	}
	if d := cmp.Diff([]string{"embed_token.created", "embed_token.updated", "embed_token.rotated",
		"embed_token.updated", "embed_token.deleted"}, kinds); d != "" {
		t.Error(d)
	}
	if got := len(token.Recorded()[1].Data); got != 8 {
		t.Errorf("the change names %d things: %v", got, token.Recorded()[1].Data)
	}
}

func TestANameOfATokenThatIsStoredRefusesNoOtherChange(t *testing.T) {
	name := "invoice\u202efdp.exe"
	token, _ := newEmbedToken(t, settings("A\u0308rger", "https://a.example"))
	assert.Equal(t, "name", token.Name, "Ärger")
	token.Name = name
	require.NoError(t, embed.Change(embeddable(), embedder(), nil, token,
		embed.Changes{Name: &name, Enabled: new(false)}))
	if token.Name != name || token.Enabled {
		t.Errorf("token %+v", token)
	}
}

func TestAThemeOfATokenIsChecked(t *testing.T) {
	token, _ := newEmbedToken(t, settings("n", "https://a.example"))
	bad := chat.Theme{Scheme: "dim", Light: chat.Palette{Primary: "red"}}
	got := wrongFields(t, embed.Change(embeddable(), embedder(), nil, token, embed.Changes{Theme: &bad}))
	want := []string{"/theme/scheme not_allowed_value", "/theme/light/primary invalid_format"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
