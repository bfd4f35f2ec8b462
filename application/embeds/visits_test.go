package embeds_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/embeds"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/require"
)

func (s *embedService) expectBySecret() {
	s.embeds.EXPECT().BySecret(gomock.Any(), identity.OrgID("org"), s.secret.Hash()).Return(s.embedding(), nil)
}

func (s *embedService) expectByID() {
	s.embeds.EXPECT().ByIDs(gomock.Any(), identity.OrgID("org"), []embed.TokenID{s.token.ID}).DoAndReturn(
		func(any, any, any) (map[embed.TokenID]*embed.Embedding, error) {
			return map[embed.TokenID]*embed.Embedding{s.token.ID: s.embedding()}, nil
		})
}

// session opens a session for the site, or with a ticket.
func (s *embedService) session(t *testing.T, v embeds.Visit, ticket string) *embeds.Session {
	t.Helper()
	s.expectBySecret()
	session, err := s.OpenSession(t.Context(), v, embeds.SessionRequest{Secret: s.secret.Reveal(), Ticket: ticket,
		Visitor: "42"}, unlimited)
	require.NoError(t, err)
	return session
}

func (s *embedService) ticket(t *testing.T) string {
	t.Helper()
	s.expectBySecret()
	_, ticket, err := s.Ticket(t.Context(), shopVisit(), s.secret.Reveal(), unlimited)
	require.NoError(t, err)
	return ticket.Reveal()
}

func TestASessionShowsWhatVisitorsMaySee(t *testing.T) {
	s := newEmbedService(t)
	openedSession := s.session(t, shopVisit(), "")
	s.expectByID()
	resumedSession, err := s.Resume(t.Context(), shopVisit(), openedSession.Text.Reveal(), unlimited)
	require.NoError(t, err)
	for _, session := range []*embeds.Session{openedSession, resumedSession} {
		if len(session.Tools) != 1 || session.Tools[0].Name != "Search" || session.Pass.Visitor != "42" ||
			session.Embedding.Template.Name != "Support" || !session.Pass.ExpiresAt.Equal(embedAt.Add(10*time.Minute)) {
			t.Errorf("%+v", session)
		}
	}
}

func TestNoSessionWithoutAUsableToken(t *testing.T) {
	ctx := t.Context()
	ask := func(s *embedService, v embeds.Visit, text string, limit embeds.Limit) error {
		_, err := s.OpenSession(ctx, v, embeds.SessionRequest{Secret: text}, limit)
		return err
	}
	t.Run("garbage costs no look-up", func(t *testing.T) {
		s := newEmbedService(t)
		for _, text := range []string{"", "ate_x", strings.Replace(s.secret.Reveal(), "ate_", "atk_", 1)} {
			require.ErrorIs(t, ask(s, shopVisit(), text, unlimited), embed.ErrTokenInvalid)
		}
	})
	t.Run("a disabled one is as good as none, and takes nothing from the limit", func(t *testing.T) {
		s := newEmbedService(t)
		s.token.Enabled = false
		s.expectBySecret()
		require.ErrorIs(t, ask(s, shopVisit(), s.secret.Reveal(), func(*embed.Token, embed.Counted) error {
			t.Error("limit was asked")
			return nil
		}), embed.ErrTokenInvalid)
	})
	t.Run("the limit comes before the origin", func(t *testing.T) {
		s, errLimit := newEmbedService(t), errors.New("too many")
		s.expectBySecret()
		require.ErrorIs(t, ask(s, embeds.Visit{Org: "org", Origin: "https://evil.example", At: embedAt},
			s.secret.Reveal(),
			func(*embed.Token, embed.Counted) error { return errLimit }), errLimit)
	})
	t.Run("another site gets none", func(t *testing.T) {
		s := newEmbedService(t)
		s.expectBySecret()
		require.ErrorIs(t, ask(s, embeds.Visit{Org: "org", Origin: "https://evil.example", At: embedAt},
			s.secret.Reveal(),
			unlimited), embed.ErrOriginNotAllowed)
	})
	t.Run("an outage is passed on", func(t *testing.T) {
		s := newEmbedService(t)
		s.embeds.EXPECT().BySecret(gomock.Any(), gomock.Any(), gomock.Any()).Return(nil, errOutage)
		require.ErrorIs(t, ask(s, shopVisit(), s.secret.Reveal(), unlimited), errOutage)
	})
}

func TestATicketIsForOurOwnPageAndOneTokenForAMinute(t *testing.T) {
	s := newEmbedService(t)
	ticket, other := s.ticket(t), newEmbedService(t)
	late := ourVisit()
	late.At = late.At.Add(time.Minute)
	for name, tt := range map[string]struct {
		service *embedService
		visit   embeds.Visit
		ticket  string
		want    error
	}{
		"from our page":        {s, ourVisit(), ticket, nil},
		"again":                {s, ourVisit(), ticket, nil},
		"from the site itself": {s, shopVisit(), ticket, embed.ErrOriginNotAllowed},
		"without an origin":    {s, embeds.Visit{Org: "org", At: embedAt}, ticket, embed.ErrOriginNotAllowed},
		"a minute later":       {s, late, ticket, embed.ErrTicketInvalid},
		"for another token":    {other, ourVisit(), ticket, embed.ErrTicketInvalid},
		"a session is no ticket": {s, ourVisit(), s.session(t, shopVisit(), "").Text.Reveal(),
			embed.ErrTicketInvalid},
		"nor when it is named one": {s, ourVisit(),
			"att_" + strings.TrimPrefix(s.session(t, shopVisit(), "").Text.Reveal(), "ats_"),
			embed.ErrTicketInvalid},
		"garbage":                  {s, ourVisit(), "att_!", embed.ErrTicketInvalid},
		"garbage that can be read": {s, ourVisit(), "att_AAAA", embed.ErrTicketInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			tt.service.expectBySecret()
			session, err := tt.service.OpenSession(t.Context(), tt.visit,
				embeds.SessionRequest{Secret: tt.service.secret.Reveal(), Ticket: tt.ticket}, unlimited)
			require.ErrorIs(t, err, tt.want)
			if err == nil && (session.Pass.Origin != embedSite || !session.Pass.Framed) {
				t.Errorf("%+v", session.Pass)
			}
		})
	}
	t.Run("the list may have changed meanwhile", func(t *testing.T) {
		s.token.Origins = []embed.OriginPattern{"https://other.example"}
		s.expectBySecret()
		_, err := s.OpenSession(t.Context(), ourVisit(),
			embeds.SessionRequest{Secret: s.secret.Reveal(), Ticket: ticket}, unlimited)
		require.ErrorIs(t, err, embed.ErrOriginNotAllowed)
	})
	t.Run("a foreign page gets none", func(t *testing.T) {
		s.expectBySecret()
		_, _, err := s.Ticket(t.Context(), shopVisit(), s.secret.Reveal(), unlimited)
		require.ErrorIs(t, err, embed.ErrOriginNotAllowed)
	})
}

func TestASessionEndsWithWhatItStandsOn(t *testing.T) {
	late, elsewhere, foreign := shopVisit(), shopVisit(), shopVisit()
	late.At, elsewhere.Org, foreign.Origin = late.At.Add(10*time.Minute), "other", "https://evil.example"
	for name, tt := range map[string]struct {
		visit  embeds.Visit
		change func(*embedService)
		want   error
		asked  bool // whether the token is looked up
	}{
		"as it was":         {shopVisit(), func(*embedService) {}, nil, true},
		"its time is over":  {late, func(*embedService) {}, embed.ErrSessionInvalid, false},
		"in another org":    {elsewhere, func(*embedService) {}, embed.ErrSessionInvalid, false},
		"from another site": {foreign, func(*embedService) {}, embed.ErrOriginNotAllowed, true},
		"the token is disabled": {shopVisit(), func(s *embedService) { s.token.Enabled = false },
			embed.ErrTokenInvalid, true},
		"the token has expired": {shopVisit(), func(s *embedService) { s.token.ExpiresAt = embedAt },
			embed.ErrTokenInvalid, true},
		"its secret is rotated out": {shopVisit(), func(s *embedService) { s.token.Hash[0]++ }, embed.ErrTokenInvalid,
			true},
		"its site is off the list": {shopVisit(), func(s *embedService) { s.token.Origins = nil },
			embed.ErrOriginNotAllowed, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEmbedService(t)
			session := s.session(t, shopVisit(), "").Text.Reveal()
			tt.change(s)
			if tt.asked {
				s.expectByID()
			}
			_, err := s.Resume(t.Context(), tt.visit, session, unlimited)
			require.ErrorIs(t, err, tt.want)
		})
	}
	t.Run("one of a frame goes on from our page, which sends no origin when it reads", func(t *testing.T) {
		s := newEmbedService(t)
		session := s.session(t, ourVisit(), s.ticket(t)).Text.Reveal()
		for _, v := range []embeds.Visit{ourVisit(), {Org: "org", At: embedAt}} {
			s.expectByID()
			_, err := s.Resume(t.Context(), v, session, unlimited)
			require.NoError(t, err)
		}
		s.expectByID()
		_, err := s.Resume(t.Context(), shopVisit(), session, unlimited)
		require.ErrorIs(t, err, embed.ErrOriginNotAllowed)
	})
	t.Run("its limit is the token's, and an outage is passed on", func(t *testing.T) {
		s, errLimit := newEmbedService(t), errors.New("too many")
		session := s.session(t, shopVisit(), "").Text.Reveal()
		s.expectByID()
		_, err := s.Resume(t.Context(), shopVisit(), session,
			func(*embed.Token, embed.Counted) error { return errLimit })
		require.ErrorIs(t, err, errLimit)
		s.embeds.EXPECT().ByIDs(gomock.Any(), gomock.Any(), gomock.Any()).Return(nil, errOutage)
		_, err = s.Resume(t.Context(), shopVisit(), session, unlimited)
		require.ErrorIs(t, err, errOutage)
	})
}

func TestASessionIsRenewed(t *testing.T) {
	s := newEmbedService(t)
	session := s.session(t, shopVisit(), "")
	laterVisit := shopVisit()
	laterVisit.At = laterVisit.At.Add(9 * time.Minute)
	s.expectByID()
	renewedSession, err := s.RenewSession(t.Context(), laterVisit, session.Text.Reveal(), unlimited)
	require.NoError(t, err)
	if renewedSession.Pass.Visitor != "42" || !renewedSession.Pass.ExpiresAt.Equal(embedAt.Add(19*time.Minute)) {
		t.Errorf("%+v", renewedSession.Pass)
	}
	laterVisit.At = laterVisit.At.Add(9 * time.Minute)
	_, err = s.RenewSession(t.Context(), laterVisit, session.Text.Reveal(), unlimited)
	require.ErrorIs(t, err, embed.ErrSessionInvalid)
	s.expectByID()
	_, err = s.Resume(t.Context(), laterVisit, renewedSession.Text.Reveal(), unlimited)
	require.NoError(t, err)
	s.token.Generation++
	s.expectByID()
	_, err = s.RenewSession(t.Context(), laterVisit, renewedSession.Text.Reveal(), unlimited)
	require.ErrorIs(t, err, embed.ErrSessionInvalid)
}

func TestABackendVerifiesASession(t *testing.T) {
	ann := embedder("ann")
	elsewhere, foreign, late := ann, ann, ann
	elsewhere.Workspace, foreign.Org, late.At = "other", "other", late.At.Add(10*time.Minute)
	for name, tt := range map[string]struct {
		by     identity.Actor
		change func(*embedService)
		want   error
		asked  bool // whether the token is looked up
	}{
		"as it was":            {ann, func(*embedService) {}, nil, true},
		"in another workspace": {elsewhere, func(*embedService) {}, embed.ErrSessionNotFound, true},
		"in another org":       {foreign, func(*embedService) {}, embed.ErrSessionNotFound, false},
		"after its end":        {late, func(*embedService) {}, embed.ErrSessionNotFound, false},
		"of a disabled token": {ann, func(s *embedService) { s.token.Enabled = false }, embed.ErrSessionNotFound,
			true},
		"of one that was":       {ann, func(s *embedService) { s.token.Generation++ }, embed.ErrSessionNotFound, true},
		"whose secret has gone": {ann, func(s *embedService) { s.token.Hash[0]++ }, embed.ErrSessionNotFound, true},
		"whose site has gone":   {ann, func(s *embedService) { s.token.Origins = nil }, embed.ErrSessionNotFound, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEmbedService(t)
			session := s.session(t, shopVisit(), "").Text.Reveal()
			tt.change(s)
			if tt.asked {
				s.expectByID()
			}
			got, err := s.Verify(t.Context(), tt.by, session)
			require.ErrorIs(t, err, tt.want)
			if err == nil && (got.Pass.Visitor != "42" || got.Pass.Origin != embedSite ||
				got.Embedding.Template.ID != "ctpl") {
				t.Errorf("%+v", got)
			}
		})
	}
	s := newEmbedService(t)
	session := s.session(t, shopVisit(), "").Text.Reveal()
	for outage, want := range map[error]error{
		errOutage: errOutage, embed.ErrTokenInvalid: embed.ErrSessionNotFound,
	} {
		s.embeds.EXPECT().ByIDs(gomock.Any(), gomock.Any(), gomock.Any()).Return(nil, outage)
		_, err := s.Verify(t.Context(), ann, session)
		require.ErrorIs(t, err, want)
	}
}

func TestUseIsNotedOnceAMinute(t *testing.T) {
	s := newEmbedService(t)
	session := s.session(t, shopVisit(), "")
	s.embeds.EXPECT().Used(gomock.Any(), identity.OrgID("org"), s.token.ID, embed.Origin(embedSite), false, embedAt)
	require.NoError(t, s.NoteUse(t.Context(), session, embedAt))
	session.Embedding.Token.LastUsedAt = embedAt.Add(-time.Minute + 1)
	require.ErrorIs(t, s.NoteUse(t.Context(), session, embedAt), nil) // the mock would fail a second call
	session.Pass.Signed = true
	s.embeds.EXPECT().Used(gomock.Any(), identity.OrgID("org"), s.token.ID, embed.Origin(embedSite), true, embedAt)
	require.NoError(t, s.NoteUse(t.Context(), session, embedAt))
	session.Embedding.Token.LastSignedAt = embedAt.Add(-time.Hour + 1)
	require.NoError(t, s.NoteUse(t.Context(), session, embedAt))
}

func TestATokenCanRequireSignedVisitors(t *testing.T) {
	s := newEmbedService(t)
	unsigned := s.session(t, shopVisit(), "")
	signature := embed.SignVisitor(s.VisitorSecret(&s.token), "42", "", embedAt.Add(time.Hour))
	s.token.RequireSigned = true
	open := func(r embeds.SessionRequest) (*embeds.Session, error) {
		s.expectBySecret()
		r.Secret = s.secret.Reveal()
		return s.OpenSession(t.Context(), shopVisit(), r, unlimited)
	}
	_, err := open(embeds.SessionRequest{Visitor: "42"})
	require.ErrorIs(t, err, embed.ErrVisitorUnsigned)
	_, err = open(embeds.SessionRequest{Visitor: "42", Signature: "1.x"})
	require.ErrorIs(t, err, embed.ErrVisitorSignature)
	signed, err := open(embeds.SessionRequest{Visitor: "42", Signature: signature})
	require.NoError(t, err)
	for _, session := range []*embeds.Session{signed, unsigned} { // a session from before ends, too
		s.expectByID()
		_, err := s.Resume(t.Context(), shopVisit(), session.Text.Reveal(), unlimited)
		if session == signed {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, embed.ErrVisitorUnsigned)
		}
	}
	if s.embedding().Continues(unsigned.Pass, embedAt) || !s.embedding().Continues(signed.Pass, embedAt) {
		t.Error("a stream of an unsigned visitor goes on, or one of a signed visitor ends")
	}
}

func TestPreflightsAskTheStore(t *testing.T) {
	s := newEmbedService(t)
	s.embeds.EXPECT().Expected(gomock.Any(), identity.OrgID("org"), embed.Origin(embedSite)).Return(true, nil)
	if ok, err := s.Expected(t.Context(), shopVisit()); !ok || err != nil {
		t.Error(ok, err)
	}
}

func TestASignedVisitorIsMarked(t *testing.T) {
	s, errLimit := newEmbedService(t), errors.New("too many")
	signedText := embed.SignVisitor(s.VisitorSecret(&s.token), "42", "", embedAt.Add(time.Hour))
	ask := func(visitor, signature string, limit embeds.Limit) (*embeds.Session, error) {
		s.expectBySecret()
		return s.OpenSession(t.Context(), shopVisit(), embeds.SessionRequest{Secret: s.secret.Reveal(),
			Visitor: visitor, Signature: signature}, limit)
	}
	expects := func(want string) embeds.Limit {
		return func(_ *embed.Token, count embed.Counted) error {
			if count != (embed.Counted{Visitor: want}) {
				t.Errorf("the call of %+v counts, want %q", count, want)
			}
			return nil
		}
	}
	session, err := ask("42", signedText, expects("42"))
	require.NoError(t, err)
	if !session.Pass.Signed {
		t.Error("the session is not marked")
	}
	s.expectByID()
	renewedSession, err := s.RenewSession(t.Context(), shopVisit(), session.Text.Reveal(), expects("42"))
	require.NoError(t, err)
	if !renewedSession.Pass.Signed || renewedSession.Pass.Visitor != "42" {
		t.Errorf("%+v", renewedSession.Pass)
	}
	unsignedSession, err := ask("42", "", expects(""))
	require.NoError(t, err)
	if unsignedSession.Pass.Signed {
		t.Error("a visitor without a signature is marked")
	}
	for range 2 { // a renewed session is the same one
		s.expectByID()
		unsignedSession, err = s.RenewSession(t.Context(), shopVisit(), unsignedSession.Text.Reveal(),
			func(_ *embed.Token, count embed.Counted) error {
				if count.Session == "" || count != (embed.Counted{Session: unsignedSession.Pass.ID}) {
					t.Errorf("the call of %+v counts, want that of session %s", count, unsignedSession.Pass.ID)
				}
				return nil
			})
		require.NoError(t, err)
	}
	_, err = ask("43", signedText, expects(""))
	require.ErrorIs(t, err, embed.ErrVisitorSignature)
	_, err = ask("43", signedText, func(*embed.Token, embed.Counted) error { return errLimit }) // guesses are limited
	require.ErrorIs(t, err, errLimit)

	s.token.Previous, s.token.PreviousUntil = s.token.Hash, embedAt.Add(time.Minute)
	s.token.Hash = secret.NewToken(embed.SecretPrefix).Hash()
	rotatedSession, err := ask("42", signedText, expects("42"))
	require.NoError(t, err)
	if !rotatedSession.Pass.Signed {
		t.Error("what the earlier secret signed does not count while that secret works")
	}
	s.token.PreviousUntil, s.token.Hash = embedAt, s.secret.Hash()
	s.token.Previous = secret.NewToken(embed.SecretPrefix).Hash()
	earlier := s.token
	earlier.Hash = s.token.Previous
	endedText := embed.SignVisitor(s.VisitorSecret(&earlier), "42", "", embedAt.Add(time.Hour))
	_, err = ask("42", endedText, expects(""))
	require.ErrorIs(t, err, embed.ErrVisitorSignature)
}
