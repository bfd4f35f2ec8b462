package chat_test

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
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/domain/secret"
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

func settings(name string, origins ...string) chat.EmbedChanges {
	return chat.EmbedChanges{Name: &name, Origins: &origins}
}

func newEmbedToken(t *testing.T, c chat.EmbedChanges) (*chat.EmbedToken, secret.Token) {
	t.Helper()
	token, made, err := embeddable().NewEmbedToken(embedder(), 0, c)
	if err != nil {
		t.Fatal(err)
	}
	return token, made
}

func ptr[T any](v T) *T { return &v }

func TestAnEmbedTokenIsMadeWithDefaults(t *testing.T) {
	token, made := newEmbedToken(t, settings("Shop", "HTTPS://Shop.Example:443", "https://*.Shop.example"))
	want := chat.EmbedSettings{
		Name: "Shop", Origins: []chat.OriginPattern{"https://shop.example", "https://*.shop.example"},
		Enabled: true, SessionTTL: 10 * time.Minute, PerMinute: 10, RepliesPerDay: 1000,
	}
	if d := cmp.Diff(want, token.EmbedSettings); d != "" {
		t.Error(d)
	}
	if !id.Valid("etok", string(token.ID)) || token.Org != "org" || token.Workspace != "acme" ||
		token.Template != "ctpl" || token.CreatedBy != "max" || token.Revision != 1 {
		t.Errorf("%+v", token)
	}
	text := made.Reveal()
	if !strings.HasPrefix(text, "ate_") || token.Hash != made.Hash() || token.Hint != text[len(text)-4:] ||
		token.Previous != (secret.Hash{}) {
		t.Errorf("the secret and what is kept of it differ: %+v", token)
	}
	if parsed, ok := secret.ParseToken(chat.EmbedSecretPrefix, text); !ok || parsed.Hash() != made.Hash() {
		t.Error("the secret is not accepted")
	}
	if _, ok := secret.ParseToken("atk_", text); ok {
		t.Error("the secret passes for an API key")
	}
}

func TestSettingsOfAnEmbedTokenAreRefusedAllAtOnce(t *testing.T) {
	many := make([]string, 51)
	for i := range many {
		many[i] = "https://h" + strings.Repeat("x", i) + ".example"
	}
	for name, tt := range map[string]struct {
		change chat.EmbedChanges
		want   []string
	}{
		"nothing at all":     {chat.EmbedChanges{}, []string{"/name too_short", "/allowed_origins required"}},
		"no origins":         {settings("n"), []string{"/allowed_origins too_few_items"}},
		"51 origins":         {settings("n", many...), []string{"/allowed_origins too_many_items"}},
		"a name of 81":       {settings(strings.Repeat("é", 81), "https://a.example"), []string{"/name too_long"}},
		"a hidden character": {settings("a\u200bb", "https://a.example"), []string{"/name invalid_characters"}},
		"a NUL in the name":  {settings("a\x00", "https://a.example"), []string{"/name invalid_characters"}},
		"each kind of origin": {settings("n", "https://a.example/x", "https://a.*.example", "http://a.example",
			"https://*.co.uk", "https://b.example"),
			[]string{"/allowed_origins/0 invalid_origin", "/allowed_origins/1 invalid_wildcard",
				"/allowed_origins/2 insecure_origin", "/allowed_origins/3 public_suffix"}},
		"the same twice": {settings("n", "https://a.example", "HTTPS://A.example.:443"),
			[]string{"/allowed_origins/1 duplicate_item"}},
		"an end in the past": {chat.EmbedChanges{Name: ptr("n"), Origins: ptr([]string{"https://a.example"}),
			ExpiresAt: ptr(visitAt)}, []string{"/expires_at in_the_past"}},
		"too short a session": {chat.EmbedChanges{Name: ptr("n"), Origins: ptr([]string{"https://a.example"}),
			SessionTTL: ptr(59 * time.Second)}, []string{"/session_ttl_seconds out_of_range"}},
		"too long a session": {chat.EmbedChanges{Name: ptr("n"), Origins: ptr([]string{"https://a.example"}),
			SessionTTL: ptr(25 * time.Hour)}, []string{"/session_ttl_seconds out_of_range"}},
		"no call a minute": {chat.EmbedChanges{Name: ptr("n"), Origins: ptr([]string{"https://a.example"}),
			PerMinute: ptr(0)}, []string{"/rate_limit/per_minute out_of_range"}},
		"too many calls": {chat.EmbedChanges{Name: ptr("n"), Origins: ptr([]string{"https://a.example"}),
			PerMinute: ptr(601)}, []string{"/rate_limit/per_minute out_of_range"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := embeddable().NewEmbedToken(embedder(), 0, tt.change)
			if got := wrongFields(t, err); !slices.Equal(got, tt.want) {
				t.Errorf("made: %v, want %v", got, tt.want)
			}
			token, _ := newEmbedToken(t, settings("before", "https://before.example"))
			before := token.EmbedSettings
			err = embeddable().ChangeEmbedToken(embedder(), nil, token, tt.change)
			if name == "nothing at all" {
				if err != nil {
					t.Errorf("a change of nothing: %v", err)
				}
			} else if got := wrongFields(t, err); !slices.Equal(got, tt.want) {
				t.Errorf("changed: %v, want %v", got, tt.want)
			}
			if d := cmp.Diff(before, token.EmbedSettings); d != "" || len(token.Recorded()) != 1 {
				t.Errorf("a refused change left a trace: %s", d)
			}
		})
	}
}

func wrongFields(t *testing.T, err error) []string {
	t.Helper()
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
	stranger, viewing, deleted := embedder(), embedder(), embeddable()
	stranger.Workspace, viewing.Ceiling, deleted.DeletedAt = "other", identity.Viewer, visitAt
	as := func(user identity.UserID) identity.Actor { by := embedder(); by.User = user; return by }
	for name, tt := range map[string]struct {
		by   identity.Actor
		of   *chat.Template
		want error
	}{
		"a manager":                      {embedder(), embeddable(), nil},
		"the owner":                      {as("ann"), embeddable(), nil},
		"an editor":                      {as("eve"), embeddable(), chat.ErrForbidden},
		"a viewer":                       {as("joe"), embeddable(), chat.ErrForbidden},
		"a manager by a key for viewing": {viewing, embeddable(), chat.ErrForbidden},
		"a stranger":                     {stranger, embeddable(), chat.ErrNotFound},
		"of a deleted template":          {embedder(), deleted, chat.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			token, _ := newEmbedToken(t, settings("n", "https://a.example"))
			_, _, created := tt.of.NewEmbedToken(tt.by, 0, settings("n", "https://a.example"))
			_, rotated := tt.of.RotateEmbedToken(tt.by, nil, token, 0)
			for what, err := range map[string]error{
				"see": tt.of.MayManage(tt.by, token), "create": created, "rotate": rotated,
				"change": tt.of.ChangeEmbedToken(tt.by, nil, token, chat.EmbedChanges{Enabled: ptr(false)}),
				"delete": tt.of.DeleteEmbedToken(tt.by, nil, token),
			} {
				if !errors.Is(err, tt.want) {
					t.Errorf("%s: %v, want %v", what, err, tt.want)
				}
			}
			if tt.want != nil && (len(token.Recorded()) != 1 || token.Deleted || !token.Enabled) {
				t.Error("who may not has changed it")
			}
		})
	}
	t.Run("what is not there is told to managers alone", func(t *testing.T) {
		if err := embeddable().ChangeEmbedToken(embedder(), nil, nil, chat.EmbedChanges{}); !errors.Is(err,
			chat.ErrEmbedTokenNotFound) {
			t.Error(err)
		}
		if err := embeddable().DeleteEmbedToken(as("eve"), nil, nil); !errors.Is(err, chat.ErrForbidden) {
			t.Error(err)
		}
	})
	t.Run("a change may be meant for one revision", func(t *testing.T) {
		token, _ := newEmbedToken(t, settings("n", "https://a.example"))
		if err := embeddable().ChangeEmbedToken(embedder(), revision.Match{2}, token,
			chat.EmbedChanges{Enabled: ptr(false)}); !errors.Is(err, revision.ErrMismatch) {
			t.Error(err)
		}
	})
}

func TestATemplateHasTwentyEmbedTokens(t *testing.T) {
	if _, _, err := embeddable().NewEmbedToken(embedder(), 19, settings("n", "https://a.example")); err != nil {
		t.Error(err)
	}
	if _, _, err := embeddable().NewEmbedToken(embedder(), 20, settings("n", "https://a.example")); !errors.Is(err,
		chat.ErrEmbedTokenQuota) {
		t.Error(err)
	}
}

func TestChangesOfAnEmbedTokenAreRecordedWithoutSecrets(t *testing.T) {
	token, first := newEmbedToken(t, settings("n", "https://a.example"))
	all := chat.EmbedChanges{
		Name: ptr("m"), Origins: ptr([]string{"https://b.example"}), AllowNoOrigin: ptr(true), Enabled: ptr(false),
		ExpiresAt: ptr(visitAt.Add(time.Hour)), SessionTTL: ptr(time.Hour), PerMinute: ptr(20),
	}
	for range 2 { // the second time it changes nothing
		if err := embeddable().ChangeEmbedToken(embedder(), nil, token, all); err != nil {
			t.Fatal(err)
		}
	}
	second, err := embeddable().RotateEmbedToken(embedder(), nil, token, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := embeddable().ChangeEmbedToken(embedder(), nil, token,
		chat.EmbedChanges{ExpiresAt: &time.Time{}}); err != nil || !token.ExpiresAt.IsZero() {
		t.Errorf("%v; it ends at %s", err, token.ExpiresAt)
	}
	if err := embeddable().DeleteEmbedToken(embedder(), nil, token); err != nil || !token.Deleted {
		t.Error(err)
	}
	if token.Revision != 4 {
		t.Errorf("revision %d", token.Revision)
	}
	var kinds []string
	for _, e := range token.Recorded() {
		kinds = append(kinds, e.Type)
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
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
