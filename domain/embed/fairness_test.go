package embed_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestADayIsShared(t *testing.T) {
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	recently, longAgo := now.Add(-29*24*time.Hour), now.Add(-30*24*time.Hour)
	for name, row := range map[string]struct {
		perDay, own int
		isSigned    bool
		signedAt    time.Time
		want        int
	}{
		"a visitor":                                  {perDay: 1000, want: 1000},
		"a visitor with nearly a tenth":              {perDay: 1000, own: 99, want: 1000},
		"a visitor with a tenth":                     {perDay: 1000, own: 100, want: 500},
		"a signed visitor with a tenth":              {perDay: 1000, own: 100, isSigned: true, signedAt: now, want: 500},
		"a visitor beside signed ones":               {perDay: 1000, signedAt: recently, want: 800},
		"a visitor with a tenth beside signed ones":  {perDay: 1000, own: 100, signedAt: recently, want: 500},
		"a signed visitor":                           {perDay: 1000, isSigned: true, signedAt: recently, want: 1000},
		"the site no longer signs":                   {perDay: 1000, signedAt: longAgo, want: 1000},
		"a small day: each visitor has at least ten": {perDay: 20, own: 9, want: 20},
		"a small day: a visitor with ten":            {perDay: 20, own: 10, want: 10},
		"an odd day":                                 {perDay: 25, own: 10, want: 13},
		"a day of four has no reserve":               {perDay: 4, signedAt: recently, want: 4},
		"a day without replies":                      {perDay: 0, signedAt: recently, want: 0},
	} {
		token := embed.Token{Settings: embed.Settings{RepliesPerDay: row.perDay}, LastSignedAt: row.signedAt}
		assert.Equal(t, name, token.MostReplies(row.isSigned, row.own, now), row.want)
	}
}
