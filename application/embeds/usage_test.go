package embeds_test

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/embeds"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestUsesOfEmbedTokensAreWrittenTogether(t *testing.T) {
	store := mocks.NewMockEmbedUses(gomock.NewController(t))
	u := embeds.NewUsage(store)
	token := &embed.Token{Org: "org", ID: "etok"}
	for range 3 {
		u.Session(token, "https://a.example", embedAt)
	}
	u.Refusal(token, "https://b.example", embedAt.Add(24*time.Hour))
	today := embed.DayOf(embedAt)
	want := []embed.Use{
		{Day: today, Origin: "https://a.example", Counts: embed.Counts{Sessions: 3}},
		{Day: today + 1, Origin: "https://b.example", Counts: embed.Counts{Refusals: 1}},
	}
	expect := func(err error) {
		store.EXPECT().Add(gomock.Any(), identity.OrgID("org"), embed.TokenID("etok"), gomock.Any()).DoAndReturn(
			func(_ context.Context, _ identity.OrgID, _ embed.TokenID, uses []embed.Use) error {
				slices.SortFunc(uses, func(a, b embed.Use) int { return cmp.Compare(a.Day, b.Day) })
				assert.EqualSlice(t, "written", uses, want)
				return err
			})
	}
	expect(errOutage)
	require.ErrorIs(t, u.Flush(t.Context()), errOutage)
	expect(nil) // what an outage kept from being written is written later
	require.NoError(t, u.Flush(t.Context()))
	require.ErrorIs(t, u.Flush(t.Context()), nil) // and once: the mock expects no more
}

func TestUsageIsForManagersAndAtMostNinetyDays(t *testing.T) {
	s := newEmbedService(t)
	ctx := t.Context()
	s.embeds.EXPECT().Get(ctx, gomock.Any(), chat.ID("ctpl"), s.token.ID).AnyTimes().DoAndReturn(
		func(context.Context, identity.Actor, chat.ID, embed.TokenID) (*chat.Template, *embed.Token, error) {
			return s.template(), &s.token, nil
		})
	found := []embed.Use{{Day: 7}}
	s.uses.EXPECT().List(ctx, identity.OrgID("org"), s.token.ID, embed.Day(1), embed.Day(90)).Return(found, nil)
	failed := []embed.Failure{{Day: 7, Code: "reply_empty", Count: 2}}
	s.uses.EXPECT().Failures(ctx, identity.OrgID("org"), s.token.ID, embed.Day(1), embed.Day(90)).Return(failed, nil)
	got, failures, err := s.Usage(ctx, embedder("ann"), "ctpl", s.token.ID, 1, 90)
	if err != nil || !slices.Equal(got, found) || !slices.Equal(failures, failed) {
		t.Errorf("%+v, %+v, %v", got, failures, err)
	}
	_, _, err = s.Usage(ctx, embedder("ann"), "ctpl", s.token.ID, 1, 91)
	require.ErrorIs(t, err, embed.ErrUsageRange)
	_, _, err = s.Usage(ctx, embedder("ann"), "ctpl", s.token.ID, 2, 1)
	require.ErrorIs(t, err, embed.ErrUsageRange)
	_, _, err = s.Usage(ctx, embedder("joe"), "ctpl", s.token.ID, 1, 2)
	require.ErrorIs(t, err, chat.ErrForbidden)
}
