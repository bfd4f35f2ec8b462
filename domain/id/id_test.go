package id_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/domain/id"
)

// madeAt reads the time in an identifier by the rules of RFC 9562 and of the TypeID format.
func madeAt(t testing.TB, s string) time.Time {
	t.Helper()
	var bits [16]byte
	n := 0
	for i, c := range s[strings.LastIndex(s, "_")+1:] {
		five := strings.IndexRune("0123456789abcdefghjkmnpqrstvwxyz", c)
		if five < 0 {
			t.Fatalf("%q is no digit", c)
		}
		for b := 4; b >= 0; b-- {
			if i == 0 && b > 2 { // the first digit carries three bits
				continue
			}
			bits[n/8] |= byte(five>>b&1) << (7 - n%8)
			n++
		}
	}
	u := uuid.UUID(bits)
	if n != 128 || u.Version() != 7 || u.Variant() != uuid.RFC4122 {
		t.Fatalf("%s holds %d bits, version %d", s, n, u.Version())
	}
	sec, nsec := u.Time().UnixTime()
	return time.Unix(sec, nsec)
}

func TestNew(t *testing.T) {
	t.Run("an identifier holds the time when it was made", func(t *testing.T) {
		start := time.Now().Truncate(time.Millisecond)
		got := madeAt(t, id.New("ptpl"))
		if end := time.Now(); got.Before(start) || got.After(end.Add(time.Millisecond)) {
			t.Fatalf("made at %v, between %v and %v", got, start, end)
		}
	})
	t.Run("identifiers sort by the order in which they were made", func(t *testing.T) {
		texts := make([]string, 10_000)
		for i := range texts {
			texts[i] = id.New("evt")
		}
		if !slices.IsSorted(texts) || len(slices.Compact(texts)) != 10_000 {
			t.Fatal("they do not, or some are the same")
		}
	})
	t.Run("they sort by creation time, also across processes", func(t *testing.T) {
		var mu sync.Mutex
		var all []string
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				ownTexts := make([]string, 500)
				for i := range ownTexts {
					ownTexts[i] = id.New("evt")
				}
				mu.Lock()
				defer mu.Unlock()
				all = append(all, ownTexts...)
			})
		}
		wg.Wait()
		slices.Sort(all)
		for i := 1; i < len(all); i++ {
			if all[i] == all[i-1] || madeAt(t, all[i]).Before(madeAt(t, all[i-1])) {
				t.Fatalf("%s stands before %s", all[i-1], all[i])
			}
		}
	})
	t.Run("a fresh identifier is valid", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			prefix := rapid.StringMatching(`[a-z]{1,8}`).Draw(t, "prefix")
			if s := id.New(prefix); !id.Valid(prefix, s) || id.Valid(prefix+"x", s) || len(s) != len(prefix)+27 {
				t.Fatalf("New(%q) = %s", prefix, s)
			}
		})
	})
}

func TestValid(t *testing.T) {
	for name, tt := range map[string]struct {
		s    string
		want bool
	}{
		"the lowest":                     {"usr_00000000000000000000000000", true},
		"the highest":                    {"usr_7zzzzzzzzzzzzzzzzzzzzzzzzz", true},
		"one with more than 128 bits":    {"usr_8zzzzzzzzzzzzzzzzzzzzzzzzz", false},
		"another prefix":                 {"org_00000000000000000000000000", false},
		"no prefix":                      {"00000000000000000000000000", false},
		"no underscore":                  {"usr00000000000000000000000000", false},
		"one digit less":                 {"usr_0000000000000000000000000", false},
		"one digit more":                 {"usr_000000000000000000000000000", false},
		"a capital":                      {"usr_0000000000000000000000000A", false},
		"a letter that looks like digit": {"usr_0000000000000000000000000l", false},
		"a character of two bytes":       {"usr_000000000000000000000000ä", false},
		"nothing but the prefix":         {"usr_", false},
		"nothing":                        {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := id.Valid("usr", tt.s); got != tt.want {
				t.Errorf("Valid(%q) = %v", tt.s, got)
			}
		})
	}
	t.Run("one wrong character is enough", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			s := []byte(id.New("usr"))
			index, digit := rapid.IntRange(0, len(s)-1).Draw(t, "at"),
				rapid.SampledFrom([]byte("ilou-.AZ \x00\xff")).Draw(t, "wrong")
			same := s[index] == digit // the u of usr
			if s[index] = digit; id.Valid("usr", string(s)) != same {
				t.Fatalf("Valid(%q) = %v", s, !same)
			}
		})
	})
}
