package chats_test

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/chats"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports/mocks"
)

func TestUsesOfEmbedTokensAreWrittenTogether(t *testing.T) {
	store := mocks.NewMockEmbedUses(gomock.NewController(t))
	u := chats.NewEmbedUsage(store)
	token := &chat.EmbedToken{Org: "org", ID: "etok"}
	for range 3 {
		u.Session(token, "https://a.example", embedAt)
	}
	u.Refusal(token, "https://b.example", embedAt.Add(24*time.Hour))
	today := chat.DayOf(embedAt)
	want := []chat.EmbedUse{
		{Day: today, Origin: "https://a.example", EmbedCounts: chat.EmbedCounts{Sessions: 3}},
		{Day: today + 1, Origin: "https://b.example", EmbedCounts: chat.EmbedCounts{Refusals: 1}},
	}
	expect := func(err error) {
		store.EXPECT().Add(gomock.Any(), identity.OrgID("org"), chat.EmbedTokenID("etok"), gomock.Any()).DoAndReturn(
			func(_ context.Context, _ identity.OrgID, _ chat.EmbedTokenID, uses []chat.EmbedUse) error {
				slices.SortFunc(uses, func(a, b chat.EmbedUse) int { return cmp.Compare(a.Day, b.Day) })
				if !slices.Equal(uses, want) {
					t.Errorf("written %+v", uses)
				}
				return err
			})
	}
	expect(errOutage)
	wantErr(t, u.Flush(t.Context()), errOutage)
	expect(nil) // what an outage kept from being written is written later
	wantErr(t, u.Flush(t.Context()), nil)
	wantErr(t, u.Flush(t.Context()), nil) // and once: the mock expects no more
}

func TestUsageIsForManagersAndAtMostNinetyDays(t *testing.T) {
	s := newEmbedService(t)
	ctx := t.Context()
	s.embeds.EXPECT().Get(ctx, gomock.Any(), chat.ID("ctpl"), s.token.ID).AnyTimes().DoAndReturn(
		func(context.Context, identity.Actor, chat.ID, chat.EmbedTokenID) (*chat.Template, *chat.EmbedToken, error) {
			return s.template(), &s.token, nil
		})
	found := []chat.EmbedUse{{Day: 7}}
	s.uses.EXPECT().List(ctx, identity.OrgID("org"), s.token.ID, chat.Day(1), chat.Day(90)).Return(found, nil)
	got, err := s.Usage(ctx, embedder("ann"), "ctpl", s.token.ID, 1, 90)
	if err != nil || !slices.Equal(got, found) {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = s.Usage(ctx, embedder("ann"), "ctpl", s.token.ID, 1, 91)
	wantErr(t, err, chat.ErrUsageRange)
	_, err = s.Usage(ctx, embedder("ann"), "ctpl", s.token.ID, 2, 1)
	wantErr(t, err, chat.ErrUsageRange)
	_, err = s.Usage(ctx, embedder("joe"), "ctpl", s.token.ID, 1, 2)
	wantErr(t, err, chat.ErrForbidden)
}
