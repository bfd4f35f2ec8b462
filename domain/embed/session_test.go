package embed_test

import (
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/require"
)

func embedding(t *testing.T, c embed.Changes) (*embed.Embedding, secret.Hash) {
	t.Helper()
	token, newToken := newEmbedToken(t, c)
	return &embed.Embedding{Token: *token, Template: embed.Template{ID: "ctpl", Workspace: "acme",
		Status: chat.StatusPublished}}, newToken.Hash()
}

func TestATokenIsUsableWhileItIsEnabledAndLasts(t *testing.T) {
	ends := settings("n", "https://a.example")
	ends.ExpiresAt = ptr(visitAt.Add(time.Hour))
	e, by := embedding(t, ends)
	disabledEmbedding := *e
	disabledEmbedding.Token.Enabled = false
	for name, tt := range map[string]struct {
		e      *embed.Embedding
		by     secret.Hash
		at     time.Time
		want   error
		status embed.Status
	}{
		"at once":             {e, by, visitAt, nil, embed.Active},
		"just before its end": {e, by, visitAt.Add(time.Hour - 1), nil, embed.Active},
		"at its end":          {e, by, visitAt.Add(time.Hour), embed.ErrTokenInvalid, embed.Expired},
		"disabled":            {&disabledEmbedding, by, visitAt, embed.ErrTokenInvalid, embed.Disabled},
		"disabled and at its end": {&disabledEmbedding, by, visitAt.Add(time.Hour), embed.ErrTokenInvalid,
			embed.Expired},
		"by another secret": {e, secret.NewToken("ate_").Hash(), visitAt, embed.ErrTokenInvalid, embed.Active},
		"by no secret":      {e, secret.Hash{}, visitAt, embed.ErrTokenInvalid, embed.Active},
	} {
		if err := tt.e.Usable(tt.by, tt.at); !errors.Is(err, tt.want) || tt.e.Token.Status(tt.at) != tt.status {
			t.Errorf("%s: %v, %s", name, err, tt.e.Token.Status(tt.at))
		}
	}
}

func TestARotatedSecretWorksForItsGraceAlone(t *testing.T) {
	e, first := embedding(t, settings("n", "https://a.example"))
	rotate := func(grace time.Duration) secret.Hash {
		t.Helper()
		token, err := embed.Rotate(embeddable(), embedder(), nil, &e.Token, grace)
		require.NoError(t, err)
		return token.Hash()
	}
	usable := func(label string, by secret.Hash, delay time.Duration, want bool) {
		t.Helper()
		if err := e.Usable(by, visitAt.Add(delay)); (err == nil) != want {
			t.Errorf("%s after %s: %v", label, delay, err)
		}
	}
	second := rotate(time.Minute)
	usable("the new one", second, 0, true)
	usable("the old one", first, time.Minute-1, true)
	usable("the old one", first, time.Minute, false)
	third := rotate(time.Hour)
	usable("the one before last", first, 0, false)
	usable("the last one", second, time.Minute, true)
	fourth := rotate(0)
	usable("one without grace", third, 0, false)
	usable("nothing", secret.Hash{}, 0, false)
	usable("the newest", fourth, 0, true)
}

func TestDisablingATokenEndsItsPasses(t *testing.T) {
	e, by := embedding(t, settings("n", "https://a.example"))
	session, _ := e.Session(by, "https://a.example", false, "v", visitAt)
	ticket, _ := e.Ticket(by, "https://a.example", visitAt)
	change := func(c embed.Changes, want bool) {
		t.Helper()
		require.NoError(t, embed.Change(embeddable(), embedder(), nil, &e.Token, c))
		if e.Outlived(session) != want || e.Outlived(ticket) != want {
			t.Errorf("outlived: %v, %v", e.Outlived(session), e.Outlived(ticket))
		}
	}
	change(embed.Changes{Enabled: ptr(true), Name: ptr("other")}, false)
	change(embed.Changes{Enabled: ptr(false)}, true)
	change(embed.Changes{Enabled: ptr(true)}, true)
	if second, _ := e.Session(by, "https://a.example", false, "v", visitAt); e.Outlived(second) {
		t.Error("a new session has ended too")
	}
}

func TestARenewedSessionLastsAsLongAsANewOne(t *testing.T) {
	ends := settings("n", "https://a.example")
	ends.ExpiresAt = ptr(visitAt.Add(15 * time.Minute))
	e, by := embedding(t, ends)
	s, _ := e.Session(by, "https://a.example", true, "v", visitAt)
	for delay, want := range map[time.Duration]time.Duration{
		time.Minute: 11 * time.Minute, 9 * time.Minute: 15 * time.Minute,
	} {
		got, old := e.Renewed(s, visitAt.Add(delay)), s
		old.ExpiresAt = visitAt.Add(want)
		if got != old {
			t.Errorf("after %s: %+v", delay, got)
		}
	}
}

func TestOnlyPagesOfListedSitesAreAdmitted(t *testing.T) {
	listedEmbedding, _ := embedding(t, settings("n", "https://a.example", "https://*.b.example"))
	open := settings("n", "https://a.example")
	open.AllowNoOrigin = ptr(true)
	anywhere, _ := embedding(t, open)
	draft := *listedEmbedding
	draft.Template.Status = chat.StatusDraft
	switchedOff := *listedEmbedding
	switchedOff.Template.Status = chat.StatusDisabled
	for name, tt := range map[string]struct {
		e    *embed.Embedding
		from embed.Origin
		want error
	}{
		"a listed site":                         {listedEmbedding, "https://a.example", nil},
		"a host below one":                      {listedEmbedding, "https://x.b.example", nil},
		"another site":                          {listedEmbedding, "https://evil.example", embed.ErrOriginNotAllowed},
		"what cannot be read":                   {listedEmbedding, embed.ForeignOrigin, embed.ErrOriginNotAllowed},
		"no origin":                             {listedEmbedding, embed.NoOrigin, embed.ErrOriginNotAllowed},
		"an opaque one":                         {listedEmbedding, embed.OpaqueOrigin, embed.ErrOriginNotAllowed},
		"no origin where that is allowed":       {anywhere, embed.NoOrigin, nil},
		"an opaque one where that is allowed":   {anywhere, embed.OpaqueOrigin, nil},
		"another site where none is allowed":    {anywhere, "https://evil.example", embed.ErrOriginNotAllowed},
		"unreadable where none is allowed":      {anywhere, embed.ForeignOrigin, embed.ErrOriginNotAllowed},
		"a listed site, of a draft":             {&draft, "https://a.example", embed.ErrNotPublished},
		"a listed site, of what was taken down": {&switchedOff, "https://a.example", embed.ErrNotPublished},
		"another site hears nothing of a draft": {&draft, "https://evil.example", embed.ErrOriginNotAllowed},
	} {
		err := tt.e.Admit(tt.from)
		_, session := tt.e.Session(secret.Hash{}, tt.from, false, "", visitAt)
		_, ticket := tt.e.Ticket(secret.Hash{}, tt.from, visitAt)
		if !errors.Is(err, tt.want) || !errors.Is(session, tt.want) || !errors.Is(ticket, tt.want) {
			t.Errorf("%s: %v, %v, %v", name, err, session, ticket)
		}
	}
}

func TestAPassEndsInTimeAndStaysWhereItWasHandedTo(t *testing.T) {
	ends := settings("n", "https://a.example")
	ends.ExpiresAt = ptr(visitAt.Add(5 * time.Minute))
	e, by := embedding(t, ends)
	for now, want := range map[time.Time]time.Time{visitAt.Add(-time.Hour): visitAt.Add(-50 * time.Minute),
		visitAt: visitAt.Add(5 * time.Minute)} {
		s, err := e.Session(by, "https://a.example", false, "v", now)
		if err != nil || !s.ExpiresAt.Equal(want) || s.OpenedBy != by || s.Token != e.Token.ID || s.Visitor != "v" {
			t.Errorf("%+v, %v", s, err)
		}
		if !s.Live(want.Add(-1)) || s.Live(want) {
			t.Error("it does not end at its end")
		}
	}
	ticket, err := e.Ticket(by, "https://a.example", visitAt)
	if err != nil || !ticket.ExpiresAt.Equal(visitAt.Add(time.Minute)) {
		t.Errorf("%+v, %v", ticket, err)
	}
	plain, framedPass := embed.Pass{Origin: "https://a.example"},
		embed.Pass{Origin: "https://a.example", Framed: true}
	for name, got := range map[string]bool{
		"its own site":                         plain.IsFrom("https://a.example", false),
		"not another site":                     !plain.IsFrom("https://b.example", false),
		"not without an origin":                !plain.IsFrom(embed.NoOrigin, false),
		"not our own page":                     !plain.IsFrom("https://atrium.example", true),
		"in a frame, our own page":             framedPass.IsFrom("https://atrium.example", true),
		"in a frame, a read without an origin": framedPass.IsFrom(embed.NoOrigin, false),
		"in a frame, not the site around it":   !framedPass.IsFrom("https://a.example", false),
	} {
		if !got {
			t.Error(name)
		}
	}
}
