package quota_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestCheck(t *testing.T) {
	limits := quota.Limits{Amounts: amounts(func(i int) int64 { return int64(i) })}
	for i, k := range quota.Kinds() {
		if err := limits.Check(limits.Amounts, quota.Kinds()...); err != nil {
			t.Errorf("a full %s is refused: %v", k, err)
		}
		excess := amounts(func(n int) int64 {
			if n == i {
				return int64(n) + 1
			}
			return 0
		})
		err := limits.Check(excess, quota.Kinds()...)
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Code != "quota_exceeded" || f.Kind != fault.Conflict ||
			!strings.Contains(f.Detail, "The quota "+string(k)+" of this workspace is ") {
			t.Errorf("%s beyond its limit: %v", k, err)
		}
		for _, other := range quota.Kinds() {
			if other != k && limits.Check(excess, other) != nil {
				t.Errorf("%s counts for %s", k, other)
			}
		}
	}
}

func TestNear(t *testing.T) {
	limits := quota.Limits{Amounts: quota.Default()}
	for _, tt := range []struct {
		name string
		used quota.Amounts
		want bool
	}{
		{"nothing is used", quota.Amounts{}, false},
		{"most things are used", quota.Amounts{PromptVersions: 99_500}, true},
		{"most bytes are used", quota.Amounts{StorageBytes: 2<<30 - 1<<20}, true},
		{"more than the limit is used", quota.Amounts{PromptVersions: 100_001}, true},
		{"another kind is nearly used up", quota.Amounts{ChatTemplates: 4_999}, false},
		{"a kind without a limit is used", quota.Amounts{Members: 1 << 40}, false},
	} {
		if got := limits.Near(tt.used, quota.PromptVersions, quota.StorageBytes, quota.Members); got != tt.want {
			t.Errorf("%s: near is %t", tt.name, got)
		}
	}
	limits.ChatTemplates = 20
	if !limits.Near(quota.Amounts{}, quota.ChatTemplates) {
		t.Error("concurrent callers can exceed a small limit")
	}
}

// amounts returns an amount for each kind, by its index.
func amounts(countOf func(i int) int64) quota.Amounts {
	namedCounts := map[string]int64{}
	for i, k := range quota.Kinds() {
		namedCounts[string(k)] = countOf(i)
	}
	return quota.Amounts{}.WithPlan(namedCounts)
}

func TestPlanLimit(t *testing.T) {
	base := quota.Default()
	offer := func(name string, members int64) quota.Offer {
		return quota.Offer{ID: strings.ToLower(name), Name: name,
			Amounts: base.WithPlan(map[string]int64{"members": members})}
	}
	ownOffer := offer("Solo", 1)
	limits := quota.Limits{
		Amounts: ownOffer.Amounts, Plan: ownOffer, Limited: map[quota.Kind]bool{quota.Members: true},
		Others: []quota.Offer{ownOffer, offer("Team", 5), offer("Large", 50)},
	}
	for _, tt := range []struct {
		used   int64
		lifted string
	}{{2, "team"}, {5, "team"}, {6, "large"}, {51, ""}} {
		err := limits.Check(quota.Amounts{Members: tt.used}, quota.Members)
		if !errors.Is(err, quota.ErrPlanLimit) || errors.Is(err, quota.ErrExceeded) {
			t.Fatalf("%d members: %v", tt.used, err)
		}
		e, _ := errors.AsType[*quota.LimitError](err)
		got := ""
		if e.Lifted != nil {
			got = e.Lifted.ID
		}
		if got != tt.lifted || e.Limit != 1 || !e.Plan || e.Kind != quota.Members ||
			(e.Lifted != nil && !strings.Contains(err.Error(), e.Lifted.Name)) {
			t.Errorf("%d members: %+v, lifted by %q", tt.used, e, got)
		}
	}
	assert.ErrorIs(t, limits.Check(quota.Amounts{PromptTemplates: 10_001}, quota.PromptTemplates), quota.ErrExceeded)
	if !limits.Bounds(quota.Members) || limits.Bounds(quota.Streams) {
		t.Error("Bounds is wrong about members or streams")
	}
}

func TestWith(t *testing.T) {
	limits := quota.Default()
	got := limits.WithPlan(map[string]int64{"prompt_templates": 5, "storage_bytes": 1 << 40, "seats": 7,
		"chat_templates": 0})
	want := limits
	want.PromptTemplates, want.ChatTemplates, want.StorageBytes = 5, 0, 1<<40
	assert.Equal(t, "With", got, want)
	if limits != quota.Default() || limits.WithPlan(nil) != limits {
		t.Error("a plan without quotas changes them")
	}
	or := want
	or.ChatTemplates = 1
	assert.Equal(t, "Or", (quota.Amounts{ChatTemplates: 1}).WithDefaults(want), or)
}
