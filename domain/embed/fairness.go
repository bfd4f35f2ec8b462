package embed

import "time"

const (
	// fewReplies is the number of replies that each visitor can have on a day, however few a token has.
	fewReplies = 10

	// signedFor is the time for which a token keeps a reserve after a visitor was signed.
	signedFor = 30 * 24 * time.Hour
)

// MostReplies returns the number of replies that t may have had on a day for one more to the same recipient, which has
// had count of them: a signed visitor, or all unsigned visitors of one address. Up to half of the day is for everyone.
// The second half is for recipients with fewer than a tenth of the day, so one recipient gets at most half. The last
// fifth is for signed visitors, if a visitor was signed within the last 30 days: any number of strangers leave it to
// them.
func (t *Token) MostReplies(isSigned bool, count int, now time.Time) int {
	limit := t.RepliesPerDay
	if !isSigned && now.Sub(t.LastSignedAt) < signedFor {
		limit -= t.RepliesPerDay / 5
	}
	if count >= max(fewReplies, t.RepliesPerDay/10) {
		limit = min(limit, t.RepliesPerDay-t.RepliesPerDay/2)
	}
	return limit
}
