package quota_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/quota"
)

func TestCheck(t *testing.T) {
	limits := quota.Amounts{PromptTemplates: 1, PromptVersions: 2, ChatTemplates: 3, StorageBytes: 4}
	for _, k := range quota.Kinds() {
		full := limits
		if err := limits.Check(full, quota.Kinds()...); err != nil {
			t.Errorf("a full %s is refused: %v", k, err)
		}
		over := map[quota.Kind]quota.Amounts{
			quota.PromptTemplates: {PromptTemplates: 2}, quota.PromptVersions: {PromptVersions: 3}, quota.ChatTemplates: {ChatTemplates: 4}, quota.StorageBytes: {StorageBytes: 5},
		}[k]
		err := limits.Check(over, quota.Kinds()...)
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Code != "quota_exceeded" || f.Kind != fault.Conflict || !strings.Contains(f.Detail, "The quota "+string(k)+" of this workspace is ") {
			t.Errorf("%s beyond its limit: %v", k, err)
		}
		for _, other := range quota.Kinds() {
			if other != k && limits.Check(over, other) != nil {
				t.Errorf("%s counts for %s", k, other)
			}
		}
	}
}

func TestWith(t *testing.T) {
	limits := quota.Default()
	got := limits.With(map[string]int64{"prompt_templates": 5, "storage_bytes": 1 << 40, "members": 7, "chat_templates": 0})
	want := quota.Amounts{PromptTemplates: 5, PromptVersions: limits.PromptVersions, ChatTemplates: 0, StorageBytes: 1 << 40}
	if got != want {
		t.Errorf("With = %+v, want %+v", got, want)
	}
	if limits != quota.Default() || limits.With(nil) != limits {
		t.Error("a plan without quotas changes them")
	}
	if got := (quota.Amounts{ChatTemplates: 1}).Or(want); got != (quota.Amounts{PromptTemplates: 5, PromptVersions: want.PromptVersions, ChatTemplates: 1, StorageBytes: 1 << 40}) {
		t.Errorf("Or = %+v", got)
	}
}
