package contract

import (
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func embedUses(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	template := fixture.Chat(t, a.Stores, team.Member, chat.Draft{})
	token := mustEmbed(t, a.Stores, team.Member, template.ID, embed.Changes{})
	today := embed.DayOf(time.Now())
	use := func(day embed.Day, origin embed.Origin, sessions, refusals int64) embed.Use {
		return embed.Use{Day: day, Origin: origin,
			Counts: embed.Counts{Sessions: sessions, Refusals: refusals}}
	}
	add := func(t *testing.T, org identity.OrgID, uses ...embed.Use) {
		t.Helper()
		must(t, a.EmbedUses.Add(ctx, org, token.ID, uses))
	}
	pause := func(t *testing.T, from, to embed.Day) []embed.Use {
		t.Helper()
		found, err := a.EmbedUses.List(ctx, team.Org, token.ID, from, to)
		must(t, err)
		return found
	}
	t.Run("counts add up with the replies of the same day and origin", func(t *testing.T) {
		const site, evil = "https://www.example.com", "https://evil.example"
		add(t, team.Org, use(today, site, 2, 0), use(today-1, site, 1, 1), use(today, evil, 0, 3))
		add(t, team.Org, use(today, site, 1, 1))
		if n, err := a.Replies.Count(ctx, team.Org, token.ID, site, embed.DayOf(time.Now()), 1,
			5); err != nil || n != 1 {
			t.Fatal(n, err)
		}
		answeredUse := use(today, site, 3, 1)
		answeredUse.Messages = 1
		same(t, "uses", pause(t, today-1, today),
			[]embed.Use{use(today, evil, 0, 3), answeredUse, use(today-1, site, 1, 1)})
		same(t, "uses of a day", pause(t, today-1, today-1), []embed.Use{use(today-1, site, 1, 1)})
	})
	t.Run("another org neither adds nor reads", func(t *testing.T) {
		add(t, a.Orgs[1], use(today-2, "https://a.example", 1, 0))
		if found := pause(t, today-2, today-2); len(found) > 0 {
			t.Errorf("added %+v", found)
		}
		if found, err := a.EmbedUses.List(ctx, a.Orgs[1], token.ID, today-1, today); err != nil || len(found) > 0 {
			t.Errorf("read %+v, %v", found, err)
		}
	})
	t.Run("origins beyond a hundred of a day count together", func(t *testing.T) {
		var uses []embed.Use
		for i := range 103 {
			uses = append(uses, use(today-3, embed.Origin(fmt.Sprintf("https://h%03d.example", i)), 0, 1))
		}
		add(t, team.Org, uses...)
		found := pause(t, today-3, today-3)
		if last := found[len(found)-1]; len(found) != 101 || last.Origin != embed.OtherOrigins || last.Refusals != 3 {
			t.Errorf("%d origins, and %+v", len(found), last)
		}
	})
	t.Run("days before the last ninety are forgotten", func(t *testing.T) {
		add(t, team.Org, use(today-91, "https://a.example", 1, 0))
		add(t, team.Org, use(today, "https://a.example", 1, 0))
		if found := pause(t, today-91, today-91); len(found) > 0 {
			t.Errorf("kept %+v", found)
		}
	})
	t.Run("failed replies add up by day and code, and are forgotten like uses", func(t *testing.T) {
		failed := func(org identity.OrgID, failures ...embed.Failure) {
			must(t, a.EmbedUses.AddFailures(ctx, org, token.ID, failures))
		}
		failed(team.Org, embed.Failure{Day: today - 91, Code: "old", Count: 1})
		failed(team.Org, embed.Failure{Day: today, Code: "reply_empty", Count: 1},
			embed.Failure{Day: today, Code: "auth_failed", Count: 2},
			embed.Failure{Day: today - 1, Code: "x", Count: 1})
		failed(team.Org, embed.Failure{Day: today, Code: "auth_failed", Count: 5})
		failed(a.Orgs[1], embed.Failure{Day: today, Code: "auth_failed", Count: 100})
		found, err := a.EmbedUses.Failures(ctx, team.Org, token.ID, today-91, today)
		must(t, err)
		same(t, "failures", found, []embed.Failure{{Day: today, Code: "auth_failed", Count: 7},
			{Day: today, Code: "reply_empty", Count: 1}, {Day: today - 1, Code: "x", Count: 1}})
		if found, err := a.EmbedUses.Failures(ctx, a.Orgs[1], token.ID, today, today); err != nil || len(found) > 0 {
			t.Errorf("another org reads %+v, %v", found, err)
		}
	})
}
