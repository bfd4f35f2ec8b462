package account_test

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/test/support/assert"
)

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func TestNewToken(t *testing.T) {
	form := regexp.MustCompile(`^atk_[0-9A-Za-z]{49}$`)
	seen, usedCounts := map[string]bool{}, map[rune]int{}
	const n = 2000
	for range n {
		token := account.NewToken()
		s := token.Reveal()
		if !form.MatchString(s) || seen[s] {
			t.Fatalf("token %d: its form is wrong, or it came before", len(seen))
		}
		seen[s] = true
		for _, r := range s[4:47] {
			usedCounts[r]++
		}
		if repeat, ok := account.ParseToken(s); !ok || repeat.Hash() != token.Hash() || repeat.Reveal() != s {
			t.Fatal("it is not accepted")
		}
	}
	t.Run("no digit is favoured", func(t *testing.T) {
		want := n * 43 / len(digits) // 1387 each; a digit too many by modulo would have 1.25 times as many
		for _, r := range digits {
			if got := usedCounts[r]; got < want*85/100 || got > want*115/100 { // 5.5 standard deviations
				t.Errorf("%c occurs %d times, want about %d", r, got, want)
			}
		}
	})
}

func TestParseToken(t *testing.T) {
	zeros := "atk_" + strings.Repeat("0", 43)
	for name, tt := range map[string]struct {
		s  string
		ok bool
	}{
		"zeros, with the checksum that CRC-32 makes of them": {zeros + "00JPKp", true},
		"every digit":            {"atk_" + digits[:43] + "3r2uU0", true},
		"the highest digits":     {"atk_" + strings.Repeat("z", 43) + "1og1mY", true},
		"another checksum":       {zeros + "000000", false},
		"another prefix":         {"ate_" + strings.Repeat("0", 43) + "00JPKp", false},
		"the prefix in capitals": {"ATK_" + strings.Repeat("0", 43) + "00JPKp", false},
		"one character less":     {zeros + "00JPKp"[:5], false},
		"one more":               {zeros + "00JPKp" + "0", false},
		"a space before":         {" " + zeros + "00JPKp", false},
		"nothing":                {"", false},
		"the prefix alone":       {"atk_", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := account.ParseToken(tt.s); ok != tt.ok || got.IsZero() == tt.ok {
				t.Errorf("ParseToken = %v", ok)
			}
		})
	}
	t.Run("a typo in any place is noticed", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			s := []byte(account.NewToken().Reveal())
			index := rapid.IntRange(4, len(s)-1).Draw(t, "at")
			typo := rapid.SampledFrom([]byte(digits)).Draw(t, "typo")
			same := s[index] == typo
			s[index] = typo
			if _, ok := account.ParseToken(string(s)); ok != same {
				t.Fatalf("accepted %v, the same %v", ok, same)
			}
		})
	})
	t.Run("whatever comes is refused without a panic", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			if _, ok := account.ParseToken(rapid.OneOf(rapid.String(), rapid.StringMatching(`atk_.{49}`)).Draw(t,
				"s")); ok {
				t.Fatal("accepted")
			}
		})
	})
}

func TestTokenShowsNothing(t *testing.T) {
	token := account.NewToken()
	s := token.Reveal()
	if token.Hash() != sha256.Sum256([]byte(s)) {
		t.Error("the hash is not the SHA-256 of the whole token")
	}
	assert.Equal(t, "hint", token.Hint(), s[len(s)-4:])
	if page := fmt.Sprintf("%v %+v %#v %s", token, token, token, token); strings.Contains(page, s[4:20]) {
		t.Error("printing shows it")
	}
}
