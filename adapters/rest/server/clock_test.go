package server

import (
	"net/http/httptest"
	"testing"
	"time"
)

// TestLimitsFollowCorrectionsOfTheClock empties a bucket and sets the clock back. Without a correction the bucket would
// stay empty for as long as the clock was set back.
func TestLimitsFollowCorrectionsOfTheClock(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, shift := range map[string]time.Duration{
		"back by an hour": -time.Hour, "back by two days": -48 * time.Hour, "ahead by two days": 48 * time.Hour,
		"not at all": 0,
	} {
		t.Run(name, func(t *testing.T) {
			l := NewLimiter(60, 2)
			allow := func(now time.Time) bool { return l.Allow(httptest.NewRecorder(), "a", now) }
			if !allow(start) || !allow(start) || allow(start) {
				t.Fatal("the bucket does not hold two tokens")
			}
			correctedAt := start.Add(shift)
			if shift <= 0 && allow(correctedAt) {
				t.Error("the correction gives a token")
			}
			if !allow(correctedAt.Add(time.Second)) {
				t.Error("a second later there is no token")
			}
			if allow(correctedAt.Add(time.Second)) && shift <= 0 {
				t.Error("there is more than one token")
			}
		})
	}
}

// TestKnownTokensFollowCorrectionsOfTheClock forgets what was seen at a time that lies in the future now.
func TestKnownTokensFollowCorrectionsOfTheClock(t *testing.T) {
	tokens, start := newKnownTokens(), time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	tokens.Remember("token", start)
	returnTime := start.Add(-2 * time.Hour)
	if ok, _ := tokens.has("token", returnTime); ok {
		t.Error("a token is known two hours before it was seen")
	}
	tokens.Remember("token", returnTime)
	if ok, _ := tokens.has("token", returnTime.Add(time.Minute)); !ok {
		t.Error("a token that was seen a minute ago is not known")
	}
}
