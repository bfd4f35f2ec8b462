package embed_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestOnlyTheSecretVouchesForAVisitorUntilItsEnd(t *testing.T) {
	key, now := secret.New("atv_key"), time.Unix(1_800_000_000, 0)
	// openssl dgst -sha256 -hmac atv_key, of 1800000060.customer-42
	const known = "1800000060.97f2b26372ad5d5c2952491d4cf39699119fd2591d978ce07a44cb2bc502dc1d"
	signature := embed.SignVisitor(key, "customer-42", "", now.Add(time.Minute))
	assert.Equal(t, "the signature", signature, known)
	digits := strings.TrimPrefix(signature, "1800000060.")
	for name, tt := range map[string]struct {
		key                string
		visitor, signature string
		after              time.Duration
		want               bool
	}{
		"as it was signed":        {"atv_key", "customer-42", signature, 0, true},
		"to the last second":      {"atv_key", "customer-42", signature, 59 * time.Second, true},
		"after its end":           {"atv_key", "customer-42", signature, time.Minute, false},
		"another visitor":         {"atv_key", "customer-43", signature, 0, false},
		"another secret":          {"atv_other", "customer-42", signature, 0, false},
		"a later end":             {"atv_key", "customer-42", "1800000061." + digits, 0, false},
		"the end in other digits": {"atv_key", "customer-42", "+1800000060." + digits, 0, false},
		"moved dot":               {"atv_key", "0.customer-42", "180000006." + digits, 0, false},
		"upper case":              {"atv_key", "customer-42", strings.ToUpper(signature), 0, false},
		"cut off":                 {"atv_key", "customer-42", signature[:len(signature)-1], 0, false},
		"no signature":            {"atv_key", "customer-42", "", 0, false},
		"no digits":               {"atv_key", "customer-42", "x." + digits, 0, false},
		"nobody":                  {"atv_key", "", embed.SignVisitor(key, "", "", now.Add(time.Minute)), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := embed.VouchedFor(secret.New(tt.key), tt.visitor, "", tt.signature, now.Add(tt.after))
			if got != tt.want {
				t.Errorf("%q: %v", tt.signature, got)
			}
		})
	}
}

func TestAttributesAreSignedWithTheVisitor(t *testing.T) {
	key, now := secret.New("atv_key"), time.Unix(1_800_000_000, 0)
	const attributes = `{"plan":"pro"}`
	const hash = "029c40d2e5ce24535086fada67eb3ec85a1f8167d5a99eab7917ec0576126e99"
	signature := embed.SignVisitor(key, "customer-42", attributes, now.Add(time.Minute))
	plain := embed.SignVisitor(key, "customer-42", "", now.Add(time.Minute))
	for name, tt := range map[string]struct {
		visitor, attributes, signature string
		want                           bool
	}{
		"as they were signed":        {"customer-42", attributes, signature, true},
		"other attributes":           {"customer-42", `{"plan":"max"}`, signature, false},
		"the same in another form":   {"customer-42", `{"plan": "pro"}`, signature, false},
		"without the attributes":     {"customer-42", "", signature, false},
		"attributes added":           {"customer-42", attributes, plain, false},
		"another visitor":            {"customer-43", attributes, signature, false},
		"a visitor that looks alike": {hash + ".customer-42", "", signature, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := embed.VouchedFor(key, tt.visitor, tt.attributes, tt.signature, now); got != tt.want {
				t.Errorf("it vouches: %v", got)
			}
		})
	}
}

func TestAttributesAreASmallObject(t *testing.T) {
	for attributes, want := range map[string]string{
		"": "", "{}": "", `{"plan":"pro","seats":3}`: "", "null": "invalid_format", "[]": "invalid_format",
		`{"plan":`: "invalid_format", `{"a":"` + strings.Repeat("x", 1016) + `"}`: "",
		`{"a":"` + strings.Repeat("x", 1017) + `"}`: "too_long",
	} {
		got := ""
		if f, ok := errors.AsType[*fault.Error](embed.CheckAttributes(attributes)); ok {
			got = f.Fields[0].Code
		}
		assert.Equal(t, attributes, got, want)
	}
}
